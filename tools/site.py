"""Prepares the documents for `make docs`: a hook of MkDocs, named in mkdocs.yml.

The pages are written to be read in the repository, and link to what is beside docs/: the hook brings those files
into the site as pages of their own, turns the links, and draws the machines, so that a site needs no other host.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from ostinato._faces.console.draw_machine import draw_machine
from tools.machines import machines

LINK = re.compile(r"(?P<before>\]\()(?P<path>(?![a-z]+:|#|/)[^)#\s]+)(?P<rest>#[^)\s]*)?(?=\))")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MACHINE = re.compile(r"^## (?P<name>[^\n]+)$(?P<about>(?:(?!^## ).)*?)^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".sql": "sql", ".toml": "toml", ".yml": "yaml", ".yaml": "yaml", ".json": "json"}
ROOT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "README.fr.md")
# What stands first in its part; whatever else is in the folder follows, so that a new page is never left out.
START = ("jobs", "steps", "outbox", "webhooks", "idempotency", "leases", "machines", "schedules", "tenants")
OPERATING = ("operations", "observability", "alerts", "console", "api")
ACCESS = ("keys", "secrets", "security", "audit", "erasure")
TITLES = {"cli": "Commands", "sql": "SQL", "http": "HTTP"}
PROJECT = ("faults", "benchmarks", "releasing", "specs")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages by parts."""
    docs = Path(config.docs_dir)
    loose = sorted(page.stem for page in docs.glob("*.md"))
    named = {*START, *OPERATING, *ACCESS, *PROJECT, "guarantees", "glossary"}
    config.nav = [
        {"Ostinato": "index.md"},
        {"Tutorial": _in(docs, "tutorial")},
        {"How-to": _in(docs, "howto")},
        {
            "Concepts": [
                *_there(docs, ("guarantees",)),
                "ARCHITECTURE.md",
                *_there(docs, START),
                *_in(docs, "concepts"),
                *(f"{stem}.md" for stem in loose if stem not in named),
                {"Decisions": _in(docs, "adr")},
            ]
        },
        {"Operating": _there(docs, OPERATING + ACCESS)},
        {"Applications": [*_in(docs, "apps"), {"Rules and tests": _in(docs, "specs")}]},
        {"Reference": [*_titled(_in(docs, "reference")), *_there(docs, ("glossary",))]},
        {"Français": [*_there(docs.parent, ("README.fr",)), *_in(docs, "fr")]},
        {"Project": [*_there(docs, PROJECT), "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]},
    ]
    return config


def _in(docs: Path, folder: str) -> list[Any]:
    return [page.relative_to(docs).as_posix() for page in sorted((docs / folder).glob("*.md"))]


def _titled(uris: list[str]) -> list[Any]:
    """Give words to the pages whose names are not: their first line is a comment, so that MkDocs finds no title."""
    return [{TITLES.get(Path(uri).stem, Path(uri).stem.capitalize()): uri} for uri in uris]


def _there(folder: Path, stems: Iterable[str]) -> list[Any]:
    return [f"{stem}.md" for stem in stems if (folder / f"{stem}.md").is_file()]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, and those that show the files and folders that pages link to."""
    root = Path(config.docs_dir).parent
    files.append(File.generated(config, "index.md", content=_text(root / "README.md")))
    for name in ROOT_PAGES:
        if (root / name).is_file():
            files.append(File.generated(config, name, content=_text(root / name)))
    shown = {page: _text(root / _repository_path(page)) for page in files.src_uris if page.endswith(".md")}
    todo = list(shown.items())
    while todo:
        page, text = todo.pop()
        for target in _targets(page, text):
            uri = _site_path(root, target)
            if uri is None or uri in files.src_uris:
                continue
            content = _listing(root, target) if (root / target).is_dir() else _source(root, target)
            added = File.generated(config, uri, content=content, inclusion=InclusionLevel.NOT_IN_NAV)
            files.append(added)
            todo += [(uri, content)] if target.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of a page to where their targets are in the site, and draw its machines."""
    root, uri = Path(config.docs_dir).parent, page.file.src_uri

    def turned(link: re.Match[str]) -> str:
        target = _site_path(root, _target(uri, link["path"]))
        if target is None or target not in files.src_uris:
            return link[0]  # MkDocs says that it is broken
        return f"{link['before']}{relpath(target, dirname(uri) or '.')}{link['rest'] or ''}"

    text = MACHINE.sub(_drawn, markdown) if uri == "reference/machines.md" else markdown
    if "```mermaid" in text:
        raise PluginError(f"{uri}: a browser would load Mermaid from elsewhere; put a drawing (SVG) in its place")
    return _outside_fences(text, turned)


def _drawn(found: re.Match[str]) -> str:
    (machine,) = (each for each in machines() if each.name == found["name"])
    drawing = draw_machine(f"The machine {machine.name}", machine, {})
    return f'## {found["name"]}{found["about"]}<div class="machines">{drawing}</div>'


def _outside_fences(text: str, turned: Any) -> str:  # noqa: ANN401 - what re.sub takes
    parts, at = [], 0
    for fence in FENCED.finditer(text):
        parts += [LINK.sub(turned, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(turned, text[at:])])


def _targets(uri: str, text: str) -> Iterator[str]:
    for link in LINK.finditer(FENCED.sub("", text)):
        yield _target(uri, unescape(link["path"]))


def _target(uri: str, path: str) -> str:
    """Return what a link of a page leads to, as seen from the root of the repository."""
    return normpath(join(dirname(_repository_path(uri)), path))


def _repository_path(uri: str) -> str:
    """Return where a page of the site comes from."""
    if uri == "index.md":
        return "README.md"
    if uri in ROOT_PAGES:
        return uri
    if uri.startswith("source/"):
        return uri.removeprefix("source/").removesuffix(".md") if not uri.endswith("README.md") else uri[7:]
    return f"docs/{uri}"


def _site_path(root: Path, target: str) -> str | None:
    """Return where a file or a folder of the repository is in the site; None: it is not there at all."""
    if target.startswith("..") or not (root / target).exists():
        return None
    if target == "README.md":
        return "index.md"
    if (root / target).is_dir():
        return f"{target.removeprefix('docs/')}/index.md" if target.startswith("docs/") else f"source/{target}/index.md"
    if target.startswith("docs/") or target in ROOT_PAGES:
        return target.removeprefix("docs/")
    return f"source/{target}" if target.endswith(".md") else f"source/{target}.md"


def _source(root: Path, target: str) -> str:
    """Return a page that shows a file."""
    text = _text(root / target)
    if target.endswith(".md"):
        return text
    return f"# `{target}`\n\n````{LANGUAGES.get(Path(target).suffix, 'text')}\n{text.rstrip()}\n````\n"


def _listing(root: Path, target: str) -> str:
    """Return a page that lists a folder."""
    names = sorted(each.name for each in (root / target).iterdir())
    linked = {name for name in names if target.startswith("docs/") and name.endswith(".md")}
    lines = [f"- [{name}]({name})" if name in linked else f"- `{name}`" for name in names if not name.startswith("_")]
    return f"# `{target}/`\n\n" + "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""

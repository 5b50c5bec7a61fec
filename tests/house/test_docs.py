"""Documents that cannot rot: what they name exists, what is generated is up to date."""

import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.house import catalogue, code
from tests.house.source import PACKAGE, ROOT, findings, text_of
from tools import generated, reference
from tools.surface import MODULES

README = ROOT / "README.md"
GUARANTEES = ROOT / "docs" / "guarantees.md"
SECURITY = ROOT / "docs" / "security.md"
REFERENCE = ROOT / "docs" / "reference"
SPECS = sorted((ROOT / "docs" / "specs").glob("*.md"))
FIRST_CODE_BEFORE = 25
FIRST_SCREEN = 35

PAGES = [
    README,
    ROOT / "README.fr.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if REFERENCE not in path.parents),
]

LINK = re.compile(r"\]\((?!https?://|mailto:|#)(?P<path>[^)#\s]+)")
FILE_NAME = re.compile(r"`(?P<path>[\w.*-]+(?:/[\w.*-]+)+\.(?:py|sql|md|toml|lock|json|in))`")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PUBLIC_NAME = re.compile(rf"`(?:ostinato\.)?(?P<module>{'|'.join(MODULES)})\.(?P<name>(?!(?:sql|md|py)\b)[a-zA-Z_]+)\b")
# A rule of a specification by its id, and `M3C-pipeline-1` to `M3C-pipeline-10`
RULE = re.compile(r"\b((?:INV-\d+|TC-[A-Z]+|H-M\d+|M3C-[a-z]+)-)(\d+)`?(?: to (?:`\1)?(\d+))?")
KINDS = {"webhooks.deliver"}  # kinds of jobs look the same
# a path may be written as seen from the root, from the package, or from the page itself
BASES = (ROOT, PACKAGE, PACKAGE / "_core" / "engine", PACKAGE / "_core" / "engine" / "sql")


def prose(page: Path) -> str:
    """The page without its code blocks, whose paths are those of the reader."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)


def named_paths(page: Path) -> Iterator[str]:
    text = prose(page)
    yield from (link["path"] for link in LINK.finditer(text))
    yield from (name["path"] for name in FILE_NAME.finditer(text))


def missing_tests(page: Path) -> list[str]:
    """Tests are named as seen from the tests of the page's application, or from the root."""
    if not catalogue.TEST_NAME.search(text_of(page)):
        return ["it names no test"]
    return catalogue.missing_tests(text_of(page), ROOT / "tests" / "apps" / page.stem)


def missing_paths(page: Path) -> list[str]:
    return [
        name
        for name in named_paths(page)
        if not any(list(base.glob(name.removeprefix("./"))) for base in BASES) and not (page.parent / name).exists()
    ]


def misuses(page: Path) -> list[str]:
    return code.misuses("".join(PYTHON.findall(text_of(page))))


def missing_names(page: Path) -> list[str]:
    named = {(found["module"], found["name"]) for found in PUBLIC_NAME.finditer(prose(page))}
    missing = {
        f"{module}.{name}" for module, name in named if not hasattr(importlib.import_module(f"ostinato.{module}"), name)
    }
    return sorted(missing - KINDS)


def test_every_test_named_in_the_guarantees_exists() -> None:
    assert missing_tests(GUARANTEES) == []


def test_every_check_of_security_is_there_with_its_test_or_the_reason_why_not() -> None:
    found = catalogue.numbered_rows(text_of(SECURITY))

    assert list(found) == list(range(1, 26))
    assert catalogue.without_test(text_of(SECURITY)) == set()
    assert missing_tests(SECURITY) == []


def test_every_test_named_for_a_rule_exists() -> None:
    assert findings(SPECS, missing_tests) == {}


def rules_in(text: str) -> set[str]:
    """The ids of rules, also those between two that a text names."""
    return {
        f"{rule[1]}{number:0{len(rule[2])}}"
        for rule in RULE.finditer(text)
        for number in range(int(rule[2]), int(rule[3] or rule[2]) + 1)
    }


def test_a_rule_that_the_code_cites_stands_in_a_specification() -> None:
    known = set().union(*(rules_in(text_of(page)) for page in SPECS))
    files = [
        path for folder in ("src", "tests") for kind in ("py", "sql") for path in (ROOT / folder).rglob(f"*.{kind}")
    ]

    assert len(known) > 80, "the pattern finds the rules no longer"
    assert findings(sorted(files), lambda path: sorted(rules_in(text_of(path)) - known)) == {}


def test_every_path_that_a_page_names_exists() -> None:
    assert findings(PAGES, missing_paths) == {}


def test_what_the_code_of_a_page_uses_of_ours_is_there() -> None:
    assert findings(PAGES, misuses) == {}


def test_a_public_name_that_a_sentence_names_is_there() -> None:
    assert findings(PAGES, missing_names) == {}


def test_the_readme_shows_code_on_its_first_screen() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines, 1) if line == "```python")

    assert first < FIRST_CODE_BEFORE


def test_the_readme_says_how_to_install_each_extra_and_shows_the_console_at_once() -> None:
    text = README.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = text.partition("| Extra | Adds |")[2].partition("\n\n")[0]

    assert {name for name in project["optional-dependencies"] if f"`{name}`" not in listed} == set()
    assert text.index("pip install 'ostinato[embedded]'") < text.index("```python") < text.index("docs/console/now.png")
    assert text[: text.index("docs/console/now.png")].count("\n") < FIRST_SCREEN


def test_the_reference_pages_say_what_the_code_declares() -> None:
    assert generated.stale(reference.pages(), REFERENCE) == [], "run `make reference`"
    assert "language sql" not in (REFERENCE / "sql.md").read_text("utf-8"), "a body stands where a purpose should"


def test_there_is_no_reference_page_that_nobody_writes() -> None:
    assert {page.name for page in REFERENCE.glob("*.md")} == set(reference.pages())

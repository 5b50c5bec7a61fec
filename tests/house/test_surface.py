"""What users import is small, sorted, typed and documented, and nothing else is needed."""

import ast
import importlib
import re
import textwrap
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest

import ostinato
from tests.house import code
from tests.house.source import PACKAGE, ROOT, findings, text_of
from tools import surface
from tools.surface import MODULES

NAMES: list[str] = ostinato.__all__
FRONT_NAMES = 20
CODE = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)
SENTENCE = re.compile(r"[A-Z0-9`(\"].*[.!?]")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
REFERENCE = ROOT / "docs" / "reference"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "README.fr.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if REFERENCE not in path.parents),
    *sorted((ROOT / "examples").rglob("*.py")),
]
PUBLIC = {"ostinato", *(f"ostinato.{name}" for name in MODULES)}
# The names that the specifications fix, and the applications themselves.
FIXED = re.compile(
    r"ostinato\.apps\.(?:\w+|watchfolder\.(?:core|main)(?:\.\w+)?|capture\.(?:model|rules)|rounds\.rules)"
)
INNER = re.compile(r"\bostinato(?:\.\w+)*\._\w+")


def module(name: str) -> ModuleType:
    return importlib.import_module(f"ostinato.{name}" if name else "ostinato")


def example(name: str) -> str:
    """The code in the docstring of a module: what is indented there."""
    return textwrap.dedent("".join(CODE.findall(f"{module(name).__doc__}\n")))


def position(name: str) -> tuple[int, str]:
    """Constants, classes, functions: the order that ruff keeps too."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_the_front_has_few_names() -> None:
    assert len(NAMES) == FRONT_NAMES


def test_the_front_is_exactly_what_can_be_imported() -> None:
    reachable = {
        name
        for name, value in vars(ostinato).items()
        if not name.startswith(("_", "@")) and not isinstance(value, ModuleType)
    }

    assert reachable <= set(NAMES)
    assert all(hasattr(ostinato, name) for name in NAMES)


def test_the_public_modules_are_those_without_an_underscore() -> None:
    files = {path.stem for path in PACKAGE.glob("[!_]*.py")}
    packages = {path.parent.name for path in PACKAGE.glob("[!_]*/__init__.py")}

    assert files == set(MODULES)
    assert packages == {"apps", "lab"}


@pytest.mark.parametrize("name", ["", *MODULES])
def test_a_module_lists_what_it_holds_in_order(name: str) -> None:
    listed: list[str] = module(name).__all__

    assert listed == sorted(set(listed), key=position)
    assert all(hasattr(module(name), each) for each in listed)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_lets_nothing_else_through(name: str) -> None:
    # What begins with @ is pytest's, which rewrites the modules of a package that brings a plugin.
    reachable = {each for each in vars(module(name)) if not each.startswith(("_", "@"))}

    assert reachable == set(module(name).__all__)


@pytest.mark.parametrize("name", ["", *MODULES])
def test_a_module_says_what_it_is_for_and_shows_it(name: str) -> None:
    first = (module(name).__doc__ or "").partition("\n")[0]

    assert SENTENCE.fullmatch(first)
    assert "import" in example(name)


@pytest.mark.parametrize("name", ["", *MODULES])
def test_the_example_of_a_module_uses_what_is_there(name: str) -> None:
    assert code.misuses(example(name)) == []


@pytest.mark.parametrize("name", ["", *MODULES])
def test_every_public_name_is_described_in_a_sentence(name: str) -> None:
    where = f"ostinato.{name}" if name else "ostinato"
    described = {each: surface.find(where, each).doc for each in module(name).__all__}

    wrong = {each: text for each, text in described.items() if not SENTENCE.fullmatch(text.partition("\n")[0])}

    assert wrong == {}


def test_errors_name_the_module_that_users_import() -> None:
    """So do tracebacks, and retry policies that are stored with their names."""
    classes = [getattr(module("errors"), name) for name in module("errors").__all__]

    assert {each.__module__ for each in classes} == {"ostinato.errors"}


def test_documents_and_examples_import_the_surface_only() -> None:
    assert findings(DOCUMENTS, _inner_imports) == {}


def _inner_imports(path: Path) -> list[tuple[str, str]]:
    text = text_of(path)
    blocks = text if path.suffix == ".py" else "".join(PYTHON.findall(text))
    return _inner(blocks)


def _inner(text: str) -> list[tuple[str, str]]:
    used = [(name, "") for name in INNER.findall(text)]
    return used + [
        (where, name) for where, name in code.imports(code.parse(text)) if not _is_public(where) or name.startswith("_")
    ]


def _is_public(where: str) -> bool:
    return where in PUBLIC or FIXED.fullmatch(where) is not None


@pytest.mark.parametrize(
    "text",
    [
        "from ostinato._core.engine import jobs",
        "from ostinato import _core",
        "import ostinato\nostinato._core.db.pool.open()",
        "from ostinato.apps.enrichment.service import ask",
    ],
)
def test_an_import_past_the_surface_is_noticed(text: str) -> None:
    assert _inner(text)


def test_what_users_read_names_no_private_module() -> None:
    """A hint that says `ostinato._core` sends its reader behind the surface."""
    files = [*PACKAGE.rglob("*.sql"), *PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.po"), *PACKAGE.rglob("*.txt")]

    assert findings(sorted(files), lambda path: INNER.findall(text_of(path))) == {}
    assert findings(sorted(PACKAGE.rglob("*.py")), _inner_texts) == {}


def _inner_texts(path: Path) -> list[str]:
    """Texts of a module that name a private one in the middle of a sentence; a text that is nothing else is a place."""
    texts = (each.value for each in ast.walk(ast.parse(text_of(path))) if isinstance(each, ast.Constant))
    said = (text for text in texts if isinstance(text, str) and " " in text and "\n" not in text)
    return [text for text in said if INNER.search(text)]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("from ostinato import jobs\nawait jobs.cancel(conn, 7, because='x')", "because"),
        ("from ostinato import leases\nleases.hold(client, 'x', seconds=60)", "seconds"),
        ("import ostinato\nostinato.conect()", "conect"),
        ("await ctx.stepp('a', f)", "stepp"),
        ("app.schedule(digest, cronn='* * * * *')", "cronn"),
        ("@app.job()\nasync def f(ctx): ...\nf.options(dely=3)", "dely"),
        ("ctx.job.attemptt", "attemptt"),
    ],
)
def test_code_that_uses_what_is_not_there_is_noticed(text: str, wrong: str) -> None:
    (found,) = code.misuses(text)

    assert wrong in found


def test_the_types_are_shipped() -> None:
    assert (resources.files("ostinato") / "py.typed").is_file()

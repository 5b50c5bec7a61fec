"""Documents that cannot rot: what they name exists, what is generated is up to date."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato._faces.cli.dev import generated, reference
from ostinato._faces.cli.dev.surface import MODULES
from tests.house import code
from tests.house.source import PACKAGE, ROOT, parsed, shown

README = ROOT / "README.md"
GUARANTEES = ROOT / "docs" / "guarantees.md"
SECURITY = ROOT / "docs" / "security.md"
CATALOGUES = [GUARANTEES, SECURITY]
LATER = {12, 13, 14}  # checks of a console that is not there yet
REFERENCE = ROOT / "docs" / "reference"
SPECS = sorted((ROOT / "docs" / "specs").glob("*.md"))
FIRST_CODE_BEFORE = 25

PAGES = [
    README,
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if REFERENCE not in path.parents),
]

TEST_NAME = re.compile(r"`(?P<path>[\w/.-]+\.py)::(?P<test>\w+(?:::\w+)*)")
NUMBERED = re.compile(r"\| (?P<number>\d+) \|")
LINK = re.compile(r"\]\((?!https?://|mailto:|#)(?P<path>[^)#\s]+)")
FILE_NAME = re.compile(r"`(?P<path>[\w.*-]+(?:/[\w.*-]+)+\.(?:py|sql|md|toml|lock|json|in))`")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PUBLIC_NAME = re.compile(rf"`(?:ostinato\.)?(?P<module>{'|'.join(MODULES)})\.(?P<name>(?!(?:sql|md|py)\b)[a-zA-Z_]+)\b")
KINDS = {"webhooks.deliver"}  # kinds of jobs look the same
# a path may be written as seen from the root, from the package, or from the page itself
BASES = (ROOT, PACKAGE, PACKAGE / "_core" / "engine", PACKAGE / "_core" / "engine" / "sql")


def prose(page: Path) -> str:
    """The page without its code blocks, whose paths are those of the reader."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def named_paths(page: Path) -> Iterator[str]:
    text = prose(page)
    yield from (link["path"] for link in LINK.finditer(text))
    yield from (name["path"] for name in FILE_NAME.finditer(text))


def names_in(path: Path) -> set[str]:
    """`test_x` and `TestClass::test_x`, as pytest names them."""
    names: set[str] = set()
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}::{method.name}"
                for method in node.body
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return names


def named_tests(text: str) -> list[str]:
    """The tests that a text names, as `path::test`."""
    return [found.group()[1:] for found in TEST_NAME.finditer(text)]


def exists(test: str, *bases: Path) -> bool:
    """Whether there is a test of this name, as seen from one of the folders."""
    path, _, name = test.partition("::")
    return any((base / path).exists() and name in names_in(base / path) for base in bases)


def rows(page: Path) -> dict[int, str]:
    """The rows of the tables of a page that begin with a number, by it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return {int(found["number"]): line for line in lines if (found := NUMBERED.match(line))}


@pytest.mark.parametrize("page", CATALOGUES, ids=shown)
def test_every_test_that_a_catalogue_names_exists(page: Path) -> None:
    named = named_tests(page.read_text(encoding="utf-8"))

    assert named, "it names no test"
    assert [each for each in named if not exists(each, ROOT)] == []


def test_every_check_of_security_is_there_with_its_test_or_the_reason_why_not() -> None:
    found = rows(SECURITY)

    assert list(found) == list(range(1, 26))
    assert {number for number, row in found.items() if not named_tests(row)} <= LATER


@pytest.mark.parametrize("page", SPECS, ids=shown)
def test_every_test_named_for_a_rule_exists(page: Path) -> None:
    """Tests stand in the tables as seen from the tests of their application, or from the root."""
    named = named_tests(page.read_text(encoding="utf-8"))

    assert named, "it names no test"
    assert [each for each in named if not exists(each, ROOT, ROOT / "tests" / "apps" / page.stem)] == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    missing = [
        name
        for name in named_paths(page)
        if not any(list(base.glob(name.removeprefix("./"))) for base in BASES) and not (page.parent / name).exists()
    ]

    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_what_the_code_of_a_page_uses_of_ours_is_there(page: Path) -> None:
    assert code.misuses("".join(PYTHON.findall(page.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_public_name_that_a_sentence_names_is_there(page: Path) -> None:
    named = {(found["module"], found["name"]) for found in PUBLIC_NAME.finditer(prose(page))}

    missing = {
        f"{module}.{name}" for module, name in named if not hasattr(importlib.import_module(f"ostinato.{module}"), name)
    }

    assert missing <= KINDS


def test_the_readme_shows_code_on_its_first_screen() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines, 1) if line == "```python")

    assert first < FIRST_CODE_BEFORE


def test_the_reference_pages_say_what_the_code_declares() -> None:
    assert generated.stale(reference.pages(), REFERENCE) == [], "run `make reference`"


def test_there_is_no_reference_page_that_nobody_writes() -> None:
    assert {page.name for page in REFERENCE.glob("*.md")} == set(reference.pages())

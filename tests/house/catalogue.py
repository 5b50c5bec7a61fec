"""Reads pages that list things by number with the tests of each: faults, checks of security.

A row of such a table starts with its number, `| 17 | …`, and names tests as `path::test`.
"""

import ast
import re
from pathlib import Path

from tests.house.source import ROOT, parsed

TEST_NAME = re.compile(r"`(?P<path>[\w/.-]+\.py)::(?P<test>\w+(?:::\w+)*)")
ROW = re.compile(r"^\| *(?P<number>\d+) *\|(?P<rest>.*)\|$", re.MULTILINE)


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


def missing_tests(text: str, *bases: Path) -> list[str]:
    """The tests that a text names and that do not exist, as seen from these folders or the root."""
    return [
        found.group()
        for found in TEST_NAME.finditer(text)
        if not any(
            (base / found["path"]).exists() and found["test"] in names_in(base / found["path"])
            for base in (ROOT, *bases)
        )
    ]


def numbered_rows(text: str) -> dict[int, str]:
    """The rows of the tables of a text that begin with a number; one that comes twice is an error."""
    found = [(int(row["number"]), row["rest"]) for row in ROW.finditer(text)]
    rows = dict(found)
    assert len(rows) == len(found), f"numbers that come twice: {sorted(number for number, _ in found)}"
    return rows


def without_test(text: str) -> set[int]:
    """The numbers of the rows that name no test."""
    return {number for number, rest in numbered_rows(text).items() if not TEST_NAME.search(rest)}

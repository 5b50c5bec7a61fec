"""At most 400 lines a module and 60 a function, because nobody holds more in mind."""

import ast
import re
from collections.abc import Iterable

from tests.house.source import function_files, nodes, python_files, shown, text_of, tool_files

MODULE_LINES = 400
FUNCTION_LINES = 60

# Longer all the same, each with its reason: `"path::function": "why it is better in one piece"`.
ALLOWED: dict[str, str] = {}

SQL_FUNCTION = re.compile(
    r"^create (?:or replace )?(?:function|procedure) (?P<name>[\w.]+)"
    r".*?(?P<quote>\$\w*\$)(?P<body>.*?)(?P=quote)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def longer(lengths: Iterable[tuple[str, int]], most: int) -> dict[str, int]:
    """What is longer than it may be, and stands on no list."""
    return {name: lines for name, lines in lengths if lines > most and name not in ALLOWED}


def test_a_module_fits_in_mind() -> None:
    lengths = ((shown(path), len(text_of(path).splitlines())) for path in (*python_files(), *tool_files()))

    assert longer(lengths, MODULE_LINES) == {}


def test_a_function_fits_in_mind() -> None:
    lengths = (
        (f"{shown(path)}::{node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for path in (*python_files(), *tool_files())
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )

    assert longer(lengths, FUNCTION_LINES) == {}


def test_an_sql_function_fits_in_mind() -> None:
    lengths = (
        (f"{shown(path)}::{function['name']}", len(function["body"].strip().splitlines()))
        for path in function_files()
        for function in SQL_FUNCTION.finditer(text_of(path))
    )

    assert longer(lengths, FUNCTION_LINES) == {}


def test_every_exception_is_still_needed_and_says_why() -> None:
    for name, reason in ALLOWED.items():
        path, _, function = name.partition("::")
        text = next(file for file in (*python_files(), *function_files()) if shown(file) == path)

        assert function in text.read_text(encoding="utf-8"), f"{name} is gone: take it off the list"
        assert reason

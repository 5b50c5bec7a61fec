"""Statements live in .sql files, where they can be read, checked and reviewed as SQL."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, findings, parsed, python_files

# the one place that puts the text of a call together
CALL_BUILDER = PACKAGE / "_core" / "db" / "call.py"

STATEMENT = re.compile(
    r"""\s*(?:
        select\s
      | insert\s+into\s
      | update\s+[\w."{}%]+\s+(?:as\s+\w+\s+)?set\s
      | delete\s+from\s
      | merge\s+into\s
      | with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s[\w\s]*\(
      | copy\s.+\s(?:from|to)\s
      | truncate\s
      | call\s+[\w.]+\(
      | do\s+\$
      | (?:create|alter|drop)\s+(?:or\s+replace\s+|unique\s+|temporary\s+)?
        (?:table|index|schema|role|user|database|function|view|type|sequence|policy|trigger|extension)\s
    )""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def is_statement(text: str) -> bool:
    # "Select a queue" is a sentence: SQL is written in lower or in upper case
    return bool(STATEMENT.match(text)) and not text.split(maxsplit=1)[0].istitle()


def statements(tree: ast.Module) -> Iterator[tuple[int, str]]:
    every = list(ast.walk(tree))
    prose = set(docstrings(every))
    for node in every:
        if isinstance(node, ast.Constant) and id(node) not in prose:
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(text, str) and is_statement(text):
                yield node.lineno, text


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Strings that stand alone as a statement: docstrings of modules, classes and attributes."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


def written_in(path: Path) -> list[str]:
    if path == CALL_BUILDER:
        return []
    return [f"{line}: {' '.join(text.split())[:60]}" for line, text in statements(parsed(path))]


def test_no_statement_is_written_in_a_python_string() -> None:
    assert findings(python_files(), written_in) == {}, "move it into a .sql file"


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "\n    SELECT id from job",
        "insert into job values (1)",
        "update ostinato_data.job set priority = 1",
        "delete from job",
        "with due as (select 1) select * from due",
        "with recursive t(n) as materialized (select 1) select n from t",
        "copy job from stdin",
        "truncate ostinato_data.job",
        "do $$ begin end $$",
        "create table job (id bigint)",
        "ALTER ROLE ostinato_worker LOGIN",
    ],
)
def test_the_scan_finds_statements(text: str) -> None:
    assert list(statements(ast.parse(f"x = {text!r}")))
    assert list(statements(ast.parse(f"x = f{text + ' {y}'!r}")))


@pytest.mark.parametrize(
    "text",
    [
        "Select a queue to look at.",
        "update the worker first",
        "with a retry as the policy says",
        "copy it",
        "selected",
        "Create role and database first.",
        "listen",
    ],
)
def test_the_scan_lets_sentences_pass(text: str) -> None:
    assert not list(statements(ast.parse(f"x = {text!r}")))
    assert not list(statements(ast.parse("'''select 1 in a docstring'''")))

"""What the house tests read: the files of the package, and their syntax trees.

A rule is one test for all files, and says every place where it is broken: a test for each of five
hundred files took longer to collect, in every process of a run, than to check.
"""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ostinato"


@cache
def python_files() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tool_files() -> tuple[Path, ...]:
    """What writes references, the site and the bill of materials: no part of the package."""
    return tuple(sorted((ROOT / "tools").rglob("*.py")))


@cache
def function_files() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("sql/functions/*.sql")))


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def findings(paths: Iterable[Path], find: Callable[[Path], Sequence[object]]) -> dict[str, Sequence[object]]:
    """What a rule finds in files, by the name of each that breaks it."""
    return {shown(path): found for path in paths if (found := find(path))}


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a file: each rule reads them, and the walk takes longer than most rules."""
    return tuple(ast.walk(parsed(path)))


def dotted(node: ast.AST) -> str:
    """`a.b.c` for the attribute or name, or as much of its end as is spelled out."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


@cache
def calls(path: Path) -> tuple[ast.Call, ...]:
    return tuple(node for node in nodes(path) if isinstance(node, ast.Call))


def without_comments(sql: str) -> str:
    return re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.DOTALL)

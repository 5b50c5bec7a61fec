"""Every pattern takes a time that grows with the text and no faster: the text is foreign.

One pattern that begins at each word and reads to the end took 32 s for 16 kB of a caller's text, in
the event loop of a worker, for all tenants. So each pattern of the package is run, as the code runs
it, on 100 kB made for it: every piece of it again and again, each beginning of it followed by one
piece again and again, those of each of its branches and groups too, and what people write. That is
5,000,000,000 steps for a quadratic one, a hundred times more than a linear one takes on a machine
that is a hundred times slower. The kernel
counts: some 1 s of processor time (RLIMIT_CPU) for a text ends the process, however busy the machine is.
A check of the pattern's tree was weighed: it cannot see that `://[^/]*` never reads a character
twice, and refuses too much.
"""

import ast
import math
import multiprocessing
import re
import resource
import time
from collections.abc import Iterator
from functools import cache
from re import _constants, _parser
from typing import Any, NamedTuple

import pytest

from tests.house.source import PACKAGE, nodes, python_files

LENGTH = 100_000
CPU_SECONDS = 0.5  # rounded up: the kernel counts in whole seconds
WHOLE = {"fullmatch", "match"}
ANYWHERE = {"search", "sub", "split", "findall", "finditer", "subn"}
USUAL = ("a", "0", " ", "a.", "a ", "a@", "a@a.", "a:", "://", "'", '"', "<", "\n", "a=", "_")


class Pattern(NamedTuple):
    """A pattern of the package, where it is, and how it is used."""

    place: str
    text: str
    flags: int
    methods: frozenset[str]


@cache
def trees() -> dict[str, tuple[ast.AST, ...]]:
    """The source of the package, node by node."""
    named = {str(path.relative_to(PACKAGE)): path for path in python_files()}
    return {name: nodes(path) for name, path in named.items()}


def patterns() -> Iterator[Pattern]:
    """Each pattern that is written in the package."""
    for place, tree in trees().items():
        names = {
            id(node.value): target.id
            for node in tree
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and node.value is not None
        }
        for node in tree:
            method = _method_of_re(node)
            if method is None:
                continue
            assert isinstance(node, ast.Call)
            used = {method} if method != "compile" else uses().get(names.get(id(node), ""))
            where = f"{place}:{node.lineno}"
            yield Pattern(where, _literal(node, where), _flags(node), frozenset(used or {"sub"}))


def _method_of_re(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, name = node.func.value, node.func.attr
        if isinstance(owner, ast.Name) and owner.id == "re":
            return name if name in WHOLE | ANYWHERE | {"compile"} else None
    return None


def _literal(node: ast.Call, where: str) -> str:
    """The text of a pattern; a part that is put in counts as a word of three letters."""
    given = node.args[0]
    if isinstance(given, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "abc" for part in given.values)
    assert isinstance(given, ast.Constant), f"{where}: the pattern is not written where it is made"
    return str(given.value)


def _flags(node: ast.Call) -> int:
    named = [ast.unparse(each) for each in (*node.args[1:], *(k.value for k in node.keywords))]
    words = " ".join(named)
    return sum(flag for flag in re.RegexFlag if f"re.{flag.name}" in words)


@cache
def uses() -> dict[str, set[str]]:
    """How the code uses a compiled pattern, by its name; one that goes by another is not there."""
    found: dict[str, set[str]] = {}
    for tree in trees().values():
        for node in tree:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, set()).add(node.attr)
    methods = WHOLE | ANYWHERE
    return {name: used & methods for name, used in found.items() if used & methods}


def texts(pattern: str, flags: int) -> Iterator[str]:
    """What a text that is bad for a pattern consists of."""
    parsed = _parser.parse(pattern, flags)
    yield from USUAL
    # A class with letters and marks begins anew at each mark, if the pattern lets it.
    yield from (text for mark in _marks(parsed) for text in (mark, f"a{mark}"))
    for sequence in _sequences(parsed):
        pieces = [*_pieces(sequence)]
        for number, piece in enumerate(pieces):
            start = "".join(pieces[:number])
            yield from (piece, start + piece, f"{piece} ", f"{piece}.")
            yield f"{start}\N{SYMBOL FOR START OF TEXT}{piece}"


def _sequences(parsed: Any) -> Iterator[Any]:  # noqa: ANN401 - of the standard library, untyped
    """A pattern, and every branch, group and repeated part in it: each may be where it begins anew."""
    yield parsed
    for what, value in parsed:
        if what is _constants.BRANCH:
            for branch in value[1]:
                yield from _sequences(branch)
        elif isinstance(value, tuple) and hasattr(value[-1], "getwidth"):
            yield from _sequences(value[-1])
        elif what is _constants.ATOMIC_GROUP:
            yield from _sequences(value)


def _pieces(parsed: Any) -> Iterator[str]:  # noqa: ANN401 - of the standard library, untyped
    """A shortest text for each element of a pattern, in order."""
    for what, value in parsed:
        yield _shortest(what, value)


def _marks(parsed: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    """The single characters of every class of a pattern."""
    for what, value in parsed:
        if what is _constants.IN:
            yield from (chr(each) for kind, each in value if kind is _constants.LITERAL)
        elif what is _constants.BRANCH:
            for branch in value[1]:
                yield from _marks(branch)
        elif isinstance(value, tuple) and hasattr(value[-1], "getwidth"):
            yield from _marks(value[-1])


def _shortest(what: object, value: Any) -> str:  # noqa: ANN401, PLR0911 - as above; a table
    c = _constants
    if what is c.LITERAL:
        return chr(value)
    if what is c.IN:
        return _member(value)
    if what in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
        least, _, parsed = value
        return "".join(_pieces(parsed)) * max(int(least), 1)
    if what is c.SUBPATTERN:
        return "".join(_pieces(value[-1]))
    if what is c.ATOMIC_GROUP:
        return "".join(_pieces(value))
    if what is c.BRANCH:
        return "".join(_pieces(value[1][0]))
    return "a" if what in (c.ANY, c.NOT_LITERAL) else ""


def _member(value: list[tuple[object, Any]]) -> str:
    """A character of a class; for one that excludes some, a letter that it does not."""
    kinds = {_constants.CATEGORY_DIGIT: "0", _constants.CATEGORY_SPACE: " ", _constants.CATEGORY_WORD: "a"}
    for what, each in value:
        if what is _constants.NEGATE:
            return "a"
        if what is _constants.LITERAL:
            return chr(each)
        if what is _constants.RANGE:
            return chr(each[0])
        if what is _constants.CATEGORY:
            return kinds.get(each, "a")
    return "a"


def long(text: str) -> str:
    """The text again and again; what is behind a mark only, when there is one."""
    start, mark, piece = text.partition("\N{SYMBOL FOR START OF TEXT}")
    if mark and piece:
        return f"{start}{piece * (LENGTH // len(piece))}\0"
    return start * (LENGTH // max(len(start), 1)) + "\0"


def run(pattern: str, flags: int, methods: frozenset[str]) -> None:
    """Run a pattern on all its texts, each within some time of the processor."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    compiled = re.compile(pattern, flags)
    for text in dict.fromkeys(texts(pattern, flags)):
        if text:
            limit = math.ceil(time.process_time() + CPU_SECONDS)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, most))
            for method in methods:
                if method in WHOLE:
                    getattr(compiled, method)(long(text))
                else:
                    compiled.sub("", long(text))


def is_linear(pattern: str, flags: int, methods: frozenset[str]) -> bool:
    process = multiprocessing.get_context("fork").Process(target=run, args=(pattern, flags, methods))
    process.start()
    process.join()
    return process.exitcode == 0


def test_a_pattern_takes_no_longer_than_its_text_is() -> None:
    slow = {each.place: each.text for each in patterns() if not is_linear(each.text, each.flags, each.methods)}

    assert slow == {}


SQL_PATTERN = re.compile(r"(?:~\*?|[(,]|\bfrom)\s*'((?:[^']|'')*)'")


def backward(sql: str) -> list[str]:
    """The literals of a file that may be patterns, and refer to what a group of theirs has read."""
    return [found for found in SQL_PATTERN.findall(sql) if "(" in found and re.search(r"\\[1-9]", found)]


def test_patterns_elsewhere_are_run_by_engines_that_do_not_backtrack() -> None:
    """PostgreSQL's and pydantic's read a text once, but for back references, and for Python's engine in pydantic."""
    sql = {str(path): found for path in PACKAGE.rglob("*.sql") if (found := backward(path.read_text("utf-8")))}
    python = [str(path) for path in python_files() if "python-re" in path.read_text("utf-8")]
    others = [
        place
        for place, tree in trees().items()
        for node in tree
        if (isinstance(node, ast.ImportFrom) and node.module in {"re", "regex", "fnmatch"})
        or (isinstance(node, ast.Import) and any(each.name in {"regex", "fnmatch"} for each in node.names))
    ]

    assert (sql, python) == ({}, [])
    assert others == ["lab/sandbox/faults.py"], "patterns are made by re.compile, where this test finds them"
    assert backward(r"select a ~ '(\w+) \1'") == [r"(\w+) \1"]


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\b[a-z][a-z0-9+.-]*://[^\s:/?#@\"']*:)[^\s/?#\"']+(?=@)",
        r"(\b(?:[\w-]*(?:password|token))[\"']?\s*[=:]\s*)[^\s]+",
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        r"(?:zzz|#[\d#]*=)",
    ],
)
def test_the_patterns_that_were_quadratic_are_found(pattern: str) -> None:
    assert not is_linear(pattern, int(re.IGNORECASE), frozenset({"sub"}))


def test_what_is_redacted_is_shortened_first() -> None:
    """`redact(text, most)`, and not `redact(text)[:most]`: what others sent may be as long as they like."""
    late = [
        f"{place}:{node.lineno}"
        for place, tree in trees().items()
        for node in tree
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and "redact" in _called(node.value)
    ]

    assert late == []


def _called(node: ast.AST) -> set[str]:
    """The functions that an expression calls with one value only."""
    calls = (each for each in ast.walk(node) if isinstance(each, ast.Call) and len(each.args) == 1)
    return {each.func.id for each in calls if isinstance(each.func, ast.Name)}

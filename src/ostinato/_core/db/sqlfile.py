"""SQL as files of the package: whole files, named blocks, and single statements.

A file of named blocks looks like this; the first comment line after the name describes the block:

    -- name: applied_migrations
    -- Every migration that was applied, in order.
    select …;
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import LiteralString

NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)

# Text in which a semicolon ends nothing: quoted names, strings, comments, dollar-quoted bodies.
TOKEN = re.compile(
    r"""
      "(?:[^"]|"")*"
    | (?<![\w$]) [eE] '(?:[^'\\]|''|\\.)*'
    | '(?:[^']|'')*'
    | --[^\n]*
    | /\*.*?(?:\*/|\Z)
    | (?<![\w$]) \$(?P<tag>[A-Za-z_]\w*|)\$ .*? \$(?P=tag)\$
    | (?P<atomic> \bbegin \s+ atomic\b )
    | (?P<end> ; )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One named statement (or script) of a file."""

    name: str
    description: str
    text: LiteralString


@cache
def read(package: str, path: str) -> LiteralString:
    """Return the text of a .sql file of a package, with plain line ends."""
    file = files(package).joinpath(*path.split("/"))
    return file.read_text("utf-8").replace("\r\n", "\n")


@cache
def blocks(package: str, path: str) -> dict[str, Block]:
    """Return the named blocks of a .sql file of a package."""
    pieces = NAME.split(read(package, path))
    found: dict[str, Block] = {}
    for name, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in found:
            raise ValueError(f"{path} names two blocks {name}")
        first, _, rest = piece.strip().partition("\n")
        if not first.startswith("-- "):
            raise ValueError(f"{path}: block {name} is not described")
        found[name] = Block(name, first.removeprefix("-- "), rest.strip())
    return found


def statement(package: str, path: str, name: str) -> LiteralString:
    """Return the text of one named block."""
    return blocks(package, path)[name].text


def split(text: str) -> list[str]:
    """Return the single statements of a script, each with the comments before it, without semicolons."""
    found: list[str] = []
    start = 0
    for token in TOKEN.finditer(text):
        if token["atomic"]:
            raise ValueError("a body written as BEGIN ATOMIC cannot be split: quote it with $$")
        if token["end"]:
            found.append(text[start : token.start()].strip())
            start = token.end()
    found.append(text[start:].strip())
    return [piece for piece in found if TOKEN_FREE.sub("", piece).strip()]


TOKEN_FREE = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)

"""`ostinato init` writes a small project that runs and has a test."""

import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated

from ostinato._core.base.errors import InvalidInput
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument
from ostinato._faces.cli.frame.verbs import commands

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
FILES = ("pyproject.toml", "jobs.py", "test_jobs.py", "README.md", ".gitignore")


def init(cli: Cli, *, name: Annotated[str, argument("NAME", "Its name, and that of the new folder.")]) -> None:
    """Write a small project that runs and has a test, into a new folder.

    Nothing that is there is written over: a folder that holds one of the files is refused.

    Example: `ostinato init shop`
    """
    if NAME.fullmatch(name) is None:
        raise InvalidInput(
            f"{name!r} is no name for a project", hint="Use small letters, digits and _, from a letter on: shop."
        )
    folder = Path.cwd() / name
    there = [file for file in FILES if (folder / file).exists()]
    if there:
        raise InvalidInput(f"{folder} holds {', '.join(there)}", hint="Choose another name, or move them away.")
    folder.mkdir(exist_ok=True)
    for file in FILES:
        text = Template(_template(file)).substitute(name=name)
        with (folder / file).open("x", encoding="utf-8") as made:
            made.write(text)
    steps = [f"cd {name}", "pip install -e '.[dev]'", "pytest", "ostinato worker --app jobs:app --reload"]
    cli.out.show({"folder": str(folder), "files": list(FILES), "next": steps}, f"{name}/ has {', '.join(FILES)}")
    if not cli.out.json:
        cli.out.note("\n".join(["Next:", *(f"  {step}" for step in steps)]))  # a line each, to be copied


def _template(file: str) -> str:
    place = resources.files("ostinato._faces.cli.operate") / "project" / f"{file.lstrip('.')}.txt"
    return place.read_text(encoding="utf-8")


register = commands(init)

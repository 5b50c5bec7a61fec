"""Finds the schema of a function of the engine: tests call helpers as they call verbs."""

import re
from functools import cache, lru_cache
from importlib.resources import files

from ostinato._core.db import call

__all__ = ["call_text", "internal_functions"]


@cache
def internal_functions() -> frozenset[str]:
    """The helpers, as the files of the engine create them."""
    folder = files("ostinato._core.engine").joinpath("sql", "functions")
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")]
    made = re.findall(r"^create function (ostinato\w*)\.(\w+)", "\n".join(texts), re.MULTILINE)
    # A verb and the helper that does its work may have one name: the verb is meant.
    return frozenset(name for _, name in made) - {name for schema, name in made if schema == "ostinato"}


@lru_cache(maxsize=1024)
def call_text(function: str, names: tuple[str, ...]) -> bytes:
    """As `ostinato._core.db.call.text_of`, which knows the verbs only, for a helper too."""
    text = call.text_of(function, names)
    if function not in internal_functions():
        return text
    return text.replace(b'"ostinato".', b'"ostinato_internal".', 1)

"""Imports what an application names as "module:NAME", when somebody needs it."""

from importlib import import_module
from typing import TypeVar

from ostinato._core.base.errors import InvalidInput

T = TypeVar("T")


def named(place: str, kind: type[T]) -> T:
    """Return the object of that name, which must be of that kind."""
    module, _, name = place.partition(":")
    found = getattr(import_module(module), name, None)
    if not isinstance(found, kind):
        there = "nothing" if found is None else f"of type {type(found).__name__}"
        raise InvalidInput(
            f"{place} is {there}, not of type {kind.__name__}", hint='Write it as "package.module:NAME".'
        )
    return found

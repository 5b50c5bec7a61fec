"""Short and long forms of one test: `make test` runs the short one, `make test-faults` the rest."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

__all__ = ["first_only"]

Value = TypeVar("Value")


def first_only(values: Iterable[Value], *, each: Callable[[Value], Hashable] | None = None) -> list[ParameterSet]:
    """The values as parameters of a test: all are proofs but the first, or the first of each sort."""
    seen: set[Hashable] = set()
    found = []
    for value in values:
        sort = None if each is None else each(value)
        several = value if isinstance(value, tuple) else (value,)  # of a test with several parameters
        found.append(pytest.param(*several, marks=[pytest.mark.proof] if sort in seen else []))
        seen.add(sort)
    return found

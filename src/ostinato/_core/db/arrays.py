"""Builds the array literals of long lists, in a few calls instead of one per element.

The driver can send lists by itself, but spends more on each element than the database does on the
whole job. Use it where thousands of values are sent at once; short lists are left to the driver.
"""

from collections.abc import Iterable
from typing import Any


def numbers(values: Iterable[float | None]) -> str:
    """Write numbers as the text of a PostgreSQL array."""
    return "{" + ",".join(["NULL" if value is None else repr(value) for value in values]) + "}"


def texts(values: Iterable[str]) -> str:
    """Write texts as the text of a PostgreSQL array."""
    escaped = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(escaped) + '"}' if escaped else "{}"


def texts_or_nulls(values: Iterable[str | None]) -> str:
    """Write an array as `texts` does, where some may be missing."""
    escaped = [
        "NULL" if value is None else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values
    ]
    return "{" + ",".join(escaped) + "}"


def column(values: list[Any]) -> list[Any] | None:
    """Return a column as the verbs for many rows take it: nothing, one value for all, or one for each row."""
    first = values[0]
    if values.count(first) == len(values):
        return None if first is None else [first]
    return values

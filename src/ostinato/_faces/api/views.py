"""What the answers of the engine's routes are made of: models, pages, and JSON that others wrote.

A model reads the object of the engine that has the same fields, and its attribute docstrings are
the descriptions in the OpenAPI document. Nothing here tells the tenant: it is the caller's own.
"""

import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.convertors import Convertor, register_url_convertor

__all__ = [
    "BIGGEST",
    "MAX_NAME",
    "Before",
    "Checked",
    "JobId",
    "Json",
    "JsonObject",
    "Limit",
    "LocalTime",
    "Name",
    "Page",
    "View",
    "page_of",
    "read_json",
]

BIGGEST = 2**63 - 1
MOST_LISTED = 200
MAX_NAME = 200
MAX_DEPTH = 100
UNREADABLE = 1_000

V = TypeVar("V", bound="View")


class Digits(Convertor[str]):
    """An id in a path: what cannot be one belongs to another path, or to none.

    As text, because Python refuses to read numbers of thousands of digits.
    """

    regex = "[0-9]{1,19}"

    def convert(self, value: str) -> str:
        """The text as it is; the route's own type makes a number of it."""
        return value

    def to_string(self, value: str) -> str:
        """The same."""
        return value


register_url_convertor("digits", Digits())


class View(BaseModel):
    """What is shown of an object of the engine."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)


class Checked(BaseModel):
    """What a caller sends: nothing that is not asked for, and no text in the place of a number."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class Page(BaseModel, Generic[V]):
    """Some of a list, and where the next page begins."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    items: list[V]
    next: int | None = Field(examples=[3190000000042])
    """What `before` is for the next page; null: this is the last one."""


def page_of(
    view: type[V], rows: Sequence[object], limit: int, key: Callable[[V], int]
) -> tuple[list[V], int | None]:
    """The items of a page and its `next`, from one row more than the page holds."""
    items = [view.model_validate(row) for row in rows[:limit]]
    return items, key(items[-1]) if len(rows) > limit else None


Limit = Annotated[
    int, Query(ge=1, le=MOST_LISTED, description="How many at the most.", examples=[50])
]
Before = Annotated[
    int | None,
    Query(ge=1, le=BIGGEST, description="The `next` of the page before.", examples=[None]),
]
Name = Annotated[str | None, Query(min_length=1, max_length=MAX_NAME, examples=[None])]
JobId = Annotated[
    int, Path(ge=1, le=BIGGEST, description="The id of a job.", examples=[3190000000042])
]


def read_json(text: str | None) -> Any:  # noqa: ANN401 - whatever it says
    """A value from JSON that anybody may have written, as JSON that everybody can read.

    PostgreSQL stores what others choke on: numbers beyond all range, halves of characters, nesting
    without end. None of it may keep a job from being shown.
    """
    if text is None:
        return None
    try:
        return _readable(json.loads(text), MAX_DEPTH)
    except (ValueError, RecursionError):
        return {"unreadable": _text(text[:UNREADABLE])}


def _readable(value: object, levels: int) -> object:
    match value:
        case str():
            return _text(value)
        case float() if not math.isfinite(value):
            return None
        case dict() | list() if levels == 0:
            raise ValueError("nested too deep")
        case dict():
            return {_text(name): _readable(item, levels - 1) for name, item in value.items()}
        case list():
            return [_readable(item, levels - 1) for item in value]
    return value


def _text(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _local(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _known(value: object) -> object:
    return _readable(value, MAX_DEPTH)


Json = Annotated[Any, BeforeValidator(read_json)]
"""JSON that comes as text."""
JsonObject = Annotated[dict[str, Any], BeforeValidator(_known)]
"""An object that the driver read from JSON."""
LocalTime = Annotated[str, BeforeValidator(_local), Field(examples=["2026-03-02T08:30:00"])]
"""A wall-clock time, without a zone."""

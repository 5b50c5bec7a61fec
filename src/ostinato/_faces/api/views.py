"""Makes the answers of the engine's routes: models, pages, and JSON from outside.

    @shows(JobSummary, id=3190000000042)
    class JobItem(View): ...

A model shows an object of the engine: it has its fields, and their docstrings are the descriptions
in the OpenAPI document. None has the tenant, which is always the caller's own.
"""

import ast
import dataclasses
import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Generic, Self, TypeVar, cast, get_type_hints

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from starlette.convertors import Convertor, register_url_convertor

PREFIX = "/api/v1/engine"
BIGGEST = 2**63 - 1
MOST_LISTED = 200
MAX_NAME = 200
MAX_DEPTH = 100
UNREADABLE = 1_000

JOB = 3190000000042
KIND = "billing.send_invoice"
# Fields that mean the same wherever they are, as the document shows them.
EXAMPLES = {
    "kind": KIND,
    "queue": "mail",
    "correlation_id": "request-42",
    "job_id": JOB,
    "signature": "ConnectionError: the mail server is away",
    "worker_name": "host-1",
    "zone": "Europe/Paris",
}

V = TypeVar("V", bound="View")
P = TypeVar("P", bound="Page[Any]")


class Digits(Convertor[str]):
    """An id in a path: digits only, so that other texts match another route or none.

    As text, because Python refuses to read numbers of thousands of digits.
    """

    regex = "[0-9]{1,19}"

    def convert(self, value: str) -> str:
        """Return the text; the route's own type turns it into a number."""
        return value

    def to_string(self, value: str) -> str:
        """Format the value the same way."""
        return value


register_url_convertor("digits", Digits())


class View(BaseModel):
    """The model of an object of the engine in an answer."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)

    @classmethod
    def of(cls, **parts: object) -> Self:
        """Make the model from objects of the engine."""
        return cls.model_validate(parts)


class _Described(View):
    """The base of models whose fields are described already.

    pydantic looks for the source of a model that is made by a call in every frame of the stack, and in all modules for
    each: that was a third of the time in which the API starts.
    """

    model_config = ConfigDict(use_attribute_docstrings=False)


def shows(row: type, without: Collection[str] = (), **examples: object) -> Callable[[type[V]], type[V]]:
    """Give a model the fields of an object of the engine; those that it has itself stay."""
    described = _descriptions(row)
    left_out = {"tenant_id", *without}
    fields: dict[str, Any] = {
        name: (kind, Field(description=described.get(name), examples=_example(name, examples)))
        for name, kind in get_type_hints(row).items()
        if name not in left_out
    }

    def complete(view: type[V]) -> type[V]:
        own = {name: (field.annotation, field) for name, field in view.model_fields.items()}
        made = create_model(view.__name__, __base__=_Described, __doc__=view.__doc__, **(fields | own))
        made.model_config["use_attribute_docstrings"] = True  # for models that extend it
        return cast("type[V]", made)

    return complete


def _example(name: str, given: dict[str, object]) -> list[Any] | None:
    known = EXAMPLES | given
    return [known[name]] if name in known else None


def _descriptions(row: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass, in the words of JSON."""
    found: dict[str, str] = {}
    for each in filter(dataclasses.is_dataclass, reversed(row.__mro__)):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        for field, text in pairwise(cast("ast.ClassDef", tree).body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(said))):
                    found[name] = re.sub(r"\bNone\b", "null", inspect.cleandoc(said))
    return found


class Checked(BaseModel):
    """The model of a request: no unknown fields, and no text in place of a number."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


class Page(BaseModel, Generic[V]):
    """Some of a list, and where the next page begins."""

    items: list[V]
    next: int | None = Field(
        examples=[3190000000042], description="The `before` of the next page; null means that this is the last one."
    )


def page_of(page: type[P], rows: Sequence[object], limit: int, key: str = "id") -> P:
    """Make a page, from one row more than it holds; `key` is the field that `before` takes."""
    following = getattr(rows[limit - 1], key) if len(rows) > limit else None
    return page.model_validate({"items": rows[:limit], "next": following})


Limit = Annotated[int, Query(ge=1, le=MOST_LISTED, description="How many at the most.", examples=[50])]
Before = Annotated[int | None, Query(ge=1, le=BIGGEST, description="The `next` of the page before.", examples=[None])]
Reason = Annotated[
    str | None, Query(min_length=1, max_length=1_000, description="Why, for the audit.", examples=[None])
]
Name = Annotated[str | None, Query(min_length=1, max_length=MAX_NAME, examples=[None])]
JobId = Annotated[int, Path(ge=1, le=BIGGEST, description="The id of a job.", examples=[3190000000042])]


def read_json(text: str | bytes | None) -> Any:  # noqa: ANN401 - whatever it says
    """Read JSON from outside as a value that every client can read.

    PostgreSQL stores JSON that other programs refuse: huge numbers, lone surrogates, very deep
    nesting. None of it may keep a job from being shown.
    """
    if text is None:
        return None
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
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
"""JSON that the driver returned as text."""
JsonObject = Annotated[dict[str, Any], BeforeValidator(_known)]
"""An object that the driver read from JSON."""
LocalTime = Annotated[str, BeforeValidator(_local), Field(examples=["2026-03-02T08:30:00"])]
"""A wall-clock time, without a zone."""

"""The body of a request has the types that the document says: no text for a number, no number for a yes or no."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build

WRONG: dict[type, tuple[object, ...]] = {bool: (0, 1, "yes", "true"), int: ("5", True), float: ("5", True)}


def bodies() -> set[type[BaseModel]]:
    """The models of all requests, of the engine and of every installed application."""
    app = build(Parts(Database("host=/nowhere", "host=/nowhere", None), Settings(), apps=installed_apps()))
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    return set(models(field.field_info.annotation for route in routes for field in route.dependant.body_params))


def models(types: Iterable[Any]) -> Iterator[type[BaseModel]]:
    """The models among types, and inside of them."""
    for each in types:
        if isinstance(each, type) and issubclass(each, BaseModel):
            yield each
            yield from models(field.annotation for field in each.model_fields.values())
        yield from models(get_args(each))


def types_in(annotation: Any) -> Iterator[type]:  # noqa: ANN401 - whatever stands there
    """The plain types of an annotation."""
    if isinstance(annotation, type):
        yield annotation
    for each in get_args(annotation):
        yield from types_in(each)


def takes(model: type[BaseModel], name: str, value: object) -> bool:
    """Whether a field of a model takes a value."""
    try:
        model.__pydantic_validator__.validate_assignment(model.model_construct(), name, value)
    except ValidationError as error:
        return not any(fault["loc"][:1] in {(name,), (model.model_fields[name].alias,)} for fault in error.errors())
    return True


def test_no_field_takes_what_the_document_says_is_of_another_type() -> None:
    lax = [
        f"{model.__name__}.{name} takes {value!r}"
        for model in sorted(bodies(), key=lambda model: model.__name__)
        for name, field in model.model_fields.items()
        if str not in (sorts := set(types_in(field.annotation)))
        for sort in sorts & WRONG.keys()
        for value in WRONG[sort]
        if takes(model, name, value)
    ]

    assert lax == []


@pytest.mark.parametrize(("sort", "strict"), [(bool, True), (int, True), (bool, False), (float, False)])
def test_a_field_that_is_not_strict_is_noticed(sort: type, *, strict: bool) -> None:
    made = type("Made", (BaseModel,), {"__annotations__": {"x": sort}, "model_config": {"strict": strict}})

    assert [takes(made, "x", value) for value in WRONG[sort][:1]] == [not strict]

"""Reads what a route takes by a plan that is made once, when the route is.

FastAPI looks at the signature of a route, and at those of its dependencies, again for every request, and keeps exit
stacks for dependencies that have none: for our small routes that costs more than all else. A plan has done the looking
beforehand: which value comes from where, and what validates it (pydantic's validators, which FastAPI made).

A plan decides nothing about what is wrong. Where a request is not plainly right (a value is missing or refused, the
body is not JSON), `values` returns None before anything was called, and FastAPI does it all again, and says so. A route
that takes what a plan does not know (a form, a file, a cookie, a list, a dependency with `yield`) has none.
"""

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Self, get_args, get_origin

from fastapi import Response, params
from fastapi.datastructures import DefaultPlaceholder
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import ResponseValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, Json
from starlette.requests import Request

NO_BODY = object()
"""In the place of a body, when a request has none."""
SIMPLE = (str, int, float, bool, type(None))
EMPTY_ANSWERS = frozenset({204, 205, 304})

_Call = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A value of the path, the query or a header."""

    name: str
    alias: str
    validate: Callable[[Any], tuple[Any, list[Any]]]
    required: bool
    default: object

    @classmethod
    def of(cls, field: Any) -> Self | None:  # noqa: ANN401 - FastAPI's ModelField
        """Plan one; None if it is more than a single value with a plain default."""
        info = field.field_info
        several = _is_several(info.annotation) or any(type(each) is Json for each in info.metadata)
        named = info.validation_alias is None or isinstance(info.validation_alias, str)
        required = info.is_required()
        plain = required or (info.default_factory is None and isinstance(info.default, SIMPLE))
        if several or not named or not plain or info.validate_default or field.config:
            return None
        default = None if required else info.default
        return cls(field.name, field.validation_alias or field.alias, field.validate, required, default)


def _is_several(kind: Any) -> bool:  # noqa: ANN401 - any annotation
    """Return whether an annotation may hold a list or a model, of which one value is a part only."""
    if isinstance(kind, type):
        return issubclass(kind, (BaseModel, list, tuple, set, frozenset, dict))
    return get_origin(kind) in {list, tuple, set, frozenset, dict} or any(map(_is_several, get_args(kind)))


@dataclass(frozen=True, slots=True)
class _Node:
    """The route, or one of its dependencies."""

    call: _Call
    name: str | None
    path: tuple[_Parameter, ...]
    query: tuple[_Parameter, ...]
    header: tuple[_Parameter, ...]
    request: str | None
    shared: bool
    """Whether two that ask for it get the same, as dependencies do unless they say otherwise."""
    parts: tuple["_Node", ...]

    @classmethod
    def of(cls, dependant: Dependant) -> Self | None:
        """Plan one; None if it takes what a plan does not know."""
        strange = (
            dependant.cookie_params
            or dependant.websocket_param_name
            or dependant.http_connection_param_name
            or dependant.background_tasks_param_name
            or dependant.response_param_name
            or dependant.security_scopes_param_name
        )
        call = dependant.call
        if strange or call is None or not inspect.iscoroutinefunction(call):
            return None
        found = [
            [_Parameter.of(field) for field in fields]
            for fields in (dependant.path_params, dependant.query_params, dependant.header_params)
        ]
        parts = [None if each.body_params else cls.of(each) for each in dependant.dependencies]
        if None in parts or any(None in each for each in found):
            return None
        path, query, header = (tuple(one for one in each if one is not None) for each in found)
        known = tuple(part for part in parts if part is not None)
        return cls(call, dependant.name, path, query, header, dependant.request_param_name, dependant.use_cache, known)

    def read(self, request: Request, into: list[dict[str, Any]]) -> bool:
        """Return whether all values of this and of its parts are right; adds them in their order."""
        if not all(part.read(request, into) for part in self.parts):
            return False
        values: dict[str, Any] = {}
        into.append(values)
        asked = request.scope
        for parameters, given in (
            (self.path, asked["path_params"] if self.path else None),
            (self.query, request.query_params if self.query and asked["query_string"] else None),
            (self.header, request.headers if self.header else None),
        ):
            for each in parameters:
                value = None if given is None else given.get(each.alias)
                if value is None:
                    if each.required:
                        return False
                    values[each.name] = each.default
                    continue
                values[each.name], errors = each.validate(value)
                if errors:
                    return False
        if self.request is not None:
            values[self.request] = request
        return True

    async def solve(self, read: list[dict[str, Any]], done: dict[_Call, Any]) -> dict[str, Any]:
        """Call the dependencies with the values that were read, and return what the node itself is called with."""
        solved = [(part.name, await part.result(read, done)) for part in self.parts]
        values = read.pop(0)
        values.update((name, each) for name, each in solved if name is not None)
        return values

    async def result(self, read: list[dict[str, Any]], done: dict[_Call, Any]) -> object:
        """Call this dependency, unless another one that asks for it has done so."""
        values = await self.solve(read, done)
        if self.shared and self.call in done:
            return done[self.call]
        found: object = await self.call(**values)
        done.setdefault(self.call, found)
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """How a route reads what it takes, and writes what it answers."""

    node: _Node
    body: Any
    """The field of the body, if the route takes one."""
    answer: Any
    status: int

    @classmethod
    def of(cls, route: APIRoute) -> Self | None:
        """Make the plan of a route; None if it takes or answers what a plan does not know."""
        if not isinstance(route.response_class, DefaultPlaceholder) or route.is_sse_stream or route.is_json_stream:
            return None
        shaped = (
            route.response_model_include is not None
            or route.response_model_exclude is not None
            or route.response_model_exclude_unset
            or route.response_model_exclude_defaults
            or route.response_model_exclude_none
            or not route.response_model_by_alias
        )
        fields = route.dependant.body_params
        whole = len(fields) == 1 and not getattr(fields[0].field_info, "embed", None)
        odd_body = bool(fields) and (not whole or not _is_json_body(fields[0].field_info))
        status = route.status_code or 200
        if shaped or odd_body or status in EMPTY_ANSWERS or not (route.response_field or _is_answer(route)):
            return None
        node = _Node.of(route.dependant)
        return None if node is None else cls(node, fields[0] if fields else None, route.response_field, status)

    async def values(self, request: Request, body: object) -> dict[str, Any] | None:
        """Return what the route is called with; None if FastAPI must say what is wrong."""
        read: list[dict[str, Any]] = []
        if not self.node.read(request, read):
            return None
        if self.body is not None:
            if body is NO_BODY:
                return None
            read[-1][self.body.name], errors = self.body.validate(body)
            if errors:
                return None
        return await self.node.solve(read, {})

    async def respond(self, values: dict[str, Any]) -> Response:
        """Call the route, and return its answer."""
        found = await self.node.call(**values)
        if isinstance(found, Response):
            return found
        value, errors = self.answer.validate(found, {}, loc=("response",))
        if errors:
            raise ResponseValidationError(errors=errors, body=found)
        return Response(self.answer.serialize_json(value), self.status, media_type="application/json")


def _is_answer(route: APIRoute) -> bool:
    """Return whether a route says that it returns its answer whole."""
    said = inspect.signature(route.endpoint).return_annotation
    return isinstance(said, type) and issubclass(said, Response)


def _is_json_body(info: object) -> bool:
    return isinstance(info, params.Body) and not isinstance(info, params.Form) and info.media_type == "application/json"

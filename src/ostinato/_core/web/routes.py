"""Routers of applications: a route declares its permission and its errors.

router = Router(prefix="/v1", tags=["billing"])

@router.get("/invoices/{number}", needs=READ, raises=(NotFound,))
async def show(caller: Who, number: int) -> Invoice: ...

A route without `needs` is open to everybody, and must declare that: `public=True`. Its callers are
counted by their address, unless it is `uncounted`.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import nullcontext
from functools import partial, wraps
from typing import Any, TypeVar, get_type_hints

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from ostinato._core.base.errors import InvalidInput, OstinatoError, TooManyRequests
from ostinato._core.runtime.replica import showing
from ostinato._core.web.caller import Who, authenticated, count_stranger
from ostinato._core.web.permissions import Permission
from ostinato._core.web.plan import NO_BODY, Plan
from ostinato._core.web.problems import responses
from ostinato._core.web.strict import StrictRequest

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

LARGE_BODY = 65_536
"""Bytes of JSON that are read at once, though others wait."""
LONGEST_VALUE = 100
"""Characters of a part of the path that the log line of a request shows."""
MOST_NAMED = 10
LAG_HEADER = "ostinato-replica-lag"
"""How many seconds behind the replica is that an answer was read from; without it, it is the primary's."""
PERMISSION = "x-permission"
CHECKED = "ostinato.checked"
"""Where a request stands for FastAPI, once its caller and its body are known to be good."""
JSON = "application/json"
SCHEME = "key"
SCHEMES = {
    SCHEME: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "API key or JWT",
        "description": "An API key (`ostinato keys create`), or a token of the configured issuer.",
    }
}
"""How callers authenticate, for the OpenAPI document."""


class Route(APIRoute):
    """A route that authenticates its caller, and reads JSON strictly.

    Both happen before FastAPI's own work: a caller without permission learns nothing about the
    request, and a dependency for each would cost more than all of it. What it takes is then read by a plan (`plan`).
    """

    needs: Permission | None = None
    uncounted: bool = False
    max_body_bytes: int | None = None
    """The largest body that it takes, if that is more than other routes take."""
    line: tuple[str, ...] = ()
    """Fields that the log line of its requests has, beside those of all."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as APIRoute
        super().__init__(*args, **options)
        self._known = sorted(set(_parameters_of(self.dependant)))
        self._plan = Plan.of(self)
        self._by_fastapi = self.app
        self.app = self._serve

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's own handler, for a request whose caller and body are known to be good."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            checked = request.scope[CHECKED]
            return await self._showing(checked, lambda: handler(checked))

        return handle

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request: by the plan, or by FastAPI where there is none, or where it finds something wrong."""
        request = scope[CHECKED] = StrictRequest(scope, receive)
        body = await self._check(request)
        values = None
        if self._plan is not None:
            values = await self._plan.values(request, body)
        if self._plan is None or values is None:
            request.__dict__.pop("_json", None)  # validators of the plan may have changed what they refused
            await self._by_fastapi(scope, receive, send)
            return
        answer = await self._showing(request, partial(self._plan.respond, values))
        await answer(scope, receive, send)

    async def _check(self, request: StrictRequest) -> object:
        """Authenticate the caller, and read the body strictly; returns the body, if it is JSON by its name too."""
        if self.line:
            given = {name: str(value)[:LONGEST_VALUE] for name, value in request.path_params.items()}
            note_line(request, **{name: given.get(name) for name in self.line})
        if self.needs is not None:
            self.needs.check((await authenticated(request)).roles)
            if request.scope["query_string"]:
                _check_parameters(request, self._known)
        elif not self.uncounted:
            count_stranger(request)
        if self.body_field is None:
            return NO_BODY
        kind = await request.check_media_type()
        if not (size := len(await request.body())):
            return NO_BODY
        body = await _read(request, size)  # FastAPI would join all faults into one message
        return body if kind == JSON else NO_BODY

    async def _showing(self, request: Request, answer: Callable[[], Awaitable[Response]]) -> Response:
        """Answer; what only reads may read from the replica."""
        if "GET" not in (self.methods or ()):
            return await answer()
        found, lag = await showing(answer)
        note_lag_of(request, lag)
        return found


async def _read(request: StrictRequest, size: int) -> object:
    """Read the JSON of a body; of large ones, which hold the event loop for long, one after the other."""
    if size <= LARGE_BODY:
        return await request.json()
    state, caller = request.app.state, getattr(request.state, "caller", None)
    weigh = getattr(getattr(state, "authenticate", None), "weigh", None)
    async with getattr(state, "large_body", nullcontext()):
        if caller is not None and weigh is not None:
            weigh(request, caller, size)
        body: object = await request.json()
        await asyncio.sleep(0)  # what waits for the loop comes before the next
    return body


def _parameters_of(dependant: Dependant) -> Iterator[str]:
    """Yield the names that a route reads from the query, its dependencies included."""
    for field in dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):  # all parameters as one model
            yield from (each.alias or name for name, each in kind.model_fields.items())
        else:
            yield field.alias
    for each in dependant.dependencies:
        yield from _parameters_of(each)


def _check_parameters(request: Request, known: list[str]) -> None:
    """Refuse parameters that the route does not have: a filter with a typing error would match everything.

    Public routes take any: others write their addresses, and add to them.
    """
    if unknown := sorted(set(request.query_params) - set(known)):
        raise InvalidInput(
            f"there is no parameter {', '.join(repr(name[:LONGEST_VALUE]) for name in unknown[:MOST_NAMED])} here",
            hint=f"Parameters: {', '.join(known)}." if known else "This route has no parameters: leave it out.",
            parameters=known,
        )


def note_lag_of(request: Request, lag: float | None) -> None:
    """Say in the answer how many seconds the replica is behind that it was read from."""
    if lag is not None:
        request.scope["state"].setdefault("extra_headers", {})[LAG_HEADER] = f"{lag:.1f}"


def note_line(request: Request, **fields: object) -> None:
    """Add fields to the log line of a request: what it turned out to be about."""
    request.scope.setdefault("state", {}).setdefault("line", {}).update(fields)


def _handed_its_caller(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return the endpoint without its parameter for the caller (`Who`), which the route knows already.

    As a dependency of FastAPI it would be solved for every request, for a tenth of the time of a request.
    """
    hints = get_type_hints(endpoint, include_extras=True)
    caller = next((name for name, hint in hints.items() if hint == Who), None)
    if caller is None or not inspect.iscoroutinefunction(endpoint):
        return endpoint
    whole = inspect.signature(endpoint)
    given = whole.parameters
    own = next((name for name in given if hints.get(name) is Request), None)
    request = own or "request_of_caller"

    @wraps(endpoint)
    async def handed(**values: Any) -> Any:  # noqa: ANN401 - as the endpoint
        asked: Request = values[request] if own else values.pop(request)
        values[caller] = asked.scope["state"]["caller"]
        return await endpoint(**values)

    kept = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, each in given.items()
        if name != caller
    ]
    if own is None:
        kept.append(inspect.Parameter(request, inspect.Parameter.KEYWORD_ONLY, annotation=Request))
    handed.__signature__ = whole.replace(parameters=kept)  # type: ignore[attr-defined]  # what FastAPI reads
    return handed


class Router(APIRouter):
    """An `APIRouter` whose routes have a permission, and their error answers in the document."""

    def __init__(self, *, line: tuple[str, ...] = (), **options: Any) -> None:  # noqa: ANN401 - as APIRouter
        """`line` names fields that the log line of each request has; a part of the path fills its own."""
        super().__init__(route_class=Route, **options)
        self._line = line

    def route_of(  # noqa: D417 - the others are those of APIRouter
        self,
        method: str,
        path: str,
        *,
        needs: Permission | None = None,
        public: bool = False,
        uncounted: bool = False,
        raises: tuple[type[OstinatoError], ...] = (),
        max_body_bytes: int | None = None,
        **options: Any,  # noqa: ANN401 - as APIRouter
    ) -> Callable[[Endpoint], Endpoint]:
        """Make a function the route of a method and a path.

        Args:
            needs: the permission that a caller must have
            public: everybody may call it, each address so many times a minute (`api_public_rate_per_minute`)
            uncounted: any number of times, as the health of a process
            raises: errors of its own, for the OpenAPI document
            max_body_bytes: a larger body than `api_max_body_bytes` allows others
        """
        if (needs is None) is not public:
            raise TypeError(f"{method} {path} says either which permission it needs, or public")
        if max_body_bytes is not None and "{" in f"{self.prefix}{path}":
            # The front counts before routes are looked up, so it knows paths, not patterns.
            raise TypeError(f"{method} {path} has parameters, so it takes no larger body")
        extra = options.pop("openapi_extra", {})
        if needs is not None:
            said = {"name": needs.name, "roles": list(needs.roles)}
            extra = extra | {PERMISSION: said, "security": [{SCHEME: []}]}
        if public and not uncounted:
            raises = (*raises, TooManyRequests)
        known = responses(*raises, body=method in {"POST", "PUT", "PATCH"}, usual=not public)
        declare = self.api_route(
            path,
            methods=[method],
            responses=known | options.pop("responses", {}),
            openapi_extra=extra or None,
            **options,
        )

        def decorate(endpoint: Endpoint) -> Endpoint:
            declare(endpoint if needs is None else _handed_its_caller(endpoint))
            made = self.routes[-1]
            assert isinstance(made, Route)  # noqa: S101 - the class of our routes
            made.needs = needs
            made.uncounted = uncounted
            made.max_body_bytes = max_body_bytes
            made.line = self._line
            return endpoint

        return decorate

    def get(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("GET", path, **options)

    def post(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("POST", path, **options)

    def put(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 - as route_of
        return self.route_of("DELETE", path, **options)

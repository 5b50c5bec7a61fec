"""Builds the API as one FastAPI application, from the installed applications.

app = build(Parts(database, settings, apps=APPS))

Each application brings its router; the paths are its own. What all of them share is here: the
front (`front`), authentication (`auth`), errors as problems, health, documentation. Metrics have an
address of their own (`metrics_page`).
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib import import_module
from typing import Any, cast

import psycopg
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match

from ostinato._core.base import extras
from ostinato._core.base.errors import InvalidInput, MethodRefused, NotFound, OstinatoError, RequestRefused
from ostinato._core.base.proxies import Proxies
from ostinato._core.db.sqlstate import translate
from ostinato._core.runtime.handlers.app import App
from ostinato._core.web.problems import Answered, field_errors, problem
from ostinato._core.web.routes import Route
from ostinato._faces.api import docs_http, engine_http, health
from ostinato._faces.api.auth import Authenticator
from ostinato._faces.api.directory import Directory
from ostinato._faces.api.front import Front
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.watching import watching

__all__ = ["Parts", "build", "end_streams", "routers_of"]

VERSION = "1"
ABOUT = "Durable jobs, events, schedules and the applications on them: one API."


def build(parts: Parts) -> FastAPI:
    """Make the application, ready for a server such as uvicorn."""
    authenticator = Authenticator(parts.client, parts.settings, parts.recorder)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with parts.client, authenticator, watching(parts), site:
            yield

    app = FastAPI(
        title="Ostinato",
        version=VERSION,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.parts = parts
    app.state.client = parts.client
    app.state.authenticate = authenticator
    app.state.count_stranger = authenticator.count_stranger
    app.state.large_body = asyncio.Lock()
    routers = routers_of(parts.apps)
    for router in routers:  # their own routes, not copies behind another look-up
        app.router.routes.extend(router.routes)
    site: AbstractAsyncContextManager[object] = nullcontext()
    if not extras.missing("console"):
        from ostinato._faces.console import mount  # noqa: PLC0415 - its extra may be missing

        site = mount.mount(app, parts, authenticator.tokens)
    docs_http.mount(app)
    docs_http.describe(app)
    app.router.routes.insert(0, Directory(app.router.routes))
    _add_errors(app, routers)
    app.add_middleware(
        Front,
        recorder=parts.recorder,
        max_body_bytes=parts.settings.api_max_body_bytes,
        larger=_larger(routers),
        proxies=Proxies.parse(parts.settings.api_trusted_proxies),
        prefix=parts.settings.api_path_prefix,
    )
    return app


def end_streams(app: FastAPI) -> None:
    """End the streams of events: they would last as long as their tabs, or their jobs, do."""
    app.state.parts.followers.end()
    site = getattr(app.state, "site", None)
    if site is not None:
        site.live.stop()


def routers_of(apps: Sequence[App]) -> list[APIRouter]:
    """Return all routers: our own, and those that applications have by `App(http="module:NAME")`."""
    own = [health.router, docs_http.router, engine_http.router]
    places = [app.http.partition(":") for app in apps if app.http is not None]
    return [*own, *(getattr(import_module(module), name) for module, _, name in places)]


def _larger(routers: Sequence[APIRouter]) -> dict[tuple[str, str], int]:
    """Return the size limits of routes that take more than `api_max_body_bytes`, by method and path."""
    return {
        (method, route.path): route.max_body_bytes
        for router in routers
        for route in router.routes
        if isinstance(route, Route) and route.max_body_bytes is not None
        for method in route.methods or ()
    }


def _add_errors(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    def answer(request: Request, error: OstinatoError, **more: Any) -> Response:  # noqa: ANN401 - as problem
        request.state.error_code = type(error).code
        return problem(error, instance=request.url.path, **more)

    async def ours(request: Request, error: Exception) -> Response:
        return answer(request, cast("OstinatoError", error))

    async def of_database(request: Request, error: Exception) -> Response:
        refusal = translate(cast("psycopg.Error", error))
        if not isinstance(refusal, OstinatoError):
            raise error
        return answer(request, refusal)

    async def invalid(request: Request, error: Exception) -> Response:
        faults = field_errors(cast("RequestValidationError", error).errors())
        said = "; ".join(f"{fault.field}: {fault.message}" for fault in faults[:5])
        return answer(request, InvalidInput(f"the request is not valid: {said}"), errors=faults)

    async def http(request: Request, error: Exception) -> Response:
        raised = cast("HTTPException", error)
        headers = dict(raised.headers or {})
        path = request.url.path
        match raised.status_code:
            case 404:
                refusal: OstinatoError = NotFound(
                    f"there is nothing at {path[:200]}", hint="/docs lists what there is."
                )
            case 405:
                refusal = MethodRefused(f"{path[:200]} does not take {request.method}")
                headers["Allow"] = ", ".join(_allowed(request, routers))
            case _:
                refusal = RequestRefused(str(raised.detail))
        lost_page = getattr(request.app.state, "lost_page", None)
        page: Response | None = lost_page and await lost_page(request, refusal, raised.status_code)
        return page or answer(request, refusal, status=raised.status_code, headers=headers)

    async def answered(request: Request, error: Exception) -> Response:
        found = cast("Answered", error)
        request.state.error_code = found.code
        return found.response

    app.add_exception_handler(OstinatoError, ours)
    app.add_exception_handler(psycopg.Error, of_database)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Answered, answered)


def _allowed(request: Request, routers: Sequence[APIRouter]) -> list[str]:
    """Return the methods that the path of a request has in the document: each may be a route of its own.

    `/schedules/{name}/pause` could also be a schedule whose name ends so; the longest template is meant.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for route in (route for router in routers for route in router.routes):
        if isinstance(route, APIRoute) and route.matches(request.scope)[0] is not Match.NONE:
            found[re.sub("{[^{}]*}", "", route.path)] |= route.methods or set()
    return sorted(found[max(found, key=len)]) if found else []

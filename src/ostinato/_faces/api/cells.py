"""One API process for several cells: each request goes to the application of the cell that it belongs to.

    POST …/console/sign-in       the cell that knows the key of the form, whichever page it was typed on
    /cells/two/…                 the cell that the address names: its API and its console
    Authorization: Bearer ost_…  the cell that knows the key: the one where the tenant lives
    a token (JWT)                the cell where the tenant lives that it names; a token that is not good asks no cell
    /health/ready                home, or while it is away another cell that answers
    anything else                home

A cell that is away is a 503 for its own tenants only: the others are asked in its place. Where none of them knows a key
nobody can tell whether it is good, and the answer is that of the cell that is away.

Each cell has an application of its own (`server.build`) with its own connections, sessions and caches, so nothing of
one cell is seen, or waits, in another. While a tenant moves its cell answers 503 with Retry-After: nothing was done.
The next request of that key asks the other cells first: both know it from the load on until its rows are removed.
"""

import dataclasses
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ostinato._core.base.cellmap import STEP, CellMap
from ostinato._core.base.errors import OstinatoError
from ostinato._core.engine import clock, keys
from ostinato._core.runtime.cells import Cells, first_to
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.api.auth import KEY_PREFIX, MOST_HEADER, MOST_KNOWN, Authenticator, bearer
from ostinato._faces.api.metrics_page import PATH, MetricsPage
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.ratelimit import Bounded
from ostinato._faces.api.server import build, end_streams

PREFIX = "/cells/"
SIGN_IN = "/console/sign-in"
READY = "/health/ready"
PLACE_CONNECTIONS = 2
PLACE_SECONDS = 2.0
"""A request may go for so long to the cell that its tenant has left."""
LARGEST_FORM = 65_536
MOST_FIELDS = 500


class CellsApi:
    """The applications of all cells, as one."""

    def __init__(self, found: CellMap, apps: Sequence[App], *, watches: bool = False) -> None:
        self._home = found.home
        self._numbers = {cell.number: name for name, cell in found.cells.items()}
        self.cells = Cells(found, max_size=PLACE_CONNECTIONS, role="cells", known_seconds=PLACE_SECONDS)
        self.parts: dict[str, Parts] = {}
        self.apps: dict[str, FastAPI] = {}
        for name, cell in found.cells.items():
            own = dataclasses.replace(cell.settings, api_path_prefix=f"{cell.settings.api_path_prefix}{PREFIX}{name}")
            self.parts[name] = Parts(Database.configured(own), own, apps=apps, watches=watches, cells=found, cell=name)
            self.apps[name] = build(self.parts[name])
        self._knew: Bounded[str, str] = Bounded(MOST_KNOWN)
        self._left: Bounded[str, str] = Bounded(MOST_KNOWN)
        """By key, the cell that could not serve it the last time."""
        self._above = found.cells[found.home].settings.api_path_prefix

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the connections of all cells."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.cells)
            for app in self.apps.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    def end_streams(self) -> None:
        """End the streams of events of all cells."""
        for app in self.apps.values():
            end_streams(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its cell, by the path that it has there."""
        if scope["type"] != "http":
            await self.apps[self._home](scope, receive, send)
            return
        path = scope["path"].removeprefix(self._above)
        named, rest = _split(path)
        if named not in self.apps:
            named, rest = "", path
        if scope["method"] == "POST" and rest == SIGN_IN:
            body, receive = await _peeked(receive)
            name = await self._signing_in(_key_of(body), scope, named or self._home)
        else:
            name = named or await self._cell_of(rest, scope)
        if not named:
            send = self._noting(send, scope, name)
        await self.apps[name]({**scope, "path": rest or "/"}, receive, send)

    async def _cell_of(self, path: str, scope: Scope) -> str:
        if path == READY:
            return (await first_to(self._beginning_with(self._home), self._answers))[0] or self._home
        try:
            text = bearer(_authorization(scope))
            return await (self._knowing if text.startswith(KEY_PREFIX) else self._named_in)(text, scope)
        except OstinatoError:  # home answers: without a key, with a wrong one, or that a cell cannot be asked
            return self._home

    async def _signing_in(self, text: str, scope: Scope, here: str) -> str:
        """Return the cell whose console takes what was typed; where none does, the page that was asked says so."""
        try:
            return await (self._knowing if text.startswith(KEY_PREFIX) else self._named_in)(text, scope, here)
        except OstinatoError:
            return here

    async def _knowing(self, text: str, scope: Scope, otherwise: str = "") -> str:
        """Return the cell that knows a key: first the one that knew it last, or made it."""
        named = keys.TEXT.fullmatch(text)
        if named is None:
            return otherwise or self._home
        number = named[1]
        maker = self._numbers.get(int(number) % STEP, self._home)
        first = self._knew.get(number, maker)
        left = self._left.pop(number, None)
        request = Request(scope)

        async def knows(name: str) -> bool:
            authenticator: Authenticator = self.apps[name].state.authenticate
            return await authenticator.knows(text, request)

        found, away = None, list[str]()
        if left is not None:
            found, away = await first_to([name for name in self._beginning_with(first) if name != left], knows)
        if found is None:
            found, away = await first_to(self._beginning_with(first), knows)
        if found is None:
            return away[0] if away else otherwise or maker
        if found != first:
            self._knew.keep(number, found)
        return found

    def _noting(self, send: Send, scope: Scope, name: str) -> Send:
        """Remember of a key that its cell could not serve it: its tenant may live in another one by now."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
                with suppress(OstinatoError):
                    if (key := keys.TEXT.fullmatch(bearer(_authorization(scope)))) is not None:
                        self._left.keep(key[1], name)
            await send(message)

        return noting

    def _beginning_with(self, first: str) -> list[str]:
        return sorted(self.apps, key=lambda name: name != first)

    async def _answers(self, name: str) -> bool:
        async with self.parts[name].client.connection() as conn:
            await clock.now(conn)
        return True

    async def _named_in(self, token: str, scope: Scope, _otherwise: str = "") -> str:
        """Return the cell of the tenant that a token names. Only a good one is asked for: a stranger writes any."""
        authenticator: Authenticator = self.apps[self._home].state.authenticate
        return await self.cells.where(await authenticator.tenant_of(token, Request(scope)))


def _authorization(scope: Scope) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == b"authorization"]


def _split(path: str) -> tuple[str, str]:
    """Return the cell that a path names, and the path there."""
    name, slash, rest = path.removeprefix(PREFIX).partition("/") if path.startswith(PREFIX) else ("", "", "")
    return name, slash + rest


async def _peeked(receive: Receive) -> tuple[bytes, Receive]:
    """Read the body of a form, and return it with what gives the same once more. What is too long is not read on."""
    messages, body = list[Message](), b""
    while not messages or (messages[-1].get("more_body", False) and len(body) <= LARGEST_FORM):
        messages.append(await receive())
        body += messages[-1].get("body", b"")

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return body, again


def _key_of(form: bytes) -> str:
    """Return the key that a form has; "" if it has none, or is none."""
    try:
        return dict(parse_qsl(form.decode(), max_num_fields=MOST_FIELDS)).get("key", "").strip()[:MOST_HEADER]
    except ValueError:
        return ""


def metrics_of(api: CellsApi, home: str) -> Starlette:
    """Make the metrics pages: the home's at /metrics, each at /cells/NAME/metrics."""
    pages = {name: MetricsPage(parts) for name, parts in api.parts.items()}

    async def show(request: Request) -> Response:
        name = request.path_params.get("cell", home)
        return await pages[name].read() if name in pages else Response("There is no such cell.\n", 404)

    routes = [Route(path, show, methods=["GET"]) for path in (PATH, f"{PREFIX}{{cell}}{PATH}")]
    return Starlette(routes=routes)

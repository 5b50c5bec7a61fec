"""One API process for several cells: each request goes to the application of the cell that it belongs to.

    /cells/two/…                 the cell that the address names: its API and its console
    Authorization: Bearer ost_…  the cell that knows the key: the one where the tenant lives
    a token (JWT)                the cell where the tenant lives that the token names; the cell itself checks the token
    anything else                home

Each cell has an application of its own (`server.build`) with its own connections, sessions and caches, so nothing of
one cell is seen, or waits, in another. While a tenant moves its cell answers 503 with Retry-After: nothing was done.
"""

import base64
import binascii
import dataclasses
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ostinato._core.base.cellmap import STEP, CellMap
from ostinato._core.base.errors import OstinatoError
from ostinato._core.runtime.cells import Cells
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.api.auth import KEY_PREFIX, Authenticator, bearer
from ostinato._faces.api.metrics_page import PATH, MetricsPage
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build, end_streams

PREFIX = "/cells/"
PLACE_CONNECTIONS = 2


class CellsApi:
    """The applications of all cells, as one."""

    def __init__(self, found: CellMap, apps: Sequence[App], *, watches: bool = False) -> None:
        self._home = found.home
        self._numbers = {cell.number: name for name, cell in found.cells.items()}
        self.cells = Cells(found, max_size=PLACE_CONNECTIONS, role="cells")
        self.parts: dict[str, Parts] = {}
        self.apps: dict[str, FastAPI] = {}
        for name, cell in found.cells.items():
            own = dataclasses.replace(cell.settings, api_path_prefix=f"{cell.settings.api_path_prefix}{PREFIX}{name}")
            self.parts[name] = Parts(Database.configured(own), own, apps=apps, watches=watches, cells=found, cell=name)
            self.apps[name] = build(self.parts[name])
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
        """Hand a request to its cell."""
        name = await self._cell_of(scope) if scope["type"] == "http" else self._home
        await self.apps[name](scope, receive, send)

    async def _cell_of(self, scope: Scope) -> str:
        path = scope["path"].removeprefix(self._above)
        named = path.removeprefix(PREFIX).partition("/")[0] if path.startswith(PREFIX) else ""
        if named in self.apps:
            return named
        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"authorization"]
        try:
            text = bearer(given)
            return await (self._knowing if text.startswith(KEY_PREFIX) else self._named_in)(text, scope)
        except OstinatoError:  # home answers: without a key, with a wrong one, or that a cell cannot be asked
            return self._home

    async def _knowing(self, text: str, scope: Scope) -> str:
        """Return the cell that knows a key: first the one that made it."""
        number = text.removeprefix(KEY_PREFIX).partition("_")[0]
        maker = self._numbers.get(int(number) % STEP, self._home) if number.isdigit() else self._home
        request = Request(scope)
        for name in sorted(self.apps, key=lambda each: each != maker):
            authenticator: Authenticator = self.apps[name].state.authenticate
            if await authenticator.knows(text, request):
                return name
        return maker

    async def _named_in(self, token: str, _: Scope) -> str:
        """Return the cell of the tenant that a token names, unchecked: its cell checks it."""
        part = token.split(".")[1:2]
        try:
            claims = json.loads(base64.urlsafe_b64decode(part[0] + "=" * (-len(part[0]) % 4)))
            tenant = claims[self.parts[self._home].settings.oidc_tenant_claim]
        except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
            return self._home
        return await self.cells.where(tenant) if isinstance(tenant, str) and tenant else self._home


def metrics_of(api: CellsApi, home: str) -> Starlette:
    """Make the metrics pages: the home's at /metrics, each at /cells/NAME/metrics."""
    pages = {name: MetricsPage(parts) for name, parts in api.parts.items()}

    async def show(request: Request) -> Response:
        name = request.path_params.get("cell", home)
        return await pages[name].read() if name in pages else Response("There is no such cell.\n", 404)

    routes = [Route(path, show, methods=["GET"]) for path in (PATH, f"{PREFIX}{{cell}}{PATH}")]
    return Starlette(routes=routes)

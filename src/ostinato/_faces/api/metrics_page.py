"""Serves `/metrics` on an address of its own: figures of engine, applications and this process.

The page needs no key, because Prometheus is asked to need none; so it is not on the API's address,
and its own is one of this machine unless `api_metrics_host` says otherwise. No label holds what a
tenant made up. One snapshot a second serves all readers, however many there are: reading the page
costs the database and the API's callers nothing.
"""

import asyncio
import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ostinato._core.base.errors import OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import REPLICA_LAG, Recorder
from ostinato._core.base.prometheus import render
from ostinato._core.engine import observe
from ostinato._core.runtime.observe import figures
from ostinato._core.runtime.replica import showing
from ostinato._faces.api.counts import BY_PROCESS, Counts
from ostinato._faces.api.parts import Parts

log = get_logger("metrics")

PATH = "/metrics"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FRESH_SECONDS = 1.0


class MetricsPage:
    """The page, and when it was made."""

    def __init__(
        self, parts: Parts, counts: Counts | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`counts`: those of all processes, where several share the page."""
        self._parts = parts
        self._counts = counts
        self._clock = clock
        self._page: Response | None = None
        self._fresh_until = 0.0
        self._making: asyncio.Task[Response] | None = None

    async def read(self) -> Response:
        """Return the page; one that was made within the last second is given again."""
        if self._page is not None and self._clock() < self._fresh_until:
            return self._page
        if self._making is None:
            self._making = asyncio.create_task(self._make())
        # One for all who wait; it goes on although one of them leaves.
        return await asyncio.shield(self._making)

    async def _make(self) -> Response:
        try:
            self._page = await self._snapshot()
        finally:
            self._fresh_until = self._clock() + FRESH_SECONDS
            self._making = None
        return self._page

    async def _snapshot(self) -> Response:
        parts = self._parts
        try:
            (engine, theirs), lag = await showing(self._read)
        except OstinatoError as error:
            log.warning("metrics_not_read", error_code=type(error).code)
            return PlainTextResponse(f"{error.message}\n", 503)
        if lag is not None:
            engine.set(REPLICA_LAG, lag)
        recorders = [engine, *theirs.recorders, parts.recorder]
        if self._counts is None:
            return Response(render(recorders, theirs.metrics), media_type=MEDIA_TYPE)
        recorders.append(await self._counts.gathered(parts.recorder))
        return Response(render(recorders, theirs.metrics, BY_PROCESS), media_type=MEDIA_TYPE)

    async def _read(self) -> tuple[Recorder, figures.Shown]:
        parts = self._parts
        async with parts.client.reading() as conn:
            return await observe.record(conn), await figures.ask(conn, parts.apps, parts.recorder)


def metrics_app(parts: Parts, counts: Counts | None = None) -> Starlette:
    """Make the application that serves the page, for a server of its own."""
    page = MetricsPage(parts, counts)

    async def show(_: Request) -> Response:
        return await page.read()

    return Starlette(routes=[Route(PATH, show, methods=["GET"])])

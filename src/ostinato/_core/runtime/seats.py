"""Seats of tenants at the connections of a process: one tenant takes some of them, and never all.

A request that waits for a seat holds no connection, so a tenant that asks for much at once is slower itself, and
nobody else is. A request takes one seat at the connections of a client, however many transactions it opens one inside
the other; those of another client have seats of their own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ostinato._core.base.errors import TooManyRequests

RETRY_SECONDS = 5
_held: ContextVar[tuple["Seats", ...]] = ContextVar("held", default=())
"""Where this request has a seat already."""


@dataclass(slots=True)
class _Bench:
    """The seats of one tenant, and how many are here, seated or waiting."""

    free: asyncio.Semaphore
    here: int = 0


class Seats:
    """The seats of a process."""

    def __init__(self, most: int, seconds: float) -> None:
        """`most` are the seats of a tenant, `seconds` the longest that anybody waits for one."""
        self._most = most
        self._seconds = seconds
        self._benches: dict[str, _Bench] = {}

    @asynccontextmanager
    async def taken(self, tenant_id: str) -> AsyncIterator[None]:
        """Wait for a seat of a tenant, and hold it; raises `TooManyRequests`."""
        if self in _held.get():
            yield
            return
        bench = self._benches.setdefault(tenant_id, _Bench(asyncio.Semaphore(self._most)))
        bench.here += 1
        try:
            await self._wait(bench)
            token = _held.set((*_held.get(), self))
            try:
                yield
            finally:
                bench.free.release()
                _held.reset(token)
        finally:
            bench.here -= 1
            if not bench.here:
                del self._benches[tenant_id]

    async def _wait(self, bench: _Bench) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await bench.free.acquire()
        except TimeoutError:
            raise TooManyRequests(
                f"{self._most} requests of this tenant are being answered, and more wait",
                hint="Ask for less at once, or again after the seconds of the header Retry-After.",
                retry_after=RETRY_SECONDS,
            ) from None

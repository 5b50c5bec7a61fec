"""Callers who wait for jobs to end, and the one connection that wakes them.

The connection is opened when the first of them waits and stays until the client is closed. A ring may
be missed, and a pooler gives no rings at all: so each caller also asks by itself, seldom while it
listens and more often while it does not.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import psycopg

from ostinato._core.base.enderrors import StillRunning
from ostinato._core.db.call import call_now
from ostinato._core.db.foreign import Lender
from ostinato._core.db.listen import POLL_NOW, Listener
from ostinato._core.engine.ends import CHANNEL, End, watch
from ostinato._core.runtime.database import Database

WATCHED_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
LISTENING_PAUSE = 5.0


class Waiter(Protocol):
    """Something that waits for jobs: a `Client`, or a tenant's."""

    async def wait(self, job_id: int, timeout: float | None = None) -> End:  # noqa: ASYNC109 - as callers know it
        """Wait until a job has ended."""

    async def result(self, job_id: int, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - as above
        """Wait for the result of a job."""


@dataclass(frozen=True, slots=True)
class JobHandle:
    """A job and the client that waits for it. Made by `Client.job`."""

    id: int
    client: Waiter = field(repr=False)

    async def wait(self, timeout: float | None = None) -> End:  # noqa: ASYNC109 - as callers know it
        """Wait until the job has ended, well or not; raises `StillRunning` after the time."""
        return await self.client.wait(self.id, timeout)

    async def result(self, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - whatever the handler returned
        """Wait for what the handler returned; raises `JobFailed`, `JobCancelled` or, after the time, `StillRunning`."""
        return await self.client.result(self.id, timeout)


class Ends:
    """The jobs that the callers of one client wait for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._listener: Listener | None = None
        self._waiting: dict[int, list[asyncio.Event]] = {}

    async def wait(self, to: Lender, job_id: int, timeout: float | None) -> End:  # noqa: ASYNC109 - as callers know it
        """Wait until a job has ended; raises `StillRunning` after the time."""
        loop = asyncio.get_running_loop()
        over = loop.time() + timeout if timeout is not None else float("inf")
        pause = FIRST_PAUSE
        with self._woken_by(job_id) as rung:
            while True:
                rung.clear()
                async with to.connection() as conn:
                    if end := await watch(conn, job_id, WATCHED_SECONDS):
                        return end
                left = over - loop.time()
                if left <= 0:
                    raise StillRunning(
                        f"job {job_id} has not ended within {timeout:g} s", job_id=job_id, timeout=timeout
                    )
                pause = min(2 * pause, LISTENING_PAUSE if self._is_listening() else LONGEST_PAUSE)
                try:
                    async with asyncio.timeout(min(pause, left)):
                        await rung.wait()
                except TimeoutError:
                    continue

    async def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            await asyncio.to_thread(self._listener.stop)

    @contextmanager
    def _woken_by(self, job_id: int) -> Iterator[asyncio.Event]:
        rung = asyncio.Event()
        self._waiting.setdefault(job_id, []).append(rung)
        try:
            yield rung
        finally:
            self._waiting[job_id].remove(rung)
            if not self._waiting[job_id]:
                del self._waiting[job_id]

    def _is_listening(self) -> bool:
        """Return whether rings arrive; the first caller who has to wait begins to listen."""
        if self._database.listen_url is None:
            return False
        if self._listener is None:
            loop = asyncio.get_running_loop()

            def heard(payload: str) -> None:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(self._wake, payload)

            self._listener = Listener(
                self._database.listen_url,
                beat=_ask,
                beat_seconds=LISTENING_PAUSE,
                on_ring=heard,
                channel=CHANNEL,
                shared=False,
            )
            self._listener.start()
        return self._listener.connected.is_set()

    def _wake(self, payload: str) -> None:
        # Just connected: what ended until now rang for nobody.
        woken = self._waiting if payload == POLL_NOW else [int(payload)] if payload.isdecimal() else []
        for job_id in woken:
            for rung in self._waiting.get(job_id, ()):
                rung.set()


def _ask(conn: psycopg.Connection[Any]) -> None:
    """Notice a server that does not answer any more."""
    call_now(conn, "now")

"""Gives handlers what they use of a worker: transactions, steps, settings, progress.

A transaction that adds jobs or emits events wakes this worker's own claimer and relay. Other
workers find the work at their next poll, or by a ring of the relay: a busy worker does not ring
for each job.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.settings import Settings
from ostinato._core.db.idle import limit_idle, limit_idle_now, told_limit
from ostinato._core.db.limit import limited
from ostinato._core.db.pool import Pool, transaction
from ostinato._core.engine.claims import Job
from ostinato._core.engine.jobs import added_queues
from ostinato._core.runtime.database import Database, thread_transaction
from ostinato._core.runtime.handlers.shared import Shared
from ostinato._core.runtime.worker.marker import Marker
from ostinato._core.runtime.worker.saver import Saver
from ostinato._core.runtime.worker.slots import Slots

Note = Callable[[Job, float, float | None, str | None], None]


class WorkerHost:
    """The services that the contexts of a worker's jobs use (`handlers.context.Services`)."""

    def __init__(
        self,
        pool: Pool,
        database: Database,
        settings: Settings,
        saver: Saver,
        *,
        marker: Marker,
        slots: Slots,
        hear: Callable[[str], None],
        note: Note,
    ) -> None:
        self.settings = settings
        self.saver = saver
        self.marker = marker
        self.slots = slots
        self.shared = Shared()
        self._pool = pool
        self._database = database
        self._hear = hear
        self._note = note
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def transaction(self, statement_seconds: float | None = None) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction on a connection for handlers."""
        limit = statement_seconds or self.settings.statement_seconds
        idle = self.settings.transaction_idle_seconds
        added: set[str] = set()
        token = added_queues.set(added)
        try:
            await self.slots.take()
            try:
                with told_limit(idle):
                    async with transaction(self._pool, statement_seconds=limit) as conn:
                        await limit_idle(conn, idle)
                        yield conn
            finally:
                self.slots.give_back()
        finally:
            added_queues.reset(token)
        for queue in added:
            self._hear(queue)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Lend a connection for handlers, for single statements."""
        await self.slots.take()
        try:
            async with self._pool.connection() as conn:
                with limited(conn, self.settings.statement_seconds):
                    yield conn
        finally:
            self.slots.give_back()

    @contextmanager
    def transaction_in_thread(self, statement_seconds: float | None = None) -> Iterator[psycopg.Connection[Any]]:
        """Open a transaction on a connection for one plain function."""
        limit = statement_seconds or self.settings.statement_seconds
        idle = self.settings.transaction_idle_seconds
        loop = self._loop
        assert loop is not None  # noqa: S101 - handlers run after `open`
        asyncio.run_coroutine_threadsafe(self.slots.take(), loop).result()
        try:
            with told_limit(idle), thread_transaction(self._database, self._pool.seconds, limit) as conn:
                limit_idle_now(conn, idle)
                yield conn
        finally:
            loop.call_soon_threadsafe(self.slots.give_back)

    def open(self, connections: int) -> None:
        """Let handlers use so many connections at once; called in the worker's event loop."""
        self._loop = asyncio.get_running_loop()
        self.slots.most = connections

    async def set_apart(self, job: Job) -> None:
        """Give a job a claim of its own."""
        await self.marker.set_apart(job)

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        """Pass progress on to the finisher, from the loop or from a thread."""
        self._note(job, done, total, note)

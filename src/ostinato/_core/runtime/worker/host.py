"""Gives handlers what they use of a worker: transactions, steps, settings, progress.

A transaction that adds jobs or emits events wakes this worker's own claimer and relay. Other
workers find the work at their next poll, or by a ring of the relay: a busy worker does not ring
for each job.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.settings import Settings
from ostinato._core.db.pool import Pool, transaction
from ostinato._core.engine.claims import Job
from ostinato._core.engine.jobs import added_queues
from ostinato._core.runtime.database import Database, thread_transaction
from ostinato._core.runtime.handlers.shared import Shared
from ostinato._core.runtime.worker.saver import Saver

__all__ = ["WorkerHost"]

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
        worker_id: Callable[[], UUID],
        hear: Callable[[str], None],
        note: Note,
    ) -> None:
        self.settings = settings
        self.saver = saver
        self.shared = Shared()
        self.worker_id = worker_id
        self._pool = pool
        self._database = database
        self._hear = hear
        self._note = note

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction on a connection for handlers."""
        added: set[str] = set()
        token = added_queues.set(added)
        try:
            async with transaction(self._pool) as conn:
                yield conn
        finally:
            added_queues.reset(token)
        for queue in added:
            self._hear(queue)

    def transaction_in_thread(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A transaction on a connection for one plain function."""
        return thread_transaction(self._database, self._pool.seconds)

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        """Pass progress on to the finisher, from the loop or from a thread."""
        self._note(job, done, total, note)

    def wake(self, service: str) -> None:
        """Let a service of this worker tick soon."""
        self._hear(f"@{service}")

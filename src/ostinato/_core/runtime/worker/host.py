"""What a worker lends to handlers: transactions, and a word to its services when they committed.

A transaction that adds jobs or tells events wakes this worker's own claimer and relay. Others hear
of it at their next poll, or by a ring of the relay: a worker that is busy with jobs rings no bell
for each.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from ostinato._core.db.pool import Pool, transaction
from ostinato._core.engine.jobs import added_queues
from ostinato._core.runtime.database import Database, thread_transaction

__all__ = ["WorkerHost"]


class WorkerHost:
    """Transactions for handlers; `hear` is told which queues and services have something new."""

    def __init__(
        self,
        pool: Pool,
        database: Database,
        worker_id: Callable[[], UUID],
        hear: Callable[[str], None],
    ) -> None:
        self.worker_id = worker_id
        self._pool = pool
        self._database = database
        self._hear = hear

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

    def wake(self, service: str) -> None:
        """Let a service of this worker tick soon."""
        self._hear(f"@{service}")

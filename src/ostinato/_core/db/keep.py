"""Keeps one connection of a pool for a loop that uses it all the time.

Borrowing and returning a connection costs more than many calls do. After an error on the
connection it is returned, and the next call borrows another one.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from ostinato._core.db.guard import is_open
from ostinato._core.db.pool import Connection, Pool


class Keeper:
    """Keeps one connection; for one user at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._loan: AbstractAsyncContextManager[Connection] | None = None
        self._conn: Connection | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield the connection, in autocommit."""
        if self._conn is None or not is_open(self._conn) or self._pool.is_demoted(self._conn):
            await self.release()
            loan = self._pool.connection()
            self._conn = await loan.__aenter__()
            self._loan = loan  # kept once it was made: there is nothing to return of a failed one
        try:
            yield self._conn
        except BaseException:
            await self.release()
            raise

    async def release(self) -> None:
        """Give the connection back."""
        loan, self._loan, self._conn = self._loan, None, None
        if loan is not None:
            await loan.__aexit__(None, None, None)

"""Limits how long one statement may take on a connection that a handler works on.

A handler that waits for a frozen server would wait for ever: no server-side timeout fires there,
and a failover to another server is not noticed on this connection. At the limit the server is asked
to cancel the statement, and its answer tells two cases apart:

    it answers       it is alive, and the statement was too long: `QueryCanceled`
    it stays silent  it is frozen or gone: the connection is cut, `OperationalError`

Either way the connection is closed, because a late cancellation would hit its next statement.
The limit holds between BEGIN and COMMIT only: to cancel a COMMIT that waits for a standby makes
the server report success, so `transaction` guards that one by `Guard`, which cancels nothing.
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import psycopg
from psycopg.abc import PQGen

from ostinato._core.db.guard import cut

R = TypeVar("R")

ANSWER_SECONDS = 3.0
"""How long a server has to answer the request to cancel."""


class Limited(Protocol):
    """A connection whose statements may be limited."""

    statement_seconds: float | None


@contextmanager
def limited(conn: Limited, seconds: float | None) -> Iterator[None]:
    """Limit each statement inside the block; None limits nothing."""
    conn.statement_seconds = seconds
    try:
        yield
    finally:
        conn.statement_seconds = None


class _Limit:
    """What both limits have in common: how a statement that passed its limit is reported."""

    def __init__(self, conn: psycopg.BaseConnection[Any], seconds: float) -> None:
        self._conn = conn
        self._seconds = seconds
        self._asked = False
        self._silent = False

    def _cut(self) -> None:
        self._silent = True
        cut(self._conn)

    def _report(self, error: BaseException | None) -> None:
        """Close the connection and raise, if the limit was passed."""
        if not self._asked:
            return
        self._conn.pgconn.finish()
        if self._silent:
            raise psycopg.OperationalError(
                f"the server gave no answer to a statement within {self._seconds:g} s, nor to the request to cancel it"
            ) from error
        raise psycopg.errors.QueryCanceled(
            f"a statement took longer than {self._seconds:g} s; raise the setting"
            " statement_seconds, or pass statement_seconds to ctx.transaction()"
        ) from error


class StatementLimit(_Limit):
    """Limits one round trip of an asynchronous connection."""

    def __init__(self, conn: psycopg.AsyncConnection[Any], seconds: float) -> None:
        super().__init__(conn, seconds)
        self._async = conn
        self._cancelling: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._seconds, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._cancelling is not None:
            self._cancelling.cancel()
        self._report(error)

    def _ask(self) -> None:
        self._asked = True
        self._timer = self._loop.call_later(ANSWER_SECONDS, self._cut)
        self._cancelling = self._loop.create_task(self._cancel())

    async def _cancel(self) -> None:
        with contextlib.suppress(psycopg.Error, OSError):  # the timer decides, not this
            await self._async.cancel_safe(timeout=ANSWER_SECONDS)


class ThreadStatementLimit(_Limit):
    """The same for a synchronous connection, by a thread of its own."""

    def __init__(self, conn: psycopg.Connection[Any], seconds: float) -> None:
        super().__init__(conn, seconds)
        self._sync = conn
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._watch = threading.Timer(seconds, self._ask)
        self._watch.daemon = True

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.cancel()
        with self._lock:  # a watch that is just going off must not touch what comes after us
            self._over.set()
        self._report(error)

    def _ask(self) -> None:
        with self._lock:
            if self._over.is_set():
                return
            self._asked = True
        with contextlib.suppress(psycopg.Error, OSError):
            self._sync.cancel_safe(timeout=ANSWER_SECONDS)
        if not self._over.wait(ANSWER_SECONDS):
            with self._lock:
                if not self._over.is_set():
                    self._cut()


class LimitedConnection(psycopg.Connection[Any]):
    """A synchronous connection whose statements may be limited."""

    statement_seconds: float | None = None

    def wait(self, gen: PQGen[R], *args: Any, **options: Any) -> R:  # noqa: ANN401 - as psycopg
        """Run one round trip, within the limit if there is one."""
        if self.statement_seconds is None:
            return super().wait(gen, *args, **options)
        with ThreadStatementLimit(self, self.statement_seconds):
            return super().wait(gen, *args, **options)

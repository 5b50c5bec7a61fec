"""Guards one round trip: it ends in time, and a commit that was not replicated is noticed.

A frozen server keeps its kernel answering, so neither keepalives nor `tcp_user_timeout` notice
it, and server-side timeouts cannot fire. Only a timeout in the client does. When it expires the
socket is shut down: a caller that waits on it gets an error at once. Nothing is sent to the server,
because cancelling a COMMIT that waits for a standby makes it report success.
"""

import asyncio
import contextlib
import os
import select
import socket
import threading
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import BaseConnection
from psycopg.errors import Diagnostic
from psycopg.pq.abc import PGcancel

CALL_SECONDS = 10.0
LATE_SECONDS = 0.25
SECOND_CHANCE_SECONDS = 1.0

# The server raises it, as a mere warning, when the wait for a standby is cancelled. We know it by
# the C function that raises it, because the text depends on the server's language.
UNREPLICATED = "SyncRepWaitForLSN"
# The server reports these by itself, as soon as they change.
READ_ONLY = (b"default_transaction_read_only", b"in_hot_standby")


class _Seen:
    """What a guard has seen of its connection."""

    __slots__ = ("expired", "unreplicated")

    def __init__(self) -> None:
        self.expired = False
        """The time was up and the connection was cut."""
        self.unreplicated = False
        """The server gave up waiting for a synchronous standby: the commit may yet be lost."""

    def _notice(self, notice: Diagnostic) -> None:
        if notice.source_function == UNREPLICATED:
            self.unreplicated = True


class Guard(_Seen):
    """A context manager around the use of a connection; see the module."""

    __slots__ = ("_conn", "_due", "_loop", "_timer", "seconds")

    def __init__(self, conn: psycopg.AsyncConnection[Any], seconds: float = CALL_SECONDS) -> None:
        super().__init__()
        self.seconds = seconds
        self._conn = conn

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + self.seconds
        self._timer = self._loop.call_at(self._due, self._expire)
        self._conn.add_notice_handler(self._notice)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._conn.remove_notice_handler(self._notice)
        if self.expired:
            self._conn.pgconn.finish()

    def _expire(self) -> None:
        # A handler that blocked the event loop makes every timer late; the answer may have been
        # waiting in the socket all along. It gets a second to be read.
        if self._loop.time() - self._due > LATE_SECONDS:
            self._due = self._loop.time() + SECOND_CHANCE_SECONDS
            self._timer = self._loop.call_at(self._due, self._expire)
            return
        self.expired = True
        cut(self._conn)


class ThreadGuard(_Seen):
    """The same around the use of a synchronous connection, by a thread of its own."""

    def __init__(self, conn: psycopg.Connection[Any], seconds: float = CALL_SECONDS) -> None:
        super().__init__()
        self._conn = conn
        self.seconds = seconds
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._conn.add_notice_handler(self._notice)
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:  # a timer that is just going off must not cut what comes after us
            self._over = True
        self._conn.remove_notice_handler(self._notice)

    def _expire(self) -> None:
        with self._lock:
            if not self._over:
                self.expired = True
                cut(self._conn)


def can_only_read(conn: BaseConnection[Any]) -> bool:
    """Return whether the server has said that it can only read by now, as a demoted primary does.

    What only looks for work gets no error there, and would look for ever.
    """
    return not conn.closed and any(conn.pgconn.parameter_status(name) == b"on" for name in READ_ONLY)


def is_open(conn: BaseConnection[Any]) -> bool:
    """Return whether an idle connection is still open, as far as this side knows. Costs no round trip.

    Called before something is sent, to distinguish a server that went away earlier from one
    that went away in the middle of a commit.
    """
    poll = select.poll()
    try:
        poll.register(conn.pgconn.socket, select.POLLIN)
        while poll.poll(0):  # the server's farewell, then the end; or just a notification
            conn.pgconn.consume_input()
            conn.pgconn.is_busy()  # lets libpq read it, and the connection hear why it ended
    except (OSError, psycopg.Error):
        return False
    return True


def leave(conn: BaseConnection[Any]) -> None:
    """Cut a connection, and ask the server to end the statement that runs there.

    While one runs, a server notices late or never that its client is gone. If it is a COMMIT after all,
    nobody hears that it was a success. The server is asked from a thread, because it may be frozen.
    """
    try:
        request = conn.pgconn.get_cancel()
    except psycopg.Error:
        return  # it is closed already
    cut(conn)
    threading.Thread(target=_ask, args=[request], name="ostinato-cancel", daemon=True).start()


def _ask(request: PGcancel) -> None:
    with contextlib.suppress(psycopg.Error):
        request.cancel()


def cut(conn: BaseConnection[Any]) -> None:
    """Shut the socket of a connection down, whatever it is doing, from any thread."""
    try:
        fd = os.dup(conn.pgconn.socket)
    except (OSError, psycopg.Error):
        return  # it is closed already
    with socket.socket(fileno=fd) as sock:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the other side was faster

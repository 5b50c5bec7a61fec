"""A thread with a connection of its own that sends heartbeats and listens to the doorbell.

It knows nothing of jobs: every `beat_seconds` it calls `beat(conn)`, and for every notification it
calls `on_ring(payload)`. It has its own OS thread so that a program that blocks its event loop
still beats. Each use of the connection is bounded by a timer that cuts it: a frozen server is
noticed by the next beat. After each new connection `on_ring("")` says that rings may have been
missed. The LISTEN itself is shared by the processes of a host where that works (`hostbell.py`);
where it does not, each process listens for itself.
"""

import contextlib
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from ostinato._core.base.errors import OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.db.guard import cut
from ostinato._core.db.hostbell import POLL_NOW, HostBell, database_identity
from ostinato._core.db.pool import conninfo
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import sqlstate_of

__all__ = ["POLL_NOW", "Listener"]

log = get_logger("listen")

CHANNEL = "ostinato"
CALL_SECONDS = 3.0
IDLE_SECONDS = 1.0
ALONE_SECONDS = 0.2
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
READ_ONLY = "25006"


class Listener:
    """Beats and listens until it is stopped; see the module."""

    def __init__(
        self,
        url: str,
        *,
        beat: Callable[[psycopg.Connection[Any]], None],
        beat_seconds: float,
        on_ring: Callable[[str], None],
        on_idle: Callable[[], None] = lambda: None,
        listening: bool = True,
        pooled: bool = False,
        channel: str = CHANNEL,
        names: Iterable[str] | None = None,
        sort: str = "",
        shared: bool = True,
    ) -> None:
        self._conninfo = conninfo(url, "heart")
        self._prepare = {"prepare_threshold": None} if pooled else {}
        self._beat = beat
        self._beat_seconds = beat_seconds
        self._on_ring = on_ring
        self._on_idle = on_idle
        """Called about once a second, whatever happens to the database."""
        self._listening = listening
        """False means no LISTEN: the caller polls."""
        self._channel = channel
        self._bell = self._join_host(url, names, sort) if listening and shared else None
        self._heard: list[str] = []
        self._stopping = False
        self._waiting = True
        self._wake, self._wake_end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="ostinato-heart", daemon=True)
        self.connected = threading.Event()
        """Set while there is a connection."""

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Stop beating, and wait for the thread to end."""
        self._stopping = True
        self._rouse()
        if self._thread.ident is None:
            self._close()
        else:
            self._thread.join(timeout=2 * CALL_SECONDS)

    def set_waiting(self, waiting: bool) -> None:  # noqa: FBT001 - a state, not a mode
        """Set whether this process is idle: busy ones are rung last. Safe from any thread."""
        if waiting != self._waiting:
            self._waiting = waiting
            self._rouse()

    def _run(self) -> None:
        pause = 0.0
        try:
            while not self._stopping:
                try:
                    with self._connect() as conn:
                        if pause:
                            log.warning("heart_connected")
                        pause = 0.0
                        self._serve(conn)
                except (psycopg.Error, OSError) as error:
                    if not pause:
                        log.warning("heart_lost_connection", error=str(error).strip())
                    pause = min(max(FIRST_PAUSE, 2 * pause), LONGEST_PAUSE)
                self.connected.clear()
                self._rest(random.uniform(pause / 2, pause))  # noqa: S311 - spreads attempts
        finally:
            self._close()

    def _connect(self) -> psycopg.Connection[Any]:
        conn = psycopg.connect(self._conninfo, autocommit=True, **self._prepare)
        conn.add_notify_handler(lambda notice: self._heard.append(notice.payload))
        return conn

    def _serve(self, conn: psycopg.Connection[Any]) -> None:
        subscribed = False
        next_beat = time.monotonic()
        while not self._stopping:
            rings = self._in_bell(self._bell.tend) if self._bell is not None else []
            if self._listening and not subscribed and (self._bell is None or self._bell.leading):
                self._subscribe(conn)
                subscribed = True
            if not self.connected.is_set():
                self.connected.set()
                rings = [POLL_NOW]
            # Not before it listens: what is rung in between would be missed.
            self._ring(rings)
            if time.monotonic() >= next_beat:
                self._beat_once(conn)
                next_beat = time.monotonic() + self._beat_seconds
            self._wait(next_beat - time.monotonic(), conn)

    def _subscribe(self, conn: psycopg.Connection[Any]) -> None:
        text = statement("ostinato._core.db", "sql/calls.sql", "listen")
        with _bounded(conn):
            conn.execute(sql.SQL(text).format(channel=sql.Identifier(self._channel)))
        if self._bell is not None:
            self._bell.ring_all()

    def _beat_once(self, conn: psycopg.Connection[Any]) -> None:
        try:
            with _bounded(conn):
                self._beat(conn)
        except (psycopg.Error, OSError, OstinatoError) as error:
            # A primary that was demoted keeps our connection, and can do nothing for us any more.
            if conn.closed or isinstance(error, OSError) or sqlstate_of(error) == READ_ONLY:
                raise psycopg.OperationalError(f"no beat: {error}") from error
            log.warning("beat_failed", error=str(error))
        except Exception:  # the next beat may succeed; a thread that ended never beats
            log.exception("beat_failed")
        self._hear(conn)

    def _wait(self, seconds: float, conn: psycopg.Connection[Any] | None = None) -> None:
        """Wait for a notification or a message, a second at most, and handle it."""
        bell = self._bell
        if bell is not None:
            bell.set_waiting(self._waiting)
        limit = ALONE_SECONDS if bell is not None and bell.alone else IDLE_SECONDS
        poll = select.poll()
        others = bell.filenos() if bell is not None else []
        for fd in (self._wake.fileno(), *([conn.fileno()] if conn else []), *others):
            poll.register(fd, select.POLLIN)
        for fd, _ in poll.poll(max(0.0, min(seconds, limit)) * 1000):
            if fd == self._wake.fileno():
                self._wake.recv(4096)
            elif conn is not None and fd == conn.fileno():
                self._hear(conn)
            elif bell is not None:
                self._ring(self._in_bell(lambda fd=fd: bell.handle(fd)))  # type: ignore[misc]
        self._on_idle()

    def _hear(self, conn: psycopg.Connection[Any]) -> None:
        # Not by conn.notifies(): it sets up a wait for what is here already, for every ring.
        conn.pgconn.consume_input()
        while (notice := conn.pgconn.notifies()) is not None:
            self._heard.append(notice.extra.decode())
        payloads = dict.fromkeys(self._heard)
        self._heard.clear()
        self._ring(name for name in payloads if self._bell is None or self._bell.ring(name))

    def _rest(self, seconds: float) -> None:
        over = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < over:
            self._wait(over - time.monotonic())

    def _ring(self, names: Iterable[str]) -> None:
        for name in names:
            self._on_ring(name)

    def _in_bell(self, work: Callable[[], list[str]]) -> list[str]:
        try:
            return work()
        except OSError as error:
            log.warning("doorbell_no_longer_shared", error=str(error))
            if self._bell is not None:
                self._bell.close()
            self._bell = None
            return [POLL_NOW]

    def _join_host(self, url: str, names: Iterable[str] | None, sort: str) -> HostBell | None:
        try:
            return HostBell(database_identity(url, self._channel), names=names, sort=sort)
        except OSError as error:
            log.info("doorbell_not_shared", error=str(error))
            return None

    def _close(self) -> None:
        if self._bell is not None:
            self._bell.close()
        self._wake.close()
        self._wake_end.close()

    def _rouse(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_end.send(b".")


@contextmanager
def _bounded(conn: psycopg.Connection[Any]) -> Iterator[None]:
    timer = threading.Timer(CALL_SECONDS, cut, (conn,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

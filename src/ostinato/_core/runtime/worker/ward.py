"""A worker's side of its warden: it starts the warden, hands it a board, and replaces it.

There is one warden for a process, however many workers run in it; the first worker starts it. It
lives as long as the process does. Where the kernel offers no `/proc` or shared memory (anything but
Linux) there is none: then a handler that holds the GIL for longer than the expiry is taken for
dead, and one that blocks the event loop is only named.
"""

import asyncio
import atexit
import contextlib
import faulthandler
import itertools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import ostinato
from ostinato._core.base.backoff import to_json
from ostinato._core.base.log import get_logger
from ostinato._core.base.mark import MARK
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.worker import procfs
from ostinato._core.runtime.worker.board import Board
from ostinato._core.runtime.worker.warden import DUMP_SIGNAL

log = get_logger("ward")

# Without the package's own __init__, which imports the whole engine: half a second, and 40 MB.
START = """
import sys, types
package = types.ModuleType("ostinato")
package.__path__ = [sys.argv[1]]
sys.modules["ostinato"] = package
from ostinato._core.runtime.worker.warden import main
main()
"""
FAILURES_TOLD = (1, 10, 100)
END_SECONDS = 1.0
LONGEST_ECHO = 16


class Guardianship:
    """The warden of this process and the boards that it reads. Used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._heard: socket.socket | None = None
        """The line that the event loop listens to, and that signals are written to."""
        self._boards: dict[int, Board] = {}
        self._numbers = itertools.count(1)
        self._mark: str | None = None
        self._signals: list[int] = []
        self._dump = -1
        self._deaths = 0
        atexit.register(self.close)

    def close(self) -> None:
        """Let the warden end, at the end of a program that has stopped its workers."""
        with self._lock:
            line, self._line = self._line, None
            process, self._process = self._process, None
        if line is not None and process is not None:
            line.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)

    @property
    def owned(self) -> bool:
        """Whether this process is nothing but a worker, and may be ended."""
        return self._mark is not None

    @property
    def pid(self) -> int | None:
        """The process id of the warden."""
        return None if self._process is None else self._process.pid

    def own_process(self, signals: list[signal.Signals]) -> None:
        """Let the warden end this process, and with it what handlers have started.

        Called in the main thread, once, by a process that is nothing but a worker. `signals` are
        those that ask it to stop: the warden hears of them even while the GIL is held, and wakes
        the event loop, which may wait where no signal handler of Python's runs (uvloop does).
        """
        with self._lock:
            self._mark = os.environ[MARK] = secrets.token_hex(16)
            self._signals = [int(number) for number in signals]
            with contextlib.suppress(OSError, AttributeError):
                self._dump = os.memfd_create("ostinato-stacks")
                faulthandler.register(DUMP_SIGNAL, self._dump, all_threads=True)
            self._start()
            self.hear_signals()

    def hear_signals(self) -> None:
        """Let the warden hear of signals; again after it was replaced, in the event loop of the main thread."""
        with self._lock:
            line, old = self._line, self._heard
            if line is None or line is old or not self.owned:
                return
            self._heard = line
        loop = asyncio.get_running_loop()
        loop.add_reader(line, _woken, loop, line)
        signal.set_wakeup_fd(line.fileno(), warn_on_full_buffer=False)
        if old is not None:
            loop.remove_reader(old)
            old.close()

    def take(self, board: Board) -> int:
        """Put a worker under the warden; returns the number to leave it by."""
        with self._lock:
            number = next(self._numbers)
            self._boards[number] = board
            if self._process is None:
                self._start()
            else:
                self._send({"take": number}, board.fd)
            return number

    def leave(self, number: int) -> None:
        """Take a worker away from the warden."""
        with self._lock:
            self._boards.pop(number, None)
            self._send({"leave": number})

    def tend(self) -> bool:
        """Replace a warden that died; returns whether it was."""
        with self._lock:
            if self._process is None or self._process.poll() is None:
                return False
            self._deaths += 1
            if self._deaths in FAILURES_TOLD:
                log.warning("warden_died", exit_code=self._process.returncode, deaths=self._deaths)
            self._start()
            return True

    def _start(self) -> None:
        if self._line is not None and self._line is not self._heard:  # the loop closes what it listens to
            self._line.close()
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(0)
        folder = str(Path(ostinato.__file__).parent)
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-IS", "-c", START, folder, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is for the worker
                )
        except OSError as error:
            log.warning("warden_not_started", error=str(error))
            return
        self._send({"terms": self._terms()}, *([self._dump] if self._dump >= 0 else []))
        for number, board in self._boards.items():
            self._send({"take": number}, board.fd)

    def _terms(self) -> dict[str, Any]:
        leads = os.getpgrp() == os.getpid()
        return {
            "parent": os.getpid(),
            "path": sys.path,
            "owned": self.owned,
            "mark": f"{MARK}={self._mark}",
            "group": os.getpid() if leads else None,
            "signals": self._signals,
        }

    def _send(self, message: dict[str, Any], *fds: int) -> None:
        # A warden that died is replaced soon, and the next one is told everything.
        with contextlib.suppress(OSError):
            if self._line is not None:
                socket.send_fds(self._line, [json.dumps(message).encode()], fds)


@cache
def _guardianship(_pid: int) -> Guardianship:
    return Guardianship()


def guardianship() -> Guardianship:
    """Return the one of this process; a forked child has none of its parent's."""
    return _guardianship(os.getpid())


class Ward:
    """One worker under the warden of its process, from its start to its end."""

    def __init__(self, name: str, database: Database, settings: Settings, kinds: Mapping[str, JobKind[Any]]) -> None:
        self.board: Board | None = None
        self._number = 0
        self._slots = settings.concurrency
        self._of = (name, database, settings, kinds)

    def open(self) -> Board | None:
        """Show a board to the warden; None where there is no warden."""
        if not _is_possible():
            return None
        self.board = Board(self._slots, _card(*self._of))
        self._number = guardianship().take(self.board)
        return self.board

    def close(self) -> None:
        """Leave the warden."""
        board, self.board = self.board, None
        if board is not None:
            guardianship().leave(self._number)
            board.close()


def _woken(loop: asyncio.AbstractEventLoop, line: socket.socket) -> None:
    """Read what the warden says when a signal came; by now its handler has run."""
    try:
        said = line.recv(LONGEST_ECHO)
    except BlockingIOError:
        return
    except OSError:
        said = b""
    if not said:  # the warden is dead; the next one has another line
        loop.remove_reader(line)


def _is_possible() -> bool:
    return hasattr(os, "memfd_create") and procfs.PROC.joinpath("self", "stat").exists()


def _card(name: str, database: Database, settings: Settings, kinds: Mapping[str, JobKind[Any]]) -> dict[str, Any]:
    direct = database.listen_url
    log_as = (settings.log_format, settings.log_level) if guardianship().owned else None
    return {
        "name": name,
        "url": direct or database.url,
        "pooled": database.pooled and direct is None,
        "beat_seconds": settings.beat_seconds,
        "expiry_seconds": settings.expiry_seconds,
        "grace_seconds": settings.cancel_grace_seconds,
        "drain_seconds": settings.drain_seconds,
        "max_crashes": settings.max_crashes,
        "log": log_as,
        "kinds": [_kind(kind) for kind in kinds.values()],
    }


def _kind(kind: JobKind[Any]) -> dict[str, Any]:
    code = getattr(kind.handler, "__code__", None)
    lines = [line for *_, line in code.co_lines() if line] if code is not None else [0]
    return {
        "name": kind.name,
        "timeout": kind.timeout,
        "retry": to_json(kind.retry),
        "file": "" if code is None else code.co_filename,
        "function": "" if code is None else code.co_name,
        "first": min(lines),
        "last": max(lines),
    }

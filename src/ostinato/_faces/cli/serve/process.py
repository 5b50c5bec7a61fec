"""Runs one process that serves, from its start to its exit code: a worker, the API, the sandbox.

After the first SIGTERM or SIGINT it finishes what is running; a second one ends the process at
once, and other workers take its jobs back when its heartbeat has expired. The end of the supervisor
counts as a first signal: its end of the link closes, however it died. A worker hears signals also
while a handler blocks its event loop: between two instructions of Python, and while the GIL is held
its warden hears them (`runtime.worker.warden`).

The process leaves through `os._exit`: a handler's thread that never returns would keep the
interpreter waiting for ever, long after the worker has given the job back.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import psycopg

from ostinato._core.base import log as logging
from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, OstinatoError
from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.sqlstate import translate
from ostinato._core.engine.workers import CONTRACT
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, report
from ostinato._faces.cli.frame.document import to_json
from ostinato._faces.cli.frame.loading import load_apps
from ostinato._faces.cli.frame.output import error_document

if TYPE_CHECKING:  # applications whose commands serve something have this module, and run no jobs
    from ostinato._core.runtime.handlers.kinds import JobKind
    from ostinato._core.runtime.worker.worker import Worker

log = logging.get_logger("worker")

PLACEHOLDERS = {"integer": "1", "number": "1.5", "boolean": "true", "array": "[]", "object": "{}"}


class Link:
    """The line to the supervisor: reports the state of this process, and notices its end."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.settimeout(0)

    def say(self, told: object) -> None:
        """Report to the supervisor, which may be gone: {"ready": …} or {"error": …}."""
        with contextlib.suppress(OSError):
            self._socket.sendall(f"{to_json(told)}\n".encode())

    def hears_end(self) -> bool:
        """Return whether the other end is closed; called when the line has something to read."""
        try:
            return not self._socket.recv(1024)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def fileno(self) -> int:
        """Return what the event loop watches."""
        return self._socket.fileno()


class Stop:
    """A request to stop, by a signal or by the end of the supervisor."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._signals = 0

    def watch(self, link: Link | None) -> None:
        """Watch for signals, and watch the link if there is one."""
        loop = asyncio.get_running_loop()
        for number in stop_signals():
            loop.add_signal_handler(number, self._signalled, number)
        self._watch_link(link)

    def watch_when_blocked(self, link: Link | None) -> None:
        """Watch as `watch` does, also while a handler blocks the event loop: for a process of jobs only."""
        loop = asyncio.get_running_loop()
        signals = stop_signals()
        for number in signals:
            signal.signal(number, lambda number, _: self._interrupted(loop, number))
        from ostinato._core.runtime.worker.ward import guardianship

        guardianship().own_process(signals)
        self._watch_link(link)

    def _watch_link(self, link: Link | None) -> None:
        if link is not None:
            asyncio.get_running_loop().add_reader(link, self._link_readable, link)

    def _interrupted(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        self._signals += 1
        if self._signals > 1:
            leave(128 + number)
        loop.call_soon_threadsafe(self._signalled, number)

    def _signalled(self, number: int) -> None:
        if self.asked.is_set():
            leave(128 + number)
        self.asked.set()

    def _link_readable(self, link: Link) -> None:
        if link.hears_end():
            asyncio.get_running_loop().remove_reader(link)
            self.asked.set()


def stop_signals() -> list[signal.Signals]:
    """Return the signals that ask for a stop; SIGHUP is not one under nohup."""
    found = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        found.append(signal.SIGHUP)
    return found


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the quickest event loop there is: a quarter of the processor time of a short transaction is the loop's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def leave(code: int) -> NoReturn:
    """End the process now, whatever its threads are doing."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def run(
    cli: Cli,
    settings: Settings,
    link: Link | None,
    work: Callable[[Stop], Coroutine[Any, Any, None]],
    *,
    watch: Callable[[Stop, Link | None], None] = Stop.watch,
) -> NoReturn:
    """Serve until asked to stop, and end the process; errors go to the supervisor too."""
    logging.configure(settings.log_format, settings.log_level)

    async def watched() -> None:
        stop = Stop()
        watch(stop, link)
        await work(stop)

    try:
        # Not asyncio.run: at its end it waits for the threads of asyncio.to_thread, stuck or not.
        event_loop().run_until_complete(watched())
    except Exception as error:  # noqa: BLE001 - told, and turned into an exit code
        told = report(cli, error)
        if link is not None:
            link.say(error_document(told))
        leave(told.exit_code)
    leave(0)


def run_worker(
    cli: Cli,
    settings: Settings,
    apps: list[str],
    *,
    queues: Sequence[str],
    name: str | None,
    wait_seconds: float,
    link: Link | None,
    only: Sequence[str] = (),
) -> NoReturn:
    """Run a worker until it is stopped, and end the process."""
    from ostinato._core.runtime.installed import check_settings
    from ostinato._core.runtime.worker.worker import Worker

    async def work(stop: Stop) -> None:
        loaded = load_apps(apps)
        check_settings(settings, loaded)
        patience = asyncio.get_running_loop().time() + wait_seconds
        async with attach.serving(cli, settings, watched=link is None) as database:
            while await reachable(database, wait_seconds, stop):
                worker = Worker(loaded, database, settings, queues=list(queues) or None, name=name, only=only)
                with _metrics_page(worker, settings):
                    if await _ran(cli, worker, stop, link, patience):
                        break
                await asyncio.sleep(attach.RETRY_SECONDS)

    run(cli, settings, link, work, watch=Stop.watch_when_blocked)


async def _ran(cli: Cli, worker: "Worker", stop: Stop, link: Link | None, patience: float) -> bool:
    """Run to the end; False means that an outage cut the start short and it can be retried.

    Such a start leaves nothing behind: the worker's row is written last.
    """
    try:
        await _run(cli, worker, stop, link)
    except (OstinatoError, psycopg.Error, OSError) as error:
        is_outage = isinstance(translate(error), DatabaseUnavailable | CommitUnknown)
        over = asyncio.get_running_loop().time() >= patience
        if worker.started.is_set() or over or not is_outage:
            raise
        log.warning("start_cut_short", worker=worker.name, error=str(error))
        return False
    return True


async def _run(cli: Cli, worker: "Worker", stop: Stop, link: Link | None) -> None:
    running = asyncio.create_task(worker.run())
    started = asyncio.create_task(worker.started.wait())
    await asyncio.wait({running, started}, return_when=asyncio.FIRST_COMPLETED)
    if started.done():
        told = _told(worker)
        cli.out.event({"event": "ready", **told})
        if link is not None:
            link.say({"ready": told})
    stopping = asyncio.create_task(stop.asked.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    worker.stop()
    for waiting in (started, stopping):
        waiting.cancel()
    await running


@contextlib.contextmanager
def _metrics_page(worker: "Worker", settings: Settings) -> Iterator[None]:
    if not settings.metrics_port:
        yield
        return
    from ostinato._core.runtime.observe.exporter import Exporter

    exporter = Exporter(worker.recorders, settings.metrics_host, settings.metrics_port)
    try:
        yield
    finally:
        exporter.close()


async def reachable(database: Database, seconds: float, stop: Stop) -> bool:
    """Wait, for a time, until the database is usable; False means stopped meanwhile."""
    answer = asyncio.create_task(attach.answering(database.url, seconds))
    stopped = asyncio.create_task(stop.asked.wait())
    await asyncio.wait({answer, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not answer.done():
        return False
    async with answer.result() as conn:
        await migrate.check_contract(conn, CONTRACT)
    return True


def _told(worker: "Worker") -> dict[str, object]:
    from ostinato._core.engine.bulk import KIND as BULK_KIND
    from ostinato._core.runtime.services.webhooks import KIND as DELIVERY_KIND

    return {
        "id": worker.id,
        "name": worker.name,
        "pid": os.getpid(),
        "queues": worker.queues,
        # Every worker has the kinds that deliver webhooks and run bulk actions; they belong to no app.
        "kinds": [name for name in worker.kinds if name not in {DELIVERY_KIND, BULK_KIND}],
        "example": next(map(_example, worker.kinds.values()), None),
    }


def _example(kind: "JobKind[Any]") -> str:
    """Return how to enqueue a job of this kind from the command line."""
    schema = json.loads(kind.arguments.schema())
    needed = [
        f"{name}={PLACEHOLDERS.get(schema['properties'][name].get('type'), '…')}" for name in schema.get("required", [])
    ]
    return " ".join([kind.name, *needed])

"""The heart of a worker: a thread that beats, listens to the doorbell, and watches the event loop.

It has its own OS thread and its own connection, so a handler that blocks the event loop does not
stop the beat: the worker is slow, not dead. A blocked event loop is logged, with the name of the
handler and the line that it is at, and shown to the warden (`warden.py`), which ends the process
when the time of that handler is up, and beats in the heart's place while the GIL is held.
"""

import asyncio
import hashlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any, ParamSpec
from uuid import UUID

import psycopg

from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import LOOP_BLOCKED_SECONDS, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.db.listen import Listener
from ostinato._core.engine import workers
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.worker.ward import Ward, guardianship

log = get_logger("heart")

P = ParamSpec("P")

BLOCKED_SECONDS = 2.0
PULSE_SECONDS = 0.5
ENDED = 137  # as after SIGKILL


class Heart:
    """Sends the heartbeats of a worker, and watches its event loop."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        queues: Iterable[str],
        kinds: Mapping[str, JobKind[Any]],
        running: Mapping[Context, asyncio.Task[None]],
        ward: Ward,
        on_ring: Callable[[str], None],
        on_death: Callable[[], Awaitable[None]],
    ) -> None:
        self._database = database
        self._settings = settings
        self._queues = tuple(queues)
        # Processes of a host that run the same kinds take turns; a ring reaches one of each sort.
        self._sort = hashlib.sha256("\n".join(sorted(kinds)).encode()).hexdigest()[:16]
        self._running = running
        self._ward = ward
        self._on_ring = on_ring
        self._on_death = on_death
        self._names: dict[CodeType, str] = {
            code: name for name, kind in kinds.items() if (code := getattr(kind.handler, "__code__", None)) is not None
        }
        self.recorder = Recorder()
        self._worker_id: UUID | None = None
        self._draining = False
        self._pulse = time.monotonic()
        self._last_beat = time.monotonic()
        self._reported = False
        self._blocked_by: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._listener: Listener | None = None
        self._pulse_timer: asyncio.TimerHandle | None = None
        self._dying: asyncio.Task[None] | None = None

    def start(self, worker_id: UUID) -> None:
        """Begin to beat for a worker; called in the event loop that is watched."""
        self._name_worker(worker_id)
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._feel_pulse()
        self._listener = Listener(
            self._database.listen_url or self._database.url,
            beat=self._beat,
            beat_seconds=self._settings.beat_seconds,
            on_ring=lambda queue: self.call_in_loop(self._on_ring, queue),
            on_idle=self._check_loop,
            names=self._queues,
            sort=self._sort,
            listening=self._database.listen_url is not None,
            pooled=self._database.pooled and self._database.listen_url is None,
        )
        self._listener.start()

    def rebirth(self, worker_id: UUID) -> None:
        """Continue to beat under another id."""
        self._name_worker(worker_id)

    def _name_worker(self, worker_id: UUID) -> None:
        self._worker_id = worker_id
        self._last_beat = time.monotonic()
        if self._ward.board is not None:
            self._ward.board.name_worker(worker_id)

    @property
    def may_be_dead(self) -> bool:
        """Whether no beat succeeded for so long that others may soon declare this worker dead.

        This is also true right after a long pause of the process, before the next beat.
        """
        silent = time.monotonic() - self._last_beat
        return self._worker_id is None or silent > self._settings.expiry_seconds / 2

    def drain(self) -> None:
        """Report that this worker takes no new jobs."""
        self._draining = True

    def set_waiting(self, *, waiting: bool) -> None:
        """Set whether this worker is idle.

        Of the processes on a host, an idle one is rung.
        """
        if self._listener is not None:
            self._listener.set_waiting(waiting)

    def stop(self) -> None:
        """Stop beating."""
        if self._pulse_timer is not None:
            self._pulse_timer.cancel()
        if self._listener is not None:
            self._listener.stop()

    def call_in_loop(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a function in the event loop, from any thread."""
        if self._loop is None or self._loop.is_closed():
            return
        if threading.get_ident() == self._loop_thread:
            function(*args, **kwargs)
        else:
            self._loop.call_soon_threadsafe(lambda: function(*args, **kwargs))

    def _beat(self, conn: psycopg.Connection[Any]) -> None:
        worker_id = self._worker_id
        if worker_id is None:
            return
        asked = time.monotonic()
        alive = workers.heartbeat(conn, worker_id, draining=self._draining, blocked_by=self._blocked_by)
        if alive:
            self._last_beat = asked
        if not alive and worker_id == self._worker_id:
            self._worker_id = None  # no more beats until it has a new id
            if self._ward.board is not None:
                self._ward.board.name_worker(None)
            self.call_in_loop(self._die)

    def _die(self) -> None:
        self._dying = asyncio.get_running_loop().create_task(self._be_reborn())

    async def _be_reborn(self) -> None:
        while self._worker_id is None and not self._draining:
            try:
                await self._on_death()
            except Exception:  # the database may be away: try again
                log.exception("rebirth_failed")
                await asyncio.sleep(1)

    def _feel_pulse(self) -> None:
        self._pulse = time.monotonic()
        if self._ward.board is not None:
            self._ward.board.feel_loop()
        self._pulse_timer = asyncio.get_running_loop().call_later(PULSE_SECONDS, self._feel_pulse)

    def _check_loop(self) -> None:
        """Called about once a second, in the heart's thread."""
        self._show()
        silent = time.monotonic() - self._pulse
        if silent < BLOCKED_SECONDS:
            self._reported, self._blocked_by = False, None
            return
        handler, where = self._culprit()
        self._blocked_by = handler
        if self._reported:
            self.recorder.add(LOOP_BLOCKED_SECONDS, handler, by=1)
            return
        self._reported = True
        self.recorder.add(LOOP_BLOCKED_SECONDS, handler, by=silent)
        log.warning(
            "event_loop_blocked",
            handler=handler,
            seconds=round(silent, 1),
            where=where,
            hint="Use a plain function (it runs in a thread) or await asyncio.to_thread(…).",
        )

    def _show(self) -> None:
        """Show the warden that the interpreter runs, and who blocks the loop if somebody does."""
        board = self._ward.board
        if board is None:
            return
        if board.ended and guardianship().owned:
            os._exit(ENDED)  # the warden could not kill the first process of a container
        board.feel_heart()
        silent = time.monotonic() - self._pulse
        board.blame(self._blocking_job() if silent >= BLOCKED_SECONDS else 0)
        if guardianship().tend():
            self.call_in_loop(guardianship().hear_signals)

    def _blocking_job(self) -> int:
        """Return the job that the event loop is in, 0 if in none: by its task, else by its handler."""
        task = None if self._loop is None else asyncio.current_task(self._loop)
        running = dict(self._running)
        for ctx, lane in running.items():
            if lane is task:
                return ctx.job.id
        kind, _ = self._culprit()
        by_start = sorted(running, key=lambda ctx: ctx.started)
        return next((ctx.job.id for ctx in by_start if ctx.job.kind == kind), 0)

    def _culprit(self) -> tuple[str, str]:
        """Return the handler that the event loop is in right now, and the line it stands at."""
        frame: FrameType | None = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  # the documented way
        if frame is None:
            return "unknown", ""
        where = "".join(traceback.format_stack(frame, limit=3))[-500:]
        while frame is not None:
            if frame.f_code in self._names:
                return self._names[frame.f_code], where
            frame = frame.f_back
        return "unknown", where

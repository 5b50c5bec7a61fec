"""Worker lanes: the tasks that run claimed jobs, and the buffer in front of them.

    claimer -> add() -> buffer -> lane 1 … lane N -> finisher

A lane is one task that runs one job after the other, so that a job costs no task of its own. The
buffer holds what is claimed and not yet started; it is part of the claim, so a crash gives all of
it back. `room` says how much to claim: a slot for each free lane, plus about a second of work
at the present rate, so that a slow job never delays others for long. What could not be started
for a second is given back.

The watch checks the running jobs ten times a second: timeouts, cancel requests, handlers that do
not stop. A handler that swallows its cancellation, or a thread that cannot be stopped, is
abandoned: the verdict is written without it (its own late writes are refused by the fence), and a
new lane takes its place.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ostinato._core.base.log import get_logger
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.handlers.context import Context, Services
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.observe.tracing import Execute
from ostinato._core.runtime.worker.execute import Released, Verdict, judge_error, judge_interruption
from ostinato._core.runtime.worker.threads import Threads

__all__ = ["Lanes"]

log = get_logger("lanes")

Finish = Callable[[Job, Verdict, float], None]

SLICE_SECONDS = 0.005
"""A lane with very short jobs yields the event loop to others after this long."""
WATCH_SECONDS = 0.1
AHEAD_SECONDS = 1.0
STALE_SECONDS = 1.0
SUSPECT_CRASHES = 2


class Lanes:
    """Runs claimed jobs, at most `concurrency` at a time."""

    def __init__(
        self,
        kinds: Mapping[str, JobKind[Any]],
        services: Services,
        finish: Finish,
        *,
        concurrency: int,
        prefetch: int,
        grace_seconds: float,
        on_room: Callable[[], None],
        execute: Execute,
        rng: random.Random,
    ) -> None:
        self._kinds = kinds
        self._services = services
        self._finish = finish
        self._concurrency = concurrency
        self._prefetch = prefetch
        self._grace_seconds = grace_seconds
        self._on_room = on_room
        self._execute = execute
        self._rng = rng
        self._threads = Threads("ostinato-job")
        self._buffer: deque[Job] = deque()
        # By context, not by job: an attempt that was lost and does not stop may still be here when
        # the next attempt of the same job arrives.
        self._running: dict[Context, asyncio.Task[None]] = {}
        self._lanes: set[asyncio.Task[None]] = set()
        self._idle: list[asyncio.Future[None]] = []
        self._stopping = False
        self._rate = 0.0
        self._started = 0
        self._rated_at = time.perf_counter()
        self._moved_at = time.perf_counter()
        self._watching: asyncio.TimerHandle | None = None

    @property
    def buffered(self) -> int:
        """Jobs claimed and not yet started."""
        return len(self._buffer)

    @property
    def running(self) -> int:
        """Jobs started and not yet finished."""
        return len(self._running)

    def holds_suspect(self) -> bool:
        """Whether a suspect is here: a worker runs one at a time."""
        held = [job for job in self._buffer if job.crashes >= SUSPECT_CRASHES]
        return bool(held) or any(ctx.job.crashes >= SUSPECT_CRASHES for ctx in self._running)

    def held(self) -> Iterator[int]:
        """The jobs that are here, started or not."""
        yield from (job.id for job in self._buffer)
        yield from (ctx.job.id for ctx in self._running)

    def room(self) -> int:
        """How many jobs to claim now; 0 while enough are waiting."""
        now = time.perf_counter()
        if now - self._rated_at > 0.02:  # noqa: PLR2004  # long enough to measure a rate
            rate = self._started / (now - self._rated_at)
            self._rate = rate if rate > self._rate else 0.5 * (self._rate + rate)
            self._started = 0
            self._rated_at = now
        ahead = min(self._prefetch, int(self._rate * AHEAD_SECONDS))
        target = self._concurrency - len(self._running) + ahead
        room = target - len(self._buffer)
        # Half-full is full enough: few large claims cost less than many small ones.
        return room if room * 2 >= target else 0

    def add(self, jobs: Iterable[Job]) -> None:
        """Take claimed jobs in; once the lanes stop they are given back at once."""
        if self._stopping:
            self.decline(jobs)
            return
        if not self._buffer:
            self._moved_at = time.perf_counter()
        self._buffer.extend(jobs)
        self._wake_lanes()
        if self._watching is None:
            self._watching = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    def give_back(self) -> None:
        """Release what has not started."""
        jobs = list(self._buffer)
        self._buffer.clear()
        self.decline(jobs)

    def decline(self, jobs: Iterable[Job]) -> None:
        """Release claimed jobs that must not start here."""
        for job in jobs:
            self._finish(job, Released(), 0.0)

    def forget_buffer(self) -> None:
        """Drop what has not started: this worker does not hold it any more."""
        self._buffer.clear()

    def request_cancel(self, job_ids: Iterable[int]) -> None:
        """Ask running jobs to stop; the watch stops them after the grace period."""
        wanted = set(job_ids)
        for ctx in self._running if wanted else ():
            if ctx.job.id in wanted and not ctx.cancelled:
                ctx.cancelled = True
                stop_at = time.perf_counter() + self._grace_seconds
                ctx.deadline = stop_at if ctx.deadline is None else min(ctx.deadline, stop_at)

    async def drain(self, seconds: float) -> None:
        """Give back what has not started, wait a time for running jobs, and then stop them."""
        self._stopping = True
        self.give_back()
        self._wake_lanes()
        for ctx in self._running:
            ctx.stopping = True
        waiting = list(self._running.values())
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        self.interrupt_all("stop")
        waiting = [task for task in self._lanes if not task.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=1)
        for ctx in list(self._running):
            self._abandon(ctx)
        if self._watching is not None:
            self._watching.cancel()
        self._threads.shutdown()

    def interrupt_all(self, reason: str) -> None:
        """Stop every running handler, for one reason; one that does not stop is abandoned."""
        for ctx, task in self._running.items():
            ctx.interrupted = reason
            ctx.deadline = time.perf_counter() + self._grace_seconds
            task.cancel()

    def _wake_lanes(self) -> None:
        needed = len(self._buffer)
        while needed > 0 and self._idle:
            self._idle.pop().set_result(None)
            needed -= 1
        while needed > 0 and len(self._lanes) < self._concurrency:
            self._open_lane()
            needed -= 1
        if self._stopping:
            for future in self._idle:
                future.set_result(None)
            self._idle.clear()

    def _open_lane(self) -> None:
        lane = asyncio.get_running_loop().create_task(self._lane())
        self._lanes.add(lane)
        lane.add_done_callback(self._lanes.discard)

    async def _lane(self) -> None:
        buffer = self._buffer
        this = asyncio.current_task()
        assert this is not None  # noqa: S101  # a lane is always a task
        yielded = time.perf_counter()
        while True:
            if not buffer:
                if self._stopping:
                    return
                future = asyncio.get_running_loop().create_future()
                self._idle.append(future)
                await future
                yielded = time.perf_counter()
                continue
            if not await self._run(buffer.popleft(), this):
                return
            if time.perf_counter() - yielded > SLICE_SECONDS:
                await asyncio.sleep(0)
                yielded = time.perf_counter()

    async def _run(self, job: Job, lane: asyncio.Task[None]) -> bool:
        """Run one job; False when the lane was replaced meanwhile and must end."""
        kind = self._kinds[job.kind]
        ctx = Context(job, self._services)
        now = self._moved_at = ctx.started
        if kind.timeout is not None:
            ctx.deadline = now + kind.timeout
        self._running[ctx] = lane
        self._started += 1
        try:
            verdict = await self._execute(kind, ctx, self._threads, self._rng)
        except Exception as error:  # without a verdict the job would be held forever
            log.exception("verdict_failed", job_id=job.id, kind=job.kind)
            verdict = judge_error(error, job, kind.retry, self._rng, settled=ctx.settled)
        if ctx.abandoned:
            return False
        del self._running[ctx]
        self._finish(job, verdict, time.perf_counter() - now)
        if len(self._buffer) * 2 <= self._prefetch:
            self._on_room()
        return True

    def _watch(self) -> None:
        now = time.perf_counter()
        for ctx, task in list(self._running.items()):
            if ctx.deadline is not None and now >= ctx.deadline:
                self._interrupt(ctx, task, now)
        if self._buffer and now - self._moved_at > STALE_SECONDS:
            self.give_back()
        self._watching = None
        if self._running or self._buffer:
            self._watching = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    def _interrupt(self, ctx: Context, task: asyncio.Task[None], now: float) -> None:
        if ctx.interrupted is None:
            ctx.interrupted = "cancel" if ctx.cancelled else "timeout"
            ctx.deadline = now + self._grace_seconds
            task.cancel()
        else:
            self._abandon(ctx)

    def _abandon(self, ctx: Context) -> None:
        """Write the verdict without waiting for the handler any longer."""
        kind = self._kinds[ctx.job.kind]
        lane = self._running.pop(ctx)
        ctx.abandoned = True
        self._lanes.discard(lane)
        log.error(
            "handler_does_not_stop", kind=kind.name, job_id=ctx.job.id, reason=ctx.interrupted
        )
        verdict = judge_interruption(kind, ctx, asyncio.CancelledError(), self._rng)
        self._finish(ctx.job, verdict, time.perf_counter() - ctx.started)
        self._wake_lanes()

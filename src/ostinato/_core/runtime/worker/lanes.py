"""Worker lanes are the tasks that run claimed jobs, with the buffer in front of them.

    claimer -> add() -> buffer -> lane 1 … lane N -> finisher

A lane is one task that runs one job after the other, so that a job costs no task of its own. A job
that was claimed behind another (`Job.behind`, events of a key) starts when that one has succeeded;
if it does not, or takes long, those behind it are given back. The
buffer (`buffer.py`) holds what is claimed and not yet started; it is part of the claim, so a crash
gives all of it back. `room` says how much to claim: a slot for each free lane, plus about a second
of work at the present rate, so that a slow job never delays others for long. What could not be
started for a second is given back.

The watch checks the running jobs ten times a second: timeouts, cancel requests, handlers that do
not stop. A handler that swallows its cancellation, or a thread that cannot be stopped, is
abandoned: the verdict is written without it (its own late writes are refused by the fence), and a
new lane takes its place.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ostinato._core.base.log import get_logger
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.handlers.context import Context, Services, abandon
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.observe.tracing import Execute
from ostinato._core.runtime.worker.board import Board
from ostinato._core.runtime.worker.buffer import SUSPECT_CRASHES, Buffer
from ostinato._core.runtime.worker.execute import Completed, Released, Settled, Verdict, judge_error, judge_interruption
from ostinato._core.runtime.worker.marker import Marker
from ostinato._core.runtime.worker.threads import Threads

log = get_logger("lanes")

Finish = Callable[[Job, Verdict, float], None]

SLICE_SECONDS = 0.005
"""A lane with very short jobs yields the event loop to others after this long."""
WATCH_SECONDS = 0.1
AHEAD_SECONDS = 1.0
STALE_SECONDS = 1.0
SOON_SECONDS = 0.1
"""What starts within this time is marked as begun beforehand."""


class Follower(NamedTuple):
    """A job that waits behind another one here."""

    job: Job
    begun: bool
    """Whether its claim says that it may start."""


class Lanes:
    """Runs claimed jobs, at most `concurrency` at a time."""

    def __init__(
        self,
        kinds: Mapping[str, JobKind[Any]],
        services: Services,
        finish: Finish,
        marker: Marker,
        *,
        concurrency: int,
        prefetch: int,
        grace_seconds: float,
        on_room: Callable[[], None],
        connections: Callable[[], int],
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
        self._buffer = Buffer(marker, connections=connections, behind=self._soon_behind, on_ready=self._may_start)
        self._behind: dict[int, Follower] = {}
        """Jobs that wait for another one here, by the id of that one."""
        # By context, not by job: an attempt that was lost and does not stop may still be here when
        # the next attempt of the same job arrives.
        self.contexts: dict[Context, asyncio.Task[None]] = {}
        """What runs, and the lane of each."""
        self.board: Board | None = None
        """Where the warden sees what runs."""
        self._numbers = {name: n for n, name in enumerate(kinds)}
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
        return len(self._buffer) + len(self._behind)

    @property
    def running(self) -> int:
        """Jobs started and not yet finished."""
        return len(self.contexts)

    def holds_suspect(self) -> bool:
        """Return whether a suspect is here: a worker runs one at a time."""
        running = (ctx.job for ctx in self.contexts)
        return any(job.crashes >= SUSPECT_CRASHES for job in (*self._buffer, *running))

    def held(self) -> Iterator[int]:
        """Yield the jobs that are here, started or not."""
        yield from (job.id for job in self._buffer)
        yield from (follower.job.id for follower in self._behind.values())
        yield from (ctx.job.id for ctx in self.contexts)

    def room(self) -> int:
        """Return how many jobs to claim now; 0 while enough are waiting, or one has to run alone."""
        if self._buffer.quiet:
            return 0
        now = time.perf_counter()
        if now - self._rated_at > 0.02:  # noqa: PLR2004  # long enough to measure a rate
            rate = self._started / (now - self._rated_at)
            self._rate = rate if rate > self._rate else 0.5 * (self._rate + rate)
            self._started = 0
            self._rated_at = now
        ahead = min(self._prefetch, int(self._rate * AHEAD_SECONDS))
        target = self._concurrency - len(self.contexts) + ahead
        # Those behind others can use no free lane: they count as work ahead only.
        room = target - len(self._buffer) - min(len(self._behind), ahead)
        # Half-full is full enough: few large claims cost less than many small ones.
        return room if room * 2 >= target else 0

    def starts(self) -> int:
        """Return how many of the jobs that are claimed now may start at once."""
        return max(0, self._soon() - self._buffer.ready)

    def ahead(self) -> int:
        """Return how many jobs start within a moment at the present rate."""
        return int(self._rate * SOON_SECONDS)

    def _soon(self) -> int:
        """Return how many jobs are to start within a moment."""
        return self._concurrency - len(self.contexts) + self.ahead()

    def add(self, jobs: Sequence[Job], starts: int | None = None) -> None:
        """Take claimed jobs in, of which the first `starts` may start at once; None means all.

        Once the lanes stop they are given back.
        """
        if self._stopping:
            self.decline(jobs)
            return
        now = time.perf_counter()
        if not self._buffer:
            self._moved_at = now
        # Followers stand behind all others in a claim.
        self._buffer.add((job for job in jobs if job.behind is None), starts, now)
        for n, job in enumerate(jobs):
            if job.behind is not None:
                self._behind[job.behind] = Follower(job, begun=starts is None or n < starts)
        self.wake()
        if self._watching is None:
            self._watching = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._watch)

    def wake(self) -> None:
        """Start what may start."""
        self._buffer.tend(len(self.contexts), self._soon(), time.perf_counter())
        self._wake_lanes()

    def give_back(self, *, suspect: bool = True) -> None:
        """Release what has not started."""
        followers = [follower.job for follower in self._behind.values()]
        self._behind.clear()
        self.decline([*self._buffer.take(suspect=suspect), *followers])

    def decline(self, jobs: Iterable[Job]) -> None:
        """Release claimed jobs that must not start here."""
        for job in jobs:
            self._finish(job, Released(), 0.0)

    def forget_buffer(self) -> None:
        """Drop what has not started: this worker does not hold it any more."""
        self._buffer.clear()
        self._behind.clear()

    def request_cancel(self, job_ids: Iterable[int]) -> None:
        """Ask running jobs to stop; the watch stops them after the grace period."""
        wanted = set(job_ids)
        for ctx in self.contexts if wanted else ():
            if ctx.job.id in wanted and not ctx.cancelled:
                ctx.cancelled = True
                stop_at = time.perf_counter() + self._grace_seconds
                ctx.deadline = stop_at if ctx.deadline is None else min(ctx.deadline, stop_at)

    async def drain(self, seconds: float) -> None:
        """Give back what has not started, wait a time for running jobs, and then stop them."""
        self._stopping = True
        self.give_back()
        self._wake_lanes()
        for ctx in self.contexts:
            ctx.stopping = True
        waiting = list(self.contexts.values())
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        self.interrupt_all("stop")
        waiting = [task for task in self._lanes if not task.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=1)
        for ctx in list(self.contexts):
            self._abandon(ctx)
        if self._watching is not None:
            self._watching.cancel()
        self._threads.shutdown()

    def interrupt_all(self, reason: str) -> None:
        """Stop every running handler, for one reason; one that does not stop is abandoned."""
        for ctx, task in self.contexts.items():
            ctx.interrupted = reason
            ctx.deadline = time.perf_counter() + self._grace_seconds
            task.cancel()

    def _soon_behind(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs behind these that are to start within a moment, and may not yet."""
        room = self.ahead()
        found: list[Job] = []
        for job in jobs:
            while len(found) < room and (follower := self._behind.get(job.id)) is not None and not follower.begun:
                job = follower.job  # noqa: PLW2901 - along its line
                found.append(job)
        return found

    def _may_start(self, followers: Iterable[Job]) -> None:
        """Learn that jobs were marked: those behind others need no mark of their own any more."""
        for job in followers:
            if job.behind in self._behind:
                self._behind[job.behind] = Follower(job, begun=True)
        self.wake()

    def _wake_lanes(self) -> None:
        needed = self._buffer.startable()
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
            job = None if self._stopping else buffer.pop()
            if job is None:
                if self._stopping:
                    return
                future = asyncio.get_running_loop().create_future()
                self._idle.append(future)
                await future
                yielded = time.perf_counter()
                continue
            if not await self._run(job, this):
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
        self.contexts[ctx] = lane
        self._started += 1
        if self.board is not None:
            ctx.place = self.board.begin(job, self._numbers[job.kind], now, ctx.deadline)
        try:
            verdict = await self._execute(kind, ctx, self._threads, self._rng)
        except Exception as error:  # without a verdict the job would be held forever
            log.exception("verdict_failed", job_id=job.id, kind=job.kind)
            verdict = judge_error(error, job, kind.retry, self._rng, settled=ctx.settled)
        if ctx.abandoned:
            return False
        del self.contexts[ctx]
        self._clear(ctx)
        self._finish(job, verdict, time.perf_counter() - now)
        self._ended(job)
        if self._behind:
            self._follow(job, verdict)
        return True

    def _ended(self, job: Job) -> None:
        quiet = self._buffer.quiet
        if quiet:
            self._buffer.ended(job)
        if quiet or self._buffer.ready < len(self._buffer):
            self.wake()
        if len(self._buffer) * 2 <= self._prefetch:
            self._on_room()

    def _clear(self, ctx: Context) -> None:
        if self.board is not None:
            self.board.end(ctx.place)

    def _follow(self, job: Job, verdict: Verdict | None) -> None:
        """Start the job behind one that has succeeded; give back all behind one that has not."""
        if isinstance(verdict, Completed | Settled):
            if job.id in self._behind:
                self._buffer.add_first(*self._behind.pop(job.id))  # this lane is free for it
                self.wake()
            return
        followers = []
        while (follower := self._behind.pop(job.id, None)) is not None:
            job = follower.job
            followers.append(job)
        self.decline(followers)

    def _watch(self) -> None:
        now = time.perf_counter()
        for ctx, task in list(self.contexts.items()):
            if self._behind and now - ctx.started > STALE_SECONDS:
                self._follow(ctx.job, None)
            if ctx.deadline is not None and now >= ctx.deadline:
                self._interrupt(ctx, task, now)
        if self._buffer and now - self._moved_at > STALE_SECONDS:
            self.give_back(suspect=False)
        self.wake()
        self._watching = None
        if self.contexts or self._buffer or self._buffer.quiet:
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
        lane = self.contexts.pop(ctx)
        self._clear(ctx)
        abandon(ctx)
        self._lanes.discard(lane)
        log.error("handler_does_not_stop", kind=kind.name, job_id=ctx.job.id, reason=ctx.interrupted)
        verdict = judge_interruption(kind, ctx, asyncio.CancelledError(), self._rng)
        self._finish(ctx.job, verdict, time.perf_counter() - ctx.started)
        self._buffer.ended(ctx.job)
        self._follow(ctx.job, None)
        self.wake()

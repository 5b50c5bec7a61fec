"""The finisher writes verdicts and progress to the database, in sets.

While one flush is under way the next verdicts gather, so sets grow with the load and a lone job is
written at once. Nothing is dropped when the database is away: a verdict stays here until it is
written or refused. A refusal means that this worker did not hold the attempt any more; it changed
nothing, and it is counted.
"""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, InvalidInput, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import FENCED_WRITES, JOB_RUN_SECONDS, JOBS_FINISHED, START_LATENCY_SECONDS, Recorder
from ostinato._core.base.signature import storable
from ostinato._core.db.keep import Keeper
from ostinato._core.db.sqlstate import is_damage
from ostinato._core.engine import children, claims, steps, subscriptions
from ostinato._core.engine.claims import Failure, Job
from ostinato._core.runtime.handlers.steps import Joining, Slept, Waiting
from ostinato._core.runtime.worker.execute import (
    Cancelled,
    Completed,
    Deferred,
    Failed,
    Lost,
    Released,
    Settled,
    Snoozed,
    Verdict,
)
from ostinato._core.runtime.worker.loop import FOREVER
from ostinato._core.runtime.worker.tally import Tally

log = get_logger("finisher")

MOST_AT_ONCE = 2000
PROGRESS_SECONDS = 1.0
NOT_WRITABLE = "verdict_not_writable"


class Finished(NamedTuple):
    """An attempt that ended, with its verdict."""

    job: Job
    verdict: Verdict
    seconds: float


class Progress(NamedTuple):
    """The latest progress of a job."""

    job: Job
    done: float
    total: float | None
    note: str | None


Write = Callable[[AsyncConnection[Any], list[Finished]], Awaitable[list[int]]]


class Finisher:
    """Collects verdicts; `tick` writes them."""

    def __init__(
        self,
        keeper: Keeper,
        recorder: Recorder,
        *,
        wake: Callable[[], None] = lambda: None,
        on_written: Callable[[str, bool], None] = lambda *_: None,
        events: Container[str] = (),
        tally: Tally | None = None,
    ) -> None:
        self._keeper = keeper
        self._recorder = recorder
        self._tally = tally
        self._wake = wake
        self._on_written = on_written
        """Called with a queue whose verdicts were written, and whether all were completions."""
        self._events = events
        """The kinds whose jobs are events: their keys go on when they end."""
        self._waiting: list[Finished] = []
        self._progress: dict[tuple[int, int], Progress] = {}
        self._progress_due = 0.0
        self._unsure: set[tuple[int, int]] = set()
        self._writing: list[Finished] = []

    @property
    def pending(self) -> int:
        """Verdicts that are not in the database yet."""
        return len(self._waiting) + len(self._writing)

    def held(self) -> Iterator[int]:
        """Yield the jobs whose verdicts are not in the database yet."""
        return (finished.job.id for finished in (*self._waiting, *self._writing))

    def add(self, job: Job, verdict: Verdict, seconds: float) -> None:
        """Take a verdict in; the attempt's progress is dropped."""
        self._progress.pop((job.id, job.attempt), None)
        self._waiting.append(Finished(job, verdict, seconds))
        self._wake()

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        """Keep the latest progress of a job; it is written about once a second."""
        self._progress[job.id, job.attempt] = Progress(job, float(done), total, note)
        self._wake()

    async def tick(self) -> float:
        """Write everything that waits; returns the seconds until the next round."""
        while self._waiting or self._writing:
            room = MOST_AT_ONCE - len(self._writing)
            self._writing += self._waiting[:room]
            self._waiting = self._waiting[room:]
            await self._write_all()
        return await self._write_progress()

    async def _write_all(self) -> None:
        by_type: dict[type, list[Finished]] = {}
        jobs: set[int] = set()
        for finished in self._writing:
            # A lost attempt and the next one of its job are written one after the other, because a
            # refusal is reported by the job id alone.
            if finished.job.id not in jobs:
                jobs.add(finished.job.id)
                by_type.setdefault(type(finished.verdict), []).append(finished)
        trouble: Exception | None = None
        async with self._keeper.connection() as conn:
            for verdict_type, group in by_type.items():
                trouble = await self._write(conn, verdict_type, group) or trouble
        if trouble is not None:
            raise trouble

    async def _write(self, conn: AsyncConnection[Any], verdict_type: type, group: list[Finished]) -> Exception | None:
        """Write verdicts of one type.

        Returns the error that keeps one of them from being written, when the verdict is not the
        cause: that one waits, and the others do not.
        """
        verb, outcome, write = _VERBS[verdict_type]
        refused: list[int] = []
        if write is not None or verdict_type is Settled:
            try:
                refused = await (write or self._leave)(conn, group)
            except DatabaseUnavailable as error:
                if not is_damage(error):
                    raise
                return await self._write_apart(conn, group, error)
            except CommitUnknown:
                # Written again; what is then refused was committed the first time.
                self._unsure.update((finished.job.id, finished.job.attempt) for finished in group)
                raise
            except (OstinatoError, ValueError, TypeError) as error:
                return await self._write_apart(conn, group, error)
        written = {id(finished) for finished in group}
        self._writing = [finished for finished in self._writing if id(finished) not in written]
        self._count(group, outcome)
        _tell_failures(group)
        self._tell_queues(group, plainly=verdict_type is Completed)
        if verdict_type is Lost:
            refused = [each.job.id for each in group if not each.verdict.counted]  # type: ignore[union-attr]
        if refused or self._unsure:
            self._refused(set(refused), verb, group)
        if refused and write is not None:
            # Maybe the commit of a handler's transaction was in doubt; if this fails, others do it.
            with contextlib.suppress(OstinatoError):
                await self._leave(conn, [each for each in group if each.job.id in refused])
        return None

    def _tell_queues(self, group: list[Finished], *, plainly: bool) -> None:
        """Report the queues of a group; the end of an event lets the next of its key go on."""
        queues: dict[str, bool] = {}
        for job in (finished.job for finished in group):
            queues[job.queue] = queues.get(job.queue, plainly) and job.kind not in self._events
        for queue, alone in queues.items():
            self._on_written(queue, alone)

    async def _leave(self, conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
        """Let the keys go on of events that ended in their handlers' transactions."""
        ended = [finished.job.id for finished in group if finished.job.kind in self._events]
        if ended:
            await subscriptions.leave(conn, ended)
        return []

    async def _write_apart(
        self, conn: AsyncConnection[Any], group: list[Finished], error: Exception
    ) -> Exception | None:
        """Write a set that the database refused one by one.

        This finds the bad verdict, which must not hold up the others.
        """
        if len(group) > 1:
            trouble: Exception | None = None
            for finished in group:
                alone = [finished]
                trouble = await self._write(conn, type(finished.verdict), alone) or trouble
            return trouble
        job, verdict, seconds = group[0]
        if is_damage(error) and await claims.set_aside(conn, [job]):
            log.error("set_aside", job_id=job.id, kind=job.kind, error=str(error))
            self._writing = [other for other in self._writing if other is not group[0]]
            return None
        of_the_value = isinstance(error, InvalidInput | ValueError | TypeError)
        if not of_the_value or (isinstance(verdict, Failed) and verdict.failure.reason == NOT_WRITABLE):
            return error
        message, code = storable(str(error))[:1000], getattr(error, "code", "invalid_input")
        log.error(NOT_WRITABLE, job_id=job.id, kind=job.kind, error=message)
        told = json.dumps({"type": code, "message": message})
        instead = Finished(job, Failed(Failure(None, told, code, NOT_WRITABLE)), seconds)
        self._writing = [instead if other is group[0] else other for other in self._writing]
        return await self._write(conn, Failed, [instead])

    def _count(self, group: list[Finished], outcome: str) -> None:
        recorder = self._recorder
        for kind, count in Counter([finished.job.kind for finished in group]).items():
            recorder.add(JOBS_FINISHED, kind, outcome, by=count)
        for job, _, seconds in group:
            recorder.observe(JOB_RUN_SECONDS, seconds, job.kind)
            if job.attempt == 1:
                recorder.observe(START_LATENCY_SECONDS, job.waited, job.queue)
        if self._tally is not None:
            self._tally.add(((job, seconds, _is_dead(verdict)) for job, verdict, seconds in group), outcome)

    def _refused(self, refused: set[int], verb: str, group: list[Finished]) -> None:
        for job, _, _ in group:
            token = (job.id, job.attempt)
            if job.id in refused and token not in self._unsure:
                self._fenced(job, verb)
            self._unsure.discard(token)

    def _fenced(self, job: Job, verb: str) -> None:
        self._recorder.add(FENCED_WRITES, verb)
        log.warning("fenced", verb=verb, job_id=job.id, attempt=job.attempt, kind=job.kind)

    async def _write_progress(self) -> float:
        if not self._progress:
            return FOREVER
        now = asyncio.get_running_loop().time()
        if now < self._progress_due:
            return self._progress_due - now
        notes, self._progress = list(self._progress.values()), {}
        self._progress_due = now + PROGRESS_SECONDS
        jobs, done, totals, texts = (list(column) for column in zip(*notes, strict=True))
        async with self._keeper.connection() as conn:
            refused = set(await claims.note_progress(conn, jobs, done, totals, texts))
        refused -= set(self.held())  # a verdict of our own came in between
        newest = {job.id: job for job in sorted(jobs, key=lambda job: job.attempt)}
        for job in jobs:
            alone = sum(other.id == job.id for other in jobs) == 1
            if job.id in refused and (alone or job is not newest[job.id]):
                self._fenced(job, "progress")
        return FOREVER


def _is_dead(verdict: Verdict) -> bool:
    """Return whether a verdict makes a dead letter of its job."""
    return isinstance(verdict, Failed) and verdict.failure.delay is None


def _tell_failures(group: list[Finished]) -> None:
    """Log failed attempts by their signature: the message itself may hold personal data."""
    for job, verdict, seconds in group:
        if isinstance(verdict, Failed | Deferred):
            log.warning(
                "attempt_failed" if isinstance(verdict, Failed) else "attempt_deferred",
                kind=job.kind,
                job_id=job.id,
                attempt=job.attempt,
                tenant_id=job.tenant_id,
                correlation_id=job.correlation_id or f"job-{job.id}",
                duration_ms=int(seconds * 1000),
                error=verdict.failure.signature,
                retry_in=verdict.failure.delay and round(verdict.failure.delay, 1),
                dead=None if verdict.failure.delay is not None else verdict.failure.reason,
            )


def _durations(group: list[Finished]) -> list[int]:
    return [int(finished.seconds * 1000) for finished in group]


def _jobs(group: list[Finished]) -> list[Job]:
    return [finished.job for finished in group]


async def _complete(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    results = [finished.verdict.result for finished in group]  # type: ignore[union-attr]
    return await claims.complete(conn, _jobs(group), _durations(group), results)


async def _fail(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    failures = [finished.verdict.failure for finished in group]  # type: ignore[union-attr]
    return await claims.fail(conn, _jobs(group), failures, _durations(group))


async def _defer(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    failures = [finished.verdict.failure for finished in group]  # type: ignore[union-attr]
    return await claims.defer(conn, _jobs(group), failures, _durations(group))


async def _snooze(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    return await claims.snooze(conn, _jobs(group), [finished.verdict.seconds for finished in group])  # type: ignore[union-attr]


async def _sleep(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    left: list[Slept] = [finished.verdict for finished in group]  # type: ignore[misc]
    return await steps.sleep(conn, _jobs(group), [each.position for each in left], [each.seconds for each in left])


async def _wait(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    left: list[Waiting] = [finished.verdict for finished in group]  # type: ignore[misc]
    return await steps.wait(
        conn,
        _jobs(group),
        positions=[each.position for each in left],
        events=[each.event for each in left],
        keys=[each.key for each in left],
        timeouts=[each.timeout for each in left],
    )


async def _join(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    left: list[Joining] = [finished.verdict for finished in group]  # type: ignore[misc]
    return await children.join(
        conn,
        _jobs(group),
        positions=[each.position for each in left],
        spawns=[each.spawns for each in left],
        policies=[each.on_failure for each in left],
        timeouts=[each.timeout for each in left],
    )


async def _cancel(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    reasons = [finished.verdict.reason for finished in group]  # type: ignore[union-attr]
    return await claims.cancel(conn, _jobs(group), reasons, _durations(group))


async def _release(conn: AsyncConnection[Any], group: list[Finished]) -> list[int]:
    return await claims.release(conn, _jobs(group))


# Verdict: the verb for the fence count, the outcome for the metrics, and the engine verb.
_VERBS: dict[type, tuple[str, str, Write | None]] = {
    Completed: ("complete", "done", _complete),
    Failed: ("fail", "failed", _fail),
    Deferred: ("defer", "deferred", _defer),
    Snoozed: ("snooze", "snoozed", _snooze),
    Slept: ("sleep", "slept", _sleep),
    Waiting: ("wait", "waiting", _wait),
    Joining: ("join", "joining", _join),
    Cancelled: ("cancel", "cancelled", _cancel),
    Released: ("release", "released", _release),
    Settled: ("complete", "done", None),
    Lost: ("complete", "lost", None),
}

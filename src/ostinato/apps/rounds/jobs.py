"""The three jobs, every five minutes: create, open, close.

A run works through what is due in sets, a transaction each, which only the owner of the job
commits. A set that fails is halved until the group at fault is alone: it is logged, noted, and
tried again by a job of its own (`rounds.mend`), and all others are done. Groups that somebody else
has in hands are passed over at first, and waited for at the end of the run. A run that dies leaves
whole sets behind it, and the next attempt, or the next run, does the rest.

Times between two runs are not left waiting: a run that sees a round due within the next five
minutes adds a run for that moment.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from psycopg import AsyncConnection

from ostinato.apps.rounds import service
from ostinato.apps.rounds.app import APP
from ostinato.apps.rounds.events import CLOSED, OPENED
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.service import Days, Due
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.base.backoff import Retry
from ostinato.base.errors import CommitUnknown, DatabaseUnavailable, LeaseLost
from ostinato.base.log import FilteringBoundLogger
from ostinato.base.redact import redact
from ostinato.db.sqlstate import is_transient, translate
from ostinato.engine import clock
from ostinato.engine.jobs import Unique
from ostinato.runtime.context import Context

__all__ = ["CLOSED", "OPENED", "Run", "close", "create", "mend", "open_", "work_through"]

Connection = AsyncConnection[Any]
Work = Callable[[Connection, Sequence[int]], Awaitable[list[float]]]

EVERY = timedelta(minutes=5)
CRON = "*/5 * * * *"
QUEUE = "rounds"
SOON = Retry(delays=(5.0, 15.0, 60.0))
PATIENTLY = Retry(delays=(10.0, 60.0, 300.0, 900.0))
LONGEST_ERROR = 300
SETS_AHEAD = 40


class Runs(Protocol):
    """What a run needs of its context; `Context` has it."""

    @property
    def log(self) -> FilteringBoundLogger:
        """A logger bound to the job."""

    def fenced(self) -> AbstractAsyncContextManager[Connection]:
        """A transaction that only the owner of the job commits."""


@dataclass
class Run:
    """One run of a job: what it did, and what went wrong."""

    job: JobName
    ctx: Runs
    settings: RoundsSettings = field(default_factory=RoundsSettings.load)
    rng: random.Random = field(default_factory=random.SystemRandom)
    done: int = 0
    worst_lateness: float = 0.0
    failed: list[Due] = field(default_factory=list)

    @property
    def by(self) -> str:
        """Who lets rounds open and close."""
        return f"rounds.{self.job.value}"

    async def through(self, name: str, work: Callable[[bool], Work], **params: object) -> None:
        """Do all that a page names: first what is free, then, with patience, what is left."""
        for wait in (False, True):
            pages = Pages(self, name, params)
            # Several sets at a time: while one waits for its commit, another computes.
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(self.settings.sets_at_once):
                        tasks.create_task(self._work_off(pages, work(wait)))
            except BaseExceptionGroup as several:
                raise several.exceptions[0] from None

    async def _work_off(self, pages: "Pages", work: Work) -> None:
        while dues := await pages.next():
            await self._apply(work, dues)

    async def one(self, work: Work, due_id: int) -> None:
        """Do a single one, whatever comes of it."""
        async with self.ctx.fenced() as conn:
            self._count(await work(conn, [due_id]))

    async def _apply(self, work: Work, dues: Sequence[Due]) -> None:
        """Do a set; if it fails, its halves, until the one at fault is alone."""
        try:
            async with self.ctx.fenced() as conn:
                late = await work(conn, [due.id for due in dues])
        except Exception as error:
            broken = isinstance(error, DatabaseUnavailable | CommitUnknown | LeaseLost)
            if broken and not is_transient(error):
                raise  # no group's fault: the whole run is tried again
            if len(dues) == 1:
                await self._fail(dues[0], error)
                return
            middle = len(dues) // 2
            await self._apply(work, dues[:middle])
            await self._apply(work, dues[middle:])
        else:
            self._count(late)

    def _count(self, late: Sequence[float]) -> None:
        self.done += len(late)
        self.worst_lateness = max(self.worst_lateness, 0.0, *late)

    async def _fail(self, due: Due, error: Exception) -> None:
        told = translate(error)
        said = f"{told.code}: {redact(told.message)}"[:LONGEST_ERROR]
        self.failed.append(due)
        self.ctx.log.error(
            "group_failed",
            job=self.job.value,
            group_id=due.group_id,
            group_tenant_id=due.tenant_id,
            round_id=due.round_id,
            error=said,
        )
        async with self.ctx.fenced() as conn:
            await service.note_failure(conn, self.job, due, said)

    def creating(self, days: Days, wait: bool) -> Work:  # noqa: FBT001 - as `through` calls it
        """How a set of groups gets its rounds of the next day."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            made = await service.create_set(conn, ids, days, self.settings, self.rng, wait=wait)
            return [0.0] * len(made)

        return work

    def retiming(self, wait: bool) -> Work:  # noqa: FBT001 - as above
        """How a set of rounds is timed anew."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            await service.retime_set(conn, ids, self.settings, wait=wait)
            return []

        return work

    def opening(self, wait: bool) -> Work:  # noqa: FBT001 - as above
        """How a set of rounds is opened."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            found = await service.open_set(conn, ids, self.rng, by=self.by, wait=wait)
            return [each.lateness for each in found]

        return work

    def closing(self, wait: bool) -> Work:  # noqa: FBT001 - as above
        """How a set of rounds is closed."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            found = await service.close_set(conn, ids, by=self.by, wait=wait)
            return list(found.values())

        return work


class Pages:
    """What is due for a run, a set at a time, to several who ask."""

    def __init__(self, run: Run, name: str, params: Mapping[str, object]) -> None:
        self._run = run
        self._name = name
        self._params = params
        self._last: Due | None = None
        self._ahead: list[Due] = []
        self._turn = asyncio.Lock()

    async def next(self) -> list[Due]:
        """The next set, without those that failed already; empty: there are no more."""
        size = self._run.settings.set_size
        async with self._turn:
            if not self._ahead:
                await self._look_ahead(SETS_AHEAD * size)
            taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken

    async def _look_ahead(self, most: int) -> None:
        """Read many sets at once: what is left to do may be dear to find."""
        gone = {due.id for due in self._run.failed}
        while not self._ahead:
            async with self._run.ctx.fenced() as conn:
                dues = await service.page(conn, self._name, self._last, most, **self._params)
            if not dues:
                return
            self._last = dues[-1]
            self._ahead = [due for due in dues if due.id not in gone]


async def work_through(run: Run) -> None:
    """Do everything that is due for a job."""
    match run.job:
        case JobName.CREATE:
            days = await _days(run)
            await run.through(
                "to_create",
                partial(run.creating, days),
                zones=days.zones,
                dates=days.dates,
                default_zone=run.settings.zone,
            )
        case JobName.OPEN:
            await run.through("to_retime", run.retiming)
            await run.through("to_open", run.opening)
            await run.through("to_prompt", run.opening)
        case JobName.CLOSE:
            await run.through("to_close", run.closing)


@APP.job(queue=QUEUE, retry=SOON)
async def create(ctx: Context) -> None:
    """Create the next local day's round for each active group that has none."""
    await _run(ctx, JobName.CREATE)


@APP.job(name="rounds.open", queue=QUEUE, retry=SOON, priority=-10)
async def open_(ctx: Context) -> None:
    """Open the rounds whose time has come."""
    await _run(ctx, JobName.OPEN)


@APP.job(queue=QUEUE, retry=SOON, priority=-5)
async def close(ctx: Context) -> None:
    """Close the rounds whose time is over."""
    await _run(ctx, JobName.CLOSE)


@APP.job(queue=QUEUE, retry=PATIENTLY)
async def mend(ctx: Context, job: JobName, due_id: int) -> None:
    """Do for one group what a run could not, again and again for a while."""
    run = Run(job, ctx)
    match job:
        case JobName.CREATE:
            days = await _days(run)
            await run.one(run.creating(days, wait=True), due_id)
        case JobName.OPEN:
            await run.one(run.retiming(wait=True), due_id)
            await run.one(run.opening(wait=True), due_id)
        case JobName.CLOSE:
            await run.one(run.closing(wait=True), due_id)


APP.schedule(create, cron=CRON)
APP.schedule(open_, cron=CRON)
APP.schedule(close, cron=CRON)


async def _days(run: Run) -> Days:
    async with run.ctx.fenced() as conn:
        return await service.days(conn, run.settings)


async def _run(ctx: Context, job: JobName) -> None:
    async with ctx.fenced() as conn:
        started_at = await clock.now(conn)
    run = Run(job, ctx)
    await work_through(run)
    ctx.result = {"groups": run.done, "failed": len(run.failed), "late": run.worst_lateness}
    async with ctx.transaction() as conn:
        for due in run.failed:
            await _mend(conn, job, due)
        await _come_again(conn, job)
        await service.note_run(
            conn,
            job,
            started_at,
            groups=run.done,
            failed=len(run.failed),
            worst_lateness=run.worst_lateness,
            keep=timedelta(days=run.settings.keep_days),
        )
    ctx.log.info(
        "run_ended",
        job=job.value,
        groups=run.done,
        failed=len(run.failed),
        worst_lateness=round(run.worst_lateness, 3),
    )


async def _mend(conn: Connection, job: JobName, due: Due) -> None:
    """Add a job for one group, unless an earlier run did and it is still at it."""
    unique = Unique(f"rounds-{job.value}-{due.id}")
    await mend.options(tenant=due.tenant_id, unique=unique).enqueue(conn, job=job, due_id=due.id)


async def _come_again(conn: Connection, job: JobName) -> None:
    """Add a run for the next round that is due before the next regular one."""
    if job is JobName.CREATE:
        return
    kind = open_ if job is JobName.OPEN else close
    at = await service.soonest(conn, job, EVERY)
    if at is not None and not _is_regular(at):
        unique = Unique(f"rounds-{job.value}-{at:%FT%TZ}")  # other runs see it, too
        await kind.options(run_at=at, unique=unique).enqueue(conn)


def _is_regular(at: datetime) -> bool:
    """Whether a run of the schedule falls on this moment."""
    return at.minute % 5 == 0 and at.second == 0

"""Runs the three jobs every five minutes: create, open, close.

A run (`batches.py`) works through what is due, and only the owner of the job commits. A group that
fails is logged, noted, and retried by a job of its own (`rounds.repair`); all others are done. A
run that dies leaves whole sets behind it, and the next attempt, or the next run, does the rest.

Times between two runs are not left waiting: a run that sees a round due within the next five
minutes adds a run for that moment.
"""

import contextlib
from datetime import datetime, timedelta

from ostinato import Context, Retry, Unique, database
from ostinato.apps.rounds import APP, service
from ostinato.apps.rounds.batches import Run, creation_days, work_through
from ostinato.apps.rounds.events import CLOSED, OPENED
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.queries import Connection
from ostinato.apps.rounds.service import Due
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.database import translate

__all__ = ["CLOSED", "OPENED", "close", "create", "open_", "repair"]


EVERY = timedelta(minutes=5)
CRON = "*/5 * * * *"
QUEUE = "rounds"
SOON = Retry(delays=(5.0, 15.0, 60.0))
PATIENTLY = Retry(delays=(10.0, 60.0, 300.0, 900.0))


@APP.job(queue=QUEUE, retry=SOON)
async def create(ctx: Context) -> None:
    """Create the rounds that active groups have not: of the next local day and, while its time is ahead, of today."""
    await _run(ctx, JobName.CREATE)


@APP.job(name="rounds.open", queue=QUEUE, retry=SOON, priority=-10)
async def open_(ctx: Context) -> None:
    """Open the rounds whose time has come."""
    await _run(ctx, JobName.OPEN)


@APP.job(queue=QUEUE, retry=SOON, priority=-5)
async def close(ctx: Context) -> None:
    """Close the rounds whose time is over."""
    await _run(ctx, JobName.CLOSE)


@APP.job(queue=QUEUE, retry=PATIENTLY, aliases=("rounds.mend",))
async def repair(ctx: Context, job: JobName, due_id: int) -> None:
    """Retry for one group what a run could not do, for a while."""
    started_at = await _now(ctx)
    run = Run(job, ctx, ctx.settings(RoundsSettings))
    match job:
        case JobName.CREATE:
            days = await creation_days(run)
            await run.one(run.creating(days, wait=True), due_id)
        case JobName.OPEN:
            await run.one(run.retiming(wait=True), due_id)
            await run.one(run.opening(wait=True), due_id)
        case JobName.CLOSE:
            await run.one(run.closing(wait=True), due_id)
    if run.done:
        async with ctx.transaction() as conn:
            await _note(conn, run, started_at, mended=True)


APP.schedule(create, cron=CRON)
APP.schedule(open_, cron=CRON)
APP.schedule(close, cron=CRON)


async def _run(ctx: Context, job: JobName) -> None:
    started_at = await _now(ctx)
    run = Run(job, ctx, ctx.settings(RoundsSettings))
    try:
        await work_through(run)
        ctx.result = {"groups": run.done, "failed": len(run.failed), "late": run.worst_lateness}
        async with ctx.transaction() as conn:
            for due in run.to_mend:
                await _mend(conn, job, due)
            await _come_again(conn, job)
            await _note(conn, run, started_at, keep=timedelta(days=run.settings.keep_days))
    except Exception as error:
        code = translate(error).code
        ctx.log.warning("run_failed", error=code, **_summary(run))
        # What it did counts, as far as it can be written down: the next attempt finds it done.
        with contextlib.suppress(Exception):
            async with ctx.fenced() as conn:
                await _note(conn, run, started_at, error=code)
        raise
    ctx.log.info("run_ended", **_summary(run))


async def _now(ctx: Context) -> datetime:
    async with ctx.fenced() as conn:
        return await database.now(conn)


def _summary(run: Run) -> dict[str, object]:
    return {
        "job": run.job.value,
        "groups": run.done,
        "failed": len(run.failed),
        "worst_lateness": round(run.worst_lateness, 3),
    }


async def _note(
    conn: Connection,
    run: Run,
    started_at: datetime,
    *,
    keep: timedelta | None = None,
    error: str | None = None,
    mended: bool = False,
) -> None:
    await service.note_run(
        conn,
        run.job,
        started_at,
        groups=run.done,
        failed=len(run.failed),
        worst_lateness=run.worst_lateness,
        keep=keep,
        error=error,
        mended=mended,
    )


async def _mend(conn: Connection, job: JobName, due: Due) -> None:
    """Add a retry job for one group, unless an earlier run added one that has not ended."""
    unique = Unique(f"rounds-{job.value}-{due.id}")
    await repair.options(tenant=due.tenant_id, unique=unique).enqueue(conn, job=job, due_id=due.id)


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
    """Return whether a run of the schedule falls on this moment."""
    return at.minute % 5 == 0 and at.second == 0

"""Claims as workers use them: claim, begin, split, and the verbs that end an attempt.

Finishing verbs work on sets and return the ids that were refused: attempts that this worker does
not hold any more. The logic is in `sql/functions/claims.sql`.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from ostinato._core.db.arrays import numbers
from ostinato._core.db.call import Connection, call, call_now
from ostinato._core.db.sqlstate import translated


class Job(NamedTuple):
    """A job that a worker holds. `(id, attempt)` is its fencing token."""

    queue: str
    id: int
    attempt: int
    """How often the job was claimed, this claim included. Never the same for two holders."""
    failures: int
    """How many attempts failed; the retry policy counts them."""
    crashes: int
    """How many processes died while they held it."""
    claim_id: int
    kind: str
    args: str
    """The arguments as JSON text."""
    tenant_id: str
    correlation_id: str | None
    max_attempts: int | None
    waited: float
    """Seconds from when it could first run until this claim."""
    cursor: str | None = None
    behind: int | None = None
    """The job of the same key after which it runs, if that one succeeds."""
    subject: str | None = None
    """The hash of whom it is about, which what the handler adds carries on; None: nobody."""
    traceparent: str | None = None
    """The span that added it (W3C Trace Context)."""
    apart: bool = False
    """Whether its claim is of this job alone."""


class Failure(NamedTuple):
    """How an attempt failed and what comes next."""

    delay: float | None
    """Seconds until the next attempt; None means dead letter."""
    error: str
    """The error as JSON text."""
    signature: str
    reason: str
    """Why it is a dead letter, when it is one."""


async def claim(
    conn: Connection,
    worker_id: UUID,
    queue: str,
    wanted: int,
    *,
    kinds: list[str] | None,
    cursor: str | None = None,
    suspects: bool = True,
    patience: float = 0.0,
    starts: int | None = None,
    apart: Collection[str] = (),
) -> list[Job]:
    """Take up to `wanted` jobs, and wait at most `patience` seconds for the first one.

    Pass the `cursor` of the first job to the next call for the same queue. Only the first `starts`
    may be started, and no suspect, before `begin` was called for them. Jobs of the kinds `apart`
    get a claim each.
    """
    waiting: dict[str, Any] = {"patience": patience} if patience else {}
    if starts is not None:
        waiting["starts"] = starts
    if apart:
        waiting["apart"] = list(apart)
    rows = await call(
        conn,
        "await_jobs" if patience else "claim_jobs",
        worker_id=worker_id,
        queue=queue,
        wanted=wanted,
        kinds=kinds,
        cursor=cursor,
        suspects=suspects,
        **waiting,
    )
    if apart:
        return [Job._make((queue, *row, row[5] in apart)) for row in rows]
    return [Job(queue, *row) for row in rows]


async def begin(conn: Connection, jobs: Sequence[Job], *, alone: bool = False) -> list[int]:
    """Mark jobs as begun; `alone` says that nothing else runs in this process meanwhile."""
    return _ids(await call(conn, "begin_jobs", **held_columns(jobs), alone=alone))


async def split(conn: Connection, jobs: Sequence[Job]) -> list[int]:
    """Give each job a claim of its own; the ids of those that have none."""
    return _ids(await call(conn, "split_claims", **held_columns(jobs)))


async def complete(
    conn: Connection,
    jobs: Sequence[Job],
    durations: list[int],
    results: list[str | None],
    *,
    in_transaction: bool = False,
) -> list[int]:
    """Finish jobs successfully; `durations` in milliseconds, `results` as JSON text.

    `in_transaction` says that it is part of a handler's transaction.
    """
    stored = results if any(result is not None for result in results) else None
    more = {"in_transaction": True} if in_transaction else {}
    return _ids(
        await call(conn, "complete_jobs", **held_columns(jobs), durations=numbers(durations), results=stored, **more)
    )


async def complete_one(conn: Connection, job: Job, result: str | None, duration_ms: int) -> None:
    """Finish one job in the caller's transaction, or raise `LeaseLost`."""
    await call(
        conn,
        "complete_job",
        job_id=job.id,
        attempt=job.attempt,
        result=result,
        duration_ms=duration_ms,
        claim_id=job.claim_id,
    )


def complete_one_now(conn: psycopg.Connection[Any], job: Job, result: str | None, duration_ms: int) -> None:
    """Complete a job as `complete_one` does, on a synchronous connection."""
    with translated():
        call_now(
            conn,
            "complete_job",
            job_id=job.id,
            attempt=job.attempt,
            result=result,
            duration_ms=duration_ms,
            claim_id=job.claim_id,
        )


async def fail(conn: Connection, jobs: Sequence[Job], failures: Sequence[Failure], durations: list[int]) -> list[int]:
    """End attempts that failed: retry after a delay, or dead letter."""
    return _ids(await call(conn, "fail_jobs", **held_columns(jobs), **_ended(failures, durations)))


async def defer(conn: Connection, jobs: Sequence[Job], failures: Sequence[Failure], durations: list[int]) -> list[int]:
    """End attempts that the database failed: retry soon without counting it, within a bound."""
    return _ids(await call(conn, "defer_jobs", **held_columns(jobs), **_ended(failures, durations)))


async def snooze(conn: Connection, jobs: Sequence[Job], delays: list[float]) -> list[int]:
    """Let jobs run again later without counting a failure."""
    return _ids(await call(conn, "snooze_jobs", **held_columns(jobs), delays=numbers(delays)))


async def cancel(conn: Connection, jobs: Sequence[Job], reasons: list[str], durations: list[int]) -> list[int]:
    """End running jobs as cancelled."""
    return _ids(await call(conn, "cancel_jobs", **held_columns(jobs), reasons=reasons, durations=numbers(durations)))


async def release(conn: Connection, jobs: Sequence[Job]) -> list[int]:
    """Give jobs back to their old position in their lane; no attempt is used up."""
    return _ids(await call(conn, "release_jobs", **held_columns(jobs)))


async def set_aside(conn: Connection, jobs: Sequence[Job]) -> list[int]:
    """Set held jobs aside whose rows are missing or damaged; returns their ids."""
    return _ids(await call(conn, "set_aside_held", **held_columns(jobs)))


async def fence(conn: Connection, job: Job) -> None:
    """Lock a job until the end of the caller's transaction, or raise `LeaseLost`."""
    await call(conn, "fence_job", job_id=job.id, attempt=job.attempt, claim_id=job.claim_id)


async def fence_all(conn: Connection, jobs: Sequence[Job]) -> list[int]:
    """Lock jobs until the end of the caller's transaction; the ids of those that are stale."""
    return _ids(await call(conn, "fence_jobs", **held_columns(jobs)))


async def note_progress(
    conn: Connection, jobs: Sequence[Job], done: list[float], totals: list[float | None], notes: list[str | None]
) -> list[int]:
    """Store the progress of running jobs."""
    return _ids(await call(conn, "note_progress", **held_columns(jobs), done=done, totals=totals, notes=notes))


def held_columns(jobs: Sequence[Job]) -> dict[str, Any]:
    """Return what names held jobs to the functions: their claims, ids and attempts."""
    return {
        "claim_ids": numbers([job.claim_id for job in jobs]),
        "job_ids": numbers([job.id for job in jobs]),
        "attempts": numbers([job.attempt for job in jobs]),
    }


def _ended(failures: Sequence[Failure], durations: list[int]) -> dict[str, Any]:
    delays, errors, signatures, reasons = (list(column) for column in zip(*failures, strict=True))
    return {
        "delays": numbers(delays),
        "errors": errors,
        "signatures": signatures,
        "reasons": reasons,
        "durations": numbers(durations),
    }


def _ids(rows: Iterable[Sequence[int]]) -> list[int]:
    return [row[0] for row in rows]

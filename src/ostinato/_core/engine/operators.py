"""What an operator of one tenant sees and does: its own jobs, and of the rest what all may know.

    async with caller.transaction() as conn:              # as the tenant: see engine.tenants
        page = await operators.jobs(conn, state="dead")
        await operators.retry(conn, page[0].id)

Every function works in a transaction of the tenant, which the database reads from `app.tenant_id`
and nowhere else. Another tenant's job is a `NotFound`, as one that never was. The logic is in
`sql/functions/operators.sql`; the fields of each class are the columns of its SQL function. JSON
that others wrote (args, results, errors) stays text: whoever shows it decides how to read it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from ostinato._core.db.call import call, call_as, call_one, call_value
from ostinato._core.engine import jobs as engine_jobs
from ostinato._core.engine.inspect import DeadLetterGroup, QueueSummary, WorkerSummary
from ostinato._core.engine.jobs import ANY_QUEUE, NewJob, Redrive, State, added_queues

__all__ = [
    "OwnAttempt",
    "OwnDeadLetter",
    "OwnJob",
    "OwnJobDetails",
    "OwnReason",
    "OwnStep",
    "attempts",
    "cancel",
    "dead_letter_groups",
    "dead_letters",
    "enqueue",
    "jobs",
    "queues",
    "redrive",
    "retry",
    "show",
    "steps",
    "why",
    "workers",
]

Connection = AsyncConnection[Any]

PAGE = 50
MOST_PARTS = 100
MOST_REDRIVEN = 1_000
MOST_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class OwnJob:
    """One job in a list."""

    id: int
    state: State
    kind: str
    queue: str
    correlation_id: str | None
    priority: int
    attempt: int
    failures: int
    created_at: datetime
    run_at: datetime | None
    finished_at: datetime | None
    error: str | None
    """The last error, in one line."""


@dataclass(frozen=True, slots=True)
class OwnJobDetails:
    """Everything about one job; as `inspect.JobDetails`, with its JSON as text."""

    id: int
    kind: str
    queue: str
    correlation_id: str | None
    priority: int
    state: State
    reason: str | None
    attempt: int
    failures: int
    crashes: int
    max_attempts: int | None
    created_at: datetime
    asked_run_at: datetime | None
    run_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    args: str
    result: str | None
    error: str | None
    limit_key: str | None
    unique_key: str | None
    unique_states: list[str] | None
    worker_id: UUID | None
    worker_name: str | None
    claimed_at: datetime | None
    lease_until: datetime | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    progress_done: float | None
    progress_total: float | None
    progress_note: str | None
    progress_at: datetime | None


@dataclass(frozen=True, slots=True)
class OwnAttempt:
    """One run of a job."""

    attempt: int
    outcome: str
    """done, failed, lost, cancelled, dead, or running."""
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    worker_id: UUID | None
    worker_name: str | None
    result: str | None
    """None also when it is longer than 16 KiB."""
    error: str | None
    """Its summary when it is longer than 16 KiB."""


@dataclass(frozen=True, slots=True)
class OwnStep:
    """One step of a job."""

    position: int
    name: str
    type: str
    """call, sleep, event, timeout; or waiting, which is no step yet."""
    attempt: int
    finished_at: datetime | None
    duration_ms: int | None
    bytes: int
    """The size of the result as JSON."""
    until: datetime | None
    """The end of a sleep, the deadline of a wait."""
    result: str | None
    """None also when it is longer than 16 KiB."""


@dataclass(frozen=True, slots=True)
class OwnReason:
    """One answer to why a job is not running, without what others have to do with it."""

    code: str
    message: str
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class OwnDeadLetter:
    """A job that gave up."""

    job_id: int
    kind: str
    queue: str
    signature: str
    attempt: int
    died_at: datetime
    reason: str
    error: str | None


async def jobs(
    conn: Connection,
    *,
    state: State | None = None,
    queue: str | None = None,
    kind: str | None = None,
    correlation_id: str | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[OwnJob]:
    """A page of jobs, newest first; `before` is the last id of the page before it."""
    return await call_as(
        conn,
        class_row(OwnJob),
        "own_jobs",
        _read=True,
        state=state,
        queue=queue,
        kind=kind,
        correlation_id=correlation_id,
        before=before,
        most=most,
    )


async def show(conn: Connection, job_id: int) -> OwnJobDetails:
    """Everything about one job."""
    rows = class_row(OwnJobDetails)
    (found,) = await call_as(conn, rows, "own_job", _read=True, job_id=job_id)
    return found


async def attempts(conn: Connection, job_id: int, most: int = MOST_PARTS) -> list[OwnAttempt]:
    """The last runs of a job, first to last."""
    rows = class_row(OwnAttempt)
    return await call_as(conn, rows, "own_attempts", _read=True, job_id=job_id, most=most)


async def steps(conn: Connection, job_id: int, most: int = MOST_PARTS) -> list[OwnStep]:
    """The last steps of a job, first to last, with the wait that is on."""
    rows = class_row(OwnStep)
    return await call_as(conn, rows, "own_steps", _read=True, job_id=job_id, most=most)


async def why(conn: Connection, job_id: int) -> list[OwnReason]:
    """Why a job is not running, or what became of it; the most important first."""
    return await call_as(conn, class_row(OwnReason), "own_why", _read=True, job_id=job_id)


async def dead_letters(
    conn: Connection,
    *,
    queue: str | None = None,
    kind: str | None = None,
    signature: str | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[OwnDeadLetter]:
    """A page of dead letters, newest job first."""
    return await call_as(
        conn,
        class_row(OwnDeadLetter),
        "own_dead_letters",
        _read=True,
        queue=queue,
        kind=kind,
        signature=signature,
        before=before,
        most=most,
    )


async def dead_letter_groups(conn: Connection, most: int = PAGE) -> list[DeadLetterGroup]:
    """Dead letters by what killed them, the largest group first."""
    rows = class_row(DeadLetterGroup)
    return await call_as(conn, rows, "own_dead_letter_groups", _read=True, most=most)


async def enqueue(conn: Connection, job: NewJob) -> int:
    """Add a job of a kind that is open to callers; returns its id, or that of its key's holder."""
    await call(conn, "check_open_kind", _read=True, kind=job.kind)
    return await engine_jobs.enqueue(conn, job)


async def retry(conn: Connection, job_id: int) -> State:
    """Run a waiting, dead or cancelled job now and return the state it was in."""
    was: State
    was, queue = await call_one(conn, "own_retry_job", job_id=job_id)
    _ring(queue)
    return was


async def cancel(conn: Connection, job_id: int, reason: str = "cancelled by request") -> State:
    """Cancel a job and return the state it was in: waiting ones end, running ones are asked to."""
    was: State = await call_value(conn, "own_cancel_job", job_id=job_id, reason=reason)
    return was


async def redrive(
    conn: Connection,
    *,
    queue: str | None = None,
    kind: str | None = None,
    signature: str | None = None,
    most: int = MOST_REDRIVEN,
    preview: bool = True,
) -> Redrive:
    """Run the dead letters that match again, oldest first and at most `most`; preview counts."""
    row = await call_one(
        conn,
        "own_redrive",
        queue=queue,
        kind=kind,
        signature=signature,
        most=most,
        preview=preview,
    )
    found = Redrive(*row)
    if found.redriven:
        _ring(queue or ANY_QUEUE)
    return found


async def queues(conn: Connection, most: int = MOST_PLACES) -> list[QueueSummary]:
    """The queues that a tenant may know of, with the counts of its own jobs."""
    return await call_as(conn, class_row(QueueSummary), "own_queues", _read=True, most=most)


async def workers(conn: Connection, most: int = MOST_PLACES) -> list[WorkerSummary]:
    """Every worker, with how many jobs of the tenant it holds."""
    return await call_as(conn, class_row(WorkerSummary), "own_workers", _read=True, most=most)


def _ring(queue: str) -> None:
    """Have idle workers woken after the commit."""
    added = added_queues.get()
    if added is not None:
        added.add(queue)

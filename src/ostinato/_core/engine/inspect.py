"""What people and programs look at: jobs, queues, workers, dead letters, and why.

Every function only reads. The logic is in `sql/functions/inspect.sql`, `why.sql` and `trail.sql`;
the fields of each class are the columns of its SQL function.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from ostinato._core.base.errors import NotFound
from ostinato._core.db.call import call_as
from ostinato._core.engine.jobs import State

__all__ = [
    "Attempt",
    "DeadLetter",
    "DeadLetterGroup",
    "JobDetails",
    "JobSummary",
    "QueueSummary",
    "Reason",
    "Stats",
    "TrailLine",
    "WorkerSummary",
    "attempts",
    "dead_letter_groups",
    "list_dead_letters",
    "list_jobs",
    "list_queues",
    "list_workers",
    "show_job",
    "stats",
    "trail",
    "why",
]

Connection = AsyncConnection[Any]
PAGE = 50


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One job in a list."""

    id: int
    state: State
    kind: str
    queue: str
    tenant_id: str
    correlation_id: str | None
    priority: int
    attempt: int
    """The run that is on or comes next; of a finished job the last one."""
    failures: int
    created_at: datetime
    run_at: datetime | None
    """When a scheduled job runs next."""
    finished_at: datetime | None
    error: str | None
    """The last error, in one line."""


@dataclass(frozen=True, slots=True)
class JobDetails:
    """Everything about one job."""

    id: int
    kind: str
    queue: str
    tenant_id: str
    correlation_id: str | None
    priority: int
    state: State
    reason: str | None
    """Why it waits (later, retry, snooze), died, or was cancelled."""
    attempt: int
    failures: int
    crashes: int
    max_attempts: int | None
    created_at: datetime
    asked_run_at: datetime | None
    """The time it was enqueued for."""
    run_at: datetime | None
    """When it runs next, while it is scheduled."""
    finished_at: datetime | None
    duration_ms: int | None
    args: Any
    result: Any
    error: Any
    limit_key: str | None
    unique_key: str | None
    unique_states: list[str] | None
    """The states in which it holds its unique key; None when it does not hold it now."""
    worker_id: UUID | None
    """Who holds it, or ran it last."""
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
class Attempt:
    """One run of a job."""

    attempt: int
    outcome: str
    """done, failed, lost, cancelled, dead, or running."""
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    worker_id: UUID | None
    worker_name: str | None
    result: Any
    error: Any


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """A queue: its limits, and what is in it."""

    name: str
    paused: bool
    concurrency: int | None
    rate_count: int | None
    rate_seconds: float | None
    key_concurrency: int | None
    key_rate_count: int | None
    key_rate_seconds: float | None
    ready: int
    scheduled: int
    running: int
    dead: int
    capped: list[str]
    """The counts that are lower bounds, by name."""
    oldest_wait: float | None
    """For how many seconds the oldest ready job has waited."""
    workers: int


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """A worker that is registered, alive or not."""

    id: UUID
    name: str
    started_at: datetime
    beat_at: datetime
    beat_age: float
    expiry_seconds: float
    expired: bool
    draining: bool
    held: int
    oldest_claim: datetime | None
    contract: int
    queues: list[str]
    kinds: list[str]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that gave up."""

    job_id: int
    kind: str
    queue: str
    tenant_id: str
    signature: str
    attempt: int
    died_at: datetime
    reason: str
    error: str | None


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Dead letters of one kind that died of the same."""

    signature: str
    kind: str
    reason: str
    count: int
    first: datetime
    last: datetime
    example_job_id: int
    example_error: str | None


@dataclass(frozen=True, slots=True)
class Stats:
    """The engine in numbers."""

    ready: int
    scheduled: int
    due: int
    running: int
    dead: int
    estimated: list[str]
    """The counts that are estimates, by name."""
    workers: int
    expired_workers: int
    oldest_ready: float | None
    xmin_age: int
    """How many transactions old the oldest snapshot is; it keeps dead rows from being removed."""
    ready_dead_tuples: int
    default_bytes: int


@dataclass(frozen=True, slots=True)
class Reason:
    """One answer to why a job is not running."""

    code: str
    message: str
    detail: dict[str, Any]
    hint: str


@dataclass(frozen=True, slots=True)
class TrailLine:
    """One thing that happened for a correlation id."""

    at: datetime
    source: str
    """job, attempt, step, wait, lease, fire, event, delivery, webhook, callback or transition."""
    what: str
    """The kind, step, schedule, event type, subscription, endpoint, or the row that changed."""
    state: str
    """What came of it: enqueued, running, done, emitted, delivered, …"""
    tenant_id: str
    job_id: int | None
    attempt: int | None
    ref: str
    """The id of the thing itself."""
    detail: dict[str, Any]


async def list_jobs(
    conn: Connection,
    *,
    state: State | None = None,
    queue: str | None = None,
    kind: str | None = None,
    tenant_id: str | None = None,
    correlation_id: str | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[JobSummary]:
    """A page of jobs, newest first; `before` is the last id of the page before it."""
    return await call_as(
        conn,
        class_row(JobSummary),
        "list_jobs",
        _read=True,
        state=state,
        queue=queue,
        kind=kind,
        tenant_id=tenant_id,
        correlation_id=correlation_id,
        before=before,
        most=most,
    )


async def show_job(conn: Connection, job_id: int) -> JobDetails:
    """Everything about one job; raises `NotFound` when there is none."""
    found = await call_as(conn, class_row(JobDetails), "show_job", _read=True, job_id=job_id)
    if not found:
        raise NotFound(f"There is no job {job_id}.", job_id=job_id)
    return found[0]


async def attempts(conn: Connection, job_id: int) -> list[Attempt]:
    """The runs of a job, first to last."""
    return await call_as(conn, class_row(Attempt), "job_attempts", _read=True, job_id=job_id)


async def list_queues(conn: Connection) -> list[QueueSummary]:
    """Every queue that is configured, holds jobs, or belongs to a kind."""
    return await call_as(conn, class_row(QueueSummary), "list_queues", _read=True)


async def list_workers(conn: Connection) -> list[WorkerSummary]:
    """Every worker that is registered, the longest silent first."""
    return await call_as(conn, class_row(WorkerSummary), "list_workers", _read=True)


async def list_dead_letters(
    conn: Connection,
    *,
    queue: str | None = None,
    kind: str | None = None,
    tenant_id: str | None = None,
    signature: str | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[DeadLetter]:
    """A page of dead letters, newest job first."""
    return await call_as(
        conn,
        class_row(DeadLetter),
        "list_dead_letters",
        _read=True,
        queue=queue,
        kind=kind,
        tenant_id=tenant_id,
        signature=signature,
        before=before,
        most=most,
    )


async def dead_letter_groups(conn: Connection) -> list[DeadLetterGroup]:
    """Dead letters by what killed them, the largest group first."""
    return await call_as(conn, class_row(DeadLetterGroup), "dead_letter_groups", _read=True)


async def stats(conn: Connection) -> Stats:
    """The engine in numbers, for metrics."""
    (found,) = await call_as(conn, class_row(Stats), "engine_stats", _read=True)
    return found


async def why(conn: Connection, job_id: int) -> list[Reason]:
    """Why a job is not running, or what became of it; the most important first."""
    return await call_as(conn, class_row(Reason), "why", _read=True, job_id=job_id)


async def trail(
    conn: Connection, correlation_id: str, *, tenant_id: str | None = None, most: int = 1000
) -> list[TrailLine]:
    """Everything that happened for a correlation id, first to last.

    The correlation id of a job that was enqueued without one is `job-<id>`.
    """
    return await call_as(
        conn,
        class_row(TrailLine),
        "trail",
        _read=True,
        correlation_id=correlation_id,
        for_tenant=tenant_id,
        most=most,
    )

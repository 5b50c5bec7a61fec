"""Reads jobs, queues, workers and dead letters, and explains why a job does not run.

Every function only reads, and shows what its caller may see: a worker sees every tenant, a
transaction of a tenant (`engine.tenants`) its own rows; a job of another tenant is a `NotFound`, as
one that does not exist. The logic is in `sql/functions/inspect.sql`, `why.sql` and `trail.sql`; the
fields of each class are the columns of its SQL function, and their docstrings the descriptions in
the OpenAPI document. `loads` reads JSON from outside; None means the connection's own loader.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict, Unpack
from uuid import UUID

from psycopg.rows import class_row

from ostinato._core.db.call import Connection, Loads, call, call_as, call_one
from ostinato._core.engine.jobs import State


class _Filter(TypedDict, total=False):
    queue: str | None
    kind: str | None
    tenant_id: str | None
    before: int | None
    """The last id of the page before."""
    most: int
    """The size of the page: 50 by default, 1,000 at the most."""


class JobFilter(_Filter, total=False):
    """A filter of jobs; a field that is None or left out matches any."""

    state: State | None
    correlation_id: str | None


class Search(TypedDict, total=False):
    """A filter of jobs by many fields; a field that is None or left out matches any."""

    queue: str | None
    kind: str | None
    tenant_id: str | None
    correlation_id: str | None
    signature: str | None
    """The error signature of dead letters."""
    since: str | None
    """Added at this time or later, as ISO 8601 with a zone."""
    until: str | None
    """Added before this time."""
    args: dict[str, Any] | None
    """Contained in the arguments, as `@>` of PostgreSQL means it."""
    text: str | None
    """Part of the text of the arguments, in any case."""


class DeadLetterFilter(_Filter, total=False):
    """A filter of dead letters; a field that is None or left out matches any."""

    signature: str | None


@dataclass(frozen=True, slots=True)
class JobSummary:
    """One job in a list."""

    id: int
    state: State
    kind: str
    queue: str
    tenant_id: str
    correlation_id: str | None
    """The request that it belongs to; without one, what it adds gets `job-<id>`."""
    priority: int
    """Lower runs first."""
    attempt: int
    """The present or next attempt; of a finished job the last one."""
    failures: int
    created_at: datetime
    run_at: datetime | None
    """When a scheduled job runs next."""
    finished_at: datetime | None
    error: str | None
    """The last error, in one line."""
    reason: str | None
    """Why it waits (later, retry, snooze, sleep, event), died, or was cancelled."""


@dataclass(frozen=True, slots=True)
class JobsFound:
    """A page of a search."""

    jobs: list[JobSummary]
    next: int | None
    """The `before` of the next page; None means that this is the last one. A page may be empty and have a next one."""


@dataclass(frozen=True, slots=True)
class JobDetails(JobSummary):
    """Everything about one job."""

    crashes: int
    """How often its worker died with it."""
    max_attempts: int | None
    """None means that of its kind."""
    asked_run_at: datetime | None
    """The time it was enqueued for."""
    duration_ms: int | None
    args: Any
    result: Any
    error: Any
    """What the last attempt raised, in full."""
    limit_key: str | None
    unique_key: str | None
    unique_states: list[str] | None
    """The states in which it holds its unique key; None when it does not hold it now."""
    worker_id: UUID | None
    """The worker that holds it, or ran it last."""
    worker_name: str | None
    claimed_at: datetime | None
    lease_until: datetime | None
    """When it is taken back from its worker, unless that sends a heartbeat."""
    cancel_requested_at: datetime | None
    cancel_reason: str | None
    progress_done: float | None
    progress_total: float | None
    progress_note: str | None
    progress_at: datetime | None
    parent_id: int | None
    """The job that spawned it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a job."""

    attempt: int
    outcome: Literal["done", "failed", "lost", "cancelled", "dead", "running"]
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    worker_id: UUID | None
    worker_name: str | None
    result: Any
    """Its result; None also when that is longer than was asked for."""
    error: Any
    """Its error; a summary when that is longer than was asked for."""


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """A queue: its limits, and the jobs in it that the caller may see."""

    name: str
    paused: bool
    """Nothing is claimed from it."""
    concurrency: int | None
    """The most jobs of all tenants that run at once; None means no limit."""
    rate_count: int | None
    """The most jobs that start within `rate_seconds`."""
    rate_seconds: float | None
    key_concurrency: int | None
    """As `concurrency`, for the jobs of one limit key."""
    key_rate_count: int | None
    key_rate_seconds: float | None
    ready: int
    scheduled: int
    running: int
    dead: int
    capped: list[str]
    """The counts that are lower bounds, by name."""
    oldest_wait: float | None
    """The seconds that the oldest ready job has waited."""
    workers: int
    """Living workers that serve it."""


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """A worker of the installation, alive or not."""

    id: UUID
    name: str
    started_at: datetime
    beat_at: datetime
    beat_age: float
    """Seconds since its last heartbeat."""
    expiry_seconds: float
    """A worker that is silent for this long loses its jobs."""
    expired: bool
    draining: bool
    """Whether it is stopping and takes no new jobs."""
    held: int
    """Jobs that it holds."""
    oldest_claim: datetime | None
    """Since when it holds the oldest of them."""
    contract: int
    queues: list[str]
    kinds: list[str]
    release: str | None
    """The release of Ostinato that it runs."""
    places: int | None
    """How many jobs it runs at once."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that is not retried any more."""

    job_id: int
    kind: str
    queue: str
    tenant_id: str
    signature: str
    """Its error, without the values that differ from one to the next."""
    attempt: int
    died_at: datetime
    reason: str
    error: str | None


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Dead letters of one kind with the same error signature."""

    signature: str
    kind: str
    reason: str
    count: int
    first: datetime
    last: datetime
    example_job_id: int
    example_error: str | None
    capped: bool
    """Whether there are more dead letters than are grouped, the newest: the count is a lower bound."""


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
    """One answer to why a job is not running, or what became of it."""

    code: str
    """Stable, for programs."""
    message: str
    detail: dict[str, Any]
    """The values in the message."""
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


async def list_jobs(conn: Connection, **which: Unpack[JobFilter]) -> list[JobSummary]:
    """Return a page of jobs, newest first; `before` is the last id of the page before it."""
    return await call_as(conn, class_row(JobSummary), "list_jobs", _read=True, **which)


async def search_jobs(
    conn: Connection, which: Search, *, state: State | None = None, before: int | None = None, most: int = 50
) -> JobsFound:
    """Return a page of the jobs that match every field, newest first; it looks at 10,000 jobs at the most."""
    given: dict[str, Any] = {"state": state, "filter": json.dumps(which), "before": before, "most": most + 1}
    ids, following = await call_one(conn, "search_jobs", _read=True, **given)
    if len(ids) > most:
        ids = ids[:most]
        following = ids[-1]
    rows = await call_as(conn, class_row(JobSummary), "list_jobs", _read=True, ids=ids) if ids else []
    return JobsFound(rows, following)


async def show_job(conn: Connection, job_id: int, *, loads: Loads | None = None) -> JobDetails:
    """Return everything about one job; raises `NotFound` when there is none."""
    rows = class_row(JobDetails)
    (found,) = await call_as(conn, rows, "show_job", _read=True, _loads=loads, job_id=job_id)
    return found


async def attempts(
    conn: Connection, job_id: int, *, most: int | None = None, longest: int | None = None, loads: Loads | None = None
) -> list[Attempt]:
    """Return the last runs of a job, first to last; none of their JSON longer than `longest` bytes."""
    return await call_as(
        conn, class_row(Attempt), "job_attempts", _read=True, _loads=loads, job_id=job_id, most=most, longest=longest
    )


async def list_queues(conn: Connection, *, most: int | None = None) -> list[QueueSummary]:
    """Return every queue that is configured, holds jobs, or belongs to a kind."""
    return await call_as(conn, class_row(QueueSummary), "list_queues", _read=True, most=most)


async def list_workers(conn: Connection, *, most: int | None = None) -> list[WorkerSummary]:
    """Return every worker that is registered, the longest silent first."""
    return await call_as(conn, class_row(WorkerSummary), "list_workers", _read=True, most=most)


async def list_dead_letters(conn: Connection, **which: Unpack[DeadLetterFilter]) -> list[DeadLetter]:
    """Return a page of dead letters, newest job first."""
    return await call_as(conn, class_row(DeadLetter), "list_dead_letters", _read=True, **which)


async def dead_letter_groups(conn: Connection, *, most: int = 1_000) -> list[DeadLetterGroup]:
    """Group dead letters by their error, the largest group first."""
    rows = class_row(DeadLetterGroup)
    return await call_as(conn, rows, "dead_letter_groups", _read=True, most=most)


async def stats(conn: Connection) -> Stats:
    """Return the engine in numbers, for metrics."""
    (found,) = await call_as(conn, class_row(Stats), "engine_stats", _read=True)
    return found


async def why(conn: Connection, job_id: int, *, loads: Loads | None = None) -> list[Reason]:
    """Return why a job is not running, or what became of it; the most important first."""
    return await call_as(conn, class_row(Reason), "why", _read=True, _loads=loads, job_id=job_id)


async def trail(
    conn: Connection, correlation_id: str, *, tenant_id: str | None = None, most: int = 1000
) -> list[TrailLine]:
    """Return everything that happened for a correlation id, first to last.

    The correlation id of a job that was enqueued without one is `job-<id>`.
    """
    return await call_as(
        conn, class_row(TrailLine), "trail", _read=True, correlation_id=correlation_id, for_tenant=tenant_id, most=most
    )


class Following(NamedTuple):
    """How far a job is."""

    job_id: int
    state: State
    done: float | None
    """What the handler reported last; None before it did, and after the run."""
    total: float | None
    note: str | None
    updated_at: datetime | None


async def follow(conn: Connection, job_ids: Sequence[int]) -> list[Following]:
    """Return how far jobs are: their states, and what their handlers reported last."""
    rows = await call(conn, "follow_jobs", _read=True, job_ids=list(job_ids))
    return [Following(*row) for row in rows]

"""Jobs as their callers see them: enqueue, cancel, retry, hasten, redrive.

Every function works in the transaction of the connection it is given. The logic is in
`sql/functions/jobs.sql`; any client in any language gets the same by calling those functions.
"""

import json
import math
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import psycopg

from ostinato._core.base import flow
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.jsonio import dump_args
from ostinato._core.base.traceparent import current_traceparent
from ostinato._core.base.vault import Vault
from ostinato._core.db.arrays import column
from ostinato._core.db.call import Connection, call, call_now, call_one, call_value
from ostinato._core.db.foreign import texts_for
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine.secrets import args_purpose, vault_of

State = Literal["scheduled", "ready", "running", "done", "cancelled", "dead"]
"""Where a job is; its place is its state."""
LimitScope = Literal["tenant", "installation"]
"""Who shares the slots of a limit key: the jobs of one tenant, or of all of them."""
LIVE: tuple[State, ...] = ("scheduled", "ready", "running")

MAX_ARGS_BYTES = 262_144
"""The bytes of the args of a job: `most_bytes()` of constants.sql."""
ANY_QUEUE = "@any"
"""Rung for a job whose queue is that of its kind, known to the database only: all workers look."""

RING_EVERY_SECONDS = 0.02
MOST_RUNG = 1000
_rung: dict[str, float] = {}
"""When this process rang a queue in a transaction of another library."""

# The queues to which the transaction of this task has added jobs; the code that commits it rings
# them.
added_queues: ContextVar[set[str] | None] = ContextVar("added_queues", default=None)


@dataclass(frozen=True, slots=True)
class Unique:
    """At most one job with this key, per tenant, among those in the chosen states."""

    key: str
    policy: Literal["return", "refuse", "replace"] = "return"
    """What happens when a second job is added.

    It returns the id of the first, raises `UniqueConflict`, or replaces the first while that waits.
    """
    states: tuple[State, ...] = LIVE
    """The states in which a job holds its key.

    Without "running" the key is free again, for good, at the first claim.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.key, str):
            raise InvalidInput(
                f"the unique key {self.key!r} is of type {type(self.key).__name__}, not text",
                hint=f"Give text that names it, such as Unique('order-{self.key}').",
            )


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be enqueued. None means the default of the flow, the kind or the engine."""

    kind: str
    args: str = "{}"
    queue: str | None = None
    priority: int | None = None
    run_at: datetime | None = None
    tenant_id: str | None = None
    correlation_id: str | None = None
    limit_key: str | None = None
    unique: Unique | None = None
    max_attempts: int | None = None
    secret_args: frozenset[str] = frozenset()
    """The arguments that are sealed before they are stored."""
    limit_scope: LimitScope = "tenant"
    """Who shares the slots of the limit key; only the installation's own code may say "installation"."""
    subject: str | None = None
    """Whom it is about, as your application names the person; stored as a keyed hash (`erasure`)."""


@dataclass(frozen=True, slots=True)
class Redrive:
    """The result of a redrive."""

    matching: int
    redriven: int
    conflicts: int
    """Dead letters whose unique key another job holds by now: they stay dead."""


async def enqueue(conn: Connection, job: NewJob) -> int:
    """Add one job and return its id, or that of the job that holds its unique key."""
    check_time(job)
    if job.secret_args:
        job = await sealed(conn, job)
    job_id = int(await call_value(conn, "enqueue_job", **_given(job)))
    if nobody_rings(job.queue or ANY_QUEUE):
        await call(conn, "ring_at_commit", queue=job.queue or ANY_QUEUE)
    return job_id


def enqueue_sync(conn: psycopg.Connection[Any], job: NewJob) -> int:
    """Add a job, on a synchronous connection."""
    check_time(job)
    with translated():
        if job.secret_args:
            ((tenant,),) = call_now(conn, "tenant", given=_tenant_of(job))
            job = _sealed(job, vault_of(conn), tenant)
        ((job_id,),) = call_now(conn, "enqueue_job", **_given(job))
        if nobody_rings(job.queue or ANY_QUEUE):
            call_now(conn, "ring_at_commit", queue=job.queue or ANY_QUEUE)
    return int(job_id)


def _given(job: NewJob) -> dict[str, Any]:
    """Return what `enqueue_job` is given: what is not the default."""
    tenant, correlation, subject = flow.current()
    options: dict[str, Any] = {
        "queue": job.queue,
        "priority": job.priority,
        "run_at": job.run_at,
        "tenant_id": _first(job.tenant_id, tenant),
        "correlation_id": _first(job.correlation_id, correlation),
        "limit_key": job.limit_key,
        "max_attempts": job.max_attempts,
        "limit_scope": None if job.limit_scope == "tenant" else job.limit_scope,
        "subject": _first(job.subject, subject),
        "traceparent": current_traceparent(),
    }
    if job.unique is not None:
        options |= {
            "unique_key": job.unique.key,
            "unique_policy": job.unique.policy,
            "unique_states": list(job.unique.states),
        }
    given = {name: value for name, value in options.items() if value is not None}
    return {"kind": job.kind, "args": job.args, **given}


async def sealed(conn: Connection, job: NewJob) -> NewJob:
    """Return the job with its secret arguments sealed, for its kind and tenant."""
    tenant = str(await call_value(conn, "tenant", _read=True, given=_tenant_of(job)))
    return _sealed(job, vault_of(conn), tenant)


def sealed_for(job: NewJob, vault: Vault, tenant: str) -> str:
    """Return the args of a job of a tenant, the secret ones sealed."""
    return _sealed(job, vault, tenant).args if job.secret_args else job.args


def _tenant_of(job: NewJob) -> str | None:
    return _first(job.tenant_id, flow.current().tenant)


def _sealed(job: NewJob, vault: Vault, tenant: str) -> NewJob:
    args = json.loads(job.args)
    for name in job.secret_args & args.keys():
        if isinstance(args[name], str):
            args[name] = vault.seal(args[name], purpose=args_purpose(job.kind, name, tenant))
    return replace(job, args=dump_args(args, MAX_ARGS_BYTES), tenant_id=tenant)


def naming_secrets(job: NewJob, error: InvalidInput) -> NewJob:
    """Return the job to add after the database refused it: with its secret arguments, to be sealed.

    Only the database knows those of a kind that this process has not loaded: it refuses them in the
    clear and names them, which costs a second call only where there are any. Other errors are raised.
    """
    names = error.values.get("secret_args")
    if not isinstance(names, list) or job.secret_args:
        raise error
    return replace(job, secret_args=frozenset(map(str, names)))


async def enqueue_many(conn: Connection, jobs: Sequence[NewJob], *, parent: tuple[int, int] | None = None) -> list[int]:
    """Add many jobs in one statement and return their ids in order.

    `parent` is for the engine's own use: the job and the group whose children they are.
    """
    if not jobs:
        return []
    for job in jobs:
        check_time(job)
        if job.unique is not None and (job.unique.policy != "return" or job.unique.states != LIVE):
            raise InvalidInput(
                f"job {job.kind} has a unique key with policy {job.unique.policy!r} and states "
                f"{job.unique.states}; in bulk only the defaults are possible",
                hint="Enqueue such jobs one by one.",
                kind=job.kind,
            )
    jobs = [await sealed(conn, job) if job.secret_args else job for job in jobs]
    mine = flow.current()
    subjects = column([_first(job.subject, mine.subject) for job in jobs])
    more: dict[str, Any] = {} if subjects is None else {"subjects": subjects}
    if (traceparent := current_traceparent()) is not None:
        more["traceparent"] = traceparent
    if parent is not None:
        more["parent_id"], more["group_id"] = parent
    rows = await call(
        conn,
        "enqueue_jobs",
        kinds=column([job.kind for job in jobs]),
        args=texts_for(conn, [job.args for job in jobs]),
        queues=column([job.queue for job in jobs]),
        priorities=column([job.priority for job in jobs]),
        run_ats=column([job.run_at for job in jobs]),
        tenant_ids=column([_first(job.tenant_id, mine.tenant) for job in jobs]),
        correlation_ids=column([_first(job.correlation_id, mine.correlation) for job in jobs]),
        limit_keys=column([job.limit_key for job in jobs]),
        unique_keys=column([job.unique and job.unique.key for job in jobs]),
        max_attempts=column([job.max_attempts for job in jobs]),
        limit_scopes=column([None if job.limit_scope == "tenant" else job.limit_scope for job in jobs]),
        **more,
    )
    for queue in {job.queue or ANY_QUEUE for job in jobs}:
        if nobody_rings(queue):
            await call(conn, "ring_at_commit", queue=queue)
    return [row[0] for row in rows]


async def check_open_kind(conn: Connection, kind: str, queue: str | None = None) -> None:
    """Refuse a kind that is closed to tenants, or a queue; a tenant's own calls are checked anyway."""
    await call(conn, "check_open_kind", _read=True, kind=kind, queue=queue)


async def cancel(conn: Connection, job_id: int, reason: str = "cancelled by request") -> State:
    """Cancel a job and return the state it was in.

    A waiting job ends at once, a running one is asked to stop.
    """
    was: State = await call_value(conn, "cancel_job", job_id=job_id, reason=reason)
    return was


async def retry(conn: Connection, job_id: int) -> State:
    """Run a waiting, dead or cancelled job now and return the state it was in."""
    was: State = await call_value(conn, "retry_job", job_id=job_id)
    wake_after_commit(ANY_QUEUE)
    return was


async def move(conn: Connection, job_id: int, run_at: datetime) -> State:
    """Move a waiting job to another time and return the state it was in; a time that has passed is now."""
    was: State = await call_value(conn, "move_job", job_id=job_id, run_at=run_at)
    wake_after_commit(ANY_QUEUE)
    return was


async def hasten(conn: Connection, job_ids: Sequence[int]) -> list[int]:
    """Run the jobs now that are scheduled for later, and return their ids.

    Jobs that run, are ready or have ended do not change.
    """
    rows = await call(conn, "hasten_jobs", job_ids=list(job_ids))
    wake_after_commit(*(queue for _, queue in rows))
    return [job_id for job_id, _ in rows]


async def rekind(conn: Connection, old: str, new: str, *, most: int = 5000) -> int:
    """Give waiting and dead jobs of a kind another name, and its schedules; returns how many jobs.

    At most `most` of them in this transaction: call it until it returns zero.
    """
    count = int(await call_value(conn, "rekind_jobs", old=old, new=new, most=most))
    wake_after_commit(ANY_QUEUE)
    return count


async def redrive(
    conn: Connection,
    *,
    queue: str | None = None,
    kind: str | None = None,
    tenant_id: str | None = None,
    signature: str | None = None,
    ids: Sequence[int] | None = None,
    most: int | None = None,
    preview: bool = False,
) -> Redrive:
    """Retry the dead letters that match every given filter, oldest first and at most `most`.

    `preview` only counts them.
    """
    row = await call_one(
        conn,
        "redrive_jobs",
        queue=queue,
        kind=kind,
        tenant_id=tenant_id,
        signature=signature,
        ids=None if ids is None else list(ids),
        most=most,
        preview=preview,
    )
    found = Redrive(*row)
    if found.redriven:
        wake_after_commit(queue or ANY_QUEUE)
    return found


def _first(given: str | None, flowing: str | None) -> str | None:
    """Return the caller's value, or the value of the flow."""
    return flowing if given is None else given


def check_time(job: NewJob) -> None:
    """Refuse a time without a zone."""
    if job.run_at is not None and job.run_at.tzinfo is None:
        raise InvalidInput(
            f"run_at of {job.kind} has no time zone: {job.run_at.isoformat()}",
            hint="Use a datetime with a zone, such as datetime.now(UTC) + timedelta(hours=1).",
            kind=job.kind,
        )


def nobody_rings(queue: str) -> bool:
    """Return whether nobody wakes the workers after this transaction, and this process last rang a while ago.

    A `Client` rings after its own transactions. In one of another library the ring is part of the commit,
    where it makes commits wait for each other: so not more often than every 20 ms. Where a burst ends
    within that time, the last of it are found by the next poll.
    """
    added = added_queues.get()
    if added is not None:
        added.add(queue)
        return False
    if time.monotonic() < _rung.get(queue, -math.inf) + RING_EVERY_SECONDS:
        return False
    if len(_rung) >= MOST_RUNG:
        _rung.clear()
    _rung[queue] = time.monotonic()
    return True


def wake_after_commit(*queues: str) -> None:
    """Wake idle workers of these queues when the transaction of a `Client` has committed.

    The verbs of this module do it; call it where an SQL function of your own adds jobs.
    """
    added = added_queues.get()
    if added is not None:
        added.update(queues)

"""A lease gives a name one holder at a time, per tenant, with a fencing token.

    lease = await leases.acquire(conn, "import:acme", holder="nightly", ttl=30)
    await leases.renew(conn, lease)           # at least every ttl; a third of it is usual
    await leases.guard(conn, lease)           # in the transaction of your own writes
    await leases.release(conn, lease)

A lease lasts as long as its renewals (`ttl`), an attempt of a job, or a job.
`ostinato._core.runtime.handlers.leases.hold` does all that around a block. The logic is in
`sql/functions/leases.sql`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import psycopg
from psycopg.rows import class_row

from ostinato._core.base.errors import InvalidInput, LeaseHeld, NotFound
from ostinato._core.base.flow import current
from ostinato._core.base.jsonio import dump_args
from ostinato._core.db.call import Connection, call_as, call_now, call_one, call_value
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine.jobs import ANY_QUEUE, MAX_ARGS_BYTES, NewJob, check_time, sealed, wake_after_commit

Lifetime = Literal["time", "attempt", "job"]

BATCH = 1000


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that the caller has acquired."""

    name: str
    tenant_id: str | None
    token: int
    """The fencing token: for one name a later holder's is greater. Hand it to other systems."""
    attempt: int
    """How many holders it had in a row; more than 1 means that the last one did not release it."""
    until: datetime | None
    """When another holder may take over, unless it is renewed; None means when its job ends."""
    lifetime: Lifetime


@dataclass(frozen=True, slots=True)
class LeaseLine:
    """One lease in a list."""

    tenant: str
    name: str
    state: Literal["held", "late", "expired", "over"]
    """Late means overdue, but its holder may be alive; over, that its attempt or job has ended."""
    holder: str
    token: int
    attempt: int
    since: datetime
    renewed_at: datetime
    until: datetime | None
    lifetime: Lifetime
    ttl_seconds: float | None
    job_id: int | None
    job_attempt: int | None
    job_state: str | None


class Attached(NamedTuple):
    """The job that has the lease."""

    job_id: int
    attached: bool
    """Whether it existed already, so that nothing was added."""


async def acquire(
    conn: Connection,
    name: str,
    *,
    holder: str,
    ttl: float | None = None,
    job_id: int | None = None,
    job_attempt: int | None = None,
    tenant: str | None = None,
) -> Lease:
    """Take a lease, or raise `LeaseHeld`, which names holder, job and until when.

    With `ttl` (seconds) it lasts as long as its renewals, and the job is only recorded; without,
    it ends with that attempt of the job. Call it in a transaction of its own: until that commits,
    other callers wait.
    """
    tenant = tenant or current().tenant
    row = await call_one(
        conn,
        "acquire_lease",
        name=name,
        holder=holder,
        ttl_seconds=ttl,
        job_id=job_id,
        job_attempt=job_attempt,
        tenant_id=tenant,
    )
    return _answered(name, tenant, row)


def acquire_now(
    conn: psycopg.Connection[Any], name: str, *, holder: str, job_id: int, job_attempt: int, tenant: str
) -> Lease:
    """Acquire a lease for an attempt that runs in a thread."""
    asked = {"job_id": job_id, "job_attempt": job_attempt, "tenant_id": tenant}
    with translated():
        (row,) = call_now(conn, "acquire_lease", name=name, holder=holder, **asked)
    return _answered(name, tenant, row)


async def renew(conn: Connection, lease: Lease, *, ttl: float | None = None) -> datetime | None:
    """Renew a lease; returns until when. Raises `LeaseLost` when another holder has it."""
    until: datetime | None = await call_value(conn, "renew_lease", **_held(lease), ttl_seconds=ttl)
    return until


async def guard(conn: Connection, lease: Lease) -> None:
    """Lock the lease until the end of this connection's transaction, or raise `LeaseLost`."""
    await call_value(conn, "guard_lease", **_held(lease))


def guard_now(conn: psycopg.Connection[Any], lease: Lease) -> None:
    """Guard a lease as `guard` does, in a thread."""
    with translated():
        call_now(conn, "guard_lease", **_held(lease))


async def release(conn: Connection, lease: Lease) -> bool:
    """Release a lease; False means that the caller does not hold it any more."""
    return bool(await call_value(conn, "release_lease", **_held(lease)))


def release_now(conn: psycopg.Connection[Any], lease: Lease) -> bool:
    """Release a lease, in a thread."""
    with translated():
        ((released,),) = call_now(conn, "release_lease", **_held(lease))
    return bool(released)


async def force_release(conn: Connection, name: str, *, tenant: str | None = None, force: bool = False) -> bool:
    """Take away a lease whose holder is gone, or, with `force`, any; False if there is none.

    Its holder is refused from then on. Raises `LeaseHeld` without `force` while it is held.
    """
    return bool(await call_value(conn, "release_lease", name=name, force=force, tenant_id=tenant))


async def enqueue_or_attach(
    conn: Connection,
    name: str,
    job: NewJob | str,
    args: Mapping[str, object] | None = None,
    **options: Any,  # noqa: ANN401 - the fields of NewJob
) -> Attached:
    """Add a job that has the lease from now until it ends, or return the job that has it.

    Raises `LeaseHeld` when the holder is not a job.
    """
    if isinstance(job, str):
        job = NewJob(job, dump_args(dict(args or {}), MAX_ARGS_BYTES), **options)
    check_time(job)
    if job.unique is not None:
        raise InvalidInput(
            f"job {job.kind} has a unique key beside lease {name!r}",
            hint="The lease already keeps a second job from being added: leave unique out.",
        )
    tenant, correlation, subject = current()
    given: dict[str, Any] = {
        "queue": job.queue,
        "priority": job.priority,
        "run_at": job.run_at,
        "tenant_id": job.tenant_id or tenant,
        "correlation_id": job.correlation_id or correlation,
        "limit_key": job.limit_key,
        "limit_scope": None if job.limit_scope == "tenant" else job.limit_scope,
        "max_attempts": job.max_attempts,
        "subject": job.subject or subject,
    }
    row = await call_one(
        conn,
        "enqueue_or_attach",
        name=name,
        kind=job.kind,
        args=(await sealed(conn, job) if job.secret_args else job).args,
        **{name: value for name, value in given.items() if value is not None},
    )
    found = Attached(*row)
    if not found.attached:
        wake_after_commit(job.queue or ANY_QUEUE)
    return found


async def list_leases(
    conn: Connection, *, prefix: str = "", tenant: str | None = None, after: tuple[str, str] = ("", ""), most: int = 100
) -> list[LeaseLine]:
    """Return the leases of a tenant or of all by tenant and name, those after a (tenant, name)."""
    return await call_as(
        conn,
        class_row(LeaseLine),
        "list_leases",
        _read=True,
        prefix=prefix,
        tenant_id=tenant,
        after_tenant=after[0],
        after_name=after[1],
        most=most,
    )


async def show_lease(conn: Connection, name: str, *, tenant: str | None = None) -> LeaseLine:
    """Return one lease. Raises `NotFound` when it has no holder."""
    found = await call_as(conn, class_row(LeaseLine), "show_lease", _read=True, lease=name, tenant_id=tenant)
    if not found:
        raise NotFound(
            f"nobody has a lease {name!r}",
            hint="List them with: ostinato leases list. A lease belongs to a tenant.",
            name=name,
        )
    return found[0]


async def prune(conn: Connection) -> int:
    """Delete leases whose job has ended, and those that expired a day ago; returns how many."""
    total = 0
    while True:
        pruned = int(await call_value(conn, "prune_leases", most=BATCH))
        total += pruned
        if pruned < BATCH:
            return total


def _answered(name: str, tenant: str | None, row: tuple[Any, ...]) -> Lease:
    """Return the result of `acquire_lease`: a lease, or the error that names its holder."""
    acquired, token, attempt, held_by, since, until, lifetime, held_job, held_attempt = row
    if acquired:
        return Lease(name, tenant, token, attempt, until, lifetime)
    whose = held_by or "a holder that is just releasing it"
    raise LeaseHeld(
        f"lease {name!r} is held by {whose}{_until(until)}",
        name=name,
        holder=held_by,
        since=since,
        until=until,
        job_id=held_job,
        job_attempt=held_attempt,
    )


def _until(until: datetime | None) -> str:
    return "" if until is None else f" until {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _held(lease: Lease) -> dict[str, Any]:
    return {"name": lease.name, "token": lease.token, "tenant_id": lease.tenant_id}

"""Workers: registration, heartbeat, and the poll that rescues, promotes and looks for work.

The logic is in `sql/functions/workers.sql`.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row

from ostinato._core.base.backoff import Retry, to_json
from ostinato._core.base.errors import OstinatoError
from ostinato._core.db.arrays import numbers
from ostinato._core.db.call import call, call_as, call_now, call_one, call_value
from ostinato._core.db.sqlstate import sqlstate_of

AnyConnection = AsyncConnection[Any]

CONTRACT = 2
"""The contract that this code speaks; see `ostinato.contract()` in sql/functions/clock.sql."""


class Poll(NamedTuple):
    """The result of a poll."""

    rescued: int
    promoted: int
    ready_queues: list[str]
    next_due: float | None
    """Seconds until the next job is due or the next silent worker expires."""
    cancels: list[int]
    chores: list[str]
    """The background services that have work."""


class KindRow(NamedTuple):
    """The declaration of one kind by a worker."""

    name: str
    queue: str
    priority: int
    timeout_seconds: float | None
    retry: Retry
    args_schema: str
    open: bool
    """Whether a tenant may start jobs of this kind."""
    secret_args: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that a worker holds."""

    job_id: int
    kind: str
    queue: str
    tenant_id: str
    attempt: int
    claimed_at: datetime
    progress_done: float | None
    progress_total: float | None
    progress_note: str | None


async def register(
    conn: AnyConnection,
    name: str,
    queues: Sequence[str],
    kinds: Sequence[str],
    expiry_seconds: float,
    *,
    release: str | None = None,
    places: int | None = None,
) -> UUID:
    """Add a worker under a new random id.

    Raises `ContractMismatch` when code and schema do not fit.
    """
    worker_id = await call_value(
        conn,
        "register_worker",
        name=name,
        queues=list(queues),
        kinds=list(kinds),
        expiry_seconds=expiry_seconds,
        contract=CONTRACT,
        release=release,
        places=places,
    )
    return UUID(str(worker_id))


async def register_kinds(conn: AnyConnection, kinds: Sequence[KindRow]) -> None:
    """Declare kinds, so that callers in plain SQL get the right queue and people see the policy."""
    if not kinds:
        return
    await call(
        conn,
        "register_kinds",
        names=[kind.name for kind in kinds],
        queues=[kind.queue for kind in kinds],
        priorities=[kind.priority for kind in kinds],
        # The driver refuses a list that mixes integers and floats.
        timeouts=numbers([kind.timeout_seconds for kind in kinds]),
        retries=[json.dumps(to_json(kind.retry)) for kind in kinds],
        schemas=[kind.args_schema for kind in kinds],
        secrets=[",".join(sorted(kind.secret_args)) for kind in kinds],
        opens=[kind.open for kind in kinds],
    )


async def kind_schema(conn: AnyConnection, kind: str) -> object:
    """Return the JSON schema of a kind's arguments, as the connection reads JSON; None: no worker has declared it."""
    return await call_value(conn, "kind_schema", _read=True, kind=kind)


def heartbeat(conn: Connection[Any], worker_id: UUID, *, draining: bool = False, blocked_by: str | None = None) -> bool:
    """Record that a worker is alive; False means that it was declared dead.

    `blocked_by` is the kind whose handler blocks its event loop just now.
    """
    state = {"draining": draining, "blocked_by": blocked_by}
    return bool(call_now(conn, "heartbeat_worker", worker_id=worker_id, **state)[0][0])


async def drain(conn: AnyConnection, worker_id: UUID) -> None:
    """Ask a worker to end: it takes no new jobs, finishes those that it has, and stops."""
    await call(conn, "drain_worker", worker_id=worker_id)


async def held(conn: AnyConnection, worker_id: UUID, *, most: int = 100) -> list[HeldJob]:
    """Return what a worker holds, the longest held first."""
    return await call_as(conn, class_row(HeldJob), "worker_jobs", _read=True, worker_id=worker_id, most=most)


async def unregister(conn: AnyConnection, worker_id: UUID) -> None:
    """Remove a worker that stops."""
    await call(conn, "unregister_worker", worker_id=worker_id)


async def note_fault(conn: AnyConnection, part: str, message: str) -> None:
    """Note that something outside the database that a worker needs does not answer: for `doctor` and the alert."""
    await call(conn, "note_fault", part=part, message=message)


async def poll(conn: AnyConnection, worker_id: UUID, queues: Sequence[str], max_crashes: int) -> Poll:
    """Rescue, promote, and find the queues and services that have work."""
    row = await call_one(conn, "poll_jobs", worker_id=worker_id, queues=list(queues), max_crashes=max_crashes)
    return Poll(*row)


async def reconcile(conn: AnyConnection, worker_id: UUID, held: Iterable[int], seconds: float) -> int:
    """Release jobs of claims, older than some seconds, whose answer never reached the worker."""
    return int(await call_value(conn, "reconcile_worker", worker_id=worker_id, held=numbers(held), seconds=seconds))


async def set_aside(
    conn: AnyConnection, worker_id: UUID, queue: str, held: Iterable[int], error: BaseException
) -> list[int]:
    """Set aside what a worker cannot claim from a queue, because the rows of its jobs are missing or damaged.

    `error` is what the claim failed with; where nothing is found it is noted as a fault of these claims.
    """
    named = error.values.get("job_id") if isinstance(error, OstinatoError) else None
    rows = await call(
        conn,
        "set_aside_damaged",
        worker_id=worker_id,
        queues=[queue],
        held=numbers(held),
        named=numbers([named] if isinstance(named, int) else []),
        state=sqlstate_of(error),
        message=str(error),
    )
    return [row[0] for row in rows]


async def connections(conn: AnyConnection) -> int:
    """Count the connections that the server has for everybody but superusers."""
    return int(await call_value(conn, "server_connections", _read=True))

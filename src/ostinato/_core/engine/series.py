"""Series: throughput, failures and start latency over time.

Workers add what they did every ten seconds; pages, routes and `ostinato series` read it, and the figures
of each queue (`ostinato.observe()`), which `/metrics` shows and alerts watch, are made of its last
minutes. The logic is in `sql/functions/series.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from ostinato._core.db.call import Connection, call, call_as, call_value


class Row(TypedDict):
    """What a worker did for one queue, kind and tenant since it last said so."""

    queue: str
    kind: str
    tenant: str
    first: int
    done: int
    failed: int
    dead: int
    run: float
    latency: list[int]


@dataclass(frozen=True, slots=True)
class Step:
    """What happened in one step of time."""

    at: datetime
    """When it began."""
    first: int
    """Jobs whose first attempt has ended: what was started, not what was added."""
    done: int
    """Jobs that were done."""
    failed: int
    """Attempts that failed, dead letters included."""
    dead: int
    """Jobs that are not retried any more."""
    run_seconds: float
    """How long all attempts took together."""
    p50: float | None
    """The start latency that half of the jobs did not exceed, in seconds; None when none was started."""
    p95: float | None
    """The same of 95 of 100 jobs."""
    p99: float | None
    """The same of 99 of 100 jobs."""


@dataclass(frozen=True, slots=True)
class QueueRate:
    """What one queue did between two moments."""

    queue: str
    first: int
    done: int
    failed: int
    dead: int
    p50: float | None
    p95: float | None
    p99: float | None


async def record(conn: Connection, rows: Sequence[Row]) -> None:
    """Add what a worker did."""
    await call(conn, "record_series", rows=Jsonb(list(rows)))


async def list_series(
    conn: Connection,
    since: datetime,
    *,
    until: datetime | None = None,
    step: Literal[60, 3600] = 60,
    queue: str | None = None,
    kind: str | None = None,
    tenant_id: str | None = None,
) -> list[Step]:
    """Return the steps of time in which anything happened, oldest first: by minute (60) or by hour (3,600).

    A tenant sees its own, and only as a whole, without queue and kind.
    """
    return await call_as(
        conn,
        class_row(Step),
        "list_series",
        _read=True,
        since=since,
        until=until,
        step=step,
        queue=queue,
        kind=kind,
        tenant_id=tenant_id,
    )


async def queue_rates(conn: Connection, since: datetime, *, until: datetime | None = None) -> list[QueueRate]:
    """Return what each queue did between two moments; for the installation, not for a tenant."""
    return await call_as(conn, class_row(QueueRate), "queue_rates", _read=True, since=since, until=until)


async def prune(conn: Connection, retention_days: int) -> int:
    """Delete steps that are past their time, a set at a time; returns how many."""
    return int(await call_value(conn, "prune_series", retention_days=retention_days))

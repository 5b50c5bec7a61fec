"""Subscriptions: who gets which events, how far they are, and what became of each event.

Taking and settling work on sets. `(position, attempt)` is the fencing token of a delivery: settling
returns the positions that were refused, because somebody else has them by now. The logic is in
`sql/functions/subscriptions.sql`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import class_row

from ostinato._core.base.events import OnPoison, Start
from ostinato._core.db.arrays import numbers
from ostinato._core.db.call import call, call_as, call_now, call_value
from ostinato._core.db.sqlstate import translated

__all__ = [
    "Buried",
    "Delivery",
    "EventDelivery",
    "Settlement",
    "Subscription",
    "buried",
    "chores",
    "deliveries_of",
    "discard",
    "dispatch",
    "dispatch_all",
    "drop",
    "fence",
    "finish",
    "finish_now",
    "free",
    "heal",
    "list_subscriptions",
    "load",
    "pause",
    "reconcile",
    "redeliver",
    "release",
    "replay",
    "resume",
    "settle",
    "subscribe",
    "take",
]

Connection = AsyncConnection[Any]
Mode = Literal["relay", "job"]


class Delivery(NamedTuple):
    """An event in somebody's hands. `(position, attempt)` is its fencing token."""

    position: int
    attempt: int
    """How often it was handed out to this subscription. Never the same for two holders."""
    failures: int
    crashes: int
    event_id: int
    type: str
    version: int
    tenant_id: str
    correlation_id: str
    occurred_at: datetime
    producer: str
    ordering_key: str | None
    payload: str
    """The payload as JSON text."""


class Settlement(NamedTuple):
    """How a delivery ended."""

    position: int
    attempt: int
    outcome: Literal["done", "failed", "released"]
    delay: float | None = None
    """Seconds until a failed one is delivered again; None: it is buried."""
    error: str | None = None
    signature: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription, and how far it is."""

    name: str
    types: list[str] | None
    tenant_id: str | None
    mode: Mode
    kind: str | None
    on_poison: OnPoison
    paused: bool
    position: int
    """Everything up to here was handed on."""
    behind: int
    """Positions that it has not looked at yet."""
    waiting: int
    held: int
    buried: int
    lag_seconds: float
    """The age of the oldest event that it has not settled."""


@dataclass(frozen=True, slots=True)
class Buried:
    """An event that a subscription gave up."""

    subscription: str
    position: int
    event_id: int
    type: str
    tenant_id: str
    ordering_key: str | None
    attempt: int
    failures: int
    crashes: int
    buried_at: datetime
    reason: str
    signature: str | None
    error: Any


@dataclass(frozen=True, slots=True)
class EventDelivery:
    """Where one event is with one subscription."""

    subscription: str
    state: Literal["waiting", "held", "done", "buried"]
    attempt: int
    failures: int
    due_at: datetime | None
    job_id: int | None
    reason: str | None
    error: Any


async def subscribe(
    conn: Connection,
    name: str,
    *,
    types: Sequence[str] | None = None,
    tenant_id: str | None = None,
    kind: str | None = None,
    on_poison: OnPoison = "skip",
    start: Start = "now",
) -> None:
    """Declare a subscription, or change one; with a `kind`, its events become jobs."""
    began: dict[str, Any] = {"start": start}
    if isinstance(start, datetime):
        began = {"start_time": start}
    elif isinstance(start, int):
        began = {"start_position": start}
    await call(
        conn,
        "subscribe",
        name=name,
        types=None if types is None else list(types),
        tenant_id=tenant_id,
        mode="relay" if kind is None else "job",
        kind=kind,
        on_poison=on_poison,
        **began,
    )


async def drop(conn: Connection, name: str) -> None:
    """Remove a subscription with everything that it has not settled."""
    await call(conn, "drop_subscription", name=name)


async def pause(conn: Connection, name: str) -> None:
    """Stop deliveries; retention does not wait for a paused subscription."""
    await call(conn, "pause_subscription", name=name)


async def resume(conn: Connection, name: str) -> None:
    """Let deliveries go on."""
    await call(conn, "resume_subscription", name=name)


async def take(conn: Connection, name: str, worker_id: UUID, most: int) -> list[Delivery]:
    """Take up to `most` events, in order, those of a key together."""
    rows = await call(conn, "take_deliveries", subscription=name, worker_id=worker_id, most=most)
    return [Delivery(*row) for row in rows]


async def settle(conn: Connection, name: str, ended: Sequence[Settlement]) -> list[int]:
    """End deliveries; returns the positions that were refused."""
    if not ended:
        return []
    positions, attempts, outcomes, delays, errors, signatures, reasons = (
        list(column) for column in zip(*ended, strict=True)
    )
    rows = await call(
        conn,
        "settle_deliveries",
        subscription=name,
        positions=numbers(positions),
        attempts=numbers(attempts),
        outcomes=outcomes,
        delays=numbers(delays),
        errors=errors,
        signatures=signatures,
        reasons=reasons,
    )
    return [row[0] for row in rows]


async def finish(conn: Connection, name: str, position: int, attempt: int) -> None:
    """End one delivery in the caller's transaction, or raise `LeaseLost`."""
    await call(conn, "finish_delivery", subscription=name, position=position, attempt=attempt)


def finish_now(conn: psycopg.Connection[Any], name: str, position: int, attempt: int) -> None:
    """As `finish`, on a synchronous connection."""
    with translated():
        call_now(conn, "finish_delivery", subscription=name, position=position, attempt=attempt)


async def fence(conn: Connection, name: str, position: int, attempt: int) -> None:
    """Hold a delivery until the end of the caller's transaction, or raise `LeaseLost`."""
    await call(conn, "fence_delivery", subscription=name, position=position, attempt=attempt)


async def dispatch(conn: Connection, name: str, most: int = 500) -> int:
    """Make jobs for the events that are due, of a subscription whose events become jobs."""
    return int(await call_value(conn, "dispatch_deliveries", subscription=name, most=most))


async def dispatch_all(conn: Connection) -> list[str]:
    """Make jobs for the events that are due, of all such subscriptions; the queues to ring."""
    return [row[0] for row in await call(conn, "dispatch_events")]


async def chores(conn: Connection) -> dict[str, float]:
    """The services of events that have something to do, and in how many seconds."""
    rows = await call(conn, "event_chores", _read=True)
    return {name: min(due for other, due in rows if other == name) for name, _ in rows}


async def load(conn: Connection, name: str, position: int, attempt: int) -> Delivery | None:
    """The event of a delivery that is held; None: it is somebody else's, or settled."""
    rows = await call(
        conn, "load_delivery", _read=True, subscription=name, position=position, attempt=attempt
    )
    return Delivery(*rows[0]) if rows else None


async def free(conn: Connection, max_crashes: int = 3) -> int:
    """Give back what dead workers held."""
    return int(await call_value(conn, "free_deliveries", max_crashes=max_crashes))


async def release(conn: Connection, worker_id: UUID) -> int:
    """Give back what a worker that stops holds."""
    return int(await call_value(conn, "release_deliveries", worker_id=worker_id))


async def reconcile(
    conn: Connection, worker_id: UUID, name: str, held: Iterable[int], seconds: float
) -> int:
    """Give back what a worker was given but never heard of, longer ago than some seconds."""
    return int(
        await call_value(
            conn,
            "reconcile_deliveries",
            worker_id=worker_id,
            subscription=name,
            held=numbers(held),
            seconds=seconds,
        )
    )


async def heal(conn: Connection) -> int:
    """End deliveries whose job ended without them."""
    return int(await call_value(conn, "heal_deliveries"))


async def redeliver(
    conn: Connection,
    name: str,
    positions: Sequence[int] | None = None,
    *,
    most: int = 1000,
    preview: bool = False,
) -> int:
    """Deliver buried events again, oldest first; returns how many. Preview only counts."""
    return int(
        await call_value(
            conn,
            "redeliver",
            subscription=name,
            positions=None if positions is None else numbers(positions),
            most=most,
            preview=preview,
        )
    )


async def discard(conn: Connection, name: str, positions: Sequence[int]) -> int:
    """Give up buried events for good; what they block goes on. Returns how many."""
    return int(await call_value(conn, "discard", subscription=name, positions=numbers(positions)))


async def replay(
    conn: Connection, name: str, since: int | datetime, *, preview: bool = False
) -> int:
    """Deliver everything again from a position or a time on; returns how many events that is.

    Preview only counts.
    """
    at = since if isinstance(since, datetime) else None
    return int(
        await call_value(
            conn,
            "replay",
            subscription=name,
            from_position=None if isinstance(since, datetime) else since,
            from_time=at,
            preview=preview,
        )
    )


async def list_subscriptions(conn: Connection) -> list[Subscription]:
    """Every subscription, and how far it is."""
    return await call_as(conn, class_row(Subscription), "list_subscriptions", _read=True)


async def buried(
    conn: Connection, name: str | None = None, *, before: int | None = None, most: int = 50
) -> list[Buried]:
    """Buried events, newest first."""
    return await call_as(
        conn,
        class_row(Buried),
        "list_buried",
        _read=True,
        subscription=name,
        before=before,
        most=most,
    )


async def deliveries_of(conn: Connection, event_id: int) -> list[EventDelivery]:
    """Where one event is with each subscription that has not settled it."""
    return await call_as(
        conn, class_row(EventDelivery), "event_deliveries", _read=True, event_id=event_id
    )

"""Subscriptions: who gets which events, how far they are, and what became of each event.

Every event for a subscription is a job, so workers claim and finish it as any other; what is here
makes the jobs, and keeps those of a key in order. The logic is in
`sql/functions/subscriptions.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from ostinato._core.base.events import OnPoison, Start
from ostinato._core.db.arrays import numbers
from ostinato._core.db.call import Connection, Loads, call, call_as, call_value

MOST_COUNTED = 10_000
"""So many of what a subscription has are counted: `delivery_cap` in SQL."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription, and how far it is."""

    name: str
    types: list[str] | None
    tenant_id: str | None
    kind: str
    """The kind of its jobs."""
    on_poison: OnPoison
    paused: bool
    position: int
    """Every event up to here has its job."""
    behind: int
    """Positions that it has not looked at yet."""
    waiting: int
    """Jobs behind another of their key."""
    held: int
    """Jobs that have their turn: ready, running, or waiting for their time."""
    buried: int
    """Dead letters."""
    lag_seconds: float
    """The age of the oldest event that is not over."""


@dataclass(frozen=True, slots=True)
class Buried:
    """An event that a subscription gave up: a dead letter."""

    subscription: str
    job_id: int
    position: int
    event_id: int
    type: str
    tenant_id: str
    ordering_key: str | None
    attempt: int
    buried_at: datetime
    reason: str
    signature: str
    error: Any


@dataclass(frozen=True, slots=True)
class EventDelivery:
    """Where one event is with one subscription: the job that it is there."""

    subscription: str
    job_id: int
    state: str
    reason: str | None
    """Why a scheduled job waits; "behind" means behind another of its key."""
    attempt: int
    failures: int | None
    run_at: datetime | None
    error: str | None


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
    """Declare a subscription, or change one; its events are jobs of `kind`, or of its name."""
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
        kind=kind,
        on_poison=on_poison,
        **began,
    )


async def drop(conn: Connection, name: str) -> None:
    """Remove a subscription, and cancel its jobs that have not begun."""
    await call(conn, "drop_subscription", name=name)


async def pause(conn: Connection, name: str) -> None:
    """Stop deliveries; retention does not wait for a paused subscription."""
    await call(conn, "pause_subscription", name=name)


async def resume(conn: Connection, name: str) -> None:
    """Let deliveries go on."""
    await call(conn, "resume_subscription", name=name)


async def dispatch(conn: Connection) -> list[str]:
    """Make jobs of events, for all subscriptions; returns the queues to ring."""
    return [row[0] for row in await call(conn, "dispatch_events")]


async def leave(conn: Connection, job_ids: Sequence[int]) -> None:
    """Let the keys go on of jobs that were completed in their handlers' transactions."""
    await call(conn, "leave_lanes", job_ids=numbers(job_ids))


async def heal(conn: Connection) -> int:
    """Let keys go on that nobody has let go on; returns how many deliveries had ended."""
    return int(await call_value(conn, "heal_lanes"))


async def redeliver(
    conn: Connection, name: str, positions: Sequence[int] | None = None, *, most: int = 1000, preview: bool = False
) -> int:
    """Redrive dead letters of a subscription, oldest first; returns how many."""
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
    """Cancel dead letters of a subscription; what they block goes on. Returns how many."""
    return int(await call_value(conn, "discard", subscription=name, positions=numbers(positions)))


async def replay(conn: Connection, name: str, since: int | datetime, *, preview: bool = False) -> int:
    """Deliver everything again from a position or a time on; returns how many events that is.

    `MOST_COUNTED` means that many or more. Preview only counts.
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
    """Return every subscription, and how far it is."""
    return await call_as(conn, class_row(Subscription), "list_subscriptions", _read=True)


async def buried(
    conn: Connection, name: str | None = None, *, before: int | None = None, most: int = 50, loads: Loads | None = None
) -> list[Buried]:
    """Return dead letters of subscriptions, newest first; `before` is the job of the last one seen."""
    return await call_as(
        conn, class_row(Buried), "list_buried", _read=True, _loads=loads, subscription=name, before=before, most=most
    )


async def deliveries_of(conn: Connection, event_id: int) -> list[EventDelivery]:
    """Return where one event is with each subscription whose job for it is not over."""
    return await call_as(conn, class_row(EventDelivery), "event_deliveries", _read=True, event_id=event_id)

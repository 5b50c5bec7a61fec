"""A webhook delivery is one event for one endpoint, from the fan-out to its last attempt.

People list deliveries and attempts, and send again what failed; workers fan out events, start and
settle deliveries, and clean up. The endpoints are in `engine.webhooks`, the logic is in
`sql/functions/webhooks.sql`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row

from ostinato._core.base.vault import is_sealed
from ostinato._core.db.call import Connection, call, call_as, call_one, call_value
from ostinato._core.engine.claims import Job

DeliveryState = Literal["pending", "waiting", "held", "delivered", "dead"]

PAGE = 50
CHUNK = 500
"""Deliveries that one call sends again: few enough to finish well within the call's time."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one endpoint."""

    delivery_id: int
    event_id: str
    """The `webhook-id` that the receiver sees."""
    event_type: str
    ordering_key: str | None
    state: DeliveryState
    job_id: int | None
    """The job that sends it, for `ostinato why`."""
    attempts: int
    last_status: int | None
    last_error: str | None
    created_at: datetime
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a delivery, and its result."""

    attempt_id: int
    delivery_id: int
    event_id: str
    event_type: str
    attempt: int
    at: datetime
    outcome: str
    status: int | None
    duration_ms: int
    answer: str | None
    """The start of the answer."""
    error: str | None
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class Sending:
    """What the job of a delivery has to do. The other fields are set only if it is `send`."""

    verdict: Literal["send", "held", "stale"]
    tenant_id: str
    endpoint_id: int
    endpoint: str
    url: str = field(repr=False)
    headers: Mapping[str, str] | str = field(repr=False)
    """As they are stored; `engine.webhooks.open_headers` opens them."""
    secrets: Sequence[str] = field(repr=False)
    """Sealed, as they are stored; `engine.webhooks.open_secrets` opens them."""
    event_id: str
    body: str = field(repr=False)
    timeout_seconds: float
    retry: Mapping[str, Any]
    sent_at: datetime

    def __post_init__(self) -> None:
        # A connection may be configured to return JSON as text.
        for name in ("headers", "retry"):
            value = getattr(self, name)
            if isinstance(value, str) and not is_sealed(value):
                object.__setattr__(self, name, json.loads(value))


async def list_deliveries(
    conn: Connection,
    name: str,
    *,
    tenant_id: str | None = None,
    state: DeliveryState | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[Delivery]:
    """Return the deliveries of an endpoint, newest first."""
    return await call_as(
        conn,
        class_row(Delivery),
        "list_webhook_deliveries",
        _read=True,
        name=name,
        tenant_id=tenant_id,
        state=state,
        before=before,
        most=most,
    )


async def list_attempts(
    conn: Connection,
    name: str,
    *,
    tenant_id: str | None = None,
    delivery_id: int | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[Attempt]:
    """Return the attempts at an endpoint, or at one delivery, newest first."""
    return await call_as(
        conn,
        class_row(Attempt),
        "list_webhook_attempts",
        _read=True,
        name=name,
        tenant_id=tenant_id,
        delivery_id=delivery_id,
        before=before,
        most=most,
    )


async def find(
    conn: Connection,
    name: str,
    *,
    tenant_id: str | None = None,
    states: Sequence[DeliveryState] = ("dead",),
    since: datetime | None = None,
    event_ids: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
    most: int | None = None,
) -> list[int]:
    """Return the deliveries of an endpoint that match every filter, oldest first; `most` of them, None: all."""
    rows = await call(
        conn,
        "find_webhook_deliveries",
        _read=True,
        name=name,
        tenant_id=tenant_id,
        states=list(states),
        since=since,
        event_ids=None if event_ids is None else list(event_ids),
        ids=None if ids is None else list(ids),
        most=most,
    )
    return [row[0] for row in rows]


async def redeliver(conn: Connection, name: str, ids: Sequence[int], *, tenant_id: str | None = None) -> int:
    """Send settled deliveries again, with the same ids and bodies; returns how many.

    For example all that failed since the morning: `redeliver(conn, name, await find(conn, name,
    since=…))`, or the first few of them as a canary: `found[:5]`.
    """
    count = 0
    for start_at in range(0, len(ids), CHUNK):
        chunk = list(ids[start_at : start_at + CHUNK])
        count += int(await call_value(conn, "redeliver_webhooks", name=name, ids=chunk, tenant_id=tenant_id))
    return count


async def fan_out(conn: Connection, most: int) -> tuple[int | None, int]:
    """Make deliveries of the next events; returns how many events, and how many deliveries."""
    events, deliveries = await call_one(conn, "fan_out_webhooks", most=most)
    return events, deliveries or 0


async def start(conn: Connection, wanted: Sequence[tuple[int, int]]) -> list[Sending]:
    """Return what the jobs of some deliveries have to send, and where, in their order: a delivery and its job each."""
    deliveries, jobs = zip(*wanted, strict=True)
    return await call_as(
        conn, class_row(Sending), "start_webhook_deliveries", delivery_ids=list(deliveries), job_ids=list(jobs)
    )


async def settle(
    conn: Connection,
    delivery_id: int,
    job_id: int,
    *,
    outcome: str,
    status: int | None,
    duration_ms: int,
    answer: str | None,
    error: str | None,
    retry_seconds: float | None,
) -> str:
    """Store the result of an attempt; returns delivered, retry, dead, held or stale."""
    verdict = await call_value(
        conn,
        "settle_webhook_delivery",
        delivery_id=delivery_id,
        job_id=job_id,
        outcome=outcome,
        status=status,
        duration_ms=duration_ms,
        answer=answer,
        error=error,
        retry_seconds=retry_seconds,
    )
    return str(verdict)


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that its receiver took, and the job that sent it."""

    delivery_id: int
    job: Job
    status: int | None
    duration_ms: int
    answer: str | None
    job_ms: int


async def complete(conn: Connection, taken: Sequence[Taken]) -> list[str]:
    """Store that receivers took some messages, and complete their jobs, in one statement; each is delivered or stale.

    Raises `LeaseLost`, and stores nothing of any, when another worker has one of the jobs by now.
    """
    deliveries = [
        {
            "delivery_id": each.delivery_id,
            "job_id": each.job.id,
            "attempt": each.job.attempt,
            "claim_id": each.job.claim_id,
            "status": each.status,
            "duration_ms": each.duration_ms,
            "answer": each.answer,
            "job_ms": each.job_ms,
        }
        for each in taken
    ]
    verdicts: list[str] = await call_value(conn, "complete_webhook_deliveries", deliveries=json.dumps(deliveries))
    return verdicts


async def probe(conn: Connection, name: str, *, tenant_id: str | None = None) -> Sending:
    """Make a test message for an endpoint."""
    (found,) = await call_as(conn, class_row(Sending), "probe_webhook_endpoint", name=name, of_tenant=tenant_id)
    return found


async def heal(conn: Connection) -> int:
    """Fix deliveries that a crash or a person left in the wrong state; returns how many."""
    return int(await call_value(conn, "heal_webhooks"))


async def prune(conn: Connection, retention_days: int) -> None:
    """Delete secrets, receipts, deliveries and messages that are past their time."""
    await call(conn, "prune_webhooks", retention_days=retention_days)

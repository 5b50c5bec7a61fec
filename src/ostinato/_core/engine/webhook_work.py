"""The verbs of workers for webhooks: fan out events, start and settle deliveries, clean up.

The verbs of people are in `engine.webhooks`, the logic is in `sql/functions/webhooks.sql`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psycopg import AsyncConnection
from psycopg.rows import class_row

from ostinato._core.db.call import call, call_as, call_one, call_value

__all__ = ["Sending", "fan_out", "mend", "probe", "prune", "settle", "start"]

Connection = AsyncConnection[Any]


@dataclass(frozen=True, slots=True)
class Sending:
    """What the job of a delivery has to do. The other fields are set only if it is `send`."""

    verdict: Literal["send", "held", "stale"]
    tenant_id: str
    endpoint: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: Sequence[str] = field(repr=False)
    event_id: str
    body: str = field(repr=False)
    timeout_seconds: float
    retry: Mapping[str, Any]
    sent_at: datetime

    def __post_init__(self) -> None:
        # A connection may be configured to return JSON as text.
        for name in ("headers", "retry"):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, json.loads(value))


async def fan_out(conn: Connection, most: int) -> tuple[int | None, int]:
    """Make deliveries of the next events; returns how many events, and how many deliveries."""
    events, deliveries = await call_one(conn, "fan_out_webhooks", most=most)
    return events, deliveries or 0


async def start(conn: Connection, delivery_id: int, job_id: int) -> Sending:
    """Return what the job of a delivery has to send, and where."""
    (found,) = await call_as(
        conn,
        class_row(Sending),
        "start_webhook_delivery",
        delivery_id=delivery_id,
        job_id=job_id,
    )
    return found


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


async def probe(conn: Connection, name: str, *, tenant_id: str | None = None) -> Sending:
    """Make a test message for an endpoint."""
    (found,) = await call_as(
        conn, class_row(Sending), "probe_webhook_endpoint", name=name, of_tenant=tenant_id
    )
    return found


async def mend(conn: Connection) -> int:
    """Fix deliveries that a crash or a person left in the wrong state; returns how many."""
    return int(await call_value(conn, "mend_webhooks"))


async def prune(conn: Connection, retention_days: int) -> None:
    """Delete secrets, receipts, deliveries and messages that are past their time."""
    await call(conn, "prune_webhooks", retention_days=retention_days)

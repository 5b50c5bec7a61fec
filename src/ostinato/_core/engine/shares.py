"""Shares: which tenants' jobs wait and run in a queue. The logic is in `sql/functions/shares.sql`."""

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from ostinato._core.db.call import call_as


@dataclass(frozen=True, slots=True)
class Share:
    """What one tenant has in a queue."""

    tenant_id: str
    waiting: int
    running: int
    capped: bool
    """Whether more may wait."""


async def queue_shares(conn: AsyncConnection[Any], queue: str) -> list[Share]:
    """Return the tenants that have jobs in a queue, those with most of them first: 50 at the most."""
    return await call_as(conn, class_row(Share), "queue_shares", _read=True, queue=queue)

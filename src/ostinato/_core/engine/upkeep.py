"""Upkeep of the partitions.

It creates those of the coming weeks and drops old ones. The logic is in
`sql/functions/upkeep.sql`.
"""

from typing import Any, NamedTuple

from psycopg import AsyncConnection

from ostinato._core.db.call import call

UPKEEP_SECONDS = 120.0


class Action(NamedTuple):
    """One action that upkeep took, or left for the next time."""

    action: str
    target: str
    detail: str | None


async def run(conn: AsyncConnection[Any], retention_days: int, audit_days: int | None = None) -> list[Action]:
    """Create the partitions of the coming weeks and drop those past retention.

    Without `audit_days` nothing of the audit is dropped.
    """
    rows = await call(conn, "upkeep_partitions", _seconds=UPKEEP_SECONDS, retention_days=retention_days)
    rows += await call(
        conn, "upkeep_logs", _seconds=UPKEEP_SECONDS, retention_days=retention_days, audit_days=audit_days
    )
    return [Action(*row[:3]) for row in rows]

"""Gives the panel of outbound: messages by status, what waits for what, held senders."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Status
from ostinato.observe import Block, Counts, Panel, Table

_WAITS = ("waits_for", "channel", "messages", "next_at")
_SENDERS = ("channel", "provider_key", "hold_reason", "hold_code", "held_until")
_FAILED = ("error_code", "error_class", "messages", "dead_letters")


async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """Of the tenant who looks; no recipients, no texts."""
    counts = {str(status): 0 for status in Status}
    counts |= {row["status"]: row["messages"] for row in await store.rows(conn, "panel_counts")}
    return [
        Counts("Messages of the last day, by status", counts),
        await _table(conn, "What messages wait for", "panel_waits", _WAITS),
        await _table(conn, "Held senders", "panel_senders", _SENDERS),
        await _table(conn, "Failed within the last day", "panel_failed", _FAILED),
    ]


async def _table(conn: AsyncConnection[Any], title: str, name: str, columns: tuple[str, ...]) -> Table:
    rows = await store.rows(conn, name)
    return Table(title, columns, [[row[column] for column in columns] for row in rows])


PANEL = Panel("Outbound messages", blocks)

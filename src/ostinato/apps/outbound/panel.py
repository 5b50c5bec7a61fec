"""Gives the panel of outbound: messages by status, what waits for what, held senders."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Status
from ostinato.observe import N_, Block, Counts, Panel, State, Table

_WAITS = {"waits_for": N_("waits for"), "channel": N_("channel"), "messages": N_("messages"), "next_at": N_("next at")}
_SENDERS = {
    "channel": N_("channel"),
    "provider_key": N_("sender"),
    "hold_reason": N_("reason"),
    "hold_code": N_("code"),
    "held_until": N_("held until"),
}
_FAILED = {
    "error_code": N_("code"),
    "error_class": N_("class"),
    "messages": N_("messages"),
    "dead_letters": N_("dead letters"),
}

MOST_COUNTED = 10_000


async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """Return the blocks of the tenant who looks; no recipients, no texts."""
    counts = {str(status): 0 for status in Status}
    counts |= {row["status"]: row["messages"] for row in await store.rows(conn, "panel_counts", most=MOST_COUNTED)}
    waits = await _rows(conn, "panel_waits", _WAITS)
    return [
        Counts("Messages of the last day, by status", counts, sum(counts.values()) >= MOST_COUNTED),
        Table("What messages wait for", tuple(_WAITS.values()), [[State(why), *rest] for why, *rest in waits]),
        Table("Held senders", tuple(_SENDERS.values()), await _rows(conn, "panel_senders", _SENDERS)),
        Table("Failed within the last day", tuple(_FAILED.values()), await _rows(conn, "panel_failed", _FAILED)),
    ]


async def _rows(conn: AsyncConnection[Any], name: str, columns: dict[str, str]) -> list[list[Any]]:
    return [[row[column] for column in columns] for row in await store.rows(conn, name)]


PANEL = Panel("Outbound messages", blocks)

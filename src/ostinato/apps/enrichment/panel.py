"""Shows enrichment at a glance: counts by status, state of the sources, last errors."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection
from pydantic import BaseModel

from ostinato import observe
from ostinato.apps.enrichment.model import Status
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.observe import Block, Counts, Table

_SOURCE = (
    "source_api",
    "state",
    "failures",
    "paused_until",
    "last_ok_at",
    "last_error_at",
    "last_error",
    "calls_today",
)
_ERROR = ("siren", "source_api", "last_retrieved_at", "last_http_status", "last_error")


class Panel(BaseModel):
    """Enrichment at a glance, as the caller may see it."""

    requests: dict[str, int]
    """By status, all six of them."""
    sources: list[dict[str, Any]]
    last_errors: list[dict[str, Any]]


async def panel(conn: AsyncConnection[Any]) -> Panel:
    """The figures of the transaction's tenant; a worker's connection sees those of all."""
    counts = {str(status): 0 for status in Status}
    found = await QUERIES.rows(conn, "count_by_status")
    counts |= {row["status"]: row["requests"] for row in found}
    return Panel(
        requests=counts,
        sources=await QUERIES.rows(conn, "source_health"),
        last_errors=await QUERIES.rows(conn, "last_errors"),
    )


async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """Show the same figures as a panel of the engine (`GET /api/v1/engine/panels/enrichment`)."""
    seen = await panel(conn)
    errors = [[each[name] for name in _ERROR] for each in seen.last_errors]
    return [
        Counts("Requests by status", seen.requests),
        Table("Sources", _SOURCE, [[each[name] for name in _SOURCE] for each in seen.sources]),
        Table("Last errors", _ERROR, errors),
    ]


PANEL = observe.Panel("Enrichment", blocks)

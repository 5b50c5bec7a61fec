"""What the console shows of enrichment: counts by status, how the sources are, the last errors."""

from typing import Any

from psycopg import AsyncConnection
from pydantic import BaseModel

from ostinato.apps.enrichment import queries
from ostinato.apps.enrichment.model import Status

__all__ = ["Panel", "panel"]


class Panel(BaseModel):
    """Enrichment at a glance, as whoever asks may see it."""

    requests: dict[str, int]
    """By status, all six of them."""
    sources: list[dict[str, Any]]
    last_errors: list[dict[str, Any]]


async def panel(conn: AsyncConnection[Any]) -> Panel:
    """The figures of the transaction's tenant; a worker's connection sees those of all."""
    counts = {str(status): 0 for status in Status}
    counts |= dict(await queries.rows(conn, "count_by_status"))
    return Panel(
        requests=counts,
        sources=await queries.named_rows(conn, "source_health"),
        last_errors=await queries.named_rows(conn, "last_errors"),
    )

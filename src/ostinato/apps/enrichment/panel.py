"""Shows enrichment at a glance: counts by status, state of the sources, last errors."""

import json
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection
from pydantic import BaseModel

from ostinato import observe
from ostinato.apps.enrichment.model import Status
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.observe import N_, Block, Counts, Link, State, Table

_SOURCE = {
    "source_api": N_("source"),
    "state": N_("state"),
    "failures": N_("failures"),
    "paused_until": N_("paused until"),
    "last_ok_at": N_("last answer"),
    "last_error_at": N_("last error at"),
    "last_error": N_("last error"),
    "calls_today": N_("calls today"),
}
_ERROR = {
    "siren": N_("SIREN"),
    "source_api": N_("source"),
    "last_retrieved_at": N_("time"),
    "last_http_status": N_("answer"),
    "last_error": N_("error"),
}

MOST_COUNTED = 10_000


class Panel(BaseModel):
    """Enrichment at a glance, as the caller may see it."""

    requests: dict[str, int]
    """By status, all six of them; of the newest 10,000."""
    sources: list[dict[str, Any]]
    last_errors: list[dict[str, Any]]


async def panel(conn: AsyncConnection[Any]) -> Panel:
    """Return the figures of the transaction's tenant; a worker's connection sees those of all."""
    counts = {str(status): 0 for status in Status}
    found = await QUERIES.rows(conn, "count_by_status", most=MOST_COUNTED)
    counts |= {row["status"]: row["requests"] for row in found}
    return Panel(
        requests=counts,
        sources=await QUERIES.rows(conn, "source_health"),
        last_errors=await QUERIES.rows(conn, "last_errors"),
    )


async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """Show the same figures as a panel of the engine (`GET /api/v1/engine/panels/enrichment`)."""
    seen = await panel(conn)
    errors = [[_shown(name, each[name]) for name in _ERROR] for each in seen.last_errors]
    return [
        Counts("Requests by status", seen.requests, sum(seen.requests.values()) >= MOST_COUNTED),
        Table(
            "Sources",
            tuple(_SOURCE.values()),
            [[_shown(name, each[name]) for name in _SOURCE] for each in seen.sources],
        ),
        Table("Last errors", tuple(_ERROR.values()), errors),
    ]


def _shown(name: str, value: Any) -> Any:  # noqa: ANN401 - a cell, and what is in a row
    """Return a value as people read it: a link to the company, a state as a pill, an error without its wrapping."""
    if name == "siren":
        return Link(str(value), "companies", {"siren": str(value)})
    if name == "state":
        return State(str(value), "ok" if value == "ok" else "warn")
    return unwrapped(value) if name == "last_error" else value


def unwrapped(error: str | None) -> str | None:
    """Return the error of a source as people read it."""
    if error is None or not error.startswith("{"):
        return error
    found = json.loads(error)
    return ": ".join(str(found[part]) for part in ("error_code", "message") if found.get(part))


PANEL = observe.Panel("Enrichment", blocks)

"""Asks for many companies at once: each line is judged on its own, and all that are taken are one transaction.

Whatever the number of lines, it takes the same few statements: companies, requests, how each company
stands, the runs that start, establishments, events. Companies are locked in the order of their SIREN,
so that two batches never wait for each other in a circle.
"""

import json
import uuid
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from ostinato import database
from ostinato.apps.enrichment import service
from ostinato.apps.enrichment.events import REQUESTED, Requested, emit_all
from ostinato.apps.enrichment.model import Identifiers, Trigger
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.rules import idempotency_key, key_is_free
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.idempotency import Declaration
from ostinato.jobs import wake_after_commit
from ostinato.tenants import current

CREATED: Final = Trigger.REQUEST_CREATED
Row = dict[str, Any]


class Line(NamedTuple):
    """A line that can be taken."""

    number: int
    found: Identifiers
    metadata: dict[str, object]


class Taken(NamedTuple):
    """A line that was taken, and what came of asking for its company."""

    line: Line
    request_id: str
    decision: str
    """`cached`, `attached`, `started` or `repeated`, as for a single request."""


async def ask_many(
    conn: Connection, lines: Sequence[Line], *, created_by: str, settings: EnrichmentSettings
) -> list[Taken]:
    """Add a request of the transaction's tenant for each line, and ask for their companies."""
    asked = {str(uuid.uuid4()): line for line in sorted(lines, key=lambda line: line.found.company_siren)}
    await _add(conn, asked, created_by, settings)
    first: dict[str, str] = {}
    for request_id, line in asked.items():
        first.setdefault(line.found.company_siren, request_id)
    decisions = await _look(conn, list(first.values()), settings)
    started = await _start(conn, [row for row in decisions.values() if row["decision"] == "needed"], settings)
    # A later line about the same company joins the run that the first one started.
    others = [request_id for request_id in asked if request_id not in decisions]
    decisions |= await _look(conn, others, settings)
    await _open_establishments(conn, asked, settings)
    events = [
        (
            line.found.company_siren,
            Requested(request_id, line.found.company_siren, line.found.siret, cast("Any", str(CREATED))),
        )
        for request_id, line in asked.items()
    ]
    await emit_all(conn, REQUESTED, events)
    wake_after_commit(service.QUEUE)
    return [
        Taken(line, request_id, _decision(decisions[request_id]["decision"], started=request_id in started))
        for request_id, line in asked.items()
    ]


def _decision(seen: str, *, started: bool) -> str:
    if seen == "needed":
        return "started" if started else "repeated"
    return seen


async def _add(conn: Connection, asked: dict[str, Line], created_by: str, settings: EnrichmentSettings) -> None:
    tenant, correlation, _ = current()
    lines = list(asked.values())
    sirens = list(dict.fromkeys(line.found.company_siren for line in lines))
    await QUERIES.run(conn, "open_companies", sirens=sirens, freshness_days=settings.freshness_ttl_days)
    await QUERIES.run(
        conn,
        "add_requests",
        tenant_id=tenant,
        created_by=created_by,
        correlation_id=correlation or f"batch-{uuid.uuid4()}",
        ids=list(asked),
        sirens=[line.found.siren for line in lines],
        sirets=[line.found.siret for line in lines],
        raw_sirens=[line.found.siren_raw for line in lines],
        raw_sirets=[line.found.siret_raw for line in lines],
        companies=[line.found.company_siren for line in lines],
        metadatas=[json.dumps(line.metadata) for line in lines],
    )


async def _look(conn: Connection, ids: list[str], settings: EnrichmentSettings) -> dict[str, Row]:
    """Return how the companies of requests stand, as `service.ask` looks at one."""
    rows = await QUERIES.rows(conn, "look_at_many", ids=ids, freshness_days=settings.freshness_ttl_days)
    return {row["request_id"]: row for row in rows}


async def _start(conn: Connection, needed: Sequence[Row], settings: EnrichmentSettings) -> set[str]:
    """Start the runs that are needed, once for each key (M3C-gap-9); the requests that did."""
    if not needed:
        return set()
    now = await database.now(conn)
    keys = [idempotency_key(row["siren"], CREATED, now) for row in needed]
    prints = [Declaration().fingerprint({"key": key}) for key in keys]
    seconds = settings.breaker_seconds
    free = [
        key_is_free(CREATED, row["status"], row["failed_for"], row["last_run_at"], row["at"], seconds) for row in needed
    ]
    rows = await QUERIES.rows(
        conn,
        "start_runs",
        scope=service.RUN_SCOPE,
        declaration=prints[0].declaration,
        trigger=str(CREATED),
        ids=[row["request_id"] for row in needed],
        keys=keys,
        prints=[one.value for one in prints],
        fields=[json.dumps(one.fields) for one in prints],
        free=free,
    )
    return {row["request_id"] for row in rows}


async def _open_establishments(conn: Connection, asked: dict[str, Line], settings: EnrichmentSettings) -> None:
    ids = [request_id for request_id, line in asked.items() if line.found.siret is not None]
    if ids:
        await QUERIES.run(conn, "open_establishments", ids=ids, freshness_days=settings.freshness_ttl_days)

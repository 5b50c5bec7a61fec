"""Establishments: whether the SIRET of a request is one of its company (M3C-gap-22).

A company is looked up by its SIREN, and its answer names the head office only. A SIRET that is not
the head office's is asked for by a call of its own, once for all tenants and at the pace of the
search: after the run of its company, or at once if that is known. Nobody waits for it: until then
the request shows PENDING.
"""

from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.jobs import wake_after_commit

QUEUE = "enrichment"


async def open_one(conn: Connection, request_id: str, settings: EnrichmentSettings) -> None:
    """Ask for the establishment that a request of the transaction's tenant names, unless it is known."""
    days = settings.freshness_ttl_days
    if await QUERIES.value(conn, "open_establishment", request_id=request_id, freshness_days=days):
        wake_after_commit(QUEUE)


async def check(conn: Connection, siren: str) -> None:
    """Settle what can be told of the establishments of a company, and add jobs for the rest."""
    if await QUERIES.value(conn, "check_establishments", siren=siren):
        wake_after_commit(QUEUE)

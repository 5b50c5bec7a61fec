"""Reruns what is stale, ends abandoned runs, and deletes old documents, on schedules."""

from typing import Any, Final

from ostinato import database, machines, tenants
from ostinato.apps.enrichment import service
from ostinato.apps.enrichment.machine import COMPANY, ENTITY
from ostinato.apps.enrichment.model import REQUIRED, Status, Trigger, Verdict
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.tenants import flow

LOST: Final = "|".join(f"{source}:-:INTERNAL_ERROR" for source in REQUIRED)


async def stale(conn: Connection, settings: EnrichmentSettings) -> list[dict[str, Any]]:
    """Return the companies to be run again tonight: siren, and tenant, id and correlation of a request."""
    return await QUERIES.rows(conn, "stale_companies", days=settings.freshness_ttl_days, most=settings.catch_up_most)


async def ask_again(conn: Connection, tenant_id: str, request_id: str, settings: EnrichmentSettings) -> bool:
    """Ask for the company of a request on behalf of its tenant; return whether a run was added."""
    with flow(tenant=tenant_id):
        await tenants.enter_flow(conn)
        asked = await service.ask(conn, request_id, None, Trigger.CATCH_UP, settings)
    return asked.decision == "started"


async def end_abandoned(conn: Connection) -> list[str]:
    """End the runs whose job is over (dead, or cancelled) without having ended them.

    RUNNING must not outlive its lock (M3C-invariant-1): such a run failed for a reason of ours.
    """
    found = await QUERIES.rows(conn, "abandoned_companies")
    for row in found:
        if row["status"] == Status.RUNNING:
            await _fail(conn, row["siren"], row["job_id"])
        else:
            await QUERIES.run(conn, "end_run", siren=row["siren"], job_id=row["job_id"])
    await QUERIES.run(conn, "forget_ended")
    return [row["siren"] for row in found]


async def purge(conn: Connection, settings: EnrichmentSettings, most: int) -> int:
    """Let go of the content of documents past their retention, so many at most; return how many."""
    return await QUERIES.run(conn, "purge_documents", days=settings.document_days, most=most)


async def _fail(conn: Connection, siren: str, job_id: int) -> None:
    verdict = Verdict(Status.FAILED, False, 0, 1, 0, LOST)  # noqa: FBT003 - no core identity
    now = (await database.now(conn)).isoformat()
    changes = service.counters(verdict) | {"enrichment_last_run_at": now, "last_job_id": job_id}
    await machines.transition(conn, COMPANY, ENTITY, siren, "fail", by="enrichment.sweep", changes=changes)
    await service.emit_completed(conn, siren, job_id, verdict)

"""The jobs of enrichment: the pipeline of M3C in its canonical order, and what schedules do.

    validation, request        http, service.ask          steps 1 to 3
    lock, Started              lock, service.begin_run    steps 4 and 5
    the three sources          two steps each             step 6: the call, what is kept
    merge to requests          service.end_run            steps 7 to 10, one transaction

A call that was committed is never made again, whatever dies: it is a step of the engine. What a
source answered is kept, and told, in a second step, so that no transaction is open during a call.
"""

from typing import Final

from ostinato.apps.enrichment import APP, service, upkeep
from ostinato.apps.enrichment.lock import locked
from ostinato.apps.enrichment.model import SOURCES, Fetched, SourceApi, Trigger
from ostinato.apps.enrichment.service import QUEUE, Run
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources import Sources, pooled
from ostinato.base.backoff import Retry
from ostinato.base.errors import LeaseHeld
from ostinato.base.log import FilteringBoundLogger, bound, get_logger
from ostinato.runtime.context import Context
from ostinato.runtime.outcomes import Snooze

__all__ = ["catch_up", "enrich", "sweep"]

LONGEST_TURN: Final = 2.0
"""Seconds that a run waits for its turn in the worker; a longer wait leaves it to others."""
HELD_SECONDS: Final = 1.0


@APP.job(queue=QUEUE, retry=Retry(delays=(1, 5, 15, 30)))
async def enrich(ctx: Context, siren: str, request_id: str, trigger: Trigger) -> Snooze | None:
    """Find out about a company, and tell everybody who waits for it."""
    fields = {
        "correlation_id": ctx.correlation_id,
        "tenant_id": ctx.job.tenant_id,
        "request_id": request_id,
        "job_id": ctx.job.id,
        "company_siren": siren,
        "source_api": None,
        "http_status": None,
        "error_code": None,
        "error_message": None,
        "duration_ms": None,
    }
    settings = EnrichmentSettings.load()
    log = get_logger("enrichment", **fields)
    with bound(**fields):
        sources = Sources(await ctx.shared(pooled), settings, ctx.fenced, log)
        wait = await sources.wait_of_search()
        if wait > LONGEST_TURN:
            return Snooze(wait)
        try:
            async with locked(ctx, siren, settings, log) as lock:
                run = Run(
                    siren,
                    ctx.job.id,
                    request_id,
                    trigger,
                    ctx.job.tenant_id,
                    ctx.correlation_id,
                    lock,
                    settings,
                )
                await _pipeline(ctx, run, sources, log)
        except LeaseHeld as held:
            log.warning("lock_held", lease=held.values.get("name"))
            return Snooze(HELD_SECONDS)
    return None


async def _pipeline(ctx: Context, run: Run, sources: Sources, log: FilteringBoundLogger) -> None:
    async with ctx.fenced() as conn:
        attempt = await service.begin_run(conn, run)
    if attempt is None:
        log.info("enrichment_not_needed")
        return
    log.info("enrichment_started", attempt=attempt, token=run.lock.lease.token)
    fetched: list[Fetched] = []
    documents: dict[SourceApi, str] = {}
    for source in SOURCES:
        run.lock.check()
        kept = await ctx.step(f"call {source}", _call, sources, source, run.siren)
        one = Fetched.from_json(kept)
        document = await ctx.step_in_transaction(f"keep {source}", service.keep_fetch, run, one)
        fetched.append(one)
        if document is not None:
            documents[source] = document
        _log_fetch(log, one)
    run.lock.check()
    async with ctx.transaction() as conn:
        verdict = await service.end_run(conn, run, fetched, documents)
        ctx.result = {"enrichment_status": str(verdict.status)}
    log.info(
        "enrichment_completed",
        enrichment_status=str(verdict.status),
        error_message=verdict.error,
        duration_ms=ctx.milliseconds(),
    )


async def _call(sources: Sources, source: SourceApi, siren: str) -> dict[str, object]:
    return (await sources.fetch(source, siren)).to_json()


def _log_fetch(log: FilteringBoundLogger, one: Fetched) -> None:
    error = one.error
    log.info(
        "source_fetched",
        source_api=str(one.source_api),
        http_status=one.http_status,
        error_code=None if error is None else str(error.error_code),
        error_message=None if error is None else error.message,
        duration_ms=one.duration_ms,
    )


@APP.job(queue=QUEUE, priority=100)
async def catch_up(ctx: Context) -> int:
    """Run again what is stale; how many runs were added."""
    settings = EnrichmentSettings.load()
    async with ctx.fenced() as conn:
        found = await upkeep.stale(conn, settings)
        await upkeep.purge(conn, settings)
    added = 0
    for siren, tenant_id, request_id, correlation_id in found:
        with bound(company_siren=siren, tenant_id=tenant_id, correlation_id=correlation_id):
            async with ctx.fenced() as conn:
                added += await upkeep.ask_again(conn, tenant_id, request_id, settings)
    ctx.log.info("stale_companies_asked_again", companies=added)
    return added


@APP.job(queue=QUEUE, priority=50)
async def sweep(ctx: Context) -> int:
    """End the runs that nobody ends any more; how many."""
    async with ctx.fenced() as conn:
        ended = await upkeep.end_abandoned(conn)
    if ended:
        ctx.log.warning("abandoned_runs_ended", companies=len(ended))
    return len(ended)


APP.schedule(catch_up, cron="15 3 * * *", zone="Europe/Paris", name="enrichment.catch_up")
APP.schedule(sweep, cron="*/5 * * * *", zone="UTC", name="enrichment.sweep")

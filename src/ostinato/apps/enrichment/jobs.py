"""Runs the pipeline of enrichment in its canonical order, and the scheduled jobs.

    validation, request        http, service.ask          M3C-pipeline-1 to 3
    lock, Started              lock, service.begin_run    M3C-pipeline-4 and 5
    each of the sources        two steps of the engine    M3C-pipeline-6: the call, what is kept
    merge to requests          service.end_run            M3C-pipeline-7 to 10, one transaction

While a source is paused, or its line is long, the job sleeps: nobody is called, no attempt is used.

A call that was committed is never made again, whatever dies: it is a step of the engine. What a
source answered is kept, and emitted, in a second step, so that no transaction is open during a
call. A source without credentials is not part of the pipeline: neither counted nor reported.
"""

import dataclasses
from typing import Final

from ostinato import Context, Retry, Snooze
from ostinato.apps.enrichment import APP, service, upkeep
from ostinato.apps.enrichment.fetch import Fetcher
from ostinato.apps.enrichment.lock import locked
from ostinato.apps.enrichment.logs import Fields, job_fields
from ostinato.apps.enrichment.model import ErrorCode, Fetched, SourceApi, Trigger
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.apps.enrichment.rerun import rerun_due
from ostinato.apps.enrichment.rules import lock_name
from ostinato.apps.enrichment.service import QUEUE, Run
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources import SOURCES, Source
from ostinato.apps.enrichment.tokens import remembered
from ostinato.apps.enrichment.turns import Paused, sleep_before
from ostinato.apps.enrichment.wire import Wire, pooled
from ostinato.errors import LeaseHeld, LeaseLost
from ostinato.observe import FilteringBoundLogger, bound, get_logger

HELD_SECONDS: Final = 1.0
PURGED_AT_ONCE: Final = 1000


@APP.job(queue=QUEUE, retry=Retry(delays=(1, 5, 15, 30)))
async def enrich(ctx: Context, siren: str, request_id: str, trigger: Trigger) -> Snooze | None:
    """Enrich a company, and emit that to everybody who waits for it."""
    fields = job_fields(ctx, siren, request_id)
    settings = ctx.settings(EnrichmentSettings)
    log = get_logger("enrichment", **fields)
    with bound(**fields):
        try:
            async with ctx.fenced() as conn:
                wait = await sleep_before(conn, SOURCES.values(), settings)
            if wait > 0:
                return await _sleep(ctx, siren, wait, settings, log)
            http = await ctx.shared(pooled, settings.proxy_url, settings.ca_file)
            wire = Wire(http, settings, ctx.fenced, await ctx.shared(remembered, ctx.vault))
            fetcher = Fetcher(wire, log, ctx.job.id)
            async with locked(ctx, siren, settings, log) as lock:
                run = Run(siren, ctx.job.id, request_id, trigger, ctx.job.tenant_id, ctx.correlation_id, lock, settings)
                await _pipeline(ctx, run, fetcher, log)
        except Paused as paused:
            log.info("source_paused", source_api=paused.source_api, error_code=paused.reason)
            return await _sleep(ctx, siren, paused.seconds, settings, log)
        except LeaseHeld as held:
            log.warning("lock_held", lease=held.values.get("name"))
            return Snooze(HELD_SECONDS)
        except LeaseLost as lost:
            if lost.values.get("name") != lock_name(siren):
                raise  # the job is another worker's by now
            log.warning("lock_lost", lease=lost.values.get("name"))
            return Snooze(HELD_SECONDS)
        except Exception as error:
            log.warning(
                "enrichment_attempt_failed",
                error_code=str(ErrorCode.INTERNAL_ERROR),
                error_message=type(error).__name__,  # no more: a message may hold personal data
                duration_ms=ctx.milliseconds(),
            )
            raise
    return None


async def _sleep(
    ctx: Context, siren: str, seconds: float, settings: EnrichmentSettings, log: FilteringBoundLogger
) -> Snooze:
    """Let the run sleep until its sources may be called: no attempt, no call, and its lock is kept."""
    async with ctx.fenced() as conn:
        await QUERIES.run(
            conn, "sleep_run", siren=siren, job_id=ctx.job.id, seconds=seconds, ttl=settings.lock_ttl_seconds
        )
    log.info("enrichment_sleeps", seconds=round(seconds, 1))
    return Snooze(seconds)


async def _pipeline(ctx: Context, run: Run, fetcher: Fetcher, log: FilteringBoundLogger) -> None:
    async with ctx.fenced() as conn:
        attempt = await service.begin_run(conn, run)
    if attempt is None:
        log.info("enrichment_not_needed")  # it is fresh, or another job works on it
        return
    log.info("enrichment_started", attempt=attempt, token=run.lock.lease.token)
    fetched: list[Fetched] = []
    documents: dict[SourceApi, str] = {}
    for api, source in SOURCES.items():
        run.lock.check()
        kept = await ctx.step(f"call {api}", _call, fetcher, source, run)
        one = Fetched.from_json(kept)
        if not one.configured:
            log.info("source_not_configured", source_api=str(api))
            continue
        # As the step says, not as the settings do: those may have changed since.
        if kept.get("directors"):
            added = await ctx.step(f"call {api} directors", fetcher.fetch_more, source, run.siren)
            one = dataclasses.replace(one, checksum=added or one.checksum)
        document = await ctx.step_in_transaction(f"keep {api}", service.keep_fetch, run, one)
        fetched.append(one)
        if document is not None:
            documents[api] = document
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


async def _call(fetcher: Fetcher, source: Source, run: Run) -> Fields:
    fetched = await fetcher.fetch(source, run.siren)
    also = fetched.error is None and source.asks_more(run.settings)
    return fetched.to_json() | ({"directors": True} if also else {})


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
    """Run again what is stale; return how many runs were added."""
    settings = ctx.settings(EnrichmentSettings)
    with bound(**job_fields(ctx)):
        async with ctx.fenced() as conn:
            found = await upkeep.stale(conn, settings)
        purged = await _purge(ctx, settings)
        added = 0
        for row in found:
            tenant_id, request_id = row["tenant_id"], row["request_id"]
            correlation_id = row["correlation_id"]
            with bound(company_siren=row["siren"], tenant_id=tenant_id, correlation_id=correlation_id):
                async with ctx.fenced() as conn:
                    added += await upkeep.ask_again(conn, tenant_id, request_id, settings)
        ctx.log.info(
            "stale_companies_asked_again", companies=added, documents_purged=purged, duration_ms=ctx.milliseconds()
        )
    return added


async def _purge(ctx: Context, settings: EnrichmentSettings) -> int:
    """Purge all documents that are past their time, some in each transaction; return how many."""
    purged = 0
    while True:
        async with ctx.fenced() as conn:
            some = await upkeep.purge(conn, settings, PURGED_AT_ONCE)
        purged += some
        if some < PURGED_AT_ONCE:
            return purged


@APP.job(queue=QUEUE, priority=-10)  # before the backlog: it ends what nobody else does
async def sweep(ctx: Context) -> int:
    """End the runs that nobody ends any more; return how many."""
    with bound(**job_fields(ctx)):
        async with ctx.fenced() as conn:
            ended = await upkeep.end_abandoned(conn)
        if ended:
            ctx.log.warning("abandoned_runs_ended", companies=len(ended), duration_ms=ctx.milliseconds())
    return len(ended)


@APP.job(queue=QUEUE, priority=-10)
async def rerun(ctx: Context) -> int:
    """Run again what ended with an error that passes, when its time has come; return how many companies."""
    settings = ctx.settings(EnrichmentSettings)
    with bound(**job_fields(ctx)):
        async with ctx.fenced() as conn:
            found = await rerun_due(conn, settings)
        if found.companies:
            ctx.log.info("companies_run_again", companies=found.companies, duration_ms=ctx.milliseconds())
    return found.companies


APP.schedule(catch_up, cron="15 3 * * *", zone="Europe/Paris", name="enrichment.catch_up")
APP.schedule(sweep, cron="*/5 * * * *", zone="UTC", name="enrichment.sweep")
APP.schedule(rerun, cron="* * * * *", zone="UTC", name="enrichment.rerun")

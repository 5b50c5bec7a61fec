"""Checks establishments at the search, in jobs of their own: turns, retries and pauses are those of runs."""

from ostinato import Context, Retry, Snooze
from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.establishments import QUEUE
from ostinato.apps.enrichment.fetch import Fetcher
from ostinato.apps.enrichment.logs import job_fields
from ostinato.apps.enrichment.model import ErrorCode
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources.search import EstablishmentSearch
from ostinato.apps.enrichment.turns import Paused, sleep_before
from ostinato.apps.enrichment.wire import Wire, pooled
from ostinato.errors import OstinatoError
from ostinato.observe import bound, get_logger


class NotTold(OstinatoError):
    """The search did not tell whether an establishment exists."""

    code = "establishment_not_told"
    hint = "It is asked again by itself; GET /v1/enrichment/overview shows how the search is."


@APP.job(queue=QUEUE, retry=Retry(delays=(60, 300, 1800, 7200)))
async def check_establishment(ctx: Context, siret: str) -> Snooze | None:
    """Ask the search for an establishment, and keep whether it knows it."""
    settings = ctx.settings(EnrichmentSettings)
    fields = job_fields(ctx, siret[:9])
    log = get_logger("enrichment", **fields)
    with bound(**fields):
        source = EstablishmentSearch()
        async with ctx.fenced() as conn:
            wait = await sleep_before(conn, [source], settings)
        if wait > 0:
            return Snooze(wait)
        wire = Wire(await ctx.shared(pooled, settings.proxy_url, settings.ca_file), settings, ctx.fenced)
        try:
            found = await Fetcher(wire, log, ctx.job.id).fetch(source, siret)
        except Paused as paused:  # it began since we looked
            return Snooze(paused.seconds)
        unknown = found.error is not None and found.error.error_code is ErrorCode.NOT_FOUND
        if found.error is not None and not unknown:
            raise NotTold(f"the search did not answer: {found.error.message}", siret=siret)
        async with ctx.transaction() as conn:
            await QUERIES.rows(conn, "take_fetched", job_id=ctx.job.id)  # only whether it answered is kept
            await QUERIES.run(conn, "settle_establishment", siret=siret, state="UNKNOWN" if unknown else "KNOWN")
        log.info(
            "establishment_checked",
            source_api=str(source.api),
            known=not unknown,
            http_status=found.http_status,
            duration_ms=found.duration_ms,
        )
    return None

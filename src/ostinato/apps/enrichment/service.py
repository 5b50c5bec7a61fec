"""Changes requests and companies, one transaction each, on the connection of the caller.

As a tenant: `create`, `ask`. As a worker, within a run: `begin_run`, `keep_fetch`, `end_run`.
"""

import dataclasses
import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from psycopg.types.json import Jsonb

from ostinato import database, idempotency, machines
from ostinato.apps.enrichment import establishments
from ostinato.apps.enrichment.events import (
    COMPLETED,
    FETCHED,
    REQUESTED,
    STARTED,
    Completed,
    Requested,
    SourceFetched,
    Started,
    emit,
    emit_each,
)
from ostinato.apps.enrichment.lock import Lock
from ostinato.apps.enrichment.machine import COMPANY, ENTITY
from ostinato.apps.enrichment.merge import Merged, Stored, merge
from ostinato.apps.enrichment.model import Fetched, Identifiers, SourceApi, Status, Trigger, Verdict
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.rerun import next_rerun
from ostinato.apps.enrichment.rules import cooldown_left, core_identity, evaluate, idempotency_key, key_is_free
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources import SOURCES
from ostinato.idempotency import Declaration
from ostinato.jobs import wake_after_commit
from ostinato.tenants import current

QUEUE: Final = "enrichment"
ACTOR: Final = "enrichment"
RUN_SCOPE: Final = "enrichment.run"
ENDINGS: Final = {Status.SUCCESS: "succeed", Status.PARTIAL: "end_partly", Status.FAILED: "fail"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking for a company."""

    decision: Literal["cached", "attached", "needed", "started", "repeated"]
    """`repeated`: the same was asked for, and run, in this day or minute already."""
    job_id: int | None = None


class Cooling(Exception):
    """A company was refreshed by hand a moment ago."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the pipeline: who started it, for whom, and under which lock."""

    siren: str
    job_id: int
    request_id: str
    trigger: Trigger
    tenant_id: str
    correlation_id: str
    lock: Lock
    settings: EnrichmentSettings


async def create(
    conn: Connection,
    found: Identifiers,
    *,
    metadata: Mapping[str, object],
    created_by: str,
    key: str | None,
    settings: EnrichmentSettings,
) -> str:
    """Add a request of the transaction's tenant; return its id."""
    tenant, correlation, _ = current()
    request_id = str(uuid.uuid4())
    await QUERIES.run(conn, "open_company", siren=found.company_siren, freshness_days=settings.freshness_ttl_days)
    await QUERIES.run(
        conn,
        "add_request",
        tenant_id=tenant,
        id=request_id,
        siren=found.siren,
        siret=found.siret,
        siren_raw=found.siren_raw,
        siret_raw=found.siret_raw,
        company_siren=found.company_siren,
        metadata=dict(metadata),
        created_by=created_by,
        correlation_id=correlation or f"request-{request_id}",
        idempotency_key=key,
    )
    if found.siret is not None:
        await establishments.open_one(conn, request_id, settings)
    return request_id


async def ask(
    conn: Connection, request_id: str, siret: str | None, trigger: Trigger, settings: EnrichmentSettings
) -> Asked:
    """Ask for the company of a request: from the cache, from a running job, or by a new one.

    Emits `CompanyEnrichmentRequested`, except for what the schedule asks for and for a request that
    is opened again in the same bucket. Raises `Cooling`.
    """
    again = trigger is Trigger.MANUAL_REFRESH
    days = settings.freshness_ttl_days
    # The company first, then the key of the events: as runs do.
    seen = await QUERIES.one(conn, "look_at", request_id=request_id, again=again, freshness_days=days)
    siren, now = seen["siren"], seen["at"]
    asked = Asked(seen["decision"])
    if asked.decision == "needed":
        left = cooldown_left(seen["refreshed_at"], now, settings.cooldown_seconds)
        if again and left > 0:
            raise Cooling(left)
        free = key_is_free(
            trigger, seen["status"], seen["failed_for"], seen["last_run_at"], now, settings.breaker_seconds
        )
        key = idempotency_key(siren, trigger, now)
        asked = await _start_once(conn, request_id, trigger, key, free=free)
    if trigger is Trigger.CATCH_UP or (trigger is Trigger.REQUEST_OPENED and not asked.job_id):
        return asked
    payload = Requested(request_id, siren, siret, cast("Any", str(trigger)))
    await emit(conn, REQUESTED, payload, siren)
    return asked


async def _start_once(conn: Connection, request_id: str, trigger: Trigger, key: str, *, free: bool) -> Asked:
    """Start a run, once for each key (M3C-gap-9, M3C-gap-11)."""
    asked = {"key": key}
    begun = await idempotency.begin(conn, RUN_SCOPE, key, asked, Declaration())
    if not isinstance(begun, idempotency.New) and not free:
        return Asked("repeated")
    job_id = await QUERIES.value(conn, "start_run", request_id=request_id, trigger=str(trigger))
    if isinstance(begun, idempotency.New):
        await idempotency.finish(conn, begun, {"job_id": job_id})
    wake_after_commit(QUEUE)
    return Asked("started", job_id)


async def begin_run(conn: Connection, run: Run) -> int | None:
    """Make the company RUNNING under the lock and emit that; the attempt.

    None: nothing is to do, and the lock is given back. The company is fresh; or it waits for
    another job by now, because this one was dead and is run again: what its steps kept is old.
    """
    await run.lock.guard(conn)
    company = await QUERIES.one(conn, "company_for_run", siren=run.siren, days=run.settings.freshness_ttl_days)
    status = company["status"]
    if company["job_id"] != run.job_id:
        await run.lock.give_back(conn)
        return None
    event, number = "start", max(1, run.lock.lease.attempt)
    if status == Status.RUNNING:  # its holder before us is gone: M3C-lock-5; or it was us, and we slept
        event, number = "take_over", company["attempt"] + (0 if company["asleep"] else 1)
    elif status == Status.SUCCESS and run.trigger is Trigger.MANUAL_REFRESH:
        event = "refresh"
    elif status == Status.SUCCESS and company["fresh"]:
        await QUERIES.run(conn, "end_run", siren=run.siren, job_id=run.job_id)
        await run.lock.give_back(conn)
        return None
    elif status == Status.SUCCESS:
        days = {"freshness_days": run.settings.freshness_ttl_days}
        await _move(conn, run, "expire", days)
    changes = {
        "job_id": run.job_id,
        "run_trigger": str(run.trigger),
        "lock_token": run.lock.lease.token,
        "attempt": number,
        "enrichment_error": None,
        "asleep_until": None,
    }
    await _move(conn, run, event, changes)
    if not company["asleep"]:
        await emit(conn, STARTED, Started(run.job_id, run.siren, number), run.siren)
    return number


async def keep_fetch(conn: Connection, run: Run, fetched: Fetched) -> str | None:
    """Keep what a source answered, and emit that it did; the id of the document.

    The answer is in the stash of the run, or in a step of an earlier release.
    """
    await run.lock.guard(conn)
    error = fetched.error
    document = None
    if error is None:
        document = await QUERIES.value(
            conn,
            "keep_document",
            siren=run.siren,
            doc_type=SOURCES[fetched.source_api].doc_type,
            source_api=str(fetched.source_api),
            job_id=run.job_id,
            payload=None if fetched.payload is None else Jsonb(fetched.payload),
            checksum=fetched.checksum,
        )
    await QUERIES.run(
        conn,
        "note_retrieval",
        siren=run.siren,
        source_api=str(fetched.source_api),
        status="SUCCESS" if error is None else "FAILED",
        http_status=fetched.http_status,
        error=None if error is None else json.dumps(error.to_json()),
    )
    payload = SourceFetched(
        run.job_id,
        run.siren,
        fetched.source_api,
        "SUCCESS" if error is None else "FAILED",
        fetched.http_status,
        None if error is None else error.error_code,
        fetched.duration_ms,
    )
    await emit(conn, FETCHED, payload, run.siren)
    return None if document is None else str(document)


async def end_run(
    conn: Connection, run: Run, fetched: Sequence[Fetched], documents: Mapping[SourceApi, str]
) -> Verdict:
    """Merge, evaluate, emit, and release the lock: M3C-pipeline-7 to 10, in one transaction."""
    await run.lock.guard(conn)
    fetched = await _with_answers(conn, run, fetched)
    before = await QUERIES.one(conn, "company_fields", siren=run.siren)
    stored = {
        field: Stored(str(before["fields"][field]), SourceApi(source))
        for field, source in before["sources"].items()
        if before["fields"].get(field) is not None
    }
    merged = merge(stored, fetched)
    core = core_identity(run.siren, merged.values, merged.masked)
    verdict = evaluate(fetched, core=core, optional_not_found_fails=run.settings.optional_not_found_counts_as_failure)
    at = await database.now(conn)
    now = at.isoformat()
    again = next_rerun(fetched, run.trigger, before["fields"]["reruns"], run.settings, at)
    changes = counters(verdict) | again | {"enrichment_last_run_at": now, "last_job_id": run.job_id}
    if verdict.status is not Status.FAILED:  # a failed run takes nothing away, nor makes it new
        changes |= dict(merged.values) | {
            "masked_fields": list(merged.masked),
            "updated_at": now,
            "freshness_days": run.settings.freshness_ttl_days,
        }
        await _note_provenance(conn, run.siren, merged, documents)
        await _forget_masked(conn, run.siren, merged, fetched, documents)
    await _move(conn, run, ENDINGS[verdict.status], changes)
    await establishments.check(conn, run.siren)
    await emit_completed(conn, run.siren, run.job_id, verdict, (run.tenant_id, run.correlation_id))
    await run.lock.give_back(conn)
    return verdict


async def emit_completed(
    conn: Connection, siren: str, job_id: int, verdict: Verdict, by: tuple[str, str] | None = None
) -> None:
    """Emit to each tenant that waits for a job that it ended, once, and nothing of the others.

    The tenant that started it knows it by its id, any other by a number of its own.
    """
    found = await QUERIES.rows(conn, "attached_tenants", siren=siren, job_id=job_id)
    waiting = {row["tenant_id"]: (row["correlation_id"], row["ticket"]) for row in found}
    if by is not None:
        waiting[by[0]] = (by[1], job_id)
    payload = Completed(
        job_id,
        siren,
        cast("Any", str(verdict.status)),
        verdict.sources_success_count,
        verdict.sources_failed_count,
        verdict.core_identity_present,
        verdict.required_sources_failed_count,
        verdict.optional_sources_failed_count,
    )
    envelopes = [
        (tenant, correlation, dataclasses.replace(payload, job_id=ticket))
        for tenant, (correlation, ticket) in sorted(waiting.items())
    ]
    await emit_each(conn, COMPLETED, siren, envelopes)
    await QUERIES.run(conn, "forget_attachments", job_id=job_id)


async def _with_answers(conn: Connection, run: Run, fetched: Sequence[Fetched]) -> list[Fetched]:
    """Return what the sources said, with how their calls went."""
    stash: dict[str, dict[str, Any]] = {
        row["source_api"]: {"values": row["found"], "masked": tuple(row["masked"])}
        for row in await QUERIES.rows(conn, "take_fetched", job_id=run.job_id)
    }
    return [dataclasses.replace(one, **stash.get(one.source_api, {})) for one in fetched]


def counters(verdict: Verdict) -> dict[str, object]:
    """Return the columns of a company that the end of a run sets, beside its fields."""
    return {
        "enrichment_error": verdict.error,
        "core_identity_present": verdict.core_identity_present,
        "sources_success_count": verdict.sources_success_count,
        "required_sources_failed_count": verdict.required_sources_failed_count,
        "optional_sources_failed_count": verdict.optional_sources_failed_count,
        "job_id": None,
        "lock_token": None,
        "asleep_until": None,
    }


async def _move(conn: Connection, run: Run, event: str, changes: Mapping[str, object]) -> None:
    await machines.transition(
        conn,
        COMPANY,
        ENTITY,
        run.siren,
        event,
        by=ACTOR,
        why=str(run.trigger),
        correlation_id=run.correlation_id,
        changes=changes,
    )


async def _forget_masked(
    conn: Connection, siren: str, merged: Merged, fetched: Sequence[Fetched], documents: Mapping[SourceApi, str]
) -> None:
    """Forget what sources withhold by now: hashes of it, labels without a code, and older answers."""
    gone = [field for field, value in merged.values.items() if value is None]
    await QUERIES.run(conn, "forget_provenance", siren=siren, fields=gone)
    withholding = [one.source_api for one in fetched if one.masked]
    if withholding:
        await QUERIES.run(
            conn,
            "forget_answers",
            siren=siren,
            sources=[str(source) for source in withholding],
            kept=[documents[source] for source in withholding if source in documents],
        )


async def _note_provenance(conn: Connection, siren: str, merged: Merged, documents: Mapping[SourceApi, str]) -> None:
    fields = list(merged.sources)
    values = [merged.values[field] or "" for field in fields]
    await QUERIES.run(
        conn,
        "note_provenance",
        siren=siren,
        fields=fields,
        sources=[str(merged.sources[field]) for field in fields],
        documents=[documents.get(merged.sources[field]) for field in fields],
        hashes=[hashlib.sha256(value.encode()).hexdigest() for value in values],
    )

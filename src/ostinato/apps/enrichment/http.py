"""Serves enrichment, with the error bodies and roles that the specification fixes.

docs/specs/enrichment.md has its rules: M3C-api-1 to 4.
"""

import dataclasses
import json
import math
import uuid
from typing import Annotated, Final

from fastapi import Query, Request, Response

from ostinato import audit
from ostinato.apps.enrichment import service
from ostinato.apps.enrichment.answers import fixed, missing, refuse, refuse_key
from ostinato.apps.enrichment.identifiers import Refused, fails_luhn, read
from ostinato.apps.enrichment.logs import LINE, line_fields
from ostinato.apps.enrichment.model import ErrorCode, Identifiers, Trigger
from ostinato.apps.enrichment.panel import Panel, panel
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.rerun import Rerun, Selection, rerun_own
from ostinato.apps.enrichment.rules import opens_again
from ostinato.apps.enrichment.service import Cooling
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.views import (
    ABSENT,
    DAYS,
    Body,
    Created,
    Detail,
    Opened,
    Row,
    created_view,
    look,
    whole_view,
)
from ostinato.apps.enrichment.watch import Watch
from ostinato.errors import Forbidden
from ostinato.observe import get_logger
from ostinato.tenants import current_correlation
from ostinato.web import Caller, IdempotencyKey, Key, OnceHere, Permission, Router, Who, note_line

CREATE = Permission(
    "enrichment.create", ("tenant_admin", "agency_user", "client_user", "system", "admin"), "ask for companies"
)
READ = Permission(
    "enrichment.read",
    ("tenant_admin", "agency_user", "consultant", "client_user", "system", "admin"),
    "read requests and their companies",
)
REFRESH = Permission(
    "enrichment.refresh", ("tenant_admin", "agency_user", "system", "admin"), "have a company looked up again"
)
OVERVIEW = Permission("enrichment.overview", ("tenant_admin", "system", "admin", "ops"), "see how enrichment is doing")
RERUN = Permission("enrichment.rerun", ("ops", "admin"), "have companies run again, many at once")
DIRECTORS: Final = frozenset({"tenant_admin", "agency_user", "admin"})
WHOLE: Final = frozenset({"tenant_admin", "agency_user", "client_user", "system", "admin"})
EVERYBODYS: Final = WHOLE - {"client_user"} | {"consultant"}
"""Roles that see all requests of their tenant; a client_user those that it made itself."""

MALFORMED: Final = {ErrorCode.SIREN_SIRET_MISMATCH: (422, "business_rule_failed")}

SHOWN: Final = (
    "body",
    "id",
    "created_by",
    "company_siren",
    "enrichment_status",
    "enrichment_last_run_at",
    "running",
    "at",
    "fresh",
)
"""The columns of `show_request_as`."""

IN_FLIGHT_SECONDS: Final = 30.0
"""How long the key of a request that was not answered is waited for."""

router = Router(prefix="/v1", tags=["enrichment"], line=LINE)
log = get_logger("enrichment")


@router.post(
    "/requests",
    needs=CREATE,
    status_code=201,
    responses={
        201: {"model": Created, "description": "The company is known: from the cache, or by now."},
        202: {"model": Created, "description": "A run goes on."},
        **fixed(400, 409, 422),
    },
    openapi_extra={"requestBody": {"required": True}},
)
async def create_request(request: Request, caller: Who, key: Key, body: Body = ABSENT) -> Response:
    """Ask for a company: answered from the cache, within 1.2 s, or by a run that goes on."""
    settings = caller.settings(EnrichmentSettings)
    found = await _identified(caller, body, settings)
    note_line(request, company_siren=found.company_siren)
    if (known := await _known(request, caller, key, body, found)) is not None:
        return known
    # Two transactions: a worker sees the request only when it is committed, and the answer says
    # what came of it. If the process dies in between, the request is made: the next call with the
    # key answers for it.
    async with key.begin(caller, lease_seconds=IN_FLIGHT_SECONDS, refuse=refuse_key) as once:
        request_id = await _made(once, caller, key.value, body, found) if once.is_new else None
    if request_id is not None:
        note_line(request, request_id=request_id)
        watch = _watch(request, caller)
        await watch.ended(caller.tenant_id, request_id, settings.sync_ms / 1000)
        async with once.finish(caller) as conn:
            seen = await look(conn, request_id, settings.freshness_ttl_days)
            if seen is None:
                await missing(conn, request_id)
            once.reply(202 if seen["running"] else 201, await created_view(conn, seen))
    return once.response()


async def _known(
    request: Request, caller: Caller, key: IdempotencyKey, body: Body, found: Identifiers
) -> Response | None:
    """Answer for a company that is known, in one statement; None: it is not, and nothing was done."""
    settings = caller.settings(EnrichmentSettings)
    request_id = str(uuid.uuid4())
    answer = await key.try_answer(
        caller,
        "enrichment.ask_known_as",
        id=request_id,
        **dataclasses.asdict(found),
        metadata=json.dumps(body.metadata or {}),
        freshness_days=settings.freshness_ttl_days,
        field_days=DAYS,
        idempotency_key=key.value,
    )
    if answer is not None and "Idempotency-Replayed" not in answer.headers:
        note_line(request, request_id=request_id)
        warn_luhn(caller, request_id, found, settings)
    return answer


def _watch(request: Request, caller: Caller) -> Watch:
    """Return the one watch of this process."""
    state = request.app.state
    if not hasattr(state, "enrichment_watch"):
        state.enrichment_watch = Watch(caller.client)
    found: Watch = state.enrichment_watch
    return found


async def _identified(caller: Caller, body: Body, settings: EnrichmentSettings) -> Identifiers:
    if odd := body.odd():
        said = "La demande n'a pas la forme attendue."
        async with caller.transaction() as conn:
            await refuse(conn, 400, "validation_error", "INVALID_REQUEST", said, odd)
    found = read(body.siren, body.siret, settings.identifier_luhn)
    if isinstance(found, Refused):
        status, error = MALFORMED.get(found.code, (400, "validation_error"))
        details = [Detail(field=found.field, reason=found.reason)]
        async with caller.transaction() as conn:
            await refuse(conn, status, error, str(found.code), found.message, details)
    return found


async def _made(once: OnceHere, caller: Caller, key: str | None, body: Body, found: Identifiers) -> str:
    """Make a request and ask for its company; the id, also of one that an interrupted call made."""
    settings = caller.settings(EnrichmentSettings)
    if once.attempt > 1:
        known = await QUERIES.value(once.conn, "request_of_key", idempotency_key=key)
        if known is not None:
            return str(known)
    request_id = await service.create(
        once.conn, found, metadata=body.metadata or {}, created_by=caller.subject, key=key, settings=settings
    )
    await service.ask(once.conn, request_id, found.siret, Trigger.REQUEST_CREATED, settings)
    warn_luhn(caller, request_id, found, settings)
    return request_id


def warn_luhn(caller: Caller, request_id: str, found: Identifiers, settings: EnrichmentSettings) -> None:
    """Log a number that fails its check digit, where that is no refusal."""
    if settings.identifier_luhn == "warn" and (wrong := fails_luhn(found)):
        fields = line_fields(
            correlation_id=current_correlation(),
            tenant_id=caller.tenant_id,
            request_id=request_id,
            company_siren=found.company_siren,
        )
        log.warning("luhn_check_failed", **fields, fields=wrong)


@router.get("/requests/{request_id}", needs=READ, response_model=Opened, responses={**fixed(404)})
async def show_request(
    request: Request,
    caller: Who,
    request_id: str,
    include: Annotated[str | None, Query(description="`dirigeants`, for who may see them.", max_length=100)] = None,
) -> Opened | Response:
    """Return a request and its company; one that is stale is shown, and looked up again behind."""
    settings = caller.settings(EnrichmentSettings)
    days = settings.freshness_ttl_days
    with_directors = include is not None and "dirigeants" in include.split(",")
    if with_directors and caller.roles.isdisjoint(DIRECTORS):
        raise Forbidden(
            "directors are shown to tenant_admin and agency_user only",
            needs=sorted(DIRECTORS),
            has=sorted(caller.roles),
        )
    limited = caller.roles.isdisjoint(WHOLE)
    if not with_directors and (shown := await _shown(request, caller, request_id, days, limited=limited)) is not None:
        return shown
    async with caller.transaction() as conn:
        seen = await _mine(conn, caller, request_id, days)
        note_line(request, company_siren=seen["company_siren"])
        if _asks_again(seen, limited=limited):
            opened = Trigger.REQUEST_OPENED
            await service.ask(conn, seen["id"], seen["siret"], opened, settings)
            seen = await _mine(conn, caller, request_id, days)
        return await whole_view(conn, seen, limited=limited, with_directors=with_directors)


@router.post(
    "/requests/{request_id}:refresh-company",
    needs=REFRESH,
    status_code=202,
    responses={202: {"model": Created}, **fixed(404, 409, 422)},
)
async def refresh_company(request: Request, caller: Who, key: Key, request_id: str) -> Response:
    """Look up the company of a request again, fresh or not; not twice in a minute."""
    settings = caller.settings(EnrichmentSettings)
    days = settings.freshness_ttl_days
    async with key.once(caller, refuse=refuse_key) as once:
        if once.is_new:
            conn = once.conn
            seen = await _mine(conn, caller, request_id, days)
            note_line(request, company_siren=seen["company_siren"])
            refresh = Trigger.MANUAL_REFRESH
            try:
                await service.ask(conn, seen["id"], seen["siret"], refresh, settings)
            except Cooling as cooling:
                await refuse(
                    conn,
                    409,
                    "conflict",
                    "REFRESH_COOLDOWN",
                    "Cette entreprise vient d'être actualisée.",
                    request_id=request_id,
                    headers={"Retry-After": str(math.ceil(cooling.seconds))},
                )
            await audit.note(conn, "refresh", "company", seen["company_siren"])
            seen = await _mine(conn, caller, request_id, days)
            once.reply(202, await created_view(conn, seen))
    return once.response()


@router.get("/enrichment/overview", needs=OVERVIEW)
async def show_overview(caller: Who) -> Panel:
    """Return counts by status, how the sources are, and the last errors."""
    async with caller.transaction() as conn:
        return await panel(conn)


@router.post("/enrichment/rerun", needs=RERUN, status_code=202)
async def rerun_companies(caller: Who, body: Selection) -> Rerun:
    """Run companies of the caller's tenant again whose last run ended PARTIAL or FAILED."""
    async with caller.transaction() as conn:
        return await rerun_own(conn, body)


async def _mine(conn: Connection, caller: Caller, request_id: str, days: int) -> Row:
    """Return a request that the caller may see; any other is not there."""
    try:
        known = str(uuid.UUID(request_id))
    except ValueError:
        await missing(conn, request_id)
    seen = await look(conn, known, days)
    if seen is None or _is_hidden(caller, seen):
        await missing(conn, request_id)
    return seen


def _is_hidden(caller: Caller, seen: Row) -> bool:
    """Return whether a request of the tenant is one that the caller may not see."""
    hidden = caller.roles.isdisjoint(EVERYBODYS)
    return hidden and seen["created_by"] != caller.subject


def _asks_again(seen: Row, *, limited: bool) -> bool:
    """Return whether opening a request asks for its company again."""
    status, last_run_at = seen["enrichment_status"], seen["enrichment_last_run_at"]
    stale = opens_again(status, last_run_at, seen["at"], fresh=seen["fresh"])
    return stale and not seen["running"] and not limited


async def _shown(request: Request, caller: Caller, request_id: str, days: int, *, limited: bool) -> Response | None:
    """Show a request in one statement; None: it is not there for the caller, or its company is asked for again."""
    try:
        known = uuid.UUID(request_id)
    except ValueError:
        return None
    about = {"request_id": known, "limited": limited, "freshness_days": days, "field_days": DAYS}
    rows = await caller.call("enrichment.show_request_as", _read=True, **about)
    seen = dict(zip(SHOWN, rows[0], strict=True)) if rows else None
    if seen is None or _is_hidden(caller, seen) or _asks_again(seen, limited=limited):
        return None
    note_line(request, company_siren=seen["company_siren"])
    return Response(seen["body"], media_type="application/json")

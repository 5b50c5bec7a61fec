"""The routes of enrichment (M3B), with the error bodies and roles (M3D) that are fixed there."""

import math
import uuid
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import Query, Request, Response

from ostinato import idempotency
from ostinato.apps.enrichment import queries, service
from ostinato.apps.enrichment.answers import begun, fixed, missing, refuse
from ostinato.apps.enrichment.identifiers import Refused, fails_luhn, read
from ostinato.apps.enrichment.model import ErrorCode, Identifiers, Trigger
from ostinato.apps.enrichment.panel import Panel, panel
from ostinato.apps.enrichment.rules import opens_again
from ostinato.apps.enrichment.service import Cooling
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.views import (
    Body,
    Created,
    Detail,
    Opened,
    Seen,
    company_view,
    look,
    request_view,
    whole_view,
)
from ostinato.apps.enrichment.watch import Watch
from ostinato.errors import Forbidden, LeaseLost
from ostinato.idempotency import New, Replay
from ostinato.observe import get_logger
from ostinato.web import Answer, Caller, IdempotencyKey, Key, Permission, Router, Who

__all__ = ["router"]

CREATE = Permission(
    "enrichment.create",
    ("tenant_admin", "agency_user", "client_user", "system", "admin"),
    "ask for companies",
)
READ = Permission(
    "enrichment.read",
    ("tenant_admin", "agency_user", "consultant", "client_user", "system", "admin"),
    "read requests and their companies",
)
REFRESH = Permission(
    "enrichment.refresh",
    ("tenant_admin", "agency_user", "system", "admin"),
    "have a company looked up again",
)
OVERVIEW = Permission(
    "enrichment.overview",
    ("tenant_admin", "system", "admin", "ops"),
    "see how enrichment is doing",
)
DIRECTORS: Final = frozenset({"tenant_admin", "agency_user", "admin"})
WHOLE: Final = frozenset({"tenant_admin", "agency_user", "client_user", "system", "admin"})
EVERYBODYS: Final = WHOLE - {"client_user"} | {"consultant"}
"""Roles that see all requests of their tenant; a client_user those that it made itself."""

MALFORMED: Final = {
    ErrorCode.SIREN_SIRET_MISMATCH: (422, "business_rule_failed"),
}

router = Router(prefix="/v1", tags=["enrichment"])
log = get_logger("enrichment")


@router.post(
    "/requests",
    needs=CREATE,
    status_code=201,
    responses={
        201: {"model": Created, "description": "The company is known: from the cache, or by now."},
        202: {"model": Created, "description": "A run is at it."},
        **fixed(400, 409, 422),
    },
)
async def create_request(request: Request, caller: Who, key: Key, body: Body) -> Response:
    """Ask for a company: answered from the cache, within 1.2 s, or by a run that goes on."""
    settings = EnrichmentSettings.load()
    found = await _identified(caller, body, settings)
    request_id, held, replay = await _made(caller, key, body, found, settings)
    if replay is not None:
        return _response(replay, replayed=True)
    watch: Watch | None = getattr(request.app.state, "enrichment_watch", None)
    if watch is None:
        watch = request.app.state.enrichment_watch = Watch(caller.client)
    await watch.ended(caller.tenant_id, request_id, settings.sync_ms / 1000)
    async with caller.transaction() as conn:
        seen = await look(conn, request_id, settings.freshness_ttl_days)
        if seen is None:
            await missing(conn, request_id)
        made = Created(
            request=request_view(seen),
            company=await company_view(conn, seen),
            enrichment_running=seen.running,
        )
        answer = Answer(202 if seen.running else 201, made.model_dump_json().encode())
        if held is not None:
            with suppress(LeaseLost):  # somebody thought that we were gone; the request is the same
                await idempotency.finish(conn, held, answer, request_id)
    return _response(answer)


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
    if settings.identifier_luhn == "warn" and (wrong := fails_luhn(found)):
        log.warning("luhn_check_failed", fields=wrong, company_siren=found.company_siren)
    return found


async def _made(
    caller: Caller,
    key: IdempotencyKey,
    body: Body,
    found: Identifiers,
    settings: EnrichmentSettings,
) -> tuple[str, New | None, Answer | None]:
    """A new request and who answers for it; or the answer that was given before.

    The answer is stored after the wait, in a transaction of its own. Whoever died in between made
    the request: the next call with the key goes on with that one.
    """
    async with caller.transaction() as conn:
        held = await begun(conn, key)
        if isinstance(held, Replay):
            return "", None, held.http()
        if held is not None and held.attempt > 1:
            known = await queries.rows(conn, "request_of_key", idempotency_key=key.value)
            if known:
                return str(known[0][0]), held, None
        request_id = await service.create(
            conn,
            found,
            metadata=body.metadata or {},
            created_by=caller.subject,
            key=key.value,
            settings=settings,
        )
        await service.ask(conn, request_id, found.siret, Trigger.REQUEST_CREATED, settings)
    return request_id, held, None


@router.get(
    "/requests/{request_id}",
    needs=READ,
    response_model=Opened,
    responses={**fixed(404)},
)
async def show_request(
    caller: Who,
    request_id: str,
    include: Annotated[
        str | None, Query(description="`dirigeants`, for who may see them.", max_length=100)
    ] = None,
) -> Opened:
    """A request and its company; one that is stale is shown, and looked up again behind."""
    settings = EnrichmentSettings.load()
    days = settings.freshness_ttl_days
    with_directors = include is not None and "dirigeants" in include.split(",")
    if with_directors and caller.roles.isdisjoint(DIRECTORS):
        raise Forbidden(
            "directors are shown to tenant_admin and agency_user only",
            needs=sorted(DIRECTORS),
            has=sorted(caller.roles),
        )
    limited = caller.roles.isdisjoint(WHOLE)
    async with caller.transaction() as conn:
        seen = await _mine(conn, caller, request_id, days)
        row = seen.row
        stale = opens_again(
            row["enrichment_status"], row["enrichment_last_run_at"], row["at"], fresh=seen.fresh
        )
        if stale and not seen.running and not limited:
            siret = seen.row["siret"]
            await service.ask(conn, seen.row["id"], siret, Trigger.REQUEST_OPENED, settings)
            seen = await _mine(conn, caller, request_id, days)
        return await whole_view(conn, seen, limited=limited, with_directors=with_directors)


@router.post(
    "/requests/{request_id}:refresh-company",
    needs=REFRESH,
    status_code=202,
    responses={202: {"model": Created}, **fixed(404, 409, 422)},
)
async def refresh_company(caller: Who, key: Key, request_id: str) -> Response:
    """Have the company of a request looked up again, fresh or not; not twice in a minute."""
    settings = EnrichmentSettings.load()
    days = settings.freshness_ttl_days
    async with caller.transaction() as conn:
        held = await begun(conn, key)
        if isinstance(held, Replay):
            return _response(held.http(), replayed=True)
        seen = await _mine(conn, caller, request_id, days)
        siret = seen.row["siret"]
        try:
            await service.ask(conn, seen.row["id"], siret, Trigger.MANUAL_REFRESH, settings)
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
        seen = await _mine(conn, caller, request_id, days)
        made = Created(
            request=request_view(seen),
            company=await company_view(conn, seen),
            enrichment_running=seen.running,
        )
        answer = Answer(202, made.model_dump_json().encode())
        if held is not None:
            await idempotency.finish(conn, held, answer)
    return _response(answer)


@router.get("/enrichment/overview", needs=OVERVIEW)
async def show_overview(caller: Who) -> Panel:
    """Counts by status, how the sources are, and the last errors."""
    async with caller.transaction() as conn:
        return await panel(conn)


async def _mine(conn: Any, caller: Caller, request_id: str, days: int) -> Seen:  # noqa: ANN401 - a connection
    """A request that the caller may see; any other is not there."""
    try:
        known = str(uuid.UUID(request_id))
    except ValueError:
        await missing(conn, request_id)
    seen = await look(conn, known, days)
    hidden = caller.roles.isdisjoint(EVERYBODYS)
    if seen is None or (hidden and seen.created_by != caller.subject):
        await missing(conn, request_id)
    return seen


def _response(answer: Answer, *, replayed: bool = False) -> Response:
    headers = {"Idempotency-Replayed": "true"} if replayed else {}
    return Response(answer.body, answer.status, headers, "application/json")

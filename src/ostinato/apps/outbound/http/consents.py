"""Serves consents: record, revoke, show with the proof; and unsubscribe by one click."""

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode
from uuid import UUID

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse
from pydantic import Field

from ostinato import database
from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import address
from ostinato.apps.outbound.consent import consents, erasure
from ostinato.apps.outbound.consent.consents import Given, Recorded
from ostinato.apps.outbound.consent.erasure import Erased
from ostinato.apps.outbound.errors import ConsentProofRequired
from ostinato.apps.outbound.http.leaving import TEXTS, language_of, page
from ostinato.apps.outbound.model import Channel, ConsentSource, ConsentStatus, Purpose
from ostinato.apps.outbound.permissions import CONSENT, ERASE, READ
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Row
from ostinato.apps.outbound.tokens import LANGUAGE, read_unsubscribe_token
from ostinato.apps.outbound.views import Instant, Name, Short, View
from ostinato.errors import InvalidInput, NotFound
from ostinato.web import Router, Who, client_of

router = Router(prefix="/api/v1/outbound", tags=["outbound consent"])

SubjectId = Annotated[str, Query(alias="subjectId", min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
ONE_CLICK = "One-Click"
MOST_FORM = 10_000


class NewConsent(View):
    """A consent, its denial or its end, with what proves it."""

    subject_id: Name
    channel: Channel
    purpose: Purpose = Purpose.TRANSACTIONAL
    status: ConsentStatus = Field(description="EXPIRED comes by itself and cannot be recorded.")
    address: Short = Field(min_length=1, examples=["+33639980001"])
    source: ConsentSource = ConsentSource.API
    proof: dict[str, Any] = Field(
        default={}, examples=[{"wording": "J'accepte …", "version": "3", "language": "fr", "form": "accueil"}]
    )
    legal_basis: Short | None = None
    expires_at: Instant | None = None
    occurred_at: Instant | None = Field(default=None, description="When it was said; not in the future.")


class ConsentEventView(View):
    """One entry of the proof."""

    id: int
    event_type: str
    old_status: str | None
    new_status: str
    occurred_at: datetime
    recorded_at: datetime
    source: str
    actor: str
    proof: dict[str, Any]


class ConsentView(View):
    """A consent with its whole proof."""

    id: UUID
    subject_id: str
    channel: Channel
    purpose: Purpose
    status: ConsentStatus
    address: str
    legal_basis: str | None
    granted_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    version: int
    events: list[ConsentEventView]

    @classmethod
    def of(cls, row: Row, events: list[Row]) -> "ConsentView":
        """Make the view from the rows."""
        names = [name for name in cls.model_fields if name != "events"]
        views = [ConsentEventView(**each) for each in events]
        return cls(**{name: row[name] for name in names}, events=views)


@router.put("/consents", needs=CONSENT, raises=(ConsentProofRequired,))
async def record_consent(caller: Who, body: NewConsent) -> Recorded:
    """Record what a person allowed, denied or revoked. Granted needs a proof; nothing is erased."""
    if body.status is ConsentStatus.EXPIRED:
        raise InvalidInput("a consent expires by its time only", hint="Set expiresAt.")
    settings = caller.settings(OutboundSettings)
    async with caller.transaction() as conn:
        chosen = await store.organisation(conn, caller.tenant_id)
        to = address.normalised(
            body.channel, body.address, region=chosen.region, validation=settings.validation, field="address"
        )
        given = Given(**{**body.model_dump(), "address": to})
        now = await database.now(conn)
        if body.occurred_at is not None and body.occurred_at > now:
            raise InvalidInput("occurredAt is in the future", hint="Leave it out for now.")
        return await consents.record(conn, caller.tenant_id, caller.subject, given, settings)


@router.get("/consents", needs=READ)
async def show_consents(caller: Who, subject_id: SubjectId) -> list[ConsentView]:
    """Return the consents of a person, each with its whole proof."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "consents", tenant_id=caller.tenant_id, subject_id=subject_id)
        return [
            ConsentView.of(
                row, await store.rows(conn, "consent_events", tenant_id=caller.tenant_id, consent_id=row["id"])
            )
            for row in rows
        ]


@router.delete("/consents", needs=ERASE)
async def erase_subject(caller: Who, subject_id: SubjectId) -> Erased:
    """Forget a person: addresses and texts are blanked, proofs and refusals stay."""
    async with caller.transaction() as conn:
        return await erasure.erase(conn, caller.tenant_id, caller.subject, subject_id)


@router.get("/unsubscribe/{token}", public=True, response_class=HTMLResponse)
async def ask_unsubscribe(request: Request, token: str) -> Response:
    """Show a page with a button. Looking at it ends nothing: scanners of mail open every link."""
    written = request.query_params.get(LANGUAGE, "")
    language = language_of(request.headers.get("accept-language", ""), written)
    policy = "default-src 'none'; form-action 'self'"
    headers = {"Content-Security-Policy": policy, "Content-Language": language, "Vary": "Accept-Language"}
    query = f"?{urlencode({LANGUAGE: written})}" if written else ""
    return HTMLResponse(page(f"/api/v1/outbound/unsubscribe/{token}{query}", language), headers=headers)


@router.post("/unsubscribe/{token}", public=True, raises=(NotFound, InvalidInput), response_class=PlainTextResponse)
async def unsubscribe(request: Request, token: str) -> Response:
    """End a consent by one click (RFC 8058): no login, no cookie, no redirect."""
    client = client_of(request)
    settings = client.settings.section(OutboundSettings)
    consent_id = read_unsubscribe_token(settings.token_secret, token)
    if consent_id is None:
        raise NotFound("there is nothing to unsubscribe from by this link")
    if not is_one_click(await request.body(), request.headers.get("content-type", "")):
        raise InvalidInput("the body is not List-Unsubscribe=One-Click", hint="POST it as a form (RFC 8058).")
    async with client.connection() as conn:
        tenant_id = (await store.one(conn, "tenant_of_consent", id=consent_id))["tenant_id"]
    if tenant_id is None:
        raise NotFound("there is nothing to unsubscribe from by this link")
    async with client.for_tenant(tenant_id).transaction() as conn:
        proof = {"list_unsubscribe": ONE_CLICK}
        if not await consents.unsubscribe(conn, consent_id, ConsentSource.EMAIL_LINK, proof, settings):
            raise NotFound("there is nothing to unsubscribe from by this link")
    language = language_of(request.headers.get("accept-language", ""), request.query_params.get(LANGUAGE, ""))
    headers = {"Content-Language": language, "Vary": "Accept-Language"}
    return PlainTextResponse(TEXTS[language].done, headers=headers)


def is_one_click(body: bytes, content_type: str) -> bool:
    """Return whether a form says List-Unsubscribe=One-Click, as a URL-encoded or a multipart one."""
    text = body[:MOST_FORM].decode("utf-8", "replace")
    if content_type.startswith("multipart/form-data"):
        return 'name="List-Unsubscribe"' in text and f"\r\n\r\n{ONE_CLICK}\r\n" in text
    return ONE_CLICK in parse_qs(text).get("List-Unsubscribe", [])

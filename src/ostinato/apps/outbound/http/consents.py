"""Routes of consent: record, revoke, show with its proof; and unsubscribing by one click."""

import html
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from ostinato import Client, database
from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import address
from ostinato.apps.outbound.consent import consents, suppressions
from ostinato.apps.outbound.consent import erasure as erasing
from ostinato.apps.outbound.consent.consents import Ended, Given
from ostinato.apps.outbound.errors import ConsentProofRequired
from ostinato.apps.outbound.http.views import ConsentRecorded, ConsentView, ErasedView, NewConsent
from ostinato.apps.outbound.model import ConsentSource, ConsentStatus
from ostinato.apps.outbound.permissions import CONSENT, ERASE, READ
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.tokens import read_unsubscribe_token
from ostinato.errors import InvalidInput, NotFound
from ostinato.web import Router, Who

__all__ = ["router"]

router = Router(prefix="/api/v1/outbound", tags=["outbound consent"])

SubjectId = Annotated[
    str, Query(alias="subjectId", min_length=1, max_length=200, pattern=r"^[^\x00]+$")
]
ONE_CLICK = "One-Click"
MOST_FORM = 10_000
PAGE = """<!doctype html><html lang="fr"><meta charset="utf-8"><title>Se désabonner</title>
<form method="post" action="{action}">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<p>Ne plus recevoir ces messages ?</p><button>Se désabonner</button></form></html>"""


@router.put("/consents", needs=CONSENT, raises=(ConsentProofRequired,))
async def record_consent(caller: Who, body: NewConsent) -> ConsentRecorded:
    """Record what a person allowed, denied or revoked. Granted needs a proof; nothing is erased."""
    if body.status is ConsentStatus.EXPIRED:
        raise InvalidInput("a consent expires by its time only", hint="Set expiresAt.")
    settings = OutboundSettings.load()
    async with caller.transaction() as conn:
        chosen = await store.organisation(conn, caller.tenant_id)
        to = address.normalised(
            body.channel, body.address, region=chosen.region, validation=settings.validation
        )
        given = Given(**{**body.model_dump(), "address": to})
        now = await database.now(conn)
        if body.occurred_at is not None and body.occurred_at > now:
            raise InvalidInput("occurredAt is in the future", hint="Leave it out for now.")
        found = await consents.record(conn, caller.tenant_id, caller.subject, given, settings)
    return ConsentRecorded(id=found.id, status=found.status)


@router.get("/consents", needs=READ)
async def show_consents(caller: Who, subject_id: SubjectId) -> list[ConsentView]:
    """The consents of a person, each with its whole proof."""
    async with caller.transaction() as conn:
        rows = await store.fetch(
            conn, "consents", tenant_id=caller.tenant_id, subject_id=subject_id
        )
        return [
            ConsentView.of(
                row,
                await store.fetch(
                    conn, "consent_events", tenant_id=caller.tenant_id, consent_id=row["id"]
                ),
            )
            for row in rows
        ]


@router.delete("/consents", needs=ERASE)
async def erase_subject(caller: Who, subject_id: SubjectId) -> ErasedView:
    """Forget a person: addresses and texts are blanked, proofs and refusals stay."""
    async with caller.client.transaction() as conn:  # what came in is the workers' own
        found = await erasing.erase(conn, caller.tenant_id, caller.subject, subject_id)
    return ErasedView.model_validate(found)


@router.get("/unsubscribe/{token}", public=True, response_class=HTMLResponse)
async def ask_unsubscribe(token: str) -> Response:
    """A page with a button. Looking at it ends nothing: scanners of mail open every link."""
    action = html.escape(f"/api/v1/outbound/unsubscribe/{token}", quote=True)
    policy = {"Content-Security-Policy": "default-src 'none'; form-action 'self'"}
    return HTMLResponse(PAGE.format(action=action), headers=policy)


@router.post(
    "/unsubscribe/{token}",
    public=True,
    raises=(NotFound, InvalidInput),
    response_class=PlainTextResponse,
)
async def unsubscribe(request: Request, token: str) -> Response:
    """One click (RFC 8058): no login, no cookie, no redirect."""
    settings = OutboundSettings.load()
    consent_id = read_unsubscribe_token(settings.token_secret, token)
    if consent_id is None:
        raise NotFound("there is nothing to unsubscribe from by this link")
    if not is_one_click(await request.body(), request.headers.get("content-type", "")):
        raise InvalidInput(
            "the body is not List-Unsubscribe=One-Click", hint="POST it as a form (RFC 8058)."
        )
    client: Client = request.app.state.client
    async with client.transaction() as conn:
        row = await store.one(conn, "consent_of_id", id=consent_id)
        if row is None:
            raise NotFound("there is nothing to unsubscribe from by this link")
        names = ("tenant_id", "subject_id", "channel", "purpose")
        held = await store.one(conn, "lock_consent", **{name: row[name] for name in names})
        assert held is not None  # noqa: S101 - consents are not deleted
        consent = store.consent_from(held)
        ended = Ended(ConsentSource.EMAIL_LINK, "recipient", {"list_unsubscribe": ONE_CLICK})
        await suppressions.add(
            conn,
            row["tenant_id"],
            consent.channel,
            consent.address,
            (consent.purpose,),
            source=ended.source,
            since=await database.now(conn),
            settings=settings,
        )
        await consents.revoke(conn, row["tenant_id"], consent, ended)
    return PlainTextResponse("Vous êtes désabonné.")


def is_one_click(body: bytes, content_type: str) -> bool:
    """Whether a form says List-Unsubscribe=One-Click, as a URL-encoded or a multipart one."""
    text = body[:MOST_FORM].decode("utf-8", "replace")
    if content_type.startswith("multipart/form-data"):
        return 'name="List-Unsubscribe"' in text and f"\r\n\r\n{ONE_CLICK}\r\n" in text
    return ONE_CLICK in parse_qs(text).get("List-Unsubscribe", [])

"""Where providers call back: the signature is checked over the raw bytes, then these are stored.

Answered as soon as the bytes and their job are committed. What is not signed as it should be is
refused, counted and alerted; nothing of it is stored.
"""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from ostinato import Client
from ostinato.apps.outbound import store
from ostinato.apps.outbound import tokens as signatures
from ostinato.apps.outbound.jobs import take_callback
from ostinato.apps.outbound.model import Provider
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.errors import Forbidden, HeaderMissing, SignatureMismatch, SignatureRefused
from ostinato.observe import get_logger
from ostinato.web import Router

__all__ = ["router"]

router = Router(prefix="/api/v1/webhooks", tags=["outbound callbacks"])
log = get_logger("outbound")

RECEIVED = {"received": True}
XML = "application/xml"
MOST_BYTES = 4 * 2**20  # Meta sends up to 3 MB at once (6.1); a bounce may quote the whole mail
NO_REPLY = "<Response/>"


@router.get("/whatsapp/status", public=True, raises=(Forbidden,), response_class=PlainTextResponse)
async def verify_whatsapp(
    mode: Annotated[str, Query(alias="hub.mode", max_length=50)] = "",
    token: Annotated[str, Query(alias="hub.verify_token", max_length=500)] = "",
    challenge: Annotated[str, Query(alias="hub.challenge", max_length=500)] = "",
) -> Response:
    """Meta asks whether this is ours: the challenge comes back as it is, or 403."""
    known = OutboundSettings.load().whatsapp_verify_token
    if mode != "subscribe" or not signatures.shared_is_valid(known, token):
        raise Forbidden("the verify token is not ours", hint="Set whatsapp_verify_token.")
    return PlainTextResponse(challenge)


@router.post("/whatsapp/status", public=True, raises=(SignatureRefused,), max_body_bytes=MOST_BYTES)
async def take_whatsapp(request: Request) -> Response:
    """Statuses and inbound messages of WhatsApp."""
    body = await request.body()
    header = request.headers.get("x-hub-signature-256")
    secret = OutboundSettings.load().whatsapp_app_secret
    valid = signatures.meta_is_valid(secret, body, header)
    await _check(request, Provider.WHATSAPP, header, valid=valid)
    await _keep(request, Provider.WHATSAPP, body, str(request.url.path))
    return JSONResponse(RECEIVED)


@router.post("/twilio/status", public=True, raises=(SignatureRefused,))
async def take_twilio(request: Request) -> Response:
    """Statuses of Twilio."""
    await _take_twilio(request)
    return JSONResponse(RECEIVED)


@router.post("/twilio/inbound", public=True, raises=(SignatureRefused,), response_class=Response)
async def take_twilio_inbound(request: Request) -> Response:
    """Inbound SMS; the answer says that there is nothing to reply."""
    await _take_twilio(request)
    return Response(NO_REPLY, media_type=XML)


@router.post("/email/bounces", public=True, raises=(SignatureRefused,), max_body_bytes=MOST_BYTES)
async def take_bounce(request: Request) -> Response:
    """A bounce or a complaint, as the mail server received it."""
    body = await request.body()
    header = request.headers.get("x-bounce-secret")
    valid = signatures.shared_is_valid(OutboundSettings.load().bounce_secret, header)
    await _check(request, Provider.SMTP, header, valid=valid)
    await _keep(request, Provider.SMTP, body, str(request.url.path))
    return JSONResponse(RECEIVED)


async def _take_twilio(request: Request) -> None:
    """Twilio signs the address that it called: ours as the world knows it, behind any proxy."""
    settings = OutboundSettings.load()
    body = await request.body()
    query = f"?{request.url.query}" if request.url.query else ""
    url = f"{settings.public_url}{request.url.path}{query}"
    header = request.headers.get("x-twilio-signature")
    token = settings.twilio_auth_token
    if "bodySHA256" in request.query_params:
        valid = signatures.twilio_json_is_valid(token, url, body, header)
    else:
        form = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        valid = signatures.twilio_is_valid(token, url, form, header)
    await _check(request, Provider.TWILIO, header, valid=valid)
    await _keep(request, Provider.TWILIO, body, url)


async def _check(request: Request, provider: Provider, header: str | None, *, valid: bool) -> None:
    if valid:
        return
    reason = "missing" if header is None else "mismatch"
    client: Client = request.app.state.client
    async with client.transaction() as conn:
        await store.run(conn, "refuse_callback", provider=provider, reason=reason)
    log.warning("callback_refused", provider=provider, reason=reason, error_code="signature")
    if header is None:
        raise HeaderMissing(f"a callback of {provider} has no signature")
    raise SignatureMismatch(f"a callback of {provider} is not signed with our secret")


async def _keep(request: Request, provider: Provider, body: bytes, url: str) -> None:
    """The bytes and the job that reads them: one commit."""
    client: Client = request.app.state.client
    async with client.transaction() as conn:
        row = await store.one(
            conn,
            "add_callback",
            provider=provider,
            url=url,
            content_type=request.headers.get("content-type"),
            body=body,
        )
        assert row is not None  # noqa: S101 - it was written
        await take_callback.enqueue(conn, callback_id=row["id"])

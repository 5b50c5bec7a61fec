"""Takes callbacks: the signature is checked over the raw bytes, then these are stored.

Answered as soon as the bytes and their job are committed, and what people wrote is applied: a job
applies the rest. A request does bounded work (`MOST_HEARD_BYTES`, `callbacks.BATCH`), and each account
has a few at once (`turns`): what a tenant signs itself costs no other its time. What is not signed as
it should be is refused, counted and alerted; nothing of it is stored. Where a provider calls back, and how that is
signed, is in its file of `providers`.
"""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, NamedTuple

from fastapi import Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from ostinato import tenants
from ostinato.apps.outbound import store
from ostinato.apps.outbound.http.turns import Turns, Unsigned
from ostinato.apps.outbound.jobs import CALLBACKS
from ostinato.apps.outbound.model import WORDS
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.providers.protocol import JSON, Hook, Posted
from ostinato.apps.outbound.send import callbacks
from ostinato.apps.outbound.senders import accounts
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Row
from ostinato.errors import (
    Forbidden,
    HeaderMissing,
    SecretKeyMissing,
    SecretRefused,
    SignatureMismatch,
    SignatureRefused,
    TooManyRequests,
)
from ostinato.jobs import Client
from ostinato.observe import get_logger
from ostinato.web import Router, client_of

router = Router(prefix="/api/v1/webhooks", tags=["outbound callbacks"])
log = get_logger("outbound")

MOST_HEARD_BYTES: Final = 2**20
"""What is larger is left to its job: more than the 1,000 lines that Meta batches, or than a mail to unsubscribe has."""

Endpoint = Callable[[Request], Awaitable[Response]]


class Account(NamedTuple):
    """Whose account calls back: the installation's, or that of a tenant's sender."""

    settings: OutboundSettings
    tenant_id: str | None = None


def _taking(provider: str, hook: Hook) -> Endpoint:
    """Make the route that a provider posts to."""

    async def take(request: Request) -> Response:
        client = client_of(request)
        settings = client.settings.section(OutboundSettings)
        query = f"?{request.url.query}" if request.url.query else ""
        # As the provider knows the address, in front of any proxy: it may have signed it.
        url = f"{settings.public_url}{request.url.path}{query}"
        posted = Posted(url, await request.body(), _signature(request, hook))
        whose = await _account(request, provider, settings)
        if whose is None or not hook.is_signed(posted, whose.settings):
            raise await _refused(request, provider, posted)
        # Only who has signed it takes a turn: nobody can take those of others.
        async with _turns(request).turn(whose.tenant_id, len(posted.body)):
            row = await _stored(client, provider, posted, whose, request.headers.get("content-type"))
            came = replace(posted, received_at=row["received_at"])
            await _hear(client, row["id"], provider, came, settings, whose.tenant_id)
        text, media_type = hook.answer
        return Response(text, media_type=media_type)

    return take


def _turns(request: Request) -> Turns:
    """Return the turns of this process."""
    state = request.app.state
    if not hasattr(state, "outbound_turns"):
        state.outbound_turns = Turns()
    found: Turns = state.outbound_turns
    return found


async def _stored(client: Client, provider: str, posted: Posted, whose: Account, content_type: str | None) -> Row:
    """Store the bytes, and the job that reads them."""
    # A status waits for others; what the request cannot apply of a person's words must not.
    queue = WORDS if PROVIDERS[provider].may_have_words(posted.body) else CALLBACKS
    async with client.connection() as conn:  # one statement, which commits by itself
        row = await store.one(
            conn,
            "add_callback",
            provider=provider,
            url=posted.url,
            content_type=content_type,
            body=posted.body,
            tenant_id=whose.tenant_id,
            queue=queue,
            correlation_id=tenants.current_correlation(),
        )
    client.ring(queue)
    return row


def _signature(request: Request, hook: Hook) -> str | None:
    """Read what signs a callback: its header, or the password of those who can send nothing else."""
    found = request.headers.get(hook.header)
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if found is not None or not hook.basic or scheme.lower() != "basic":
        return found
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except ValueError:
        return None


async def _account(request: Request, provider: str, settings: OutboundSettings) -> Account | None:
    """Find whose account the address names; None: nobody's, or it cannot be opened."""
    named = request.query_params.get("account")
    if named is None:
        return Account(settings)
    client = client_of(request)
    async with client.connection() as conn:
        found = await accounts.of_hook(conn, provider, named)
    if found is None:
        return None
    try:
        return Account(found.opened(client.settings.vault, settings), found.tenant_id)
    except (SecretRefused, SecretKeyMissing) as error:
        log.warning("account_not_opened", provider=provider, error_code=type(error).code)
        return None


async def _hear(  # noqa: PLR0917 - which callback, what it says, and who signed it
    client: Client, callback_id: int, provider: str, posted: Posted, settings: OutboundSettings, only: str | None
) -> None:
    """Apply what a person wrote, STOP above all, before the provider is answered.

    Statuses wait for their turn, of which there may be 200,000; a person does not. If it cannot be
    done now, it is not lost: the callback is stored, and its job, in a queue without statuses before
    it, applies all of it. So it is with the words beyond a batch, and with callbacks that would take
    this process long to read.
    """
    if len(posted.body) > MOST_HEARD_BYTES or not PROVIDERS[provider].may_have_words(posted.body):
        return
    try:
        heard = await callbacks.read(provider, posted, settings)
        if callbacks.words_of(heard.lines):
            await callbacks.hear(client, callback_id, heard, settings, only)
    except Exception as error:  # noqa: BLE001 - it is stored: the provider need not post it again
        log.warning("callback_heard_later", provider=provider, error_code=type(error).__name__)


async def _refused(request: Request, provider: str, posted: Posted) -> SignatureRefused:
    """Count a callback that is not signed as it should be."""
    reason = "missing" if posted.signature is None else "mismatch"
    # All of them count in one row: without turns they would wait for it with all connections.
    async with _turns(request).turn(Unsigned.ANYBODY, 0), client_of(request).transaction() as conn:
        await store.run(conn, "refuse_callback", provider=provider, reason=reason)
    log.warning("callback_refused", provider=provider, reason=reason, error_code="signature")
    if posted.signature is None:
        return HeaderMissing(f"a callback of {provider} has no signature")
    return SignatureMismatch(f"a callback of {provider} is not signed with our secret")


def _verifying(provider: str, hook: Hook) -> Endpoint:
    """Make the route by which a provider asks whether the address is ours."""

    async def verify(request: Request) -> Response:
        settings = client_of(request).settings.section(OutboundSettings)
        found = None
        whose = await _account(request, provider, settings)
        if whose is not None and hook.challenge is not None:
            found = hook.challenge(request.query_params, whose.settings)
        if found is None:
            raise Forbidden("the verify token is not ours", hint="Set whatsapp_verify_token.")
        return PlainTextResponse(found)

    return verify


def _parameter(name: str) -> dict[str, object]:
    return {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}


for _provider in PROVIDERS.values():
    for _hook in _provider.hooks:
        router.post(
            _hook.path,
            public=True,
            raises=(SignatureRefused, TooManyRequests),
            max_body_bytes=_hook.most_bytes,
            name=f"take_{_hook.name}",
            description=_hook.about,
            response_class=JSONResponse if _hook.answer[1] == JSON else Response,
        )(_taking(_provider.name, _hook))
        if _hook.challenge is not None:
            router.get(
                _hook.path,
                public=True,
                raises=(Forbidden,),
                name=f"verify_{_hook.name}",
                description="The challenge comes back as it is, if the verify token is ours.",
                response_class=PlainTextResponse,
                openapi_extra={"parameters": [_parameter(each) for each in _hook.queried]},
            )(_verifying(_provider.name, _hook))

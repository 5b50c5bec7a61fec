"""Takes callbacks: the signature is checked over the raw bytes, then these are stored.

Answered as soon as the bytes and their job are committed. What is not signed as it should be is
refused, counted and alerted; nothing of it is stored. Where a provider calls back, and how that is
signed, is in its file of `providers`.
"""

from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from ostinato import tenants
from ostinato.apps.outbound import store
from ostinato.apps.outbound.jobs import CALLBACKS
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.providers.protocol import JSON, Hook, Posted
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.errors import Forbidden, HeaderMissing, SignatureMismatch, SignatureRefused
from ostinato.observe import get_logger
from ostinato.web import Router, client_of

router = Router(prefix="/api/v1/webhooks", tags=["outbound callbacks"])
log = get_logger("outbound")

Endpoint = Callable[[Request], Awaitable[Response]]


def _taking(provider: str, hook: Hook) -> Endpoint:
    """Make the route that a provider posts to."""

    async def take(request: Request) -> Response:
        client = client_of(request)
        settings = client.settings.section(OutboundSettings)
        query = f"?{request.url.query}" if request.url.query else ""
        # As the provider knows the address, in front of any proxy: it may have signed it.
        url = f"{settings.public_url}{request.url.path}{query}"
        posted = Posted(url, await request.body(), request.headers.get(hook.header))
        if not hook.is_signed(posted, settings):
            raise await _refused(request, provider, posted)
        async with client.transaction() as conn:  # the bytes and the job that reads them
            await tenants.enter_flow(conn)
            await store.one(
                conn,
                "add_callback",
                provider=provider,
                url=url,
                content_type=request.headers.get("content-type"),
                body=posted.body,
            )
        client.ring(CALLBACKS)
        text, media_type = hook.answer
        return Response(text, media_type=media_type)

    return take


async def _refused(request: Request, provider: str, posted: Posted) -> SignatureRefused:
    """Count a callback that is not signed as it should be."""
    reason = "missing" if posted.signature is None else "mismatch"
    async with client_of(request).transaction() as conn:
        await store.run(conn, "refuse_callback", provider=provider, reason=reason)
    log.warning("callback_refused", provider=provider, reason=reason, error_code="signature")
    if posted.signature is None:
        return HeaderMissing(f"a callback of {provider} has no signature")
    return SignatureMismatch(f"a callback of {provider} is not signed with our secret")


def _verifying(hook: Hook) -> Endpoint:
    """Make the route by which a provider asks whether the address is ours."""

    async def verify(request: Request) -> Response:
        settings = client_of(request).settings.section(OutboundSettings)
        found = None
        if hook.challenge is not None:
            found = hook.challenge(request.query_params, settings)
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
            raises=(SignatureRefused,),
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
            )(_verifying(_hook))

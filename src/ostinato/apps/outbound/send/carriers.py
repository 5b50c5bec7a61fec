"""Which provider carries a message, and over what."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

import httpx

from ostinato import Context
from ostinato.apps.outbound.model import Provider
from ostinato.apps.outbound.providers.outcomes import Carrier, Twilio, WhatsApp
from ostinato.apps.outbound.providers.smtp import Mail
from ostinato.apps.outbound.send.attempts import Go
from ostinato.apps.outbound.settings import OutboundSettings

__all__ = ["carrier_of"]


async def carrier_of(ctx: Context, step: Go, settings: OutboundSettings) -> Carrier:
    """Who carries this message."""
    match step.content.sender.provider:
        case Provider.WHATSAPP:
            return WhatsApp(await ctx.shared(_unpooled), settings)
        case Provider.TWILIO:
            return Twilio(await ctx.shared(_unpooled), settings)
        case Provider.SMTP:
            return Mail(settings, step.now)


@asynccontextmanager
async def _unpooled() -> AsyncIterator[httpx.AsyncClient]:
    """One client for all messages of a worker, and a connection of its own for each.

    A connection that was kept may be closed by the other side just as we write: an answer that is
    lost for no reason.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(
        verify=_trusted(), limits=limits, trust_env=False, follow_redirects=False
    ) as http:
        yield http


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()

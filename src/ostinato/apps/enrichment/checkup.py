"""Tells `ostinato doctor` which sources refuse our credentials, have none, or cannot be reached."""

import asyncio

import httpx

from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources import SOURCES, Source
from ostinato.apps.enrichment.wire import pooled
from ostinato.observe import Checkup, Trouble

REFUSED = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


def troubles(settings: EnrichmentSettings) -> list[Trouble]:
    """Find what is missing, and try what is set: one call to each source that has credentials."""
    return asyncio.run(_troubles(settings))


async def _troubles(settings: EnrichmentSettings) -> list[Trouble]:
    async with pooled(settings.proxy_url, settings.ca_file) as http:
        found = [await _trouble(source, http, settings) for source in SOURCES.values()]
    return [one for one in found if one is not None]


async def _trouble(source: Source, http: httpx.AsyncClient, settings: EnrichmentSettings) -> Trouble | None:
    names = " and ".join(f"enrichment.{name}" for name in source.credentials)
    if source.missing(settings) is not None:
        if not any(getattr(settings, name) for name in source.credentials):
            return None  # left out on purpose: an alert of severity info names it
        return Trouble(f"{source.api} has a part of its credentials only, and is left out", f"Set {names}.")
    try:
        async with asyncio.timeout(settings.timeout_ms / 1000):
            status = await source.try_credentials(http, settings)
    except (TimeoutError, httpx.HTTPError, OSError) as error:
        return Trouble(
            f"{source.api} cannot be reached: {type(error).__name__}",
            "Check its address, and enrichment.proxy_url and ca_file if there is a proxy between.",
        )
    if status in REFUSED:
        return Trouble(f"{source.api} refuses our credentials: HTTP {status}", f"Renew them there, and set {names}.")
    if status is not None and status != httpx.codes.OK:
        return Trouble(f"{source.api} answers HTTP {status} to our credentials", "Try again; see its status page.")
    return None


CHECKUP = Checkup(lambda settings: troubles(settings.section(EnrichmentSettings)))

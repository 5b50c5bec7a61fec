"""INPI: a token by login, kept for all workers, renewed once when it is refused.

Logging in is limited itself: five times in 30 seconds, then a ban of ten minutes. So the token is
in the database, one worker logs in while the others wait for it, and a sixth login is never tried.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import httpx
from psycopg import AsyncConnection

from ostinato import database
from ostinato.apps.enrichment import queries
from ostinato.apps.enrichment.model import ErrorCode, SourceApi, SourceError
from ostinato.apps.enrichment.rules import error_of_status, is_retryable, retry_after
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.wire import Reply, exchange

__all__ = ["Inpi", "life_of"]

SOURCE: Final = SourceApi.INPI
USUAL_SECONDS: Final = 3000.0
MARGIN_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05


class Inpi:
    """Calls to INPI with the token that all workers share."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        settings: EnrichmentSettings,
        lend: Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]],
    ) -> None:
        self._http = http
        self._settings = settings
        self._lend = lend

    async def ask(self, siren: str) -> Reply:
        """The record of a company; after a 401 once more, with a new token."""
        token = await self._token(None)
        if isinstance(token, Reply):
            return token
        reply = await self._get(siren, token)
        if reply.status == httpx.codes.UNAUTHORIZED:
            token = await self._token(token)
            reply = token if isinstance(token, Reply) else await self._get(siren, token)
        return reply

    async def _get(self, siren: str, token: str) -> Reply:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": self._settings.user_agent}
        url = f"{self._settings.inpi_url.rstrip('/')}/companies/{siren}"
        request = self._http.build_request("GET", url, headers=headers)
        return await exchange(self._http, request, SOURCE, self._settings.timeout_ms)

    async def _token(self, refused: str | None) -> str | Reply:
        """A token that was not refused, or why there is none."""
        waits = self._settings.timeout_ms / 1000
        while True:
            async with self._lend() as conn:
                verdict, token = await queries.one(conn, "ask_token", refused=refused)
            match verdict:
                case "token":
                    return str(token)
                case "login":
                    return await self._login()
                case "limited":
                    return _refused(ErrorCode.RATE_LIMIT, "too many logins in 30 seconds")
            waits -= LOOK_SECONDS
            if waits <= 0:
                return _refused(ErrorCode.TIMEOUT, "another worker's login did not end")
            await asyncio.sleep(LOOK_SECONDS)

    async def _login(self) -> str | Reply:
        settings = self._settings
        request = self._http.build_request(
            "POST",
            f"{settings.inpi_url.rstrip('/')}/sso/login",
            json={"username": settings.inpi_username, "password": settings.inpi_password},
            headers={"User-Agent": settings.user_agent},
        )
        reply = await exchange(self._http, request, SOURCE, settings.timeout_ms)
        found = reply.payload.get("token") if isinstance(reply.payload, dict) else None
        token = found if reply.status == httpx.codes.OK and isinstance(found, str) else None
        async with self._lend() as conn:
            now = await database.now(conn)
            seconds = 0.0 if token is None else life_of(token, now.timestamp())
            await queries.run(conn, "keep_token", token=token, seconds=seconds)
        if token is not None:
            return token
        if reply.error is not None:
            return reply
        status = reply.status or 0
        code = error_of_status(SOURCE, status) if status != httpx.codes.OK else None
        code = ErrorCode.AUTH_ERROR if code in (None, ErrorCode.NOT_FOUND) else code
        said = f"login was answered with HTTP {status}"
        # A login that is limited is a ban of ten minutes: trying again would make it longer.
        again = is_retryable(code, status) and code is not ErrorCode.RATE_LIMIT
        wait = retry_after(reply.retry_after, now)
        return Reply(status, error=SourceError(code, SOURCE, status, said, again, wait))


def life_of(token: str, now: float) -> float:
    """Seconds that a token is good for: by its own `exp`, else fifty minutes."""
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return max(1.0, float(claims["exp"]) - now - MARGIN_SECONDS)
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return USUAL_SECONDS


def _refused(code: ErrorCode, said: str) -> Reply:
    return Reply(error=SourceError(code, SOURCE, None, said, retryable=False), called=False)

"""A wire sends one request to a source over HTTP: in time, no larger than is good, never raising.

What goes wrong is no exception but a `SourceError` with its canonical code.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx

from ostinato import database, idempotency
from ostinato.apps.enrichment.model import ErrorCode, SourceApi, SourceError
from ostinato.apps.enrichment.queries import Connection
from ostinato.apps.enrichment.rules import MOST_RECEIVED, is_retryable
from ostinato.apps.enrichment.tokens import Tokens
from ostinato.errors import InvalidInput
from ostinato.jobs import retry_after_seconds

if TYPE_CHECKING:
    from ostinato.apps.enrichment.settings import EnrichmentSettings

Lend = Callable[[], AbstractAsyncContextManager[Connection]]
"""Lends a connection in a transaction."""
UseTurn = Callable[[], Awaitable[None]]
"""Uses a turn for the call that is sent next."""

LONGEST_PAUSE: Final = 1e8
"""Seconds of Retry-After, not cut to a day: a caller that asks a source before that is banned."""


@asynccontextmanager
async def pooled(proxy_url: str = "", ca_file: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """Open one pool of connections for all runs of a worker; the environment's proxies are not asked."""
    async with httpx.AsyncClient(
        verify=trusted(ca_file),
        limits=httpx.Limits(max_connections=100, max_keepalive_connections=20),
        timeout=None,  # noqa: S113 - each exchange has its time
        trust_env=False,
        proxy=proxy_url or None,
    ) as http:
        yield http


@cache
def trusted(ca_file: str = "") -> ssl.SSLContext:
    """Load the certificates that are trusted, those of a private authority beside the usual ones."""
    context = httpx.create_ssl_context(trust_env=False)  # it takes a while
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context


class Reply(NamedTuple):
    """What came back, or why nothing did."""

    status: int | None = None
    payload: Any = None
    """JSON; None for what is not, as the bodies of a front that throttles."""
    retry_after: float | None = None
    size: int = 0
    error: SourceError | None = None
    called: bool = True
    duration_ms: int = 0

    @classmethod
    def failed(cls, source: SourceApi, code: ErrorCode, message: str, *, called: bool = True) -> "Reply":
        """Make a reply without a status; only a timeout is worth another try."""
        retryable = called and is_retryable(code, None)
        return cls(error=SourceError(code, source, None, message, retryable), called=called)


@dataclass(frozen=True, slots=True)
class Wire:
    """What a source is asked with: a pool of HTTP connections, the settings, the database, tokens."""

    http: httpx.AsyncClient
    settings: "EnrichmentSettings"
    lend: Lend
    tokens: Tokens = field(default_factory=Tokens)
    turn: UseTurn | None = None

    async def get(
        self,
        source: SourceApi,
        url: str,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        *,
        counts: bool = True,
    ) -> Reply:
        """Send a GET, with a turn unless it does not count, and read the answer."""
        if counts and self.turn is not None:
            await self.turn()
        request = self.http.build_request("GET", url, params=params, headers=headers)
        return await self._exchange(source, request)

    async def post(self, source: SourceApi, url: str, body: Mapping[str, str]) -> Reply:
        """Send a POST with a JSON body and read the answer."""
        return await self._exchange(source, self.http.build_request("POST", url, json=body))

    async def _exchange(self, source: SourceApi, request: httpx.Request) -> Reply:
        request.headers["Accept"] = "application/json"
        request.headers["User-Agent"] = self.settings.user_agent
        try:
            async with asyncio.timeout(self.settings.timeout_ms / 1000):
                answer = await self.http.send(request, stream=True)
                try:
                    body = await _read(answer)
                finally:
                    await answer.aclose()
        except (TimeoutError, httpx.TimeoutException):
            return Reply.failed(source, ErrorCode.TIMEOUT, "request timed out")
        except (httpx.HTTPError, OSError) as failed:
            said = f"no connection: {type(failed).__name__}"
            return Reply.failed(source, ErrorCode.SOURCE_UNAVAILABLE, said)
        payload = None if body is None else _parsed(body)
        status = answer.status_code
        if status == httpx.codes.OK and payload is None:
            said = "the answer is not JSON that can be kept"
            code = ErrorCode.SOURCE_UNAVAILABLE
            return Reply(status, error=SourceError(code, source, status, said, retryable=False))
        wait = await self._wait(answer.headers.get("retry-after"))
        return Reply(status, payload, wait, len(body or b""))

    async def _wait(self, header: str | None) -> float | None:
        if header is None:
            return None
        async with self.lend() as conn:
            now = await database.now(conn)
        return retry_after_seconds(header, now, longest=LONGEST_PAUSE)


async def _read(answer: httpx.Response) -> bytes | None:
    """Return the body; None: it is too large."""
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.aiter_bytes():
        size += len(piece)
        if size > MOST_RECEIVED:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _parsed(body: bytes) -> Any:  # noqa: ANN401 - JSON
    if b"\\u0000" in body:
        return None  # PostgreSQL cannot hold it
    try:
        return idempotency.parse(body, max_bytes=max(1, len(body)))
    except InvalidInput:
        return None

"""One exchange with a source over HTTP: in time, no larger than is good, and never raising."""

import asyncio
from typing import Any, NamedTuple

import httpx

from ostinato import idempotency
from ostinato.apps.enrichment.model import ErrorCode, SourceApi, SourceError
from ostinato.apps.enrichment.rules import MOST_RECEIVED
from ostinato.errors import InvalidInput

__all__ = ["Reply", "exchange"]


class Reply(NamedTuple):
    """What came back, or why nothing did."""

    status: int | None = None
    payload: Any = None
    """JSON; None for what is not, as the bodies of a front that throttles."""
    retry_after: str | None = None
    size: int = 0
    error: SourceError | None = None
    called: bool = True
    duration_ms: int = 0


async def exchange(
    http: httpx.AsyncClient, request: httpx.Request, source: SourceApi, timeout_ms: int
) -> Reply:
    """Send a request and read the answer."""
    request.headers["Accept"] = "application/json"
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            answer = await http.send(request, stream=True)
            try:
                body = await _read(answer)
            finally:
                await answer.aclose()
    except (TimeoutError, httpx.TimeoutException):
        error = SourceError(ErrorCode.TIMEOUT, source, None, "request timed out", retryable=True)
        return Reply(error=error)
    except (httpx.HTTPError, OSError) as failed:
        said = f"no connection: {type(failed).__name__}"
        unavailable = ErrorCode.SOURCE_UNAVAILABLE
        return Reply(error=SourceError(unavailable, source, None, said, retryable=False))
    payload = None if body is None else _parsed(body)
    if answer.status_code == httpx.codes.OK and payload is None:
        said = "the answer is not JSON that can be kept"
        unavailable = ErrorCode.SOURCE_UNAVAILABLE
        wrong = SourceError(unavailable, source, answer.status_code, said, retryable=False)
        return Reply(answer.status_code, error=wrong)
    waits = answer.headers.get("retry-after")
    return Reply(answer.status_code, payload, waits, len(body or b""))


async def _read(answer: httpx.Response) -> bytes | None:
    """The body; None: it is too large."""
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

"""What providers are reached over, and what of their answers may be stored."""

import hmac
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

import httpx

from ostinato.apps.outbound.policy import Kind, Ruling
from ostinato.apps.outbound.providers.protocol import Lost, NotSent, Refused
from ostinato.apps.outbound.providers.sessions import Sessions
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.jobs import retry_after_seconds
from ostinato.observe import MASK, redact, redact_value

MOST_TEXT: Final = 300
CONNECT_SECONDS: Final = 5.0
MOST_KEPT: Final = 100
KEPT_SECONDS: Final = 2.0
"""How long an idle connection is kept; servers keep theirs for five seconds or more."""
_NUMBER: Final = re.compile(r"(?<!\w)\d(?:[ .()-]{0,2}\d){8,14}(?!\w)")
_GATEWAY: Final = (502, 504)
_PERSONAL: Final = frozenset({"to", "from", "input", "wa_id", "body", "recipient_id", "contacts"})


@dataclass(frozen=True, slots=True)
class Wire:
    """What a provider needs to send a message: the HTTP client, the settings, the time."""

    http: httpx.AsyncClient
    settings: OutboundSettings
    now: datetime
    """The database's time."""
    mail: Sessions = field(default_factory=Sessions)
    """Those with mail servers."""

    async def post(
        self,
        url: str,
        **request: Any,  # noqa: ANN401 - as httpx
    ) -> httpx.Response | NotSent | Lost:
        """Post to a provider; a request that was never written is not an answer that was lost."""
        seconds = self.settings.timeout_seconds
        patience = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        try:
            return await self.http.post(url, timeout=patience, **request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            return NotSent(f"{type(error).__name__}: the provider could not be reached")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
                return NotSent(f"{type(error).__name__}: the address of the provider is wrong")
            # Written, or partly: a provider may act on what it has.
            return Lost(f"{type(error).__name__}: no whole answer came")

    async def get(self, url: str, **request: Any) -> dict[str, Any] | None:  # noqa: ANN401 - as httpx
        """Get a JSON object; None: there is none, for whatever reason."""
        patience = httpx.Timeout(self.settings.timeout_seconds, connect=CONNECT_SECONDS)
        try:
            answer = await self.http.get(url, timeout=patience, **request)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError):
            return None
        return document_of(answer.content) if answer.is_success else None

    def refused(
        self, answer: httpx.Response, code: object, message: str, errors: Mapping[str, Ruling]
    ) -> Refused | Lost:
        """Make a refusal of an answer, by the provider's code or else by its status.

        A fault of the server says nothing of the message, whatever code is in it; only a code that holds the
        sender counts, because Meta answers some of those with status 500.
        """
        status = answer.status_code
        told = str(code) if isinstance(code, int) else None
        holds = told is not None and told in errors and errors[told].kind is Kind.HOLD
        if told is None or (answer.is_server_error and not holds):
            if status in _GATEWAY:  # it handed the request on, and heard no more
                return Lost(f"status {status}: a gateway had no answer")
            message = f"status {status}" if told is None else f"status {status}, code {told}: {message}"
            told = f"HTTP_{status}"
        wait = retry_after_seconds(answer.headers.get("retry-after"), self.now)
        return Refused(told, sanitised(message), safe(document_of(answer.content)), wait)


@asynccontextmanager
async def pooled(proxy_url: str = "", ca_file: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """Open one client for all messages of a worker, which keeps its connections while they are busy.

    A connection that was kept may be closed by the other side just as we write: an answer that is lost
    for no reason. So one that was idle for longer than any server closes it after is not used again.
    """
    async with httpx.AsyncClient(
        verify=trusted(ca_file),
        limits=httpx.Limits(max_keepalive_connections=MOST_KEPT, keepalive_expiry=KEPT_SECONDS),
        trust_env=False,
        follow_redirects=False,
        proxy=proxy_url or None,
    ) as http:
        yield http


@cache
def trusted(ca_file: str = "") -> ssl.SSLContext:
    """Load the certificates that are trusted, those of a private authority beside the usual ones."""
    context = ssl.create_default_context()  # it takes a while
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context


def document_of(body: bytes) -> dict[str, Any]:
    """Read what a provider wrote as a JSON object; an empty one, if it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_same(expected: str, given: str | None) -> bool:
    """Compare secrets, or signatures, in constant time."""
    return hmac.compare_digest(expected.encode(), (given or "").encode())


def sanitised(text: str) -> str:
    """Make a provider's words such as may be stored: no address, no secret, and not too many.

    Providers write numbers without a plus, so whatever is as long as one is taken for one.
    """
    plain = text.replace("\0", "").encode("utf-8", "replace").decode()
    return _NUMBER.sub(MASK, redact(plain, 2 * MOST_TEXT))[:MOST_TEXT]


def safe(document: Mapping[str, Any]) -> dict[str, Any]:
    """Make a provider's answer such as may be stored, without the recipient and the text."""
    return {name: MASK if name in _PERSONAL else _safe(name, value) for name, value in list(document.items())[:50]}


def _safe(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return safe(value)
    if isinstance(value, list):
        return [_safe(name, item) for item in value[:20]]
    shown = redact_value(name, value)
    return sanitised(shown) if isinstance(shown, str) else shown

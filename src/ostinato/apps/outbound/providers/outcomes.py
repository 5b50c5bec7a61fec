"""Who carries messages, behind one small protocol: send, and say clearly what came of it.

There are four things that may come of it, and the difference between the last two is what keeps a
recipient from getting a message twice:

    Taken      the provider has it
    Refused    the provider does not, and says why
    NotSent    it never got there: nothing of the request was written
    Lost       the request was written, and no answer came: nobody knows
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx

from ostinato.apps.outbound.accept import components, texts
from ostinato.apps.outbound.model import Content
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.observe import MASK, redact, redact_value

__all__ = [
    "Carrier",
    "Lost",
    "NotSent",
    "Outcome",
    "Refused",
    "Taken",
    "Twilio",
    "WhatsApp",
    "sanitised",
]

MOST_TEXT: Final = 300
MOST_RETRY_AFTER: Final = 86_400.0
CONNECT_SECONDS: Final = 5.0
_NUMBER: Final = re.compile(r"(?<!\w)\d(?:[ .()-]{0,2}\d){8,14}(?!\w)")
_GATEWAY: Final = (502, 504)
_PERSONAL: Final = frozenset({"to", "from", "input", "wa_id", "body", "recipient_id", "contacts"})


@dataclass(frozen=True, slots=True)
class Taken:
    """The provider has it: accepted, not delivered."""

    provider_message_id: str
    response: dict[str, Any] = field(default_factory=dict)
    wa_id: str | None = None
    """The number by which WhatsApp knows the recipient; in some countries another than ours."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider does not take it."""

    code: str
    message: str = ""
    response: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """It never got there: trying again cannot send it twice."""

    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody knows whether the provider has it."""

    message: str


Outcome = Taken | Refused | NotSent | Lost


class Carrier(Protocol):
    """One provider."""

    async def send(self, content: Content) -> Outcome:
        """Send one message, once; never raises for what the provider or the network does."""


class WhatsApp:
    """The WhatsApp Cloud API (domain.md 6.1). It has no idempotency key: see `Lost`."""

    def __init__(self, http: httpx.AsyncClient, settings: OutboundSettings) -> None:
        self._http = http
        self._settings = settings

    async def send(self, content: Content) -> Outcome:
        """POST /{phone_number_id}/messages."""
        url = f"{self._settings.whatsapp_url.rstrip('/')}/{content.sender.provider_key}/messages"
        bearer = {"Authorization": f"Bearer {self._settings.whatsapp_token}"}
        document = self.document(content)
        answer = await _post(self._http, self._settings, url, headers=bearer, json=document)
        if not isinstance(answer, httpx.Response):
            return answer
        document = _json(answer)
        if answer.is_success:
            return _taken_by_whatsapp(document)
        error = document.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("code"), int):
            return _by_status(answer, document)
        details = (error.get("error_data") or {}).get("details") or error.get("message") or ""
        return Refused(str(error["code"]), sanitised(details), safe(document), _retry_after(answer))

    @staticmethod
    def document(content: Content) -> dict[str, Any]:
        """The request's body: a template, or free text within the window."""
        common = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": content.to.removeprefix("+"),
            "biz_opaque_callback_data": content.opaque,
        }
        if content.template is None:
            context = {"context": {"message_id": content.reply_to}} if content.reply_to else {}
            text = {"preview_url": False, "body": content.text}
            return {**common, **context, "type": "text", "text": text}
        template = content.template
        body = texts.used_in(template.body)
        return {
            **common,
            "type": "template",
            "template": {
                "name": template.provider_name,
                "language": {"code": template.language},
                "components": components.of(template, content.parameters, body),
            },
        }


class Twilio:
    """Twilio's Messages (6.7). What an answer would tell, its status callback tells too."""

    def __init__(self, http: httpx.AsyncClient, settings: OutboundSettings) -> None:
        self._http = http
        self._settings = settings

    async def send(self, content: Content) -> Outcome:
        """POST /2010-04-01/Accounts/{sid}/Messages.json, as a form."""
        settings = self._settings
        account = settings.twilio_account_sid
        url = f"{settings.twilio_url.rstrip('/')}/2010-04-01/Accounts/{account}/Messages.json"
        key = content.sender.provider_key
        form = {
            "To": content.to,
            "MessagingServiceSid" if key.startswith("MG") else "From": key,
            "Body": content.text,
            # Signed with its query, so what comes back here came from us.
            "StatusCallback": f"{settings.public_url}/api/v1/webhooks/twilio/status"
            f"?ref={content.opaque}",
        }
        login = httpx.BasicAuth(account, settings.twilio_auth_token)
        answer = await _post(self._http, settings, url, auth=login, data=form)
        if not isinstance(answer, httpx.Response):
            return answer
        document = _json(answer)
        if answer.is_success and isinstance(document.get("sid"), str):
            return Taken(document["sid"], safe(document))
        if answer.is_success:
            return Lost("the answer has no sid")
        code = document.get("code")
        if not isinstance(code, int):
            return _by_status(answer, document)
        message = sanitised(str(document.get("message") or ""))
        return Refused(str(code), message, safe(document), _retry_after(answer))


async def _post(
    http: httpx.AsyncClient,
    settings: OutboundSettings,
    url: str,
    **request: Any,  # noqa: ANN401 - as httpx
) -> httpx.Response | NotSent | Lost:
    seconds = settings.timeout_seconds
    patience = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
    try:
        return await http.post(url, timeout=patience, **request)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        return NotSent(f"{type(error).__name__}: the provider could not be reached")
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
            return NotSent(f"{type(error).__name__}: the address of the provider is wrong")
        # Written, or partly: a provider may act on what it has.
        return Lost(f"{type(error).__name__}: no whole answer came")


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _taken_by_whatsapp(document: dict[str, Any]) -> Outcome:
    messages = document.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[0].get("id"), str):
        return Taken(messages[0]["id"], safe(document), _wa_id(document))
    return Lost("the answer has no id of a message")


def _wa_id(document: Mapping[str, Any]) -> str | None:
    contacts = document.get("contacts")
    first = contacts[0] if isinstance(contacts, list) and contacts else None
    known = first.get("wa_id") if isinstance(first, dict) else None
    return f"+{known}" if isinstance(known, str) and known.isascii() and known.isdigit() else None


def _by_status(answer: httpx.Response, document: Mapping[str, Any]) -> Refused | Lost:
    status = answer.status_code
    if status in _GATEWAY:  # it handed the request on, and heard no more
        return Lost(f"status {status}: a gateway had no answer")
    return Refused(f"HTTP_{status}", f"status {status}", safe(document), _retry_after(answer))


def _retry_after(answer: httpx.Response) -> float | None:
    given = answer.headers.get("retry-after", "")
    return min(float(given), MOST_RETRY_AFTER) if given.isdigit() else None


def sanitised(text: str) -> str:
    """A provider's words as they may be stored: no address, no secret, and not too many.

    Providers write numbers without a plus, so whatever is as long as one is taken for one.
    """
    plain = text.replace("\0", "").encode("utf-8", "replace").decode()
    return _NUMBER.sub(MASK, redact(plain))[:MOST_TEXT]


def safe(document: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's answer as it may be stored, without the recipient and the text."""
    return {
        name: MASK if name in _PERSONAL else _safe(name, value)
        for name, value in list(document.items())[:50]
    }


def _safe(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return safe(value)
    if isinstance(value, list):
        return [_safe(name, item) for item in value[:20]]
    shown = redact_value(name, value)
    return sanitised(shown) if isinstance(shown, str) else shown

"""Who carries messages, behind one small protocol: send, and say clearly what came of it.

There are four things that may come of it, and the difference between the last two is what keeps a
recipient from getting a message twice:

    Taken      the provider has it
    Refused    the provider does not, and says why
    NotSent    it never got there: nothing of the request was written
    Lost       the request was written, and no answer came: nobody knows
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx

from ostinato.apps.outbound.model import Content, Provider
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.base.redact import redact, redact_value

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
ANSWER_BYTES: Final = 65_536
_PERSONAL: Final = frozenset({"to", "from", "input", "wa_id", "body", "recipient_id", "contacts"})


@dataclass(frozen=True, slots=True)
class Taken:
    """The provider has it: accepted, not delivered."""

    provider_message_id: str
    response: dict[str, Any] = field(default_factory=dict)


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
        answer = await _post(self._http, url, headers=bearer, json=self.document(content))
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
        named = [
            {"type": "text", "parameter_name": name, "text": value}
            for name, value in content.parameters
        ]
        components = [{"type": "body", "parameters": named}] if named else []
        return {
            **common,
            "type": "template",
            "template": {
                "name": content.template.provider_name,
                "language": {"code": content.template.language},
                "components": components,
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
        answer = await _post(self._http, url, auth=login, data=form)
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
    url: str,
    **request: Any,  # noqa: ANN401 - as httpx
) -> httpx.Response | NotSent | Lost:
    try:
        return await http.post(url, **request)
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
        # The id that WhatsApp knows the recipient by may differ from the number, in some countries.
        return Taken(messages[0]["id"], safe(document))
    return Lost("the answer has no id of a message")


def _by_status(answer: httpx.Response, document: Mapping[str, Any]) -> Refused:
    status = answer.status_code
    return Refused(f"HTTP_{status}", f"status {status}", safe(document), _retry_after(answer))


def _retry_after(answer: httpx.Response) -> float | None:
    given = answer.headers.get("retry-after", "")
    return min(float(given), MOST_RETRY_AFTER) if given.isdigit() else None


def sanitised(text: str) -> str:
    """A provider's words as they may be stored: no address, no secret, and not too many."""
    return redact(text.replace("\0", ""))[:MOST_TEXT]


def safe(document: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's answer as it may be stored, without the recipient and the text."""
    return {
        name: "***" if name in _PERSONAL else _safe(name, value)
        for name, value in list(document.items())[:50]
    }


def _safe(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return safe(value)
    if isinstance(value, list):
        return [_safe(name, item) for item in value[:20]]
    shown = redact_value(name, value)
    return shown[:MOST_TEXT] if isinstance(shown, str) else shown


PROVIDERS: Final = (Provider.WHATSAPP, Provider.TWILIO, Provider.SMTP)

"""What providers tell, read from the bytes that they sent: lines of plain values, nothing decided.

Callbacks are batched, repeated and unordered. What cannot be read is left out and counted, because
a provider that gets an error for one line sends the whole batch again.
"""

import email
import email.policy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message as Mail
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit
from uuid import UUID

from ostinato.apps.outbound.model import Provider
from ostinato.apps.outbound.providers.outcomes import sanitised

__all__ = [
    "ComplaintLine",
    "InboundLine",
    "Line",
    "PreferenceLine",
    "StatusLine",
    "TemplateLine",
    "of_mail",
    "of_twilio",
    "of_whatsapp",
    "read_opaque",
]

Told = Literal["sent", "delivered", "read", "failed"]
NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Where a provider gives no time: what it says is the same however often it says it."""
LONGEST_TEXT: Final = 4096
LONGEST_ID: Final = 400
LONGEST_CODE: Final = 60

_OPAQUE: Final = re.compile(
    r"ob:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):a(\d{1,6})"
)
_OURS: Final = re.compile(r"<([0-9a-f-]{36})@")
_BOUNCE: Final = re.compile(r"bounce\+([a-z2-7]{20,60})@", re.IGNORECASE)
_WHATSAPP: Final[dict[str, Told]] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "played": "read",
    "failed": "failed",
}
_TWILIO: Final[dict[str, Told]] = {
    **dict.fromkeys(("accepted", "scheduled", "queued", "sending", "sent"), "sent"),
    "delivered": "delivered",
    "read": "read",
    **dict.fromkeys(("undelivered", "failed", "canceled"), "failed"),
}


@dataclass(frozen=True, slots=True)
class StatusLine:
    """Where a message stands, as its provider says."""

    provider: Provider
    provider_key: str | None
    """Whose: the phone_number_id or the number; None: only the message tells."""
    provider_message_id: str
    told: Told
    at: datetime
    message_id: UUID | None = None
    attempt_no: int | None = None
    error_code: str = ""
    error_message: str = ""
    timed: bool = True
    """Whether the provider gave the time."""
    wa_id: str | None = None
    """The number by which WhatsApp knows the recipient; it may be another than ours."""
    account: str | None = None
    """The account that the number belongs to, as WhatsApp says."""


@dataclass(frozen=True, slots=True)
class InboundLine:
    """A message that came in."""

    provider: Provider
    provider_keys: tuple[str, ...]
    """Which of our senders it was for: the first that is one. A pool of numbers has its own."""
    provider_message_id: str
    from_address: str
    at: datetime
    kind: str
    text: str | None


@dataclass(frozen=True, slots=True)
class PreferenceLine:
    """Somebody wants no more marketing, or wants it again, and told the provider."""

    provider: Provider
    provider_key: str
    from_address: str
    at: datetime
    stop: bool


@dataclass(frozen=True, slots=True)
class ComplaintLine:
    """Somebody calls a message spam. It arrived, so this says nothing of how the message stands."""

    provider: Provider
    message_id: UUID | None
    at: datetime


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """What WhatsApp says about a template of an account."""

    provider: Provider
    account: str
    name: str
    language: str
    event: str
    at: datetime


Line = StatusLine | InboundLine | PreferenceLine | ComplaintLine | TemplateLine


def read_opaque(text: str | None) -> tuple[UUID | None, int | None]:
    """The message and attempt that we sent along."""
    found = _OPAQUE.fullmatch(text or "")
    return (UUID(found[1]), int(found[2])) if found else (None, None)


def of_whatsapp(body: bytes) -> tuple[list[Line], int]:
    """The lines of a callback of WhatsApp, and how many could not be read."""
    lines: list[Line] = []
    odd = 0
    for entry in _dicts(_document(body).get("entry")):
        for change in _dicts(entry.get("changes")):
            value = change.get("value")
            if not isinstance(value, dict):
                odd += 1
                continue
            for read, item in _items(entry, change, value):
                try:
                    line = read(item)
                except (KeyError, TypeError, ValueError, OverflowError, OSError, AttributeError):
                    line = None
                if line is None:
                    odd += 1
                else:
                    lines.append(line)
    return lines, odd


def _items(
    entry: Mapping[str, Any], change: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[tuple[Callable[[Any], Line | None], Any]]:
    """The items of a change, each with what reads it."""
    account = storable(entry.get("id") or "")[:LONGEST_ID]
    if change.get("field") == "message_template_status_update":
        yield partial(_template, account, entry.get("time")), value
        return
    metadata = value.get("metadata")
    named = metadata.get("phone_number_id") if isinstance(metadata, dict) else None
    key = storable(named or "")[:LONGEST_ID]
    readers: tuple[tuple[str, Callable[[Any], Line | None]], ...] = (
        ("messages", partial(_inbound, key)),
        ("user_preferences", partial(_preference, key)),
        ("statuses", partial(_status, key, account)),
    )
    for name, read in readers:
        items = value.get(name)
        for item in items if isinstance(items, list) else [items] if items else ():
            yield read, item


def of_twilio(url: str, body: bytes, received_at: datetime) -> tuple[list[Line], int]:
    """The line of a callback of Twilio: a status, or a message that came in."""
    text = body.decode("utf-8", "replace")
    form = {name: storable(value) for name, value in parse_qsl(text, keep_blank_values=True)}
    sid = form.get("MessageSid") or form.get("SmsSid") or ""
    if not sid or len(sid) > LONGEST_ID:
        return [], 1
    told = form.get("MessageStatus") or form.get("SmsStatus") or ""
    if "Body" in form or told == "received":
        return [_by_sms(form, sid, received_at)], 0
    status = _TWILIO.get(told)
    if status is None:
        return [], 1
    reference = parse_qs(urlsplit(url).query).get("ref", [""])[0]
    message_id, attempt_no = read_opaque(reference)
    key = form.get("MessagingServiceSid") or form.get("From") or None
    code = form.get("ErrorCode") or ("30008" if status == "failed" else "")
    said = sanitised(form.get("ErrorMessage") or told)
    return [
        StatusLine(
            Provider.TWILIO,
            key,
            sid,
            status,
            received_at,
            message_id,
            attempt_no,
            code[:LONGEST_CODE],
            said,
            timed=False,
        )
    ], 0


def _by_sms(form: Mapping[str, str], sid: str, received_at: datetime) -> InboundLine:
    """An inbound SMS. To is a number of the pool, if a Messaging Service has one."""
    keys = tuple(form[name] for name in ("MessagingServiceSid", "To") if form.get(name))
    text = form.get("Body", "")[:LONGEST_TEXT]
    number = _number(form.get("From", ""))
    return InboundLine(Provider.TWILIO, keys, sid, number, received_at, "text", text)


def of_mail(body: bytes, received_at: datetime) -> tuple[list[Line], int, str | None]:
    """The lines of a bounce (RFC 3464) or complaint (RFC 5965), and its return token."""
    mail = email.message_from_bytes(body, policy=email.policy.compat32)
    token = next(_tokens(mail), None)
    kind = str(mail.get_param("report-type") or "").lower()
    lines: list[Line] = []
    if kind == "feedback-report":
        lines.append(ComplaintLine(Provider.SMTP, _original(mail), received_at))
    elif kind == "delivery-status":
        # A mail server that repeats itself sends the same mail, or the same bytes.
        digest = hashlib.sha256(body).hexdigest()[:32]
        name = storable(mail.get("Message-ID") or digest)[:LONGEST_ID]
        lines.extend(_of_report(mail, name, received_at))
    return lines, 0 if lines else 1, token


def _of_report(mail: Mail, name: str, at: datetime) -> Iterator[StatusLine]:
    message_id = _original(mail)
    for recipient in _fields(mail, "message/delivery-status"):
        action = str(recipient.get("Action") or "").strip().lower()
        status = storable(recipient.get("Status") or "").strip().split(" ")[0][:LONGEST_CODE]
        said = sanitised(str(recipient.get("Diagnostic-Code") or action))
        told: Told
        if action == "failed" and status.startswith("5."):
            told = "failed"
        elif action == "delivered":
            told, status = "delivered", ""
        else:
            continue
        yield StatusLine(
            Provider.SMTP, None, name, told, at, message_id, None, status, said, timed=False
        )


def _original(mail: Mail) -> UUID | None:
    """The message that a report is about: by its envelope id, or by the mail that it quotes."""
    blocks = [*_fields(mail, "message/delivery-status"), *_fields(mail, "message/feedback-report")]
    named = [str(each.get("Original-Envelope-Id") or "").strip() for each in blocks]
    quoted = [str(part.get("Message-ID") or "") for part in mail.walk() if part is not mail]
    for text in (*named, *(found[1] for each in quoted if (found := _OURS.match(each)))):
        try:
            return UUID(text)
        except ValueError:
            continue
    return None


def _fields(mail: Mail, kind: str) -> list[Mail]:
    """The blocks of fields of a report's machine-readable part."""
    parts = [part.get_payload() for part in mail.walk() if part.get_content_type() == kind]
    blocks = [each for part in parts if isinstance(part, list) for each in part]
    return [each for each in blocks if isinstance(each, Mail)]


def _tokens(mail: Mail) -> Iterator[str]:
    for part in mail.walk():
        for name in ("To", "Delivered-To", "X-Original-To", "Return-Path", "Original-Mail-From"):
            found = _BOUNCE.search(str(part.get(name) or ""))
            if found:
                yield found[1].lower()


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _dicts(found: object) -> Iterator[Mapping[str, Any]]:
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            yield each


def storable(value: object) -> str:
    """A text as PostgreSQL takes it: no zero bytes, and no halves of a letter."""
    return str(value).replace("\0", "").encode("utf-8", "replace").decode()


def _template(account: str, time: object, value: Mapping[str, Any]) -> Line | None:
    """Approved, paused, rejected …: field `message_template_status_update` (6.1)."""
    return TemplateLine(
        Provider.WHATSAPP,
        account,
        storable(value["message_template_name"])[:LONGEST_ID],
        storable(value["message_template_language"])[:20],
        storable(value["event"])[:40].upper(),
        _at(time) if time else NO_TIME,
    )


def _status(key: str, account: str, item: Mapping[str, Any]) -> Line | None:
    told = _WHATSAPP.get(item["status"])
    if told is None:
        return None
    message_id, attempt_no = read_opaque(item.get("biz_opaque_callback_data"))
    errors = item.get("errors") or [{}]
    first = errors[0]
    details = (first.get("error_data") or {}).get("details") or first.get("title") or ""
    return StatusLine(
        Provider.WHATSAPP,
        key,
        storable(item["id"])[:LONGEST_ID],
        told,
        _at(item["timestamp"]),
        message_id,
        attempt_no,
        storable(first.get("code", ""))[:LONGEST_CODE] if told == "failed" else "",
        sanitised(str(details)),
        wa_id=_number(item["recipient_id"]) if item.get("recipient_id") else None,
        account=account or None,
    )


def _inbound(key: str, item: Mapping[str, Any]) -> Line | None:
    kind = storable(item["type"])[:40]
    text = _text_of(kind, item)
    return InboundLine(
        Provider.WHATSAPP,
        (key,),
        storable(item["id"])[:LONGEST_ID],
        _number(item["from"]),
        _at(item["timestamp"]),
        kind,
        None if text is None else storable(text)[:LONGEST_TEXT],
    )


def _text_of(kind: str, item: Mapping[str, Any]) -> str | None:
    match kind:
        case "text":
            return str(item["text"]["body"])
        case "button":
            return str(item["button"].get("text") or item["button"].get("payload") or "")
        case "interactive":
            chosen = item["interactive"].get("button_reply") or {}
            return str(chosen.get("title") or chosen.get("id") or "")
    return None


def _preference(key: str, item: Mapping[str, Any]) -> Line | None:
    value = item.get("value")
    if item.get("category") != "marketing_messages" or value not in ("stop", "resume"):
        return None
    at = _at(item["timestamp"])
    return PreferenceLine(Provider.WHATSAPP, key, _number(item["wa_id"]), at, value == "stop")


def _number(digits: object) -> str:
    return "+" + re.sub(r"\D", "", str(digits))[:15]


def _at(seconds: object) -> datetime:
    return datetime.fromtimestamp(int(str(seconds)), UTC)

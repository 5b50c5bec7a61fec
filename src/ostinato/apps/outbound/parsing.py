"""What providers tell, read from the bytes that they sent: lines of plain values, nothing decided.

Callbacks are batched, repeated and unordered. What cannot be read is left out and counted, because
a provider that gets an error for one line sends the whole batch again.
"""

import email
import email.policy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message as Mail
from typing import Any, Final, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit
from uuid import UUID

from ostinato.apps.outbound.model import Provider
from ostinato.apps.outbound.providers import sanitised

__all__ = [
    "InboundLine",
    "Line",
    "PreferenceLine",
    "StatusLine",
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

_OPAQUE: Final = re.compile(
    r"ob:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):a(\d{1,6})"
)
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


@dataclass(frozen=True, slots=True)
class InboundLine:
    """A message that came in."""

    provider: Provider
    provider_key: str
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


Line = StatusLine | InboundLine | PreferenceLine


def read_opaque(text: str | None) -> tuple[UUID | None, int | None]:
    """The message and attempt that we sent along."""
    found = _OPAQUE.fullmatch(text or "")
    return (UUID(found[1]), int(found[2])) if found else (None, None)


def of_whatsapp(body: bytes) -> tuple[list[Line], int]:
    """The lines of a callback of WhatsApp, and how many could not be read."""
    document = _document(body)
    lines: list[Line] = []
    odd = 0
    for change in _changes(document):
        value = change.get("value")
        if not isinstance(value, dict):
            odd += 1
            continue
        key = str((value.get("metadata") or {}).get("phone_number_id") or "")
        readers = (
            ("messages", _inbound),
            ("user_preferences", _preference),
            ("statuses", _status),
        )
        for name, read in readers:
            for item in value.get(name) or ():
                try:
                    line = read(key, item)
                except (KeyError, TypeError, ValueError, OverflowError, OSError, AttributeError):
                    line = None
                if line is None:
                    odd += 1
                else:
                    lines.append(line)
    return lines, odd


def of_twilio(url: str, body: bytes, received_at: datetime) -> tuple[list[Line], int]:
    """The line of a callback of Twilio: a status, or a message that came in."""
    form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    sid = form.get("MessageSid") or form.get("SmsSid") or ""
    if not sid or len(sid) > LONGEST_ID:
        return [], 1
    told = form.get("MessageStatus") or form.get("SmsStatus") or ""
    if "Body" in form or told == "received":
        text = form.get("Body", "")[:LONGEST_TEXT]
        ours = form.get("To") or form.get("MessagingServiceSid") or ""
        line = InboundLine(
            Provider.TWILIO, ours, sid, form.get("From", ""), received_at, "text", text
        )
        return [line], 0
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
            code,
            said,
            timed=False,
        )
    ], 0


def of_mail(body: bytes, received_at: datetime) -> tuple[list[Line], int, str | None]:
    """The lines of a bounce (RFC 3464) or complaint (RFC 5965), and its return token."""
    mail = email.message_from_bytes(body, policy=email.policy.compat32)
    token = next(_tokens(mail), None)
    kind = str(mail.get_param("report-type") or "").lower()
    lines: list[Line] = []
    if kind == "feedback-report":
        lines.append(_mail_line(mail, "failed", "complaint", "complaint", received_at))
    elif kind == "delivery-status":
        lines.extend(_of_report(mail, received_at))
    return lines, 0 if lines else 1, token


def _of_report(mail: Mail, received_at: datetime) -> Iterator[StatusLine]:
    blocks = [part for part in mail.walk() if part.get_content_type() == "message/delivery-status"]
    for block in blocks:
        fields = [each for each in block.get_payload() if isinstance(each, Mail)]
        for recipient in fields:
            action = str(recipient.get("Action") or "").strip().lower()
            status = str(recipient.get("Status") or "").strip().split(" ")[0]
            said = sanitised(str(recipient.get("Diagnostic-Code") or action))
            if action == "failed" and status.startswith("5."):
                yield _mail_line(mail, "failed", status, said, received_at)
            elif action == "delivered":
                yield _mail_line(mail, "delivered", "", said, received_at)


def _mail_line(mail: Mail, told: Told, code: str, said: str, at: datetime) -> StatusLine:
    envelope = next(
        (
            str(each.get("Original-Envelope-Id")).strip()
            for part in mail.walk()
            if part.get_content_type() == "message/delivery-status"
            for each in part.get_payload()
            if isinstance(each, Mail) and each.get("Original-Envelope-Id")
        ),
        "",
    )
    try:
        message_id = UUID(envelope)
    except ValueError:
        message_id = None
    name = envelope or str(mail.get("Message-ID") or "bounce")[:LONGEST_ID]
    return StatusLine(
        Provider.SMTP, None, name, told, at, message_id, None, code, said, timed=False
    )


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


def _changes(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for entry in document.get("entry") or ():
        if isinstance(entry, dict):
            for change in entry.get("changes") or ():
                if isinstance(change, dict):
                    yield change


def _status(key: str, item: Mapping[str, Any]) -> Line | None:
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
        str(item["id"])[:LONGEST_ID],
        told,
        _at(item["timestamp"]),
        message_id,
        attempt_no,
        str(first.get("code", "")) if told == "failed" else "",
        sanitised(str(details)),
    )


def _inbound(key: str, item: Mapping[str, Any]) -> Line | None:
    kind = str(item["type"])[:40]
    text = _text_of(kind, item)
    return InboundLine(
        Provider.WHATSAPP,
        key,
        str(item["id"])[:LONGEST_ID],
        _number(item["from"]),
        _at(item["timestamp"]),
        kind,
        None if text is None else text[:LONGEST_TEXT],
    )


def _text_of(kind: str, item: Mapping[str, Any]) -> str | None:
    match kind:
        case "text":
            return str(item["text"]["body"]).replace("\0", "")
        case "button":
            return str(item["button"].get("text") or item["button"].get("payload") or "")
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

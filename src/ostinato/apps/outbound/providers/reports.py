"""Reads what becomes of mail: reports of mail servers, and those of services that send it.

    RFC 3464, RFC 5965    bounces, successes and complaints, as mail
    Amazon SES            by SNS, or its notification as it is
    Postmark              its webhooks
    Mailgun               its webhooks, which it signs itself
    unsubscribe+…@        what somebody writes to the address in List-Unsubscribe

Who posts them knows `bounce_secret`: as X-Bounce-Secret, or as the password of Basic authentication,
which is all that SNS and Postmark can send along. They name a mail by the token in its return address,
by our own header, or by its Message-ID; a transient fault is one that a retry may pass (4.x.x).
"""

import email
import email.policy
import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from email.message import Message
from typing import Any, Final
from uuid import UUID

from ostinato.apps.outbound.providers import lines
from ostinato.apps.outbound.providers.lines import ComplaintLine, Line, Reported, StatusLine, UnsubscribeLine, storable
from ostinato.apps.outbound.providers.protocol import Posted
from ostinato.apps.outbound.providers.wire import document_of, is_same, sanitised
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.tokens import read_bounce_token, read_mailbox_token

PROVIDER: Final = "smtp"
HARD: Final = "5.0.0"
SOFT: Final = "4.0.0"
_OURS: Final = re.compile(r"<?([0-9a-f-]{36})@")
_BOUNCE: Final = re.compile(r"bounce\+([a-z2-7]{20,60})@", re.IGNORECASE)
_UNSUBSCRIBE: Final = re.compile(r"unsubscribe\+([a-z2-7]{20,60})@", re.IGNORECASE)
_BOUNDARY: Final = re.compile(rb"boundary\s*[*=]", re.IGNORECASE)
_SNS: Final = re.compile(r"https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?/[!-~]{0,2000}")
MOST_SUBSCRIPTION_BYTES: Final = 16 * 2**10
MOST_MAILGUN_BYTES: Final = 256 * 2**10
MOST_BOUNDARIES: Final = 16
"""A report has one, what it quotes a few. The parser of mail compares each line with all that are open."""
_CODE: Final = re.compile(r"\b[45]\.\d{1,3}\.\d{1,3}\b")
_SOFT: Final = frozenset({"Transient", "SoftBounce", "DnsError", "Undetermined"})
_ANSWERED: Final = frozenset(
    {"AutoResponder", "AddressChange", "ChallengeVerification", "OpenRelayTest", "Subscribe", "VirusNotification"}
)
"""What Postmark calls a bounce and is the answer of a program: the mail got there."""


def is_signed(posted: Posted, settings: OutboundSettings) -> bool:
    """Return whether who posts it knows the shared secret, or Mailgun signed it."""
    secret, key = settings.bounce_secret, settings.mailgun_signing_key
    if secret and is_same(secret, posted.signature):
        return True
    # Read before anybody is known to have signed it, so only if it is as small as Mailgun's are.
    may_be = key and posted.body[:1] == b"{" and len(posted.body) <= MOST_MAILGUN_BYTES
    told = document_of(posted.body).get("signature") if may_be else None
    if not isinstance(told, dict):
        return False
    signed = storable(f"{told.get('timestamp')}{told.get('token')}").encode()
    return is_same(hmac.new(key.encode(), signed, hashlib.sha256).hexdigest(), storable(told.get("signature")))


def read(posted: Posted, settings: OutboundSettings) -> tuple[list[Line], int]:
    """Read the lines of a report, and count what cannot be read."""
    if posted.body.lstrip()[:1] == b"{":
        found = list(_of_service(document_of(posted.body), posted, settings))
    else:
        try:
            found = list(_of_mail(posted, settings))
        except RecursionError:  # mails in mails: no report has so many
            found = []
    return found, 0 if found else 1


def _of_mail(posted: Posted, settings: OutboundSettings) -> Iterator[Line]:
    if sum(1 for _ in _BOUNDARY.finditer(posted.body)) > MOST_BOUNDARIES:
        return
    mail = email.message_from_bytes(posted.body, policy=email.policy.compat32)
    about = read_bounce_token(settings.token_secret, next(_tokens(mail), "")) or _original(mail)
    kind = str(mail.get_param("report-type") or "").lower()
    if kind == "feedback-report":
        yield ComplaintLine(PROVIDER, about, posted.received_at)
    elif kind == "delivery-status":
        # A mail server that repeats itself sends the same mail, or the same bytes.
        name = storable(mail.get("Message-ID") or _digest(posted))[: lines.LONGEST_ID]
        yield from _of_report(mail, name, about, posted.received_at)
    elif (wanted := next(_asked_for(mail), None)) is not None:
        consent_id = read_mailbox_token(settings.token_secret, wanted)
        if consent_id is not None:
            yield UnsubscribeLine(PROVIDER, consent_id, posted.received_at)


def _digest(posted: Posted) -> str:
    return hashlib.sha256(posted.body).hexdigest()[:32]


def _of_report(mail: Message, name: str, about: UUID | None, at: datetime) -> Iterator[StatusLine]:
    blocks = _fields(mail, "message/delivery-status")
    lines.check_count(PROVIDER, len(blocks))
    for recipient in blocks:
        action = str(recipient.get("Action") or "").strip().lower()
        status = ""
        said = sanitised(str(recipient.get("Diagnostic-Code") or action))
        told: lines.Reported
        if action == "failed":  # the server has given up, also where 4.x says that it may go another time
            told, status = "failed", _code(recipient.get("Status"), hard=True)
        elif action == "delivered":
            told = "delivered"
        elif action in ("relayed", "expanded"):  # taken, and handed to a server that reports no more
            told = "sent"
        else:
            continue
        yield StatusLine(PROVIDER, None, name, told, at, about, None, status, said, timed=False)


def _original(mail: Message) -> UUID | None:
    """Return the message that a report is about: by its envelope id, or by the mail that it quotes."""
    blocks = [*_fields(mail, "message/delivery-status"), *_fields(mail, "message/feedback-report")]
    named = [str(each.get("Original-Envelope-Id") or "").strip() for each in blocks]
    quoted = [str(part.get("Message-ID") or "") for part in mail.walk() if part is not mail]
    for text in (*named, *(found[1] for each in quoted if (found := _OURS.match(each)))):
        try:
            return UUID(text)
        except ValueError:
            continue
    return None


def _fields(mail: Message, kind: str) -> list[Message]:
    """Return the blocks of fields of a report's machine-readable part."""
    parts = [part.get_payload() for part in mail.walk() if part.get_content_type() == kind]
    blocks = [each for part in parts if isinstance(part, list) for each in part]
    return [each for each in blocks if isinstance(each, Message)]


def _tokens(mail: Message) -> Iterator[str]:
    for part in mail.walk():
        for name in ("To", "Delivered-To", "X-Original-To", "Return-Path", "Original-Mail-From"):
            found = _BOUNCE.search(str(part.get(name) or ""))
            if found:
                yield found[1].lower()


def _asked_for(mail: Message) -> Iterator[str]:
    """Find the unsubscribe tokens among the addresses of a mail."""
    for name in ("To", "Delivered-To", "X-Original-To"):
        found = _UNSUBSCRIBE.search(str(mail.get(name) or ""))
        if found:
            yield found[1].lower()


def _of_service(document: Mapping[str, Any], posted: Posted, settings: OutboundSettings) -> Iterator[Line]:
    """Read what a service posts as JSON, by the field that only it has."""
    if document.get("Type") == "Notification":  # SNS, with the notification as a text inside
        told = document.get("Message")
        document = told if isinstance(told, dict) else document_of(storable(told or "").encode())
    readers: tuple[tuple[str, Callable[..., Line | None]], ...] = (
        ("notificationType", _ses),
        ("eventType", _ses),
        ("RecordType", _postmark),
        ("event-data", _mailgun),
    )
    for field, read_one in readers:
        if field in document:
            line = read_one(document, posted, settings)
            if line is not None:
                yield line
            return


def subscription(body: bytes) -> Mapping[str, str]:
    """Find the address at which a subscription of SNS is confirmed, if that was posted and is Amazon's own."""
    document = document_of(body) if body.lstrip()[:1] == b"{" and len(body) <= MOST_SUBSCRIPTION_BYTES else {}
    url = str(document.get("SubscribeURL") or "")
    if document.get("Type") != "SubscriptionConfirmation" or _SNS.fullmatch(url) is None:
        return {}
    return {"confirm": url}


def _ses(document: Mapping[str, Any], posted: Posted, settings: OutboundSettings) -> Line | None:
    kind = str(document.get("notificationType") or document.get("eventType"))
    mail = _part(document, "mail")
    headers = mail.get("headers")
    named = (
        {str(each.get("name")).lower(): each.get("value") for each in headers if isinstance(each, dict)}
        if (isinstance(headers, list))
        else {}
    )
    found = _BOUNCE.search(str(mail.get("source") or ""))
    about = read_bounce_token(settings.token_secret, found[1].lower()) if found else None
    about = about or _uuid(named.get("x-ostinato-message"))
    name = _name("ses", mail.get("messageId"), posted)
    if kind == "Complaint":
        return ComplaintLine(PROVIDER, about, posted.received_at)
    if kind == "Delivery":
        return _line(name, about, posted, "delivered")
    if kind != "Bounce":
        return None
    bounce = _part(document, "bounce")
    bounced = bounce.get("bouncedRecipients")
    first = next((each for each in bounced if isinstance(each, dict)), {}) if isinstance(bounced, list) else {}
    code = _code(first.get("status"), hard=str(bounce.get("bounceType")) not in _SOFT)
    return _line(name, about, posted, "failed", code, str(first.get("diagnosticCode") or kind))


def _postmark(document: Mapping[str, Any], posted: Posted, settings: OutboundSettings) -> Line | None:  # noqa: ARG001 - as the others
    about = _uuid(_part(document, "Metadata").get("ostinato"))
    name, kind = _name("postmark", document.get("MessageID"), posted), document["RecordType"]
    bounce = str(document.get("Type"))
    if kind == "SpamComplaint" or (kind == "Bounce" and bounce in ("SpamComplaint", "Unsubscribe")):
        return ComplaintLine(PROVIDER, about, posted.received_at)
    if kind == "Delivery":
        return _line(name, about, posted, "delivered")
    if kind != "Bounce" or bounce in _ANSWERED:
        return None
    code = _code(None, hard=bounce not in _SOFT)
    return _line(name, about, posted, "failed", code, str(document.get("Details") or bounce))


def _mailgun(document: Mapping[str, Any], posted: Posted, settings: OutboundSettings) -> Line | None:  # noqa: ARG001 - as above
    data = _part(document, "event-data")
    found = _OURS.match(str(_part(_part(data, "message"), "headers").get("message-id") or ""))
    about = _uuid(found[1] if found else None)
    name, kind = _name("mailgun", data.get("id"), posted), data.get("event")
    if kind == "complained":
        return ComplaintLine(PROVIDER, about, posted.received_at)
    if kind == "delivered":
        return _line(name, about, posted, "delivered")
    if kind != "failed" or data.get("severity") != "permanent":  # what is temporary, Mailgun tries again
        return None
    status = _part(data, "delivery-status")
    said = str(status.get("message") or status.get("description") or kind)
    return _line(name, about, posted, "failed", _code(status.get("enhanced-code"), hard=True), said)


def _line(  # noqa: PLR0917 - what a line says, in its order
    name: str, about: UUID | None, posted: Posted, told: Reported, code: str = "", said: str = ""
) -> StatusLine:
    named = storable(name)[: lines.LONGEST_ID]
    return StatusLine(PROVIDER, None, named, told, posted.received_at, about, None, code, sanitised(said), timed=False)


def _name(service: str, told: object, posted: Posted) -> str:
    """Name a report by the service's id; one without is named by its bytes, or it would pass for the one before."""
    return f"{service}:{told}" if isinstance(told, str | int) and told else f"{service}:{_digest(posted)}"


def _code(given: object, *, hard: bool) -> str:
    found = _CODE.search(storable(given or ""))
    return found[0] if found else HARD if hard else SOFT


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _uuid(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None

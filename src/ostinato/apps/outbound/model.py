"""Defines what outbound messages are made of: plain values, no database, no network."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import Any, Final, Literal
from uuid import UUID


class Channel(StrEnum):
    """How a message travels."""

    WHATSAPP = "WHATSAPP"
    SMS = "SMS"
    EMAIL = "EMAIL"


RATES: Final = {Channel.WHATSAPP: 80, Channel.SMS: 10, Channel.EMAIL: 20}
"""Messages a second of a sender: one business number, a long number of Twilio, a polite mail server."""
WORDS: Final = "outbound_words"
"""The queue of callbacks in which people may have written, until that is applied: no status is before them."""


class Status(StrEnum):
    """Where a message stands (rule 3.1)."""

    QUEUED = "QUEUED"
    SENDING = "SENDING"
    SENT = "SENT"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class AttemptStatus(StrEnum):
    """Where an attempt stands (rule 3.2). One whose answer was lost stays TRYING."""

    TRYING = "TRYING"
    FAILED = "FAILED"
    SUCCESS = "SUCCESS"


class Purpose(StrEnum):
    """What a message is for, and what consent is given for."""

    TRANSACTIONAL = "TRANSACTIONAL"
    MARKETING = "MARKETING"


class Category(StrEnum):
    """The categories of templates, as WhatsApp has them."""

    MARKETING = "MARKETING"
    UTILITY = "UTILITY"
    AUTHENTICATION = "AUTHENTICATION"


class ConsentStatus(StrEnum):
    """Where a consent stands; only GRANTED lets a message go."""

    PENDING = "PENDING"
    GRANTED = "GRANTED"
    DENIED = "DENIED"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"


class ConsentSource(StrEnum):
    """Where a consent, or its end, came from."""

    FORM = "FORM"
    API = "API"
    IMPORT = "IMPORT"
    WHATSAPP_INBOUND = "WHATSAPP_INBOUND"
    SMS_INBOUND = "SMS_INBOUND"
    EMAIL_LINK = "EMAIL_LINK"
    OPERATOR = "OPERATOR"
    PROVIDER = "PROVIDER"


def folded(channel: Channel, address: str) -> str:
    """Return an address as it is compared: mail goes to the same person however its name is spelt.

    Providers of mail ignore the case of the name, so a refusal of Ana@ is one of ana@ too. Numbers
    are compared in E.164, in which they are stored.
    """
    return unicodedata.normalize("NFKC", address).casefold() if channel is Channel.EMAIL else address


Validation = Literal["possible", "valid"]
"""Which telephone numbers are taken: all of a possible length, or those that are assigned."""

OnUnknown = Literal["hold", "resend"]
"""When nobody knows whether a message was sent: people decide, or it is sent again."""

Mode = Literal["template", "text"]
"""A template, or free text: a session message on WhatsApp."""


@dataclass(frozen=True, slots=True)
class Organisation:
    """What a tenant has chosen."""

    zone: str = "Europe/Paris"
    region: str = "FR"
    """For telephone numbers without a country."""
    language: str = "fr"
    notice_time: time = time(10, 0)
    """When reminders are due, local."""
    holidays: str = "FR"
    """The country, or "FR-57" for a part of it."""
    stop_covers_all: bool = False
    """STOP ends transactional messages too, not only marketing."""
    stop_reply: str | None = None
    """What confirms a STOP; None: nothing does."""
    help_reply: str | None = None
    start_reply: str | None = None
    replies: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """The same by language: `{"en": {"stop": …, "help": …, "start": …}}`; the texts above are for all others."""
    opens: time = time(8)
    """From when to when messages go, every day."""
    closes: time = time(21)
    marketing_opens: time = time(8)
    """The same for marketing, on working days and Saturdays."""
    marketing_closes: time = time(20)
    reminder_days: tuple[int, ...] = (-3, -1, 1, 7)
    """When members of Coop Habitat are reminded, in days from the due date."""


@dataclass(frozen=True, slots=True)
class Sender:
    """A number or an address that a tenant sends from."""

    id: int
    channel: Channel
    provider: str
    """Who carries what it sends, by name."""
    provider_key: str
    """The phone_number_id, the number, or the mail address."""
    display: str
    held_until: datetime | None = None
    hold_reason: str | None = None
    troubles: int = 0
    """How often in a row its provider did not answer."""
    outage_since: datetime | None = None
    """Since when its provider is away; None: it is not."""
    probed_by: UUID | str | None = None
    """The message that tries a provider that was away."""
    credentials: str | None = field(default=None, repr=False)
    """What opens its own account, sealed; None: the installation's is used."""
    hook: UUID | str | None = None
    """The name under which the provider of its own account calls back."""
    on_unknown: OnUnknown | None = None
    """What is done when nobody knows whether something was sent; None: as its provider has it."""
    rate: float | None = None
    """Messages a second; None: as its channel has it."""
    reply_to: str | None = None
    """Where answers to its mail go; None: to itself."""


@dataclass(frozen=True, slots=True)
class Template:
    """A text with variables that the provider knows by a name (rule 3.3)."""

    code: str
    language: str
    category: Category
    provider_name: str
    body: str
    subject: str | None
    variables: tuple[dict[str, Any], ...]
    """In their order: name, kind, max_length, required."""
    is_active: bool = True
    held_until: datetime | None = None
    components: tuple[dict[str, Any], ...] = ()
    """Header and buttons: type, format or sub_type, index, variable."""
    parameter_format: str = "NAMED"
    html: str | None = None
    """Of mail, the same for readers that show HTML; the body is its twin."""
    provider_status: str | None = None
    """The provider's last word about it; None: it said nothing."""

    @property
    def is_usable(self) -> bool:
        """Whether it is in use here, and at the provider as far as is known."""
        return self.is_active and self.provider_status in (None, "APPROVED")


@dataclass(frozen=True, slots=True)
class Consent:
    """What somebody allowed, for one channel and purpose."""

    id: UUID
    subject_id: str
    channel: Channel
    purpose: Purpose
    status: ConsentStatus
    address: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message to one recipient (rule 3.1)."""

    tenant_id: str
    id: UUID
    dossier_id: str | None
    subject_id: str
    channel: Channel
    purpose: Purpose
    to_address: str
    template_code: str | None
    language: str
    subject: str | None
    payload: dict[str, Any]
    status: Status
    urgent: bool
    sender_id: int
    entity_type: str | None
    entity_id: str | None
    logical_event_id: str | None
    recipient_ref: str | None
    provider_message_id: str | None
    attempts_used: int
    """Of the budget; a hold or a deferral uses none."""
    code_attempts: dict[str, int] = field(hash=False)
    """How often each error code was met since the budget began."""
    job_id: int | None
    failed_attempt: int | None
    """The attempt of the job in which the message failed for good."""
    not_after: datetime | None
    unknown_until: datetime | None
    sent_at: datetime | None
    error_code: str | None
    cancel_reason: str | None
    dead_lettered_at: datetime | None
    correlation_id: str | None
    inbound_id: int | None
    """The inbound message that it answers by itself: STOP, HELP, START."""
    created_at: datetime

    @property
    def key(self) -> dict[str, Any]:
        """How statements name it."""
        return {"tenant_id": self.tenant_id, "id": self.id}

    @property
    def pair(self) -> dict[str, Any]:
        """How statements name the pair of its sender and its recipient."""
        whose = {"tenant_id": self.tenant_id, "sender_id": self.sender_id}
        return {**whose, "address": self.to_address}

    @property
    def mode(self) -> Mode:
        """Template or free text."""
        return "template" if self.template_code else "text"


@dataclass(frozen=True, slots=True)
class Content:
    """What a provider is given to send."""

    message_id: UUID
    tenant_id: str
    attempt_no: int
    to: str
    sender: Sender
    text: str
    """The text as the recipient reads it; of a WhatsApp template, for the log only."""
    subject: str | None = None
    template: Template | None = None
    components: tuple[Mapping[str, Any], ...] = ()
    """The parts of a WhatsApp template, with its variables filled in."""
    html: str | None = None
    """The same for readers that show HTML."""
    unsubscribe: str | None = None
    """The one-click address, for bulk mail."""
    unsubscribe_mail: str | None = None
    """The mail address to which nothing needs to be written but a mail, for the same."""
    reply_to: str | None = None
    """The inbound message that a session message answers."""

    @property
    def opaque(self) -> str:
        """What comes back in callbacks: no personal data."""
        return f"ob:{self.message_id}:a{self.attempt_no}"


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as somebody asks for it."""

    idempotency_key: str
    subject_id: str
    channel: Channel
    to: str
    template_code: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    subject: str | None = None
    language: str | None = None
    purpose: Purpose | None = None
    """None: MARKETING for templates of that category, else TRANSACTIONAL."""
    dossier_id: str | None = None
    urgent: bool = False
    sender_id: int | None = None
    fallback_template: Mapping[str, Any] | None = None
    """Code and variables of the template to send when free text may not be."""
    fallback: Mapping[str, Any] | None = None
    """Channel and recipient to try when this one cannot be reached."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    entity_type: str | None = None
    entity_id: str | None = None
    logical_event_id: str | None = None
    recipient_ref: str | None = None
    fallback_of: UUID | None = None
    inbound_id: int | None = None
    """The inbound message that it answers; see `replies`."""
    not_after: datetime | None = None
    send_at: datetime | None = None
    """When it is to go; None: as soon as it may."""
    correlation_id: str | None = None
    """Of the request that asks for it; None: of the transaction that accepts it."""

"""The bodies of requests and answers, as the API shows them."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from ostinato.apps.outbound.model import (
    Channel,
    ConsentSource,
    ConsentStatus,
    Purpose,
    Status,
)
from ostinato.apps.outbound.store import Row

__all__ = [
    "Activity",
    "AuditEvent",
    "ConsentRecorded",
    "ConsentView",
    "ErasedView",
    "Figures",
    "MessageAccepted",
    "MessageDetails",
    "MessagePage",
    "NewConsent",
    "NewOutbound",
    "View",
]

COLUMN = {"to": "to_address", "org_id": "tenant_id"}
"""Where the API has another name than the table."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Text = Annotated[str, StringConstraints(max_length=100_000, pattern=r"^[^\x00]*$")]
Short = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^\x00]*$")]
Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,119}$")]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$")]


class View(BaseModel):
    """Names in camel case, as the seed's contracts have them; unknown names are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", from_attributes=True
    )


class TemplateChoice(View):
    """A template and its variables."""

    code: Code = Field(examples=["EVT_COOP_CALL_FOR_FUNDS"])
    variables: dict[str, Any] = {}


class OtherChannel(View):
    """Where to try when a recipient cannot be reached here."""

    channel: Channel
    to: Short | None = None


class NewOutbound(View):
    """A message to send: a template with its variables, or a text."""

    channel: Channel
    to: Short = Field(min_length=1, examples=["+33639980001"])
    subject_id: Name = Field(examples=["contact-7"], description="Whose consent counts.")
    dossier_id: Name | None = Field(default=None, examples=["D-42"])
    template_code: Code | None = None
    variables: dict[str, Any] = {}
    text: Text | None = Field(default=None, description="Instead of a template.")
    subject: Short | None = Field(default=None, description="Of a mail.")
    language: Language | None = None
    purpose: Purpose | None = Field(
        default=None, description="Without one, what the template's category says."
    )
    urgent: bool = Field(default=False, description="Not held up by quiet hours.")
    sender_id: int | None = Field(default=None, ge=1, le=2**53 - 1)
    fallback_template: TemplateChoice | None = Field(
        default=None, description="Sent when a text may not be: the window of 24 h is closed."
    )
    fallback: OtherChannel | None = None
    meta: dict[str, Any] = {}


class MessageAccepted(View):
    """A message that is queued, or was before."""

    id: UUID
    status: Status


class AttemptView(View):
    """One attempt."""

    id: int
    attempt_no: int
    status: str
    mode: str
    counted: bool
    unknown_since: datetime | None
    error_code: str | None
    error_class: str | None
    error_message: str | None
    provider_response: dict[str, Any] | None
    next_retry_at: datetime | None
    created_at: datetime
    ended_at: datetime | None


class MessageView(View):
    """A message."""

    id: UUID
    org_id: str = Field(description="The organisation: the tenant whose message it is.")
    dossier_id: str | None
    subject_id: str
    channel: Channel
    direction: str
    purpose: Purpose
    to: str
    template_code: str | None
    language: str
    subject: str | None
    status: Status
    urgent: bool
    idempotency_key: str
    provider_message_id: str | None
    attempts_used: int
    next_retry_at: datetime | None
    waits_for: str | None
    error_code: str | None
    error_class: str | None
    error_message: str | None
    cancel_reason: str | None
    dead_reason: str | None
    dead_lettered_at: datetime | None
    entity_type: str | None
    entity_id: str | None
    logical_event_id: str | None
    fallback_of: UUID | None
    inbound_id: int | None = Field(description="The inbound message that it answers.")
    job_id: int | None
    correlation_id: str | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    failed_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Row) -> "MessageView":
        """From its row."""
        return cls(**_picked(cls, row))


class MessageDetails(MessageView):
    """A message with what it says and its attempts."""

    payload: dict[str, Any]
    attempts: list[AttemptView]

    @classmethod
    def with_attempts(cls, row: Row, attempts: list[Row]) -> "MessageDetails":
        """From the rows."""
        views = [AttemptView(**each) for each in attempts]
        return cls(**_picked(MessageView, row), payload=row["payload"], attempts=views)


class MessagePage(View):
    """A page of messages, newest first."""

    items: list[MessageView]
    next_cursor: str | None = Field(description="For the next page; null: there is none.")


class NewConsent(View):
    """A consent, its denial or its end, with what proves it."""

    subject_id: Name
    channel: Channel
    purpose: Purpose = Purpose.TRANSACTIONAL
    status: ConsentStatus = Field(description="EXPIRED comes by itself and cannot be recorded.")
    address: Short = Field(min_length=1, examples=["+33639980001"])
    source: ConsentSource = ConsentSource.API
    proof: dict[str, Any] = Field(
        default={},
        examples=[{"wording": "J'accepte …", "version": "3", "language": "fr", "form": "accueil"}],
    )
    legal_basis: Short | None = None
    expires_at: AwareDatetime | None = None
    occurred_at: AwareDatetime | None = Field(
        default=None, description="When it was said; not in the future."
    )


class ConsentRecorded(View):
    """The consent as it stands now, which need not be what was said of it."""

    id: UUID
    status: ConsentStatus


class ErasedView(View):
    """How much was blanked."""

    consents: int
    messages: int


class ConsentEventView(View):
    """One entry of the proof."""

    id: int
    event_type: str
    old_status: str | None
    new_status: str
    occurred_at: datetime
    recorded_at: datetime
    source: str
    actor: str
    proof: dict[str, Any]


class ConsentView(View):
    """A consent with its whole proof."""

    id: UUID
    subject_id: str
    channel: Channel
    purpose: Purpose
    status: ConsentStatus
    address: str
    legal_basis: str | None
    granted_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    version: int
    events: list[ConsentEventView]

    @classmethod
    def of(cls, row: Row, events: list[Row]) -> "ConsentView":
        """From the rows."""
        names = [name for name in cls.model_fields if name != "events"]
        views = [ConsentEventView(**each) for each in events]
        return cls(**{name: row[name] for name in names}, events=views)


class AuditEvent(View):
    """One event of the audit."""

    id: int
    at: datetime
    action: str
    actor: str
    message_id: UUID | None
    consent_id: UUID | None
    dossier_id: str | None
    subject_id: str | None
    correlation_id: str | None
    details: dict[str, Any]


class Activity(View):
    """One entry of a dossier's timeline."""

    id: int
    at: datetime
    activity_code: str
    message_id: UUID | None = Field(description="None: it was refused before it was one.")
    channel: Channel
    template_code: str | None
    status: str
    note: str | None


class Figure(View):
    """One figure."""

    name: str
    label: str
    value: float | None


class Figures(View):
    """What went on in the last while."""

    minutes: int
    figures: list[Figure]


class Listed(View):
    """The audit or the timeline, newest first."""

    items: list[Any]


def _picked(cls: type[MessageView], row: Row) -> Row:
    """The fields of a view from a row; `to` is a reserved word there."""
    return {name: row[COLUMN.get(name, name)] for name in cls.model_fields}

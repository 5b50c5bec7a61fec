"""Serves outbound messages (rule 6.1): ask for one, list them, show one, retry one."""

import base64
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Header, Query, Request, Response
from pydantic import Field, StrictBool

from ostinato import audit
from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.memory import Memory
from ostinato.apps.outbound.accept.service import Blocked
from ostinato.apps.outbound.errors import ConsentRequired, MessageWrongState, TemplateRefused, WindowClosed
from ostinato.apps.outbound.model import Channel, NewMessage, Purpose, Status
from ostinato.apps.outbound.permissions import OPERATE, READ, SEND
from ostinato.apps.outbound.send import retries
from ostinato.apps.outbound.store import Row
from ostinato.apps.outbound.views import NUMBER, Code, Instant, Language, Name, Short, Text, View
from ostinato.errors import IdempotencyConflict, InvalidInput, NotFound, OstinatoError
from ostinato.web import Router, Together, Who

router = Router(prefix="/api/v1/outbound", tags=["outbound"])

COLUMN = {"to": "to_address", "org_id": "tenant_id"}
"""Where the API has another name than the table."""
RequestKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Unique for the organisation, for good: the same key is the same message.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200)]


class TemplateChoice(View):
    """A template and its variables."""

    code: Code = Field(examples=["EVT_COOP_CALL_FOR_FUNDS"])
    variables: dict[str, Any] = Field(default={})


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
    variables: dict[str, Any] = Field(default={})
    text: Text | None = Field(default=None, description="Instead of a template.")
    subject: Short | None = Field(default=None, description="Of a mail.")
    language: Language | None = None
    purpose: Purpose | None = Field(default=None, description="Without one, what the template's category says.")
    urgent: StrictBool = Field(default=False, description="Not held up by quiet hours.")
    sender_id: Annotated[int, Field(ge=1, le=2**53 - 1), NUMBER] | None = None
    fallback_template: TemplateChoice | None = Field(
        default=None, description="Sent when a text may not be: the window of 24 h is closed."
    )
    fallback: OtherChannel | None = None
    meta: dict[str, Any] = Field(default={})
    send_at: Instant | None = Field(
        default=None, description="When it is to go, within a year; quiet hours count then. Null: as soon as it may."
    )


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
    send_at: datetime | None
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
        """Make the view from its row."""
        return cls(**_picked(cls, row))


class MessageDetails(MessageView):
    """A message with what it says and its attempts."""

    payload: dict[str, Any]
    attempts: list[AttemptView]

    @classmethod
    def with_attempts(cls, row: Row, attempts: list[Row]) -> "MessageDetails":
        """Make the view from the rows."""
        views = [AttemptView(**each) for each in attempts]
        return cls(**_picked(MessageView, row), payload=row["payload"], attempts=views)


class MessagePage(View):
    """A page of messages, newest first."""

    items: list[MessageView]
    next_cursor: str | None = Field(description="For the next page; null: there is none.")


@router.post(
    "/messages",
    needs=SEND,
    status_code=201,
    response_model=MessageAccepted,
    raises=(ConsentRequired, TemplateRefused, WindowClosed, IdempotencyConflict),
    responses={200: {"model": MessageAccepted, "description": "The key was used before."}},
)
async def create_message(caller: Who, request: Request, body: NewOutbound, key: RequestKey) -> Response:
    """Ask for a message to be sent: persisted and queued in one transaction."""
    new = asked(body, key)
    made = await service.accept_beside(caller, new, memory_of(request), accepting_of(request))
    if isinstance(made, Blocked):  # after the commit: the audit has it
        raise blocked(made)
    if isinstance(made, OstinatoError):
        raise made
    body_of = MessageAccepted(id=made.id, status=made.status).model_dump_json(by_alias=True)
    headers = None if made.is_new else {"Idempotency-Replayed": "true"}
    return Response(body_of, 201 if made.is_new else 200, headers, "application/json")


@router.get("/messages", needs=READ)
async def list_messages(
    caller: Who,
    *,
    dossier_id: Annotated[str | None, Query(alias="dossierId", max_length=200)] = None,
    status: Status | None = None,
    dead: Annotated[bool, Query(description="Only those whose attempts are used up.")] = False,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Limit = 50,
) -> MessagePage:
    """Return messages, newest first; of a dossier, if one is named."""
    before_at, before_id = _read_cursor(cursor)
    async with caller.transaction() as conn:
        rows = await store.rows(
            conn,
            "messages",
            tenant_id=caller.tenant_id,
            dossier_id=dossier_id,
            status=status,
            dead=dead,
            before_at=before_at,
            before_id=before_id,
            most=limit + 1,
        )
    page = rows[:limit]
    last = _cursor(page[-1]) if len(rows) > limit else None
    return MessagePage(items=[MessageView.of(row) for row in page], next_cursor=last)


@router.get("/messages/{message_id}", needs=READ, raises=(NotFound,))
async def show_message(caller: Who, message_id: UUID) -> MessageDetails:
    """Return a message, with its attempts."""
    async with caller.transaction() as conn:
        row = await store.find_row(conn, caller.tenant_id, message_id)
        attempts = await store.rows(conn, "attempts", tenant_id=caller.tenant_id, message_id=message_id)
    return MessageDetails.with_attempts(row, attempts)


@router.post("/messages/{message_id}/retry", needs=OPERATE, status_code=202, raises=(NotFound, MessageWrongState))
async def retry_message(caller: Who, message_id: UUID) -> MessageAccepted:
    """Send a message again that FAILED: its attempts begin anew, its history stays."""
    async with caller.transaction() as conn:
        message = await retries.retry(conn, caller.tenant_id, message_id, caller.subject)
        await audit.note(conn, "retry", "message", str(message_id))
    return MessageAccepted(id=message.id, status=message.status)


@router.post("/messages/{message_id}/cancel", needs=SEND, status_code=200, raises=(NotFound, MessageWrongState))
async def cancel_message(caller: Who, message_id: UUID) -> MessageAccepted:
    """Cancel a message that waits. One that is being sent, or was, cannot be taken back."""
    async with caller.transaction() as conn:
        message = await retries.cancel(conn, caller.tenant_id, message_id, caller.subject)
        await audit.note(conn, "cancel", "message", str(message_id))
    return MessageAccepted(id=message.id, status=message.status)


def asked(body: NewOutbound, key: str) -> NewMessage:
    """Make a message of a request."""
    other, channel = body.fallback_template, body.fallback
    return NewMessage(
        **body.model_dump(exclude={"fallback_template", "fallback", "idempotency_key"}),
        idempotency_key=key,
        fallback_template=None if other is None else other.model_dump(mode="json"),
        fallback=None if channel is None else channel.model_dump(mode="json"),
    )


def blocked(made: Blocked) -> ConsentRequired:
    """Say that policy refuses a message."""
    return ConsentRequired(
        f"no granted consent for {made.channel} and {made.purpose}: {made.reason}",
        reason=made.reason,
        channel=made.channel.value,
        purpose=made.purpose.value,
    )


def memory_of(request: Request) -> Memory:
    """Return what this process remembers of organisations and templates."""
    state = request.app.state
    if not hasattr(state, "outbound_memory"):
        state.outbound_memory = Memory()
    found: Memory = state.outbound_memory
    return found


def accepting_of(request: Request) -> "service.Accepting":
    """Return what makes sets of the messages that are asked for at the same moment in this process."""
    state = request.app.state
    if not hasattr(state, "outbound_accepting"):
        state.outbound_accepting = Together()
    found: service.Accepting = state.outbound_accepting
    return found


def _cursor(row: Row) -> str:
    text = f"{row['created_at'].isoformat()} {row['id']}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    if cursor is None:
        return None, None
    try:
        at, _, last = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        return datetime.fromisoformat(at).astimezone(UTC), UUID(last)
    except (ValueError, OverflowError):
        raise InvalidInput("the cursor is not one of ours", hint="Use nextCursor as it is.") from None


def _picked(cls: type[MessageView], row: Row) -> Row:
    """Return the fields of a view from a row; `to` is a reserved word there."""
    return {name: row[COLUMN.get(name, name)] for name in cls.model_fields}

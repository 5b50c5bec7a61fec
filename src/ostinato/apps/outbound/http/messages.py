"""Routes of outbound messages (seed 6.1), and the router of the whole application."""

import base64
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import Header, Query, Response

from ostinato.apps.outbound import metrics, store
from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.service import Blocked
from ostinato.apps.outbound.coop import http as http_coop
from ostinato.apps.outbound.errors import (
    ConsentRequired,
    MessageWrongState,
    TemplateRefused,
    WindowClosed,
)
from ostinato.apps.outbound.http import consents as http_consent
from ostinato.apps.outbound.http import hooks as http_hooks
from ostinato.apps.outbound.http import setup as http_setup
from ostinato.apps.outbound.http.views import (
    Activity,
    AuditEvent,
    Figure,
    Figures,
    MessageAccepted,
    MessageDetails,
    MessagePage,
    MessageView,
    NewOutbound,
)
from ostinato.apps.outbound.model import NewMessage, Status
from ostinato.apps.outbound.permissions import OPERATE, READ, SEND
from ostinato.apps.outbound.send import retries
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.errors import IdempotencyConflict, InvalidInput, NotFound
from ostinato.web import Router, Who

__all__ = ["router"]

router = Router(prefix="/api/v1/outbound", tags=["outbound"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

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
Text = Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00]+$")]
Before = Annotated[int | None, Query(ge=1, le=2**53 - 1)]


@router.post(
    "/messages",
    needs=SEND,
    status_code=201,
    response_model=MessageAccepted,
    raises=(ConsentRequired, TemplateRefused, WindowClosed, IdempotencyConflict),
    responses={200: {"model": MessageAccepted, "description": "The key was used before."}},
)
async def create_message(
    caller: Who, body: NewOutbound, key: RequestKey, response: Response
) -> MessageAccepted:
    """Ask for a message to be sent: persisted and queued in one transaction."""
    given = body.model_dump(exclude={"fallback_template", "fallback"})
    other, channel = body.fallback_template, body.fallback
    new = NewMessage(
        **given,
        idempotency_key=key,
        fallback_template=None if other is None else other.model_dump(mode="json"),
        fallback=None if channel is None else channel.model_dump(mode="json"),
    )
    async with caller.transaction() as conn:
        made = await service.accept(
            conn, caller.tenant_id, caller.subject, new, OutboundSettings.load()
        )
    if isinstance(made, Blocked):  # after the commit: the audit has it
        raise ConsentRequired(
            f"no granted consent for {made.channel} and {made.purpose}: {made.reason}",
            reason=made.reason,
            channel=made.channel.value,
            purpose=made.purpose.value,
        )
    if not made.is_new:
        response.status_code = 200
        response.headers["Idempotency-Replayed"] = "true"
    return MessageAccepted(id=made.message.id, status=made.message.status)


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
    """Messages, newest first; of a dossier, if one is named."""
    before_at, before_id = _read_cursor(cursor)
    async with caller.transaction() as conn:
        rows = await store.fetch(
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
    """A message, with its attempts."""
    async with caller.transaction() as conn:
        row = await service.find(conn, caller.tenant_id, message_id)
        attempts = await store.fetch(
            conn, "attempts", tenant_id=caller.tenant_id, message_id=message_id
        )
    return MessageDetails.with_attempts(row, attempts)


@router.post(
    "/messages/{message_id}/retry",
    needs=OPERATE,
    status_code=202,
    raises=(NotFound, MessageWrongState),
)
async def retry_message(caller: Who, message_id: UUID) -> MessageAccepted:
    """Send a message again that FAILED: its attempts begin anew, its history stays."""
    async with caller.transaction() as conn:
        message = await retries.retry(conn, caller.tenant_id, message_id, caller.subject)
    return MessageAccepted(id=message.id, status=message.status)


@router.get("/timeline", needs=READ)
async def show_timeline(
    caller: Who,
    dossier_id: Annotated[str, Query(alias="dossierId", min_length=1, max_length=200)],
    before: Before = None,
    limit: Limit = 100,
) -> list[Activity]:
    """The MESSAGE_LOG activities of a dossier, newest first."""
    async with caller.transaction() as conn:
        rows = await store.fetch(
            conn,
            "timeline",
            tenant_id=caller.tenant_id,
            dossier_id=dossier_id,
            before=before,
            most=limit,
        )
    return [Activity(**row) for row in rows]


@router.get("/audit", needs=READ)
async def show_audit(
    caller: Who,
    *,
    message_id: Annotated[UUID | None, Query(alias="messageId")] = None,
    dossier_id: Annotated[str | None, Query(alias="dossierId", max_length=200)] = None,
    action: Text = None,
    before: Before = None,
    limit: Limit = 100,
) -> list[AuditEvent]:
    """The audit, newest first."""
    async with caller.transaction() as conn:
        rows = await store.fetch(
            conn,
            "audit",
            tenant_id=caller.tenant_id,
            message_id=message_id,
            dossier_id=dossier_id,
            action=action,
            before=before,
            most=limit,
        )
    return [AuditEvent(**row) for row in rows]


@router.get("/metrics", needs=READ)
async def show_figures(
    caller: Who, minutes: Annotated[int, Query(ge=1, le=10_080)] = 60
) -> Figures:
    """Queue size, latencies, failure rate with its codes, retries and dead letters."""
    async with caller.transaction() as conn:
        rows = await store.fetch(conn, "figures", tenant_id=caller.tenant_id, minutes=minutes)
    return Figures(minutes=minutes, figures=[Figure(**row) for row in rows])


@router.get(
    "/metrics/prometheus",
    needs=READ,
    response_class=Response,
    responses={200: {"content": {PROMETHEUS: {"schema": {"type": "string"}}}}},
)
async def show_page(caller: Who) -> Response:
    """The same for Prometheus, of the last hour."""
    async with caller.transaction() as conn:
        rows = await store.fetch(conn, "figures", tenant_id=caller.tenant_id, minutes=60)
    return Response(metrics.render(rows), media_type=PROMETHEUS)


def _cursor(row: store.Row) -> str:
    text = f"{row['created_at'].isoformat()} {row['id']}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    if cursor is None:
        return None, None
    try:
        at, _, last = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        return datetime.fromisoformat(at).astimezone(UTC), UUID(last)
    except (ValueError, OverflowError):
        raise InvalidInput(
            "the cursor is not one of ours", hint="Use nextCursor as it is."
        ) from None


for _part in (http_consent, http_setup, http_coop, http_hooks):
    router.routes.extend(_part.router.routes)

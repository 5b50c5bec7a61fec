"""Turns rows into values and back by the statements of `sql/queries.sql`; nothing decides here."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, time
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection

from ostinato.apps.outbound.model import (
    Category,
    Channel,
    Consent,
    ConsentStatus,
    Message,
    Organisation,
    Purpose,
    Sender,
    Status,
    Template,
)
from ostinato.database import Queries
from ostinato.errors import NotFound

__all__ = [
    "Connection",
    "Row",
    "consent_from",
    "find_message",
    "find_row",
    "first",
    "message_from",
    "moment",
    "note_audit",
    "note_message",
    "one",
    "organisation",
    "organisation_from",
    "put_template",
    "rows",
    "run",
    "sender_from",
    "template_from",
]

Connection = AsyncConnection[Any]
Row = dict[str, Any]

_MESSAGE: Final = tuple(field.name for field in fields(Message))


_QUERIES: Final = Queries(
    "ostinato.apps.outbound",
    json={"payload", "proof", "details", "provider_response", "variables", "components"},
)
run, rows, one, first = _QUERIES.run, _QUERIES.rows, _QUERIES.one, _QUERIES.first


async def find_message(conn: Connection, tenant_id: str, message_id: UUID) -> Message:
    """Return a message; raises `NotFound`, for one of another tenant too."""
    return message_from(await find_row(conn, tenant_id, message_id))


async def find_row(conn: Connection, tenant_id: str, message_id: UUID) -> Row:
    """Return the row of a message, with all that a view of it shows."""
    row = await first(conn, "message", tenant_id=tenant_id, id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", message_id=str(message_id))
    return row


async def note_message(
    conn: Connection,
    message: Message,
    action: str,
    actor: str,
    *,
    status: str | None = None,
    note: str | None = None,
    details: Mapping[str, object] | None = None,
) -> None:
    """Audit a step of a message, and with a status put it on the dossier's timeline."""
    await run(
        conn,
        "note_message",
        tenant_id=message.tenant_id,
        message_id=message.id,
        action=action,
        actor=actor,
        status=status,
        note=note,
        details=dict(details or {}),
    )


async def note_audit(
    conn: Connection,
    tenant_id: str,
    action: str,
    actor: str,
    *,
    consent_id: UUID | None = None,
    dossier_id: str | None = None,
    subject_id: str | None = None,
    details: Mapping[str, object] | None = None,
    status: str | None = None,
    channel: str | None = None,
    template_code: str | None = None,
    note: str | None = None,
) -> None:
    """Audit something that is no step of a stored message; with a status, on the timeline too."""
    await run(
        conn,
        "note_audit",
        tenant_id=tenant_id,
        action=action,
        actor=actor,
        consent_id=consent_id,
        dossier_id=dossier_id,
        subject_id=subject_id,
        details=dict(details or {}),
        status=status,
        channel=channel,
        template_code=template_code,
        note=note,
    )


async def put_template(conn: Connection, tenant_id: str, **template: object) -> None:
    """Write a template, as `put_template` names its columns."""
    await run(conn, "put_template", tenant_id=tenant_id, **template)


async def organisation(conn: Connection, tenant_id: str) -> Organisation:
    """Return what a tenant has chosen, or the defaults."""
    row = await first(conn, "organisation", tenant_id=tenant_id)
    return Organisation() if row is None else Organisation(**row)


def organisation_from(row: Row | None) -> Organisation:
    """From JSON, as a join brings it."""
    if row is None:
        return Organisation()
    return Organisation(
        zone=row["zone"],
        region=row["region"],
        language=row["language"],
        notice_time=time.fromisoformat(row["notice_time"]),
        holidays=row["holidays"],
        stop_covers_all=row["stop_covers_all"],
        stop_reply=row["stop_reply"],
        help_reply=row["help_reply"],
        start_reply=row["start_reply"],
    )


def sender_from(row: Row) -> Sender:
    """A sender."""
    return Sender(
        id=row["id"],
        channel=Channel(row["channel"]),
        provider=row["provider"],
        provider_key=row["provider_key"],
        display=row["display"],
        held_until=moment(row["held_until"]),
        hold_reason=row["hold_reason"],
    )


def template_from(row: Row) -> Template:
    """A template."""
    return Template(
        code=row["template_code"],
        language=row["language"],
        category=Category(row["category"]),
        provider_name=row["provider_name"],
        body=row["body"],
        subject=row["subject"],
        variables=tuple(row["variables_schema"]),
        is_active=row["is_active"],
        held_until=moment(row["held_until"]),
        components=tuple(row["components"]),
        parameter_format=row["parameter_format"],
        provider_status=row["provider_status"],
    )


def consent_from(row: Row) -> Consent:
    """A consent."""
    return Consent(
        id=row["id"],
        subject_id=row["subject_id"],
        channel=Channel(row["channel"]),
        purpose=Purpose(row["purpose"]),
        status=ConsentStatus(row["status"]),
        address=row["address"],
        expires_at=row["expires_at"],
    )


def message_from(row: Row) -> Message:
    """A message."""
    values = {name: row[name] for name in _MESSAGE}
    return Message(
        **{
            **values,
            "channel": Channel(row["channel"]),
            "purpose": Purpose(row["purpose"]),
            "status": Status(row["status"]),
        }
    )


def moment(value: str | datetime | None) -> datetime | None:
    """A time as a join brings it: JSON has only text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value

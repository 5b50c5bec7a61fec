"""Turns rows into values and back by the statements of `sql/queries.sql`; nothing decides here."""

from collections.abc import Callable, Mapping
from datetime import datetime, time
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from psycopg import AsyncConnection

from ostinato.apps.outbound.model import Message, Organisation, Template
from ostinato.database import Queries
from ostinato.errors import NotFound

Connection = AsyncConnection[Any]
Row = dict[str, Any]

T = TypeVar("T")

_QUERIES: Final = Queries(
    "ostinato.apps.outbound",
    json={"payload", "proof", "details", "provider_response", "variables", "components", "replies", "told"},
)
run, rows, one, first = _QUERIES.run, _QUERIES.rows, _QUERIES.one, _QUERIES.first


async def find_message(conn: Connection, tenant_id: str, message_id: UUID) -> Message:
    """Return a message; raises `NotFound`, for one of another tenant too."""
    return made(Message, await find_row(conn, tenant_id, message_id))


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
    await run(conn, "put_template", tenant_id=tenant_id, **{"html": None, **template})


async def organisation(conn: Connection, tenant_id: str) -> Organisation:
    """Return what a tenant has chosen, or the defaults."""
    return organisation_from(await first(conn, "organisation", tenant_id=tenant_id))


def organisation_from(row: Row | None) -> Organisation:
    """Make the choices of a tenant from a row, or from JSON as a join brings it."""
    return Organisation() if row is None else made(Organisation, row)


def template_from(row: Row) -> Template:
    """Make a template from its row."""
    named = {"code": row["template_code"], "variables": row["variables_schema"]}
    return made(Template, {**row, **named})


def moment(value: str | datetime | None) -> datetime | None:
    """Read a time as a join brings it: JSON has only text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def made(kind: type[T], row: Row) -> T:
    """Make a value of a kind from a row that has a column, in JSON or not, for each field."""
    readers = _readers(kind)  # type: ignore[arg-type]  # classes are hashable
    return kind(**{name: read(row[name]) if read else row[name] for name, read in readers})


@cache
def _readers(kind: type[Any]) -> list[tuple[str, Callable[[Any], Any] | None]]:
    """Return the fields of a kind, each with the function that reads its column; None keeps the value."""
    found: list[tuple[str, Callable[[Any], Any] | None]] = []
    for name, hint in get_type_hints(kind).items():
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            found.append((name, hint))
        elif get_origin(hint) is tuple:
            found.append((name, tuple))
        elif hint is time:
            found.append((name, lambda at: time.fromisoformat(at) if isinstance(at, str) else at))
        else:
            found.append((name, moment if datetime in get_args(hint) else None))
    return found

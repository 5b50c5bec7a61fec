"""The outbox stores events in the caller's transaction, puts them in order, and shows them.

    await outbox.emit(conn, NewEvent("invoice.paid", '{"id": 7}', ordering_key="invoice-7", …))

Tenant and correlation id default to those of the flow (`base.flow`). Who gets the events is in
`engine.subscriptions`. The logic is in `sql/functions/outbox.sql`; any client in any language gets
the same by calling `ostinato.emit_event` in its own transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import class_row

from ostinato._core.base import flow
from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.db.arrays import column
from ostinato._core.db.call import Connection, call, call_as, call_now, call_one
from ostinato._core.db.foreign import texts_for
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine.jobs import added_queues
from ostinato._core.engine.subscriptions import discard, redeliver, replay

__all__ = [
    "EventDetails",
    "EventSummary",
    "NewEvent",
    "Sequenced",
    "discard",
    "emit",
    "emit_many",
    "emit_now",
    "list_events",
    "redeliver",
    "register_types",
    "replay",
    "sequence",
    "show_event",
]


RELAY = "@relay"
"""Rung after a commit that emitted events."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be emitted. None means: as the flow says; the time is the database's."""

    type: str
    payload: str
    """A JSON object, as text."""
    producer: str
    ordering_key: str | None = None
    """Events of one tenant with the same key are delivered in the order of their commits."""
    version: int = 1
    tenant_id: str | None = None
    correlation_id: str | None = None
    occurred_at: datetime | None = None
    subject: str | None = None
    """Whom it is about, as your application names the person; stored as a keyed hash (`erasure`)."""


class Sequenced(NamedTuple):
    """What a round of the sequencer did."""

    stamped: int | None
    """Events that got their positions; None: another sequencer has the lock."""
    queues: list[str]
    """Queues that have jobs to run now, because an event ended their wait."""


@dataclass(frozen=True, slots=True)
class EventSummary:
    """One event in a list."""

    id: int
    position: int | None
    """None: not sequenced yet."""
    type: str
    version: int
    tenant_id: str
    correlation_id: str
    occurred_at: datetime
    emitted_at: datetime
    producer: str
    ordering_key: str | None


@dataclass(frozen=True, slots=True)
class EventDetails(EventSummary):
    """Everything about one event."""

    payload: Any


async def emit(conn: Connection, event: NewEvent) -> int:
    """Emit one event in the transaction of the connection, and return its id."""
    (emitted,) = await emit_many(conn, [event])
    return emitted


async def emit_many(conn: Connection, events: Sequence[NewEvent]) -> list[int]:
    """Emit many events in one statement, and return their ids in order."""
    if not events:
        return []
    rows = await call(conn, "emit_events", **_columns(events, conn))
    _note_emitted()
    return [row[0] for row in rows]


def emit_now(conn: psycopg.Connection[Any], event: NewEvent) -> int:
    """Emit an event on a synchronous connection, for plain functions."""
    with translated():
        rows = call_now(conn, "emit_events", **_columns([event], conn))
    _note_emitted()
    return int(rows[0][0])


async def register_types(conn: Connection, types: Sequence[tuple[str, int, str | None]]) -> None:
    """Declare types of events: name, version, and JSON schema of the payload."""
    if types:
        names, versions, schemas = (list(column) for column in zip(*types, strict=True))
        await call(conn, "register_event_types", names=names, versions=versions, schemas=schemas)


async def sequence(conn: Connection, most: int = 5000) -> Sequenced:
    """Give what is committed its positions."""
    return Sequenced(*await call_one(conn, "sequence_events", most=most))


async def list_events(
    conn: Connection,
    *,
    type: str | None = None,  # noqa: A002 - what it is called everywhere else
    ordering_key: str | None = None,
    tenant_id: str | None = None,
    correlation_id: str | None = None,
    before: int | None = None,
    most: int = 50,
) -> list[EventSummary]:
    """Events, newest first."""
    return await call_as(
        conn,
        class_row(EventSummary),
        "list_events",
        _read=True,
        type=type,
        ordering_key=ordering_key,
        tenant_id=tenant_id,
        correlation_id=correlation_id,
        before=before,
        most=most,
    )


async def show_event(conn: Connection, event_id: int) -> EventDetails:
    """Return everything about one event."""
    rows = await call_as(conn, class_row(EventDetails), "show_event", _read=True, event_id=event_id)
    if not rows:
        raise NotFound(
            f"there is no event {event_id}",
            hint="Check the id; events leave after the retention time.",
            event_id=event_id,
        )
    return rows[0]


def _columns(events: Sequence[NewEvent], conn: object) -> dict[str, Any]:
    mine = flow.current()
    for event in events:
        if event.occurred_at is not None and event.occurred_at.tzinfo is None:
            raise InvalidInput(
                f"occurred_at of event {event.type} has no time zone: {event.occurred_at}",
                hint="Use a datetime with a zone, such as datetime.now(UTC).",
                type=event.type,
            )
    subjects = column([event.subject or mine.subject for event in events])
    return {
        "types": column([event.type for event in events]),
        "payloads": texts_for(conn, [event.payload for event in events]),
        "ordering_keys": column([event.ordering_key for event in events]),
        "versions": column([event.version for event in events]),
        "tenant_ids": column([event.tenant_id or mine.tenant for event in events]),
        "correlation_ids": column([event.correlation_id or mine.correlation for event in events]),
        "occurred_ats": column([event.occurred_at for event in events]),
        "producers": column([event.producer for event in events]),
        "as_of_now": True,
        **({} if subjects is None else {"subjects": subjects}),
    }


def _note_emitted() -> None:
    queues = added_queues.get()
    if queues is not None:
        queues.add(RELAY)

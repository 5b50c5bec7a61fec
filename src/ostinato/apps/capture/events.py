"""Declares the events of captures and emits them: one for each state, in order for each capture."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ostinato import tenants
from ostinato.apps.capture import APP
from ostinato.apps.capture.model import Reason, State
from ostinato.apps.capture.queries import Connection
from ostinato.outbox import EventKind


@dataclass(frozen=True)
class Named:
    """A capture is named by its two ids."""

    capture_event_id: str
    capture_id: str


@dataclass(frozen=True)
class Reached(Named):
    """A capture reached a state."""

    state: State


@dataclass(frozen=True)
class Refused(Reached):
    """A capture was rejected, or has failed."""

    reason: Reason


@dataclass(frozen=True)
class Changed(Named):
    """The object of a sealed capture is no longer what was sealed."""

    reason: Reason


_KINDS: dict[State, EventKind[Any]] = {
    State.RECEIVED: APP.event("capture.received", payload=Reached),
    State.SEALED: APP.event("capture.sealed", payload=Reached),
    State.REJECTED: APP.event("capture.rejected", payload=Refused),
    State.FAILED: APP.event("capture.failed", payload=Refused),
    State.ANCHORED: APP.event("capture.anchored", payload=Reached),
}
UPLOADED = APP.event("capture.uploaded", payload=Named)
"""What the check of a capture waits for: its object was announced."""
CHANGED = APP.event("capture.changed", payload=Changed)


async def emit_uploaded(conn: Connection, captures: Iterable[tuple[str, str]], *, tenant_id: str) -> None:
    """Emit that the objects of some captures were announced, each by its two ids."""
    named = [(Named(id_, capture_id), id_) for id_, capture_id in captures]
    if named:
        await UPLOADED.emit_many(conn, named, tenant=tenant_id)


async def emit_changed(
    conn: Connection, capture_event_id: str, capture_id: str, *, tenant_id: str, reason: Reason
) -> None:
    """Emit that the object of a sealed capture is no longer what was sealed."""
    payload = Changed(capture_event_id, capture_id, reason)
    part_of = f"capture-{capture_event_id}"
    await CHANGED.emit(conn, payload, key=capture_event_id, tenant=tenant_id, correlation_id=part_of)


async def emit(
    conn: Connection,
    state: State,
    capture_event_id: str,
    capture_id: str,
    *,
    tenant_id: str | None = None,
    reason: Reason | None = None,
) -> None:
    """Emit that a capture reached a state, in the transaction in which it did."""
    payload = Reached(capture_event_id, capture_id, state)
    if reason is not None:
        payload = Refused(capture_event_id, capture_id, state, reason)
    # Outside of a request or a job nothing says what it is part of: then it is a beginning.
    part_of = tenants.current_correlation() or f"capture-{capture_event_id}"
    await _KINDS[state].emit(conn, payload, key=capture_event_id, tenant=tenant_id, correlation_id=part_of)


async def emit_many(conn: Connection, state: State, captures: Iterable[tuple[str, str]], *, tenant_id: str) -> None:
    """Emit the same for many captures, each by its two ids, in one statement."""
    named = list(captures)
    part_of = tenants.current_correlation() or f"capture-{named[0][0]}"
    await _KINDS[state].emit_many(
        conn, [(Reached(*each, state), each[0]) for each in named], tenant=tenant_id, correlation_id=part_of
    )

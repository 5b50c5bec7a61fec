"""Emits the events of captures: one for each state, in order for each capture."""

from collections.abc import Iterable

from ostinato import tenants
from ostinato.apps.capture import APP
from ostinato.apps.capture.model import State
from ostinato.apps.capture.queries import Connection

_KINDS = {
    State.RECEIVED: APP.event("capture.received"),
    State.SEALED: APP.event("capture.sealed"),
    State.REJECTED: APP.event("capture.rejected"),
    State.FAILED: APP.event("capture.failed"),
    State.ANCHORED: APP.event("capture.anchored"),
}
UPLOADED = APP.event("capture.uploaded")
"""What the check of a capture waits for: its object was announced."""
CHANGED = APP.event("capture.changed")


async def emit_uploaded(conn: Connection, captures: Iterable[tuple[str, str]], *, tenant_id: str) -> None:
    """Emit that the objects of some captures were announced, each by its two ids."""
    named = [({"capture_event_id": id_, "capture_id": capture_id}, id_) for id_, capture_id in captures]
    if named:
        await UPLOADED.emit_many(conn, named, tenant=tenant_id)


async def emit_changed(
    conn: Connection, capture_event_id: str, capture_id: str, *, tenant_id: str, reason: str
) -> None:
    """Emit that the object of a sealed capture is no longer what was sealed."""
    payload = {"capture_event_id": capture_event_id, "capture_id": capture_id, "reason": reason}
    part_of = f"capture-{capture_event_id}"
    await CHANGED.emit(conn, payload, key=capture_event_id, tenant=tenant_id, correlation_id=part_of)


async def emit(
    conn: Connection,
    state: State,
    capture_event_id: str,
    capture_id: str,
    *,
    tenant_id: str | None = None,
    reason: str | None = None,
) -> None:
    """Emit that a capture reached a state, in the transaction in which it did."""
    payload = _payload(state, capture_event_id, capture_id)
    if reason is not None:
        payload["reason"] = reason
    # Outside of a request or a job nothing says what it is part of: then it is a beginning.
    part_of = tenants.current_correlation() or f"capture-{capture_event_id}"
    await _KINDS[state].emit(conn, payload, key=capture_event_id, tenant=tenant_id, correlation_id=part_of)


async def emit_many(conn: Connection, state: State, captures: Iterable[tuple[str, str]], *, tenant_id: str) -> None:
    """Emit the same for many captures, each by its two ids, in one statement."""
    named = list(captures)
    part_of = tenants.current_correlation() or f"capture-{named[0][0]}"
    await _KINDS[state].emit_many(
        conn, [(_payload(state, *each), each[0]) for each in named], tenant=tenant_id, correlation_id=part_of
    )


def _payload(state: State, capture_event_id: str, capture_id: str) -> dict[str, object]:
    return {"capture_event_id": capture_event_id, "capture_id": capture_id, "state": state.value}

"""Declares the events that outbound emits, and emits them."""

from dataclasses import dataclass
from typing import Final

from ostinato import jobs
from ostinato.apps.outbound import APP, store
from ostinato.apps.outbound.model import Message, Status
from ostinato.apps.outbound.store import Connection

RELAY = "@relay"
"""What is rung for events that an SQL function has emitted."""


@dataclass(frozen=True)
class MessageStatus:
    """A message reached a status."""

    message_id: str
    status: str
    channel: str
    dossier_id: str | None = None
    template_code: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class MessageReceived:
    """Somebody wrote to a sender."""

    inbound_id: int
    channel: str
    sender_id: int
    kind: str
    asked: str | None = None


MESSAGE_RECEIVED: Final = APP.event("outbound.message_received", payload=MessageReceived)
MESSAGE_STATUS: Final = APP.event("outbound.message_status", payload=MessageStatus)


async def emit_status(conn: Connection, message: Message, status: Status, reason: str | None = None) -> None:
    """Emit that a message reached a status: ids and codes, no recipient and no text.

    By `outbound.emit_status`, which emits those of sets too. The events of a message are delivered in order.
    """
    await store.run(conn, "emit_status", **message.key, status=status, reason=reason)
    jobs.wake_after_commit(RELAY)


async def emit_received(conn: Connection, tenant_id: str, received: MessageReceived) -> None:
    """Emit that somebody wrote: ids and what was asked for, neither who nor what. `GET /inbound` shows it."""
    key = f"outbound-inbound:{received.inbound_id}"
    await MESSAGE_RECEIVED.emit(conn, received, key=key, tenant=tenant_id)

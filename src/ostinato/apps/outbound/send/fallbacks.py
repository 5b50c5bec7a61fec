"""Tries the other channel: who has no WhatsApp may have allowed an SMS (error 131026)."""

from typing import Any
from uuid import UUID

from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.service import Blocked
from ostinato.apps.outbound.model import Channel, NewMessage
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection

ACTOR = "outbound.fall_back"


async def fall_back(conn: Connection, tenant_id: str, message_id: UUID, settings: OutboundSettings) -> dict[str, Any]:
    """Queue the same on the channel that the caller named; consent decides there as everywhere."""
    first = await store.find_message(conn, tenant_id, message_id)
    other = first.payload.get("fallback") or {}
    new = NewMessage(
        idempotency_key=f"fallback:{message_id}",
        subject_id=first.subject_id,
        channel=Channel(other["channel"]),
        to=str(other.get("to") or first.to_address),
        template_code=first.template_code,
        variables=first.payload.get("variables") or {},
        text=first.payload.get("text"),
        subject=first.subject,
        language=first.language,
        purpose=first.purpose,
        dossier_id=first.dossier_id,
        urgent=first.urgent,
        meta=first.payload.get("meta") or {},
        entity_type=first.entity_type,
        entity_id=first.entity_id,
        logical_event_id=first.logical_event_id,
        recipient_ref=first.recipient_ref,
        fallback_of=first.id,
        not_after=first.not_after,
    )
    made = await service.accept(conn, tenant_id, ACTOR, new, settings, lenient=True)
    if isinstance(made, Blocked):
        return {"blocked": made.reason}
    return {"message_id": str(made.id)}

"""Rounds tell that one is open; whoever wants to be told gets a message, if he allowed one.

The event is all that is known of rounds here: `rounds.opened` names the recipients. A recipient is
reached by the first channel for which he granted a consent, at the address that he granted.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ostinato.apps.outbound import store
from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.service import Blocked
from ostinato.apps.outbound.coop import rules as coop_rules
from ostinato.apps.outbound.model import Channel, ConsentStatus, NewMessage, Purpose
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row
from ostinato.errors import OstinatoError

__all__ = ["OPENED", "TEMPLATE", "tell_opened"]

OPENED: Final = "rounds.opened"
TEMPLATE: Final = "ROUND_OPENED"
ACTOR: Final = "outbound.round_opened"


async def tell_opened(
    conn: Connection, tenant_id: str, opened: Mapping[str, Any], settings: OutboundSettings
) -> list[str]:
    """One message for each recipient; what became of each."""
    return [
        await _tell(conn, tenant_id, str(recipient), opened, settings)
        for recipient in opened.get("recipients") or ()
    ]


async def _tell(
    conn: Connection,
    tenant_id: str,
    recipient: str,
    opened: Mapping[str, Any],
    settings: OutboundSettings,
) -> str:
    consent = await _granted(conn, tenant_id, recipient)
    if consent is None:
        details = {"reason": "CONSENT_MISSING", "template_code": TEMPLATE}
        await store.note_audit(
            conn, tenant_id, "BLOCKED_BY_POLICY", ACTOR, subject_id=recipient, details=details
        )
        return "CONSENT_MISSING"
    channel = Channel(consent["channel"])
    about = ("ROUND", str(opened["round_id"]), "OPENED")
    new = NewMessage(
        idempotency_key=coop_rules.composed_key(tenant_id, TEMPLATE, *about, channel, recipient),
        subject_id=recipient,
        channel=channel,
        to=consent["address"],
        template_code=TEMPLATE,
        variables={"group": opened["group"], "title": opened["title"]},
        purpose=Purpose.TRANSACTIONAL,
        entity_type=about[0],
        entity_id=about[1],
        logical_event_id=about[2],
        recipient_ref=recipient,
        not_after=datetime.fromisoformat(str(opened["close_at"])),
    )
    try:
        async with conn.transaction():  # one recipient's trouble is not that of the others
            made = await service.accept(conn, tenant_id, ACTOR, new, settings, lenient=True)
    except OstinatoError as error:
        details = {"error_code": type(error).code, "template_code": TEMPLATE}
        await store.note_audit(
            conn, tenant_id, "NOTIFICATION_FAILED", ACTOR, subject_id=recipient, details=details
        )
        return type(error).code
    return made.reason if isinstance(made, Blocked) else str(made.message.id)


async def _granted(conn: Connection, tenant_id: str, subject_id: str) -> Row | None:
    """A consent that lets a notice go: by WhatsApp, else by SMS, else by mail."""
    rows = await store.fetch(conn, "consents", tenant_id=tenant_id, subject_id=subject_id)
    granted = {
        Channel(row["channel"]): row
        for row in rows
        if row["purpose"] == Purpose.TRANSACTIONAL and row["status"] == ConsentStatus.GRANTED
    }
    return next((granted[channel] for channel in Channel if channel in granted), None)

"""Notifies the members who want it, and allowed it, that a round is open.

The event is all that is known of rounds here: `rounds.opened` names the recipients. A recipient is
reached by the first channel with a granted consent, at the address of that consent.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ostinato import Context
from ostinato.apps.outbound import APP, store
from ostinato.apps.outbound.model import ConsentStatus
from ostinato.apps.outbound.surface import (
    Blocked,
    Channel,
    Connection,
    NewMessage,
    OutboundSettings,
    Purpose,
    Row,
    accept,
    composed_key,
    note_audit,
)
from ostinato.errors import OstinatoError
from ostinato.outbox import Event

OPENED: Final = "rounds.opened"
TEMPLATE: Final = "ROUND_OPENED"
ACTOR: Final = "outbound.round_opened"


@APP.on(OPENED, name="outbound.round_opened", queue="outbound_events", start="beginning")
async def round_opened(ctx: Context, event: Event[Any]) -> None:
    """Notify the members who want it that a round is open."""
    settings = ctx.settings(OutboundSettings)
    async with ctx.transaction() as conn:
        await notify(conn, event.tenant_id, event.payload, settings)


async def notify(conn: Connection, tenant_id: str, opened: Mapping[str, Any], settings: OutboundSettings) -> list[str]:
    """Accept one message for each recipient, and say what became of each."""
    return [
        await _notify(conn, tenant_id, str(recipient), opened, settings) for recipient in opened.get("recipients") or ()
    ]


async def _notify(
    conn: Connection, tenant_id: str, recipient: str, opened: Mapping[str, Any], settings: OutboundSettings
) -> str:
    consent = await _granted(conn, tenant_id, recipient)
    if consent is None:
        details = {"reason": "CONSENT_MISSING", "template_code": TEMPLATE}
        await note_audit(conn, tenant_id, "BLOCKED_BY_POLICY", ACTOR, subject_id=recipient, details=details)
        return "CONSENT_MISSING"
    channel = Channel(consent["channel"])
    about = ("ROUND", str(opened["round_id"]), "OPENED")
    new = NewMessage(
        idempotency_key=composed_key(tenant_id, TEMPLATE, *about, channel, recipient),
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
            made = await accept(conn, tenant_id, ACTOR, new, settings, lenient=True)
    except OstinatoError as error:
        details = {"error_code": type(error).code, "reason": error.message, "template_code": TEMPLATE}
        await note_audit(conn, tenant_id, "NOTIFICATION_FAILED", ACTOR, subject_id=recipient, details=details)
        return type(error).code
    return made.reason if isinstance(made, Blocked) else str(made.id)


async def _granted(conn: Connection, tenant_id: str, subject_id: str) -> Row | None:
    """Return a consent that lets a notice go: by WhatsApp, else by SMS, else by mail."""
    rows = await store.rows(conn, "consents", tenant_id=tenant_id, subject_id=subject_id)
    granted = {
        Channel(row["channel"]): row
        for row in rows
        if row["purpose"] == Purpose.TRANSACTIONAL and row["status"] == ConsentStatus.GRANTED
    }
    return next((granted[channel] for channel in Channel if channel in granted), None)

"""What the outbound application tells in the outbox."""

import json
from typing import Final

from ostinato import outbox
from ostinato.apps.outbound.model import Message, Status
from ostinato.apps.outbound.store import Connection
from ostinato.outbox import NewEvent

__all__ = ["MESSAGE_STATUS", "PRODUCER", "tell"]

PRODUCER: Final = "outbound"
MESSAGE_STATUS: Final = "outbound.message_status"
"""A message reached a status; in order for each message."""


async def tell(
    conn: Connection, message: Message, status: Status, reason: str | None = None
) -> None:
    """Tell that a message reached a status: ids and codes only, no recipient and no text."""
    payload = {
        "message_id": str(message.id),
        "status": status.value,
        "channel": message.channel.value,
        "dossier_id": message.dossier_id,
        "template_code": message.template_code,
        "reason": reason,
    }
    await outbox.emit(
        conn,
        NewEvent(
            MESSAGE_STATUS,
            json.dumps(payload),
            PRODUCER,
            ordering_key=f"outbound:{message.id}",
            tenant_id=message.tenant_id,
            correlation_id=message.correlation_id or f"outbound-{message.id}",
        ),
    )

"""The surface of outbound: all that an application built on it may import.

    made = await accept(conn, tenant_id, "my.app", NewMessage(key, …), settings, lenient=True)
    await withdraw(conn, tenant_id, ("INVOICE", "7"), reason="PAID", actor="my.app")

Coop Habitat (`coop`) is such an application, and imports only this, `APP` and the permissions.
"""

from ostinato.apps.outbound.accept.address import normalised
from ostinato.apps.outbound.accept.service import Accepted, Blocked, accept, withdraw
from ostinato.apps.outbound.model import Channel, Message, NewMessage, Organisation, Purpose, Status
from ostinato.apps.outbound.rules import composed_key
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row, note_audit, organisation, put_template
from ostinato.apps.outbound.views import Language, Name, Short, View, Whole

__all__ = [
    "Accepted",
    "Blocked",
    "Channel",
    "Connection",
    "Language",
    "Message",
    "Name",
    "NewMessage",
    "Organisation",
    "OutboundSettings",
    "Purpose",
    "Row",
    "Short",
    "Status",
    "View",
    "Whole",
    "accept",
    "composed_key",
    "normalised",
    "note_audit",
    "organisation",
    "put_template",
    "withdraw",
]

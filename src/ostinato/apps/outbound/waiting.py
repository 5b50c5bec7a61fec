"""Adds to the inbox what only a person can decide: held senders, and messages in doubt."""

from collections.abc import Sequence
from uuid import UUID

from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.pages import UUID_TEXT
from ostinato.apps.outbound.permissions import OPERATE, READ
from ostinato.apps.outbound.send import retries
from ostinato.apps.outbound.store import Connection
from ostinato.errors import NotFound
from ostinato.observe import N_, Action, Item, Link, Look, Panel, Verb


async def held(conn: Connection, look: Look) -> Sequence[Item]:
    """Find senders that their provider refused."""
    return [
        Item(
            str(row["id"]),
            look.words("%(sender)s is held by its provider's refusal", sender=row["provider_key"]),
            look.words("Fix it at the provider, then release it. Messages that wait: %(n)s.", n=row["waiting"]),
            row["since"],
            (Action("Release it", "release", {"sender": row["id"]}, row["tenant_id"], "primary"),),
            row["tenant_id"],
            facts={
                N_("channel"): row["channel"],
                N_("reason"): row["hold_reason"],
                N_("code"): row["hold_code"],
                N_("held until"): row["held_until"],
            },
            links=(Link(look.words("Senders"), "senders"),),
        )
        for row in await store.rows(conn, "held_senders")
    ]


async def count_held(conn: Connection) -> int:
    """Count them."""
    return int((await store.one(conn, "count_held_senders"))["count"])


async def in_doubt(conn: Connection, look: Look) -> Sequence[Item]:
    """Find messages of which nobody knows whether they were sent."""
    return [
        Item(
            str(row["id"]),
            look.words("Was this sent to %(to)s?", to=row["to_address"] or look.words("somebody who was erased")),
            look.words("The provider took it and never answered. Sent again, it may arrive twice."),
            row["failed_at"],
            (
                Action("It was sent", "confirm-sent", {"id": str(row["id"])}, row["tenant_id"], "primary"),
                Action("Send it again", "retry", {"id": str(row["id"])}, row["tenant_id"]),
            ),
            row["tenant_id"],
            facts={
                N_("channel"): row["channel"],
                N_("subject"): row["subject"],
                N_("template"): row["template_code"],
                N_("dossier"): row["dossier_id"],
                N_("created"): row["created_at"],
            },
            links=(Link(look.words("Message"), "message", {"id": str(row["id"]), "tenant": row["tenant_id"]}),),
        )
        for row in await store.rows(conn, "messages_in_doubt", code=rules.UNKNOWN)
    ]


async def count_in_doubt(conn: Connection) -> int:
    """Count them."""
    return int((await store.one(conn, "count_in_doubt", code=rules.UNKNOWN))["count"])


async def confirm_sent(conn: Connection, look: Look) -> str:
    """Take the person's word that it was sent."""
    if look.tenant_id is None:
        raise NotFound("no tenant is named")
    await retries.confirm_sent(conn, look.tenant_id, UUID(look.one_of("id", UUID_TEXT)), look.subject)
    return look.words("Noted as sent; nothing is sent again.")


HELD = Panel("Held senders", needs=READ, items=held, count=count_held)
IN_DOUBT = Panel(
    "Messages in doubt",
    needs=READ,
    items=in_doubt,
    count=count_in_doubt,
    verbs={"confirm-sent": Verb(confirm_sent, OPERATE)},
)

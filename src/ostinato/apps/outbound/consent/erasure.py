"""Erases a person: addresses and texts go, what proves what was allowed and refused stays.

The proof of a consent may be kept for as long as somebody may claim that there was none; the
list of those who opted out holds no addresses. All else that names the person is blanked.
"""

from dataclasses import dataclass
from typing import Final

from ostinato import audit, database, erasure
from ostinato.apps.outbound import store
from ostinato.apps.outbound.consent import consents
from ostinato.apps.outbound.consent.consents import Ended
from ostinato.apps.outbound.model import Consent, ConsentSource
from ostinato.apps.outbound.store import Connection

PROOF: Final = {"erasure": "asked for"}


@dataclass(frozen=True, slots=True)
class Erased:
    """What was blanked."""

    consents: int
    messages: int


async def erase(conn: Connection, tenant_id: str, actor: str, subject_id: str) -> Erased:
    """Blank a subject: consents end, what waits is cancelled, what ended loses address and text."""
    key = {"tenant_id": tenant_id, "subject_id": subject_id}
    ended = Ended(ConsentSource.OPERATOR, actor, PROOF, await database.now(conn))
    held = await store.rows(conn, "lock_consents_of_subject", **key)
    addresses = sorted({str(row["address"]) for row in held if row["address"]})
    for row in held:
        await consents.revoke(conn, tenant_id, store.made(Consent, row), ended)
    await store.run(conn, "erase_consents", **key, actor=actor, proof=PROOF)
    messages = await store.rows(conn, "erase_messages", **key)
    await store.run(conn, "erase_inbound", tenant_id=tenant_id, addresses=addresses)
    # What the engine keeps: errors of providers in outcomes and dead letters, events, webhooks, answers. A message that
    # is still to be sent keeps its job, which holds its id only.
    await audit.act_as(conn, actor)
    await erasure.erase(conn, subject_id, tenant_id=tenant_id, keep_live=True)
    await store.note_audit(
        conn,
        tenant_id,
        "SUBJECT_ERASED",
        actor,
        subject_id=subject_id,
        details={"consents": len(held), "messages": len(messages)},
    )
    return Erased(len(held), len(messages))

"""Erases a person: addresses and texts go, what proves what was allowed and refused stays.

The proof of a consent may be kept for as long as somebody may claim that there was none; the
list of those who opted out holds no addresses. All else that names the person is blanked.
"""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ostinato import database, jobs
from ostinato.apps.outbound import store
from ostinato.apps.outbound.consent import consents
from ostinato.apps.outbound.consent.consents import Ended
from ostinato.apps.outbound.model import Consent, ConsentSource
from ostinato.apps.outbound.store import Connection
from ostinato.jobs import NewJob

PROOF: Final = {"erasure": "asked for"}
FORGET: Final = "outbound.forget"
AGAIN: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Erased:
    """What was blanked."""

    consents: int
    messages: int


async def erase(conn: Connection, tenant_id: str, actor: str, subject_id: str) -> Erased:
    """Blank a subject: consents end, what waits is cancelled, what ended loses address and text.

    What is just being sent is blanked by a job as soon as it has ended.
    """
    key = {"tenant_id": tenant_id, "subject_id": subject_id}
    now = await database.now(conn)
    ended = Ended(ConsentSource.OPERATOR, actor, PROOF, now)
    held = await store.rows(conn, "lock_consents_of_subject", **key)
    for row in held:
        await consents.revoke(conn, tenant_id, store.made(Consent, row), ended)
    addresses = [str(row["address"]) for row in await store.rows(conn, "addresses_of_subject", **key)]
    await store.run(conn, "erase_consents", **key, actor=actor, proof=PROOF)
    await store.run(conn, "erase_members", **key)
    await store.run(conn, "erase_inbound", tenant_id=tenant_id, addresses=addresses)
    messages, is_over = await forget(conn, tenant_id, subject_id)
    if not is_over:
        args = json.dumps({"subject_id": subject_id})
        await jobs.enqueue(conn, NewJob(FORGET, args, tenant_id=tenant_id, run_at=now + AGAIN))
    await store.note_audit(
        conn,
        tenant_id,
        "SUBJECT_ERASED",
        actor,
        subject_id=subject_id,
        details={"consents": len(held), "messages": messages},
    )
    return Erased(len(held), messages)


async def forget(conn: Connection, tenant_id: str, subject_id: str) -> tuple[int, bool]:
    """Blank the messages of a subject that have ended; how many, and whether these were all."""
    key = {"tenant_id": tenant_id, "subject_id": subject_id}
    messages = await store.rows(conn, "erase_messages", **key)
    left = await store.one(conn, "open_messages", **key)
    return len(messages), left["open"] == 0

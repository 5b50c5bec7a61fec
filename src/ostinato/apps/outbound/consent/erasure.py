"""Erases a person: addresses and texts go, what proves what was allowed and refused stays.

The proof of a consent may be kept for as long as somebody may claim that there was none; the
list of those who opted out holds no addresses. All else that names the person is blanked.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ostinato import audit, database, erasure, jobs, tenants
from ostinato.apps.outbound import store
from ostinato.apps.outbound.consent import consents
from ostinato.apps.outbound.consent.consents import Ended
from ostinato.apps.outbound.model import Consent, ConsentSource
from ostinato.apps.outbound.store import Connection

PROOF: Final = {"erasure": "asked for"}
ACTOR: Final = "outbound.forget"
QUEUE: Final = "default"
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
    messages, is_over = await forget(conn, tenant_id, actor, subject_id)
    if not is_over:
        await store.run(conn, "start_forget", **key, run_at=now + AGAIN, correlation_id=tenants.current_correlation())
        jobs.wake_after_commit(QUEUE)
    await store.note_audit(
        conn,
        tenant_id,
        "SUBJECT_ERASED",
        actor,
        subject_id=subject_id,
        details={"consents": len(held), "messages": messages},
    )
    return Erased(len(held), messages)


async def forget(conn: Connection, tenant_id: str, actor: str, subject_id: str) -> tuple[int, bool]:
    """Blank the messages of a subject that have ended; return how many, and whether these were all.

    What the engine keeps goes with them: errors of providers in outcomes and dead letters, events,
    webhooks, answers. A message that is still being sent keeps its job, which holds its id only.
    """
    key = {"tenant_id": tenant_id, "subject_id": subject_id}
    messages = await store.rows(conn, "erase_messages", **key)
    left = await store.one(conn, "open_messages", **key)
    await audit.act_as(conn, actor)
    certificate = await erasure.erase(conn, subject_id, tenant_id=tenant_id, keep_live=True)
    return len(messages), left["open"] == 0 and certificate.running == 0

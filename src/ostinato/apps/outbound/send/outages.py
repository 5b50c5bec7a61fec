"""Holds a sender while its provider does not answer, and tries it with one message at a time.

A provider that is away fails every message alike: if each found out by itself, each would use up its
attempts, and an outage of two hours would leave nothing but dead letters. So what meets no answer
counts against the sender:

    in trouble   an answer that was lost or a fault of the server, three in a row: one may be the message's
    away         nothing could be written at all, or three in a row. All messages wait, no attempt is used

While the provider is away, the job `probe` has one message tried after 5 seconds, then at ever longer
intervals, another one each time: a message that the provider stumbles over blocks nobody. Any answer
ends it, and all that waits goes, at the sender's rate.

A message whose answer was lost may have been taken, so its attempts are used up all the same; it keeps
the last one until the provider is back, and so is no dead letter because of an outage. One that lasts
longer than `LONGEST` is none any more: attempts count as usual.
"""

import json
from datetime import datetime, timedelta
from typing import Any, Final

from ostinato import database, jobs
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.model import Message, Sender
from ostinato.apps.outbound.send import holds
from ostinato.apps.outbound.send.moves import ACTOR, Failure
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.jobs import NewJob, Unique
from ostinato.observe import get_logger

PROBE: Final = "outbound.probe"
LOOK: Final = timedelta(hours=6)
"""When a message that waits looks by itself; the end of the outage wakes it before."""
LONGEST: Final = timedelta(days=3)
PATIENCE: Final = 30.0
"""Beyond the provider's time to answer: how long a message that is tried has for getting there."""

log = get_logger("outbound")


async def met(conn: Connection, message: Message, failure: Failure, *, certain: bool) -> timedelta | None:
    """Count that no answer came; how long the message waits if its provider is away, else None.

    `certain` says that nothing could be written: no message is to blame for that.
    """
    key = {"tenant_id": message.tenant_id, "id": message.sender_id}
    row = await store.one(conn, "lock_sender", **key)
    now = await database.now(conn)
    in_a_row, since = int(row["troubles"]) + 1, row["outage_since"]
    is_new = since is None and rules.is_away(in_a_row, certain=certain)
    since = now if is_new else since
    until = row["held_until"]
    if since is not None:
        wait = max(rules.probe_delay(int(row["probes"])), failure.retry_after or 0.0)
        until = now + timedelta(seconds=wait)
    told = {"reason": failure.ruling.error_class, "code": failure.code}
    await store.run(conn, "note_trouble", **key, troubles=in_a_row, since=since, until=until, **told)
    if is_new:
        await _begin(conn, message, failure, until)
    if since is None or now - since > LONGEST:
        return None
    return LOOK


async def _begin(conn: Connection, message: Message, failure: Failure, until: datetime) -> None:
    details = {"sender_id": message.sender_id, "error_code": failure.code}
    await store.note_audit(conn, message.tenant_id, "SENDER_HELD", ACTOR, details=details)
    args = json.dumps({"sender_id": message.sender_id})
    unique = Unique(f"outbound-probe:{message.sender_id}")
    await jobs.enqueue(conn, NewJob(PROBE, args, tenant_id=message.tenant_id, run_at=until, unique=unique))
    log.warning("provider_away", tenant_id=message.tenant_id, provider=failure.provider, error_code=failure.code)


async def answered(conn: Connection, message: Message, sender: Sender) -> None:
    """End the outage of a provider that answered, whatever it said: what waits for it goes."""
    if not sender.troubles and sender.outage_since is None:
        return  # as it was when the attempt began: nothing to write in the usual case
    key = {"tenant_id": message.tenant_id, "id": message.sender_id}
    row = await store.one(conn, "lock_sender", **key)
    await store.run(conn, "end_outage", **key)
    if row["outage_since"] is None:
        return
    details = {"sender_id": message.sender_id, "outage_since": row["outage_since"].isoformat()}
    await store.note_audit(conn, message.tenant_id, "SENDER_RELEASED", ACTOR, details=details)
    await holds.wake_sender(conn, message.tenant_id, message.sender_id)


def waits_until(message: Message, sender: Sender, now: datetime) -> datetime | None:
    """Return until when a message waits because its provider is away; None: it is not, or this one tries it."""
    if sender.outage_since is None or str(sender.probed_by) == str(message.id):
        return None
    look = now + LOOK
    return look if message.not_after is None else min(look, message.not_after - timedelta(seconds=1))


async def probe(conn: Connection, tenant_id: str, sender_id: int, settings: OutboundSettings) -> float | None:
    """Try one message whose provider was away; return the seconds until the next look, None: it is back."""
    key: dict[str, Any] = {"tenant_id": tenant_id, "id": sender_id}
    row = await store.first(conn, "lock_sender", **key)
    if row is None or row["outage_since"] is None:
        return None
    now = await database.now(conn)
    if row["held_until"] is not None and row["held_until"] > now:
        return float((row["held_until"] - now).total_seconds())
    # A message keeps its last attempt until the provider is back, unless that takes too long.
    most = settings.max_attempts - 1 if now - row["outage_since"] <= LONGEST else settings.max_attempts
    found = await store.one(conn, "next_probe", **key, most=most)
    if found["waiting"] == 0:  # nobody is there to try it with: the next message finds out
        await store.run(conn, "end_outage", **key)
        return None
    wait = settings.timeout_seconds + PATIENCE if found["id"] else rules.probe_delay(int(row["probes"]))
    await store.run(conn, "begin_probe", **key, message_id=found["id"], until=now + timedelta(seconds=wait))
    if found["job_id"]:
        await jobs.hasten(conn, [int(found["job_id"])])
    return wait

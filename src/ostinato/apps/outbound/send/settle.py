"""After an attempt: it was taken, it arrived, or nobody knows. What failed is in `failing`.

The same for the worker that asked and for the callback that comes an hour later.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from ostinato import database
from ostinato.apps.outbound import events, rules, store
from ostinato.apps.outbound.model import AttemptStatus, Message, Status
from ostinato.apps.outbound.providers.outcomes import Taken
from ostinato.apps.outbound.send.moves import ACTOR, NOTHING_WRONG, Failure, end_attempt, move
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection

__all__ = ["delivered", "doubt", "note_wa_id", "taken", "too_late"]

CALLBACK = "outbound.callback"


async def taken(
    conn: Connection,
    message: Message,
    attempt_no: int | None,
    outcome: Taken,
    at: datetime | None = None,
) -> None:
    """The provider has it. A callback may have told so before."""
    if attempt_no is not None:
        done = AttemptStatus.SUCCESS
        await end_attempt(conn, message, attempt_no, done, response=outcome.response)
    await note_wa_id(conn, message, outcome.wa_id)
    if message.status in (Status.SENT, Status.DELIVERED, Status.CANCELLED):
        await store.run(
            conn,
            "note_provider_id",
            tenant_id=message.tenant_id,
            id=message.id,
            provider_message_id=outcome.provider_message_id,
        )
        return
    now = at or await database.now(conn)
    named = {"sent_at": now, "provider_message_id": outcome.provider_message_id}
    await move(conn, message, "accept", {**NOTHING_WRONG, **named})
    told = {"attempt_no": attempt_no, "provider_message_id": outcome.provider_message_id}
    await _tell_sent(conn, message, told)


async def delivered(
    conn: Connection, message: Message, attempt_no: int | None, at: datetime
) -> None:
    """It arrived; `sent` may come later, or never: what arrived was sent."""
    if attempt_no is not None:
        done = AttemptStatus.SUCCESS
        await end_attempt(conn, message, attempt_no, done, response={"callback": "delivered"})
    times = {"sent_at": message.sent_at or at, "delivered_at": at}
    await move(conn, message, "deliver", {**NOTHING_WRONG, **times})
    if message.sent_at is None:
        await _tell_sent(conn, message, {"attempt_no": attempt_no})
    await store.note_message(
        conn, message, "NOTIFICATION_DELIVERED", CALLBACK, status=Status.DELIVERED
    )
    await events.tell(conn, message, Status.DELIVERED)


async def doubt(
    conn: Connection, message: Message, attempt_no: int, why: str, settings: OutboundSettings
) -> float:
    """No answer came: wait for a callback before anything is sent again; for how long."""
    now = await database.now(conn)
    hold = settings.unknown_hold_seconds
    key = {"tenant_id": message.tenant_id}
    await store.run(
        conn,
        "doubt_attempt",
        **key,
        message_id=message.id,
        attempt_no=attempt_no,
        error_message=why,
    )
    until = now + timedelta(seconds=hold)
    await store.run(conn, "doubt_message", **key, id=message.id, until=until)
    await store.note_message(
        conn,
        message,
        "NOTIFICATION_OUTCOME_UNKNOWN",
        ACTOR,
        details={"attempt_no": attempt_no, "reason": why},
    )
    return hold


async def too_late(
    conn: Connection, message: Message, attempt_no: int, failure: Failure | None
) -> None:
    """An attempt came to nothing after another one was taken: the message stays as it is."""
    known = failure or Failure(message.provider, rules.UNKNOWN, "no answer came")
    await end_attempt(conn, message, attempt_no, AttemptStatus.FAILED, failure=known)
    await store.note_message(
        conn,
        message,
        "NOTIFICATION_ATTEMPT_FAILED",
        ACTOR,
        details={"attempt_no": attempt_no, "error_code": known.code, "next_retry_at": None},
    )


async def note_wa_id(conn: Connection, message: Message, wa_id: str | None) -> None:
    """Remember by which other number a person is known at WhatsApp, and writes to us."""
    if wa_id is not None and wa_id != message.to_address:
        await store.run(
            conn,
            "note_wa_id",
            tenant_id=message.tenant_id,
            sender_id=message.sender_id,
            address=message.to_address,
            wa_id=wa_id,
        )


async def _tell_sent(conn: Connection, message: Message, details: Mapping[str, object]) -> None:
    await store.note_message(
        conn, message, "NOTIFICATION_SENT", ACTOR, status=Status.SENT, details=details
    )
    await events.tell(conn, message, Status.SENT)

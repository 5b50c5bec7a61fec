"""Queues a message again that FAILED, or cancels one that waits, because somebody asks for it."""

from uuid import UUID

from ostinato import database, jobs
from ostinato.apps.outbound import events, rules, store
from ostinato.apps.outbound.errors import MessageWrongState
from ostinato.apps.outbound.model import Message, Status
from ostinato.apps.outbound.send import moves
from ostinato.apps.outbound.store import Connection
from ostinato.errors import NotFound, OstinatoError


async def retry(conn: Connection, tenant_id: str, message_id: UUID, actor: str) -> Message:
    """Queue a message again that FAILED; its budget begins anew, its history stays."""
    message = await _locked(conn, tenant_id, message_id, Status.FAILED)
    await reopen(conn, message, actor)
    if not await _redriven(conn, message):
        await moves.enqueue_send(conn, message)
    return await store.find_message(conn, tenant_id, message_id)


async def cancel(conn: Connection, tenant_id: str, message_id: UUID, actor: str) -> Message:
    """Cancel a message that waits for anything; a worker that is about to send it waits for its row, then sees it."""
    message = await _locked(conn, tenant_id, message_id, Status.QUEUED)
    await moves.cancel(conn, tenant_id, message.id, "ASKED_FOR", actor)
    return await store.find_message(conn, tenant_id, message_id)


async def confirm_sent(conn: Connection, tenant_id: str, message_id: UUID, actor: str) -> Message:
    """Record an operator's word that a message in doubt was sent; nothing is sent again."""
    message = await _locked(conn, tenant_id, message_id, Status.FAILED)
    if message.error_code != rules.UNKNOWN:
        raise MessageWrongState(
            f"message {message_id} failed with {message.error_code}: it is known not to be sent",
            message_id=str(message_id),
            status=message.status.value,
        )
    sent = {**moves.NOTHING_WRONG, "sent_at": (await database.now(conn)).isoformat()}
    await moves.move(conn, message, "accept", sent, by=actor)
    await store.note_message(conn, message, "NOTIFICATION_CONFIRMED", actor, status=Status.SENT, note="confirmed")
    await events.emit_status(conn, message, Status.SENT, "confirmed")
    return await store.find_message(conn, tenant_id, message_id)


async def _locked(conn: Connection, tenant_id: str, message_id: UUID, wanted: Status) -> Message:
    """Lock a message that is in a state; refuses one in another."""
    row = await store.first(conn, "lock_message", tenant_id=tenant_id, id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", message_id=str(message_id))
    message = store.made(Message, row)
    if message.status is not wanted:
        raise MessageWrongState(
            f"message {message_id} is {message.status}, not {wanted}",
            message_id=str(message_id),
            status=message.status.value,
        )
    return message


async def reopen(conn: Connection, message: Message, actor: str) -> None:
    """Move a message from FAILED to QUEUED, with the whole budget of attempts."""
    budget = {"attempts_used": 0, "code_attempts": {}, "failed_attempt": None}
    await moves.move(conn, message, "retry", {**moves.NOTHING_WRONG, **budget}, by=actor)
    await store.note_message(conn, message, "NOTIFICATION_RETRIED", actor, status=Status.QUEUED, note="retry")
    await events.emit_status(conn, message, Status.QUEUED, "retry")


async def _redriven(conn: Connection, message: Message) -> bool:
    """Run the dead letter of a message again, if it has one."""
    if message.dead_lettered_at is None or message.job_id is None:
        return False
    try:
        async with conn.transaction():
            await jobs.retry(conn, message.job_id)
    except OstinatoError:
        return False  # it is not dead yet, or was pruned: a job of its own
    return True

"""Queues a message again that FAILED: for an operator over HTTP, or a redriven dead letter."""

from uuid import UUID

from ostinato import jobs
from ostinato.apps.outbound import events, store
from ostinato.apps.outbound.errors import MessageWrongState
from ostinato.apps.outbound.model import Message, Status
from ostinato.apps.outbound.send import moves
from ostinato.apps.outbound.store import Connection
from ostinato.errors import NotFound, OstinatoError


async def retry(conn: Connection, tenant_id: str, message_id: UUID, actor: str) -> Message:
    """Queue a message again that FAILED; its budget begins anew, its history stays."""
    row = await store.first(conn, "lock_message", tenant_id=tenant_id, id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", message_id=str(message_id))
    message = store.made(Message, row)
    if message.status is not Status.FAILED:
        raise MessageWrongState(
            f"message {message_id} is {message.status}, not FAILED",
            message_id=str(message_id),
            status=message.status.value,
        )
    await reopen(conn, message, actor)
    if not await _redriven(conn, message):
        await moves.enqueue_send(conn, message)
    return await store.find_message(conn, tenant_id, message_id)


async def reopen(conn: Connection, message: Message, actor: str) -> None:
    """FAILED to QUEUED, with the whole budget of attempts."""
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

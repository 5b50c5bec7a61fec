"""Finds messages that no job sends any more: it was cancelled, or died of a fault of ours."""

from typing import Final

from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import Message, Status
from ostinato.apps.outbound.send import moves
from ostinato.apps.outbound.store import Connection

ACTOR: Final = "outbound.sweep"
MINUTES: Final = 10
BATCH: Final = 500


async def sweep(conn: Connection) -> dict[str, int]:
    """Give each a job again; what somebody cancelled is cancelled.

    One whose attempt was begun stays SENDING: its new job waits for a callback first.
    """
    done = {"queued": 0, "cancelled": 0}
    for row in await store.rows(conn, "lost_messages", minutes=MINUTES, most=BATCH):
        message = store.made(Message, row)
        if row["job_state"] == "cancelled" and message.status is Status.QUEUED:
            tenant_id = message.tenant_id
            await moves.cancel(conn, tenant_id, message.id, "JOB_CANCELLED", ACTOR)
            done["cancelled"] += 1
        else:
            await moves.enqueue_send(conn, message)
            await store.note_message(
                conn, message, "NOTIFICATION_QUEUED_AGAIN", ACTOR, details={"job": row["job_state"]}
            )
            done["queued"] += 1
    return done

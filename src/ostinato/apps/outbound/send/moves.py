"""Writes what each change of a message comes down to: a state, an attempt's end, a job."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from ostinato import jobs, machines
from ostinato.apps.outbound import events, store
from ostinato.apps.outbound.machine import MESSAGE, MESSAGE_ENTITY
from ostinato.apps.outbound.model import AttemptStatus, Channel, Message, Status
from ostinato.apps.outbound.policy import Ruling
from ostinato.apps.outbound.providers import ruling_of
from ostinato.apps.outbound.store import Connection
from ostinato.jobs import NewJob

ACTOR: Final = "outbound.send"
QUEUES: Final = {Channel.WHATSAPP: "outbound_whatsapp", Channel.SMS: "outbound_sms", Channel.EMAIL: "outbound_email"}
NOTHING_WRONG: Final[Mapping[str, None]] = {
    "unknown_until": None,
    "next_retry_at": None,
    "waits_for": None,
    "failed_at": None,
    "dead_lettered_at": None,
    "dead_reason": None,
    "error_code": None,
    "error_class": None,
    "error_message": None,
}
"""What a message that arrived at its provider, or its reader, has no more."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a provider, or we, had against a message."""

    provider: str
    code: str
    message: str = ""
    response: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None

    @property
    def ruling(self) -> Ruling:
        """What the policy table says."""
        return ruling_of(self.provider, self.code)


async def move(
    conn: Connection,
    message: Message,
    event: str,
    changes: Mapping[str, object],
    *,
    by: str = ACTOR,
    why: str | None = None,
) -> None:
    """Let the machine move a message, with what changes beside its state."""
    name, tenant = (MESSAGE_ENTITY, str(message.id), event), message.tenant_id
    await machines.transition(conn, MESSAGE, *name, by=by, why=why, tenant_id=tenant, changes=changes)


async def end_attempt(
    conn: Connection,
    message: Message,
    attempt_no: int,
    status: AttemptStatus,
    *,
    failure: Failure | None = None,
    response: dict[str, Any] | None = None,
    later: datetime | None = None,
    counted: bool = True,
) -> None:
    """Write how an attempt ended; what can be known later changes what was known before."""
    await store.run(
        conn,
        "end_attempt",
        tenant_id=message.tenant_id,
        message_id=message.id,
        attempt_no=attempt_no,
        status=status,
        error_code=None if failure is None else failure.code,
        error_class=None if failure is None else failure.ruling.error_class,
        error_message=None if failure is None else failure.message,
        provider_response=failure.response if failure is not None else response or {},
        next_retry_at=later,
        counted=counted,
    )


async def add_job(conn: Connection, message: Message, kind: str, **args: object) -> None:
    """Add a job about a message, in its tenant and under its correlation id."""
    values = json.dumps({"message_id": str(message.id), **args})
    await jobs.enqueue(
        conn,
        NewJob(
            kind, values, tenant_id=message.tenant_id, correlation_id=message.correlation_id, subject=message.subject_id
        ),
    )


async def enqueue_send(conn: Connection, message: Message, *, run_at: datetime | None = None) -> None:
    """Add the job that sends a message.

    By `outbound.start_send`, because its kind is closed to tenants.
    """
    await store.run(conn, "start_send", **message.key, run_at=run_at)
    jobs.wake_after_commit(QUEUES[message.channel])


async def cancel(conn: Connection, tenant_id: str, message_id: UUID, reason: str, actor: str) -> None:
    """Cancel a message that was not sent, whose row is locked."""
    message = await store.find_message(conn, tenant_id, message_id)
    changes = {"cancel_reason": reason, "next_retry_at": None, "waits_for": None}
    await move(conn, message, "cancel", changes, by=actor, why=reason)
    is_policy = reason.startswith("CONSENT_")
    await store.note_message(
        conn,
        message,
        "BLOCKED_BY_POLICY" if is_policy else "NOTIFICATION_CANCELLED",
        actor,
        status=Status.CANCELLED,
        note=reason,
        details={"reason": reason},
    )
    await events.emit_status(conn, message, Status.CANCELLED, reason)

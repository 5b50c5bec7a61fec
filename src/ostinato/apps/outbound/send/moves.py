"""What every change of a message comes down to: a move of its state, an attempt's end, a job."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ostinato import jobs, machines
from ostinato.apps.outbound import store
from ostinato.apps.outbound.machine import MESSAGE, MESSAGE_ENTITY
from ostinato.apps.outbound.model import AttemptStatus, Message, Provider
from ostinato.apps.outbound.policy import Ruling, ruling_of
from ostinato.apps.outbound.store import Connection
from ostinato.jobs import NewJob

__all__ = ["ACTOR", "NOTHING_WRONG", "Failure", "add_job", "end_attempt", "move"]

ACTOR: Final = "outbound.send"
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

    provider: Provider
    code: str
    message: str = ""
    response: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None

    @property
    def ruling(self) -> Ruling:
        """What the policy table says."""
        return ruling_of(self.provider, self.code)


async def move(
    conn: Connection, message: Message, event: str, changes: Mapping[str, object]
) -> None:
    """Let the machine move a message, with what changes beside its state."""
    await machines.transition(
        conn,
        MESSAGE,
        MESSAGE_ENTITY,
        str(message.id),
        event,
        by=ACTOR,
        tenant_id=message.tenant_id,
        changes=changes,
    )


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
        NewJob(kind, values, tenant_id=message.tenant_id, correlation_id=message.correlation_id),
    )

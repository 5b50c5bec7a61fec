"""After an attempt: what an answer, a callback or a silence means for the message.

The same for the worker that asked and for the callback that comes an hour later: `fail` looks the
code up, lets `rules.judge` decide, and writes what follows.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from ostinato.apps.outbound import events, rules, store
from ostinato.apps.outbound.machine import MESSAGE, MESSAGE_ENTITY
from ostinato.apps.outbound.model import Message, Provider, Purpose, Status
from ostinato.apps.outbound.policy import Ruling, ruling_of
from ostinato.apps.outbound.providers import Taken
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.base.log import get_logger
from ostinato.engine import clock, jobs, machines
from ostinato.engine.jobs import NewJob

__all__ = ["ACTOR", "Failure", "convert", "delivered", "doubt", "fail", "requeue", "taken"]

ACTOR: Final = "outbound.send"
OPT_OUT: Final = "outbound.opt_out"
FALL_BACK: Final = "outbound.fall_back"

log = get_logger("outbound")


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


async def taken(
    conn: Connection,
    message: Message,
    attempt_no: int | None,
    outcome: Taken,
    at: datetime | None = None,
) -> None:
    """The provider has it. A callback may have told so before."""
    if attempt_no is not None:
        await _end_attempt(conn, message, attempt_no, "SUCCESS", response=outcome.response)
    if message.status in (Status.SENT, Status.DELIVERED, Status.CANCELLED):
        await store.run(
            conn,
            "note_provider_id",
            tenant_id=message.tenant_id,
            id=message.id,
            provider_message_id=outcome.provider_message_id,
        )
        return
    now = at or await clock.now(conn)
    await _move(
        conn,
        message,
        "accept",
        {
            "sent_at": now,
            "provider_message_id": outcome.provider_message_id,
            "unknown_until": None,
            "next_retry_at": None,
            "waits_for": None,
            "failed_at": None,
            "dead_lettered_at": None,
            "error_code": None,
            "error_class": None,
            "error_message": None,
        },
    )
    await store.note_message(
        conn,
        message,
        "NOTIFICATION_SENT",
        ACTOR,
        status=Status.SENT,
        details={"attempt_no": attempt_no, "provider_message_id": outcome.provider_message_id},
    )
    await events.tell(conn, message, Status.SENT)


async def delivered(conn: Connection, message: Message, at: datetime) -> None:
    """It arrived; `sent` may come later, or never."""
    await _move(
        conn,
        message,
        "deliver",
        {
            "sent_at": message.sent_at or at,
            "delivered_at": at,
            "unknown_until": None,
            "next_retry_at": None,
            "waits_for": None,
            "failed_at": None,
            "dead_lettered_at": None,
            "error_code": None,
            "error_class": None,
            "error_message": None,
        },
    )
    await store.note_message(
        conn, message, "NOTIFICATION_DELIVERED", "outbound.callback", status=Status.DELIVERED
    )
    await events.tell(conn, message, Status.DELIVERED)


async def doubt(
    conn: Connection, message: Message, attempt_no: int, why: str, settings: OutboundSettings
) -> float:
    """No answer came: wait for a callback before anything is sent again; for how long."""
    now = await clock.now(conn)
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


async def fail(
    conn: Connection,
    message: Message,
    attempt_no: int | None,
    failure: Failure,
    settings: OutboundSettings,
    *,
    job_attempt: int | None = None,
    rng: random.Random | None = None,
) -> rules.Verdict:
    """Write what an error means, and say what comes next."""
    ruling = failure.ruling
    verdict = _judged(message, failure, settings, rng or random.Random())  # noqa: S311 - jitter
    now = await clock.now(conn)
    seconds = getattr(verdict, "seconds", 0.0)
    later = None if isinstance(verdict, rules.Fail) else now + timedelta(seconds=seconds)
    counted = isinstance(verdict, rules.Retry | rules.Fail)
    if attempt_no is not None:
        await _end_attempt(
            conn, message, attempt_no, "FAILED", failure=failure, later=later, counted=counted
        )
    if ruling.alert:
        log.warning(
            "provider_error",
            tenant_id=message.tenant_id,
            provider=failure.provider,
            error_code=failure.code,
            error_class=ruling.error_class,
            message_id=str(message.id),
        )
    error: dict[str, object] = {
        "error_code": failure.code,
        "error_class": ruling.error_class,
        "error_message": failure.message or None,
        "unknown_until": None,
        "updated_at": now,
    }
    match verdict:
        case rules.Fail():
            await _give_up(
                conn, message, failure, verdict, error=error, now=now, job_attempt=job_attempt
            )
        case rules.Retry():
            used = dict(message.code_attempts)
            used[failure.code] = used.get(failure.code, 0) + 1
            budget = {"attempts_used": message.attempts_used + 1, "code_attempts": used}
            waits = {"next_retry_at": later, "waits_for": "RETRY"}
            await requeue(conn, message, {**error, **budget, **waits})
            await _pause(conn, message, verdict, now)
        case rules.Hold() | rules.HoldTemplate():
            waits = {"next_retry_at": later, "waits_for": "HOLD"}
            await requeue(conn, message, {**error, **waits})
            await _hold(conn, message, failure, verdict, now)
        case rules.Convert():
            await requeue(conn, message, error)
            await convert(conn, message)
    return verdict


def _judged(
    message: Message, failure: Failure, settings: OutboundSettings, rng: random.Random
) -> rules.Verdict:
    """What an error means for a message, with what it has used up."""
    budget = rules.Budget(
        used=message.attempts_used,
        same_code=message.code_attempts.get(failure.code, 0),
        most=settings.max_attempts,
    )
    return rules.judge(
        failure.ruling,
        budget,
        rng,
        retry_after=failure.retry_after,
        has_template=message.payload.get("fallback_template") is not None
        and message.template_code is None,
    )


async def requeue(conn: Connection, message: Message, changes: Mapping[str, object]) -> None:
    """Back to QUEUED, unless it is there."""
    if message.status is not Status.QUEUED:
        await _move(conn, message, "requeue", {**changes, "sent_at": None})


async def convert(conn: Connection, message: Message) -> Message:
    """Make a message one with its other template."""
    other = message.payload["fallback_template"]
    payload = {
        **message.payload,
        "text": None,
        "variables": other.get("variables") or {},
        "converted_from": "text",
    }
    code = str(other["code"])
    await store.run(
        conn,
        "convert",
        tenant_id=message.tenant_id,
        id=message.id,
        template_code=code,
        payload=payload,
    )
    return replace(message, template_code=code, payload=payload)


async def _give_up(
    conn: Connection,
    message: Message,
    failure: Failure,
    verdict: rules.Fail,
    *,
    error: dict[str, object],
    now: datetime,
    job_attempt: int | None,
) -> None:
    ruling = failure.ruling
    dead = {"dead_lettered_at": now, "dead_reason": verdict.reason} if verdict.dead else {}
    ended = {"failed_at": now, "next_retry_at": None, "waits_for": None}
    attempt = {"failed_attempt": job_attempt or 0, "attempts_used": message.attempts_used + 1}
    await _move(conn, message, "fail", {**error, **ended, **attempt, **dead})
    await store.note_message(
        conn,
        message,
        "NOTIFICATION_FAILED",
        ACTOR,
        status=Status.FAILED,
        note=failure.code,
        details={
            "error_code": failure.code,
            "error_class": ruling.error_class,
            "reason": verdict.reason,
            "dead_letter": verdict.dead,
        },
    )
    await events.tell(conn, message, Status.FAILED, failure.code)
    if ruling.deactivates and message.template_code is not None:
        await store.run(conn, "deactivate_template", **_template_key(message))
    if ruling.revokes is not None:
        # In a transaction of its own: consents are locked before messages, never after.
        both = ruling.revokes is Purpose.TRANSACTIONAL
        await _job(conn, message, OPT_OUT, code=failure.code, transactional=both)
    if ruling.fallback and message.payload.get("fallback"):
        await _job(conn, message, FALL_BACK)


async def _job(conn: Connection, message: Message, kind: str, **args: object) -> None:
    values = json.dumps({"message_id": str(message.id), **args})
    await jobs.enqueue(
        conn,
        NewJob(kind, values, tenant_id=message.tenant_id, correlation_id=message.correlation_id),
    )


async def _pause(conn: Connection, message: Message, verdict: rules.Retry, now: datetime) -> None:
    if verdict.pauses_recipient:
        await store.run(
            conn,
            "pause_pair",
            tenant_id=message.tenant_id,
            sender_id=message.sender_id,
            address=message.to_address,
            until=now + timedelta(seconds=verdict.seconds),
        )


async def _hold(
    conn: Connection,
    message: Message,
    failure: Failure,
    verdict: rules.Hold | rules.HoldTemplate,
    now: datetime,
) -> None:
    until = now + timedelta(seconds=verdict.seconds)
    if isinstance(verdict, rules.HoldTemplate):
        await store.run(conn, "hold_template", **_template_key(message), until=until)
        return
    await store.run(
        conn,
        "hold_sender",
        tenant_id=message.tenant_id,
        id=message.sender_id,
        until=until,
        reason=failure.ruling.error_class,
        code=failure.code,
    )
    await store.note_audit(
        conn,
        message.tenant_id,
        "SENDER_HELD",
        ACTOR,
        details={"sender_id": message.sender_id, "error_code": failure.code},
    )


async def _move(
    conn: Connection, message: Message, event: str, changes: Mapping[str, object]
) -> None:
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


async def _end_attempt(
    conn: Connection,
    message: Message,
    attempt_no: int,
    status: str,
    *,
    failure: Failure | None = None,
    response: dict[str, Any] | None = None,
    later: datetime | None = None,
    counted: bool = True,
) -> None:
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


def _template_key(message: Message) -> dict[str, Any]:
    return {
        "tenant_id": message.tenant_id,
        "template_code": message.template_code,
        "language": message.language,
    }

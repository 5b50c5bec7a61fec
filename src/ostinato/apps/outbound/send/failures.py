"""Writes what an error of a provider, or of ours, means: its table rules, `rules.judge` decides.

The same for the worker that asked and for the callback that comes an hour later.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from ostinato import database
from ostinato.apps.outbound import events, rules, store
from ostinato.apps.outbound.model import AttemptStatus, Message, Purpose, Status
from ostinato.apps.outbound.send.moves import ACTOR, Failure, add_job, end_attempt, move
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.observe import get_logger

OPT_OUT: Final = "outbound.opt_out"
FALL_BACK: Final = "outbound.fall_back"

log = get_logger("outbound")


async def fail(
    conn: Connection,
    message: Message,
    attempt_no: int | None,
    failure: Failure,
    settings: OutboundSettings,
    *,
    job_attempt: int | None = None,
    rng: random.Random | None = None,
    away: timedelta | None = None,
    give_up: str | None = None,
) -> rules.Verdict:
    """Write what an error means, and say what comes next.

    `away` says how long the message waits because its provider is away, `give_up` why it is left to
    people, whatever the error.
    """
    verdict: rules.Verdict
    if give_up is not None:
        verdict = rules.Fail(dead=True, reason=give_up)
    elif away is not None:
        verdict = rules.Hold(away.total_seconds())
    else:
        verdict = _judged(message, failure, settings, rng or random.Random())  # noqa: S311 - jitter
    now = await database.now(conn)
    seconds = getattr(verdict, "seconds", 0.0)
    later = None if isinstance(verdict, rules.Fail) else now + timedelta(seconds=seconds)
    await _note_attempt(conn, message, attempt_no, failure, verdict, later=later)
    error: dict[str, object] = {
        "error_code": failure.code,
        "error_class": failure.ruling.error_class,
        "error_message": failure.message or None,
        "unknown_until": None,
        "updated_at": now,
    }
    match verdict:
        case rules.Fail():
            await _give_up(conn, message, failure, verdict, error=error, now=now, job_attempt=job_attempt)
        case rules.Retry():
            used = dict(message.code_attempts)
            used[failure.code] = used.get(failure.code, 0) + 1
            budget = {"attempts_used": message.attempts_used + 1, "code_attempts": used}
            waits = {"next_retry_at": later, "waits_for": "RETRY"}
            await requeue(conn, message, {**error, **budget, **waits})
            await _pause(conn, message, verdict, now)
        case rules.Hold() | rules.HoldTemplate():
            waits = {"next_retry_at": later, "waits_for": verdict.waits_for}
            await requeue(conn, message, {**error, **waits})
            if away is None:  # the outage has held it
                await _hold(conn, message, failure, verdict, now)
        case rules.Convert():
            await requeue(conn, message, error)
            await convert(conn, message)
    return verdict


async def _note_attempt(
    conn: Connection,
    message: Message,
    attempt_no: int | None,
    failure: Failure,
    verdict: rules.Verdict,
    *,
    later: datetime | None,
) -> None:
    """End the attempt, audit it unless the whole message ends, and say what somebody should see."""
    if attempt_no is not None:
        counted = isinstance(verdict, rules.Retry | rules.Fail)
        ended = AttemptStatus.FAILED
        await end_attempt(conn, message, attempt_no, ended, failure=failure, later=later, counted=counted)
    if not isinstance(verdict, rules.Fail):
        attempted = {"attempt_no": attempt_no, "error_code": failure.code}
        when = {"next_retry_at": None if later is None else later.isoformat()}
        action = "NOTIFICATION_ATTEMPT_FAILED"
        await store.note_message(conn, message, action, ACTOR, details={**attempted, **when})
    if failure.ruling.alert:
        log.warning(
            "provider_error",
            tenant_id=message.tenant_id,
            provider=failure.provider,
            error_code=failure.code,
            error_class=failure.ruling.error_class,
            message_id=str(message.id),
        )


def _judged(message: Message, failure: Failure, settings: OutboundSettings, rng: random.Random) -> rules.Verdict:
    """Return what an error means for a message, with what it has used up."""
    budget = rules.Budget(
        used=message.attempts_used, same_code=message.code_attempts.get(failure.code, 0), most=settings.max_attempts
    )
    return rules.judge(
        failure.ruling,
        budget,
        rng,
        retry_after=failure.retry_after,
        has_template=message.payload.get("fallback_template") is not None and message.template_code is None,
    )


async def requeue(conn: Connection, message: Message, changes: Mapping[str, object]) -> None:
    """Move a message back to QUEUED, unless it is there."""
    if message.status is not Status.QUEUED:
        await move(conn, message, "requeue", {**changes, "sent_at": None})


async def convert(conn: Connection, message: Message) -> Message:
    """Make a message one with its other template."""
    other = message.payload["fallback_template"]
    payload = {**message.payload, "text": None, "variables": other.get("variables") or {}, "converted_from": "text"}
    code = str(other["code"])
    await store.run(conn, "convert", **message.key, template_code=code, payload=payload)
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
    await move(conn, message, "fail", {**error, **ended, **attempt, **dead})
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
    await events.emit_status(conn, message, Status.FAILED, failure.code)
    if ruling.deactivates and message.template_code is not None:
        await store.run(conn, "deactivate_template", **_template_key(message))
    if ruling.revokes is not None and message.inbound_id is None:
        # In a transaction of its own: consents are locked before messages, never after.
        both = ruling.revokes is Purpose.TRANSACTIONAL
        await add_job(conn, message, OPT_OUT, code=failure.code, transactional=both)
    if ruling.fallback and message.payload.get("fallback"):
        await add_job(conn, message, FALL_BACK)


async def _pause(conn: Connection, message: Message, verdict: rules.Retry, now: datetime) -> None:
    if verdict.pauses_recipient:
        until = now + timedelta(seconds=verdict.seconds)
        await store.run(conn, "pause_pair", **message.pair, until=until)


async def _hold(
    conn: Connection, message: Message, failure: Failure, verdict: rules.Hold | rules.HoldTemplate, now: datetime
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


def _template_key(message: Message) -> dict[str, Any]:
    return {"tenant_id": message.tenant_id, "template_code": message.template_code, "language": message.language}

"""Settles attempts: it was taken, it arrived, or nobody knows. What failed is in `failures`.

The same verbs serve the worker that asked and the callback that comes an hour later.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ostinato import Context, Done, Snooze, database, jobs, tenants
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.errors import Undeliverable
from ostinato.apps.outbound.events import RELAY
from ostinato.apps.outbound.model import AttemptStatus, Content, Message, Status
from ostinato.apps.outbound.providers import provider_of
from ostinato.apps.outbound.providers.protocol import Lost, NotSent, Outcome, Refused, Taken
from ostinato.apps.outbound.send import failures, outages
from ostinato.apps.outbound.send.moves import ACTOR, Failure, end_attempt
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.errors import RetryAfter

CALLBACK = "outbound.callback"


class Answer(NamedTuple):
    """An attempt that a provider took."""

    correlation_id: str
    begun: Message
    content: Content
    taken: Taken


async def took(conn: Connection, answers: Sequence[Answer]) -> None:
    """Write that a provider took attempts, unless a callback was first."""
    told = [
        {
            "n": number,
            "tenant_id": each.begun.tenant_id,
            "id": str(each.begun.id),
            "attempt_no": each.content.attempt_no,
            "response": each.taken.response,
            "provider_message_id": each.taken.provider_message_id,
            "wa_id": each.taken.wa_id,
            "correlation_id": each.correlation_id,
        }
        for number, each in enumerate(answers)
    ]
    await store.run(conn, "settle_taken", told=told, actor=ACTOR)
    jobs.wake_after_commit(RELAY)
    for each in answers:
        await outages.answered(conn, each.begun, each.content.sender)


async def settle(
    ctx: Context, begun: Message, content: Content, outcome: Outcome, settings: OutboundSettings
) -> Done | Snooze | None:
    """Write what came of an attempt, unless a callback was first, and say what the job does."""
    number = content.attempt_no
    if isinstance(outcome, Taken):
        async with ctx.transaction() as conn:
            await took(conn, [Answer(ctx.correlation_id, begun, content, outcome)])
        return None
    known = _failure(content.sender.provider, outcome)
    async with ctx.fenced() as conn:
        message, is_open = await _locked(conn, begun, number)
        if not is_open:
            return Snooze(0)
        if message.status is not Status.SENDING:  # a callback says that another attempt was taken
            await too_late(conn, message, number, known)
            return Done({"outcome": message.status})
        if known is None:
            lost = Failure(content.sender.provider, rules.UNKNOWN, outcome.message)
            await outages.met(conn, message, lost, certain=False)
            return Snooze(await doubt(conn, message, number, outcome.message, settings))
        away = None
        if known.ruling.outage:
            away = await outages.met(conn, message, known, certain=isinstance(outcome, NotSent))
        else:
            await outages.answered(conn, message, content.sender)
        verdict = await failures.fail(conn, message, number, known, settings, job_attempt=ctx.job.attempt, away=away)
    return _next(verdict, known)


def _next(verdict: rules.Verdict, failure: Failure) -> Done | Snooze:
    """Say what the job does about what was written."""
    match verdict:
        case rules.Fail(dead=True):
            raise Undeliverable(failure.code)
        case rules.Fail():
            return Done({"outcome": f"FAILED {failure.code}"})
        case rules.Retry(seconds):
            raise RetryAfter(seconds, f"{failure.provider} {failure.code}")
        case rules.Hold(seconds) | rules.HoldTemplate(seconds):
            return Snooze(seconds)
        case rules.Convert():
            return Snooze(0)


async def _locked(conn: Connection, begun: Message, number: int) -> tuple[Message, bool]:
    """Lock the message as it is now, and see whether its attempt is still without an end."""
    key = {"tenant_id": begun.tenant_id}
    row = await store.one(conn, "lock_message", **key, id=begun.id)
    still = await store.rows(conn, "open_attempt", **key, message_id=begun.id, attempt_no=number)
    return store.made(Message, row), bool(still)


def _failure(provider: str, outcome: Refused | NotSent | Lost) -> Failure | None:
    """Say what is known to be wrong; None: nobody knows whether something is."""
    match outcome:
        case Lost():
            return None
        case NotSent(message):
            return Failure(provider, "NETWORK", message)
        case Refused(code, message, response, retry_after):
            return Failure(provider, code, message, response, retry_after)


async def taken(conn: Connection, message: Message, attempt_no: int, outcome: Taken, at: datetime) -> None:
    """Write that the provider has it, as a callback says; it may have been said before."""
    told = {
        **_told(message, attempt_no, at, outcome.wa_id, outcome.response),
        "provider_message_id": outcome.provider_message_id,
    }
    await store.run(conn, "note_taken", tenant_id=message.tenant_id, told=[told], actor=ACTOR)
    jobs.wake_after_commit(RELAY)


async def delivered(conn: Connection, message: Message, attempt_no: int, at: datetime, wa_id: str | None) -> None:
    """Note that a message arrived; `sent` may come later, or never: what arrived was sent."""
    told = _told(message, attempt_no, at, wa_id, {"callback": "delivered"})
    named = {"tenant_id": message.tenant_id, "actor": ACTOR, "told_by": CALLBACK}
    await store.run(conn, "note_delivered", **named, told=[told])
    jobs.wake_after_commit(RELAY)


def _told(
    message: Message, attempt_no: int, at: datetime, wa_id: str | None, response: dict[str, Any]
) -> dict[str, object]:
    """Return what is told of a message, as the functions of SQL take it."""
    return {
        "id": str(message.id),
        "attempt_no": attempt_no,
        "response": response,
        "wa_id": wa_id,
        "at": at.isoformat(),
        "correlation_id": tenants.current_correlation(),
    }


async def doubt(conn: Connection, message: Message, attempt_no: int, why: str, settings: OutboundSettings) -> float:
    """Note that no answer came, and return how long to wait for a callback before anything is sent again."""
    now = await database.now(conn)
    hold = settings.unknown_hold_seconds
    attempt = {"tenant_id": message.tenant_id, "message_id": message.id, "attempt_no": attempt_no}
    await store.run(conn, "doubt_attempt", **attempt, error_message=why)
    until = now + timedelta(seconds=hold)
    await store.run(conn, "doubt_message", **message.key, until=until)
    await store.note_message(
        conn, message, "NOTIFICATION_OUTCOME_UNKNOWN", ACTOR, details={"attempt_no": attempt_no, "reason": why}
    )
    return hold


async def too_late(conn: Connection, message: Message, attempt_no: int, failure: Failure | None) -> None:
    """End an attempt that came to nothing after another one was taken: the message stays as it is."""
    known = failure or Failure(provider_of(message.channel).name, rules.UNKNOWN, "no answer came")
    await end_attempt(conn, message, attempt_no, AttemptStatus.FAILED, failure=known)
    await store.note_message(
        conn,
        message,
        "NOTIFICATION_ATTEMPT_FAILED",
        ACTOR,
        details={"attempt_no": attempt_no, "error_code": known.code, "next_retry_at": None},
    )

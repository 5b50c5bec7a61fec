"""Settles attempts: it was taken, it arrived, or nobody knows. What failed is in `failures`.

The same verbs serve the worker that asked and the callback that comes an hour later.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from ostinato import Context, Done, Snooze, database
from ostinato.apps.outbound import events, rules, store
from ostinato.apps.outbound.errors import Undeliverable
from ostinato.apps.outbound.model import AttemptStatus, Content, Message, Status
from ostinato.apps.outbound.providers import provider_of
from ostinato.apps.outbound.providers.protocol import Lost, NotSent, Outcome, Refused, Taken
from ostinato.apps.outbound.send import failures, outages
from ostinato.apps.outbound.send.moves import ACTOR, NOTHING_WRONG, Failure, end_attempt, move
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.errors import RetryAfter

CALLBACK = "outbound.callback"


async def settle(
    ctx: Context, begun: Message, content: Content, outcome: Outcome, settings: OutboundSettings
) -> Done | Snooze | None:
    """Write what came of an attempt, unless a callback was first, and say what the job does."""
    number = content.attempt_no
    if isinstance(outcome, Taken):
        async with ctx.transaction() as conn:
            message, is_open = await _locked(conn, begun, number)
            if is_open:
                await taken(conn, message, number, outcome)
            else:
                await _note_id(conn, message, outcome)
            await outages.answered(conn, message, content.sender)
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


async def taken(
    conn: Connection, message: Message, attempt_no: int | None, outcome: Taken, at: datetime | None = None
) -> None:
    """Write that the provider has it; a callback may have said so before."""
    if attempt_no is not None:
        done = AttemptStatus.SUCCESS
        await end_attempt(conn, message, attempt_no, done, response=outcome.response)
    await note_wa_id(conn, message, outcome.wa_id)
    if message.status in (Status.SENT, Status.DELIVERED, Status.CANCELLED):
        await _note_id(conn, message, outcome)
        return
    now = at or await database.now(conn)
    named = {"sent_at": now, "provider_message_id": outcome.provider_message_id}
    await move(conn, message, "accept", {**NOTHING_WRONG, **named})
    await _emit_sent(conn, message, {"attempt_no": attempt_no})


async def delivered(conn: Connection, message: Message, attempt_no: int | None, at: datetime) -> None:
    """It arrived; `sent` may come later, or never: what arrived was sent."""
    if attempt_no is not None:
        done = AttemptStatus.SUCCESS
        await end_attempt(conn, message, attempt_no, done, response={"callback": "delivered"})
    times = {"sent_at": message.sent_at or at, "delivered_at": at}
    await move(conn, message, "deliver", {**NOTHING_WRONG, **times})
    if message.sent_at is None:
        await _emit_sent(conn, message, {"attempt_no": attempt_no})
    await store.note_message(conn, message, "NOTIFICATION_DELIVERED", CALLBACK, status=Status.DELIVERED)
    await events.emit_status(conn, message, Status.DELIVERED)


async def doubt(conn: Connection, message: Message, attempt_no: int, why: str, settings: OutboundSettings) -> float:
    """No answer came: wait for a callback before anything is sent again; for how long."""
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
    """An attempt came to nothing after another one was taken: the message stays as it is."""
    known = failure or Failure(provider_of(message.channel).name, rules.UNKNOWN, "no answer came")
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
        await store.run(conn, "note_wa_id", **message.pair, wa_id=wa_id)


async def _note_id(conn: Connection, message: Message, outcome: Taken) -> None:
    told = outcome.provider_message_id
    await store.run(conn, "note_provider_id", **message.key, provider_message_id=told)


async def _emit_sent(conn: Connection, message: Message, details: Mapping[str, object]) -> None:
    await store.note_message(conn, message, "NOTIFICATION_SENT", ACTOR, status=Status.SENT, details=details)
    await events.emit_status(conn, message, Status.SENT)

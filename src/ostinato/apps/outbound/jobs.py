"""The jobs of outbound: send, take callbacks, end consents, and keep the house in order."""

from dataclasses import dataclass
from uuid import UUID

from ostinato import Context, Done, Retry, Snooze
from ostinato.apps.outbound import APP, rules, store
from ostinato.apps.outbound.consent import consents
from ostinato.apps.outbound.errors import Undeliverable
from ostinato.apps.outbound.events import MESSAGE_STATUS
from ostinato.apps.outbound.model import Message, Provider, Status
from ostinato.apps.outbound.policy import DEFAULT_DELAYS
from ostinato.apps.outbound.providers.outcomes import Lost, NotSent, Outcome, Refused, Taken
from ostinato.apps.outbound.send import attempts as sending
from ostinato.apps.outbound.send import callbacks, carriers, fallbacks
from ostinato.apps.outbound.send import failures as failing
from ostinato.apps.outbound.send import holds as wakings
from ostinato.apps.outbound.send import orphans as sweeping
from ostinato.apps.outbound.send import settle as settling
from ostinato.apps.outbound.send.moves import Failure
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.errors import RetryAfter

__all__ = [
    "expire_consents",
    "fall_back",
    "opt_out",
    "prune",
    "send",
    "sweep",
    "take_callback",
    "wake",
]

MOST_RUNS = 200
KEEP_DAYS = 30
SUPPRESSION_YEARS = 3


@dataclass(frozen=True)
class MessageStatus:
    """A message reached a status."""

    message_id: str
    status: str
    channel: str
    dossier_id: str | None = None
    template_code: str | None = None
    reason: str | None = None


APP.event(MESSAGE_STATUS, payload=MessageStatus)


# The budget of attempts is the message's own: a hold or a deferral uses none of it. What is counted
# here are runs, so that a fault of ours ends among the dead letters too.
@APP.job(
    queue="outbound_whatsapp",
    retry=Retry(delays=DEFAULT_DELAYS, max_attempts=MOST_RUNS, permanent=(Undeliverable,)),
)
async def send(ctx: Context, message_id: UUID) -> Done | Snooze | None:
    """Send a message, if policy still allows it: note the attempt, call, write what came of it."""
    settings = OutboundSettings.load()
    async with ctx.fenced() as conn:
        step = await sending.begin(conn, ctx.job, message_id, settings)
    match step:
        case sending.Over(what):
            return Done({"outcome": what})
        case sending.Wait(seconds):
            return Snooze(seconds)
        case sending.Dead(reason):
            raise Undeliverable(reason)
        case sending.Go():
            carrier = await carriers.carrier_of(ctx, step, settings)
            outcome = await carrier.send(step.content)
            return await _settle(ctx, step, outcome, settings)


async def _settle(
    ctx: Context, step: sending.Go, outcome: Outcome, settings: OutboundSettings
) -> Done | Snooze | None:
    """Write what came of an attempt, unless a callback told it first."""
    number = step.content.attempt_no
    if isinstance(outcome, Taken):
        async with ctx.transaction() as conn:
            message, is_open = await _held(conn, step)
            if is_open:
                await settling.taken(conn, message, number, outcome)
            else:
                await _note_id(conn, message, outcome)
        return None
    known = _failure(step.content.sender.provider, outcome)
    async with ctx.fenced() as conn:
        message, is_open = await _held(conn, step)
        if not is_open:
            return Snooze(0)
        if message.status is not Status.SENDING:  # a callback says that another attempt was taken
            await settling.too_late(conn, message, number, known)
            return Done({"outcome": message.status})
        if known is None:
            return Snooze(await settling.doubt(conn, message, number, outcome.message, settings))
        verdict = await failing.fail(
            conn, message, number, known, settings, job_attempt=ctx.job.attempt
        )
    return _next(verdict, known)


def _next(verdict: rules.Verdict, failure: Failure) -> Done | Snooze:
    """What the job does about what was written."""
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


async def _held(conn: Connection, step: sending.Go) -> tuple[Message, bool]:
    """The message as it is now, and whether its attempt is still without an end."""
    key = {"tenant_id": step.message.tenant_id}
    row = await store.one(conn, "lock_message", **key, id=step.message.id)
    assert row is not None  # noqa: S101 - messages are not deleted
    still = await store.one(
        conn,
        "open_attempt",
        **key,
        message_id=step.message.id,
        attempt_no=step.content.attempt_no,
    )
    return store.message_from(row), still is not None


async def _note_id(conn: Connection, message: Message, outcome: Taken) -> None:
    await store.run(
        conn,
        "note_provider_id",
        tenant_id=message.tenant_id,
        id=message.id,
        provider_message_id=outcome.provider_message_id,
    )


def _failure(provider: Provider, outcome: Refused | NotSent | Lost) -> Failure | None:
    """What is known to be wrong; None: nobody knows whether something is."""
    if isinstance(outcome, Lost):
        return None
    if isinstance(outcome, NotSent):
        return Failure(provider, "NETWORK", outcome.message)
    return Failure(provider, outcome.code, outcome.message, outcome.response, outcome.retry_after)


@APP.job(queue="outbound_callbacks", retry=Retry(delays=(1, 5, 30, 300, 3600)))
async def take_callback(ctx: Context, callback_id: int) -> None:
    """Apply a callback that was stored: all of its lines, once."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        row = await store.one(conn, "callback", id=callback_id)
        if row is None or row["processed_at"] is not None:
            return
        lines, odd = callbacks.read(row, row["received_at"], settings)
        done, ignored = await callbacks.apply(conn, lines, settings)
        await store.run(conn, "end_callback", id=callback_id, lines=done, ignored=ignored + odd)
        ctx.result = {"applied": done, "ignored": ignored + odd}


@APP.job(queue="outbound_callbacks")
async def opt_out(ctx: Context, message_id: UUID, code: str, *, transactional: bool) -> None:
    """A provider says that a recipient opted out: consents end, what waits is cancelled."""
    async with ctx.transaction() as conn:
        revoked, cancelled = await callbacks.opt_out(
            conn,
            ctx.job.tenant_id,
            message_id,
            code,
            transactional=transactional,
            settings=OutboundSettings.load(),
        )
        ctx.result = {"revoked": revoked, "cancelled": cancelled}


@APP.job(queue="outbound_callbacks")
async def fall_back(ctx: Context, message_id: UUID) -> None:
    """Who cannot be reached here is tried on the other channel that the caller named."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        ctx.result = await fallbacks.fall_back(conn, ctx.job.tenant_id, message_id, settings)


@APP.job()
async def expire_consents(ctx: Context) -> None:
    """End consents whose time is over."""
    async with ctx.transaction() as conn:
        ctx.result = {"expired": await consents.expire(conn)}


@APP.job()
async def prune(ctx: Context) -> None:
    """Forget what nobody needs any more: callbacks, what people wrote, old suppressions."""
    async with ctx.transaction() as conn:
        row = await store.one(conn, "prune", days=KEEP_DAYS, suppression_years=SUPPRESSION_YEARS)
        ctx.result = {"forgotten": 0 if row is None else row["forgotten"]}


@APP.job()
async def sweep(ctx: Context) -> None:
    """Find messages that no job sends any more, and have them sent or cancelled."""
    async with ctx.transaction() as conn:
        ctx.result = await sweeping.sweep(conn)


@APP.job(queue="outbound_callbacks")
async def wake(
    ctx: Context,
    *,
    again: bool,
    sender_id: int | None = None,
    template_code: str | None = None,
    language: str | None = None,
) -> None:
    """A sender or a template is free again: what waits for it goes now."""
    async with ctx.transaction() as conn:
        woken = await wakings.wake(
            conn,
            ctx.job.tenant_id,
            sender_id=sender_id,
            template_code=template_code,
            language=language,
            again=again,
        )
        ctx.result = {"woken": woken}


APP.schedule(expire_consents, cron="*/10 * * * *")
APP.schedule(sweep, cron="5-55/10 * * * *")
APP.schedule(prune, cron="20 3 * * *")

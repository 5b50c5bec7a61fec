"""Runs the jobs of outbound: send, take callbacks, end consents, and tidy up."""

from typing import Any
from uuid import UUID

from ostinato import Context, Retry, Snooze
from ostinato.apps.outbound import APP, store
from ostinato.apps.outbound.consent import consents, erasure
from ostinato.apps.outbound.coop.rules import irrelevance
from ostinato.apps.outbound.errors import Undeliverable
from ostinato.apps.outbound.model import WORDS
from ostinato.apps.outbound.policy import DEFAULT_DELAYS
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.send import callbacks, fallbacks, holds, orphans, outages, sending, taking
from ostinato.apps.outbound.send.sending import Sending
from ostinato.apps.outbound.send.taking import Callback
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.errors import BodyTooLarge
from ostinato.jobs import Batch

MOST_RUNS = 200
SENT_TOGETHER = 50
TAKEN_TOGETHER = 100
BATCH = 2000
SUPPRESSION_YEARS = 3
AT_HAND = Retry(delays=(1, 5, 30, 300, 3600))
"""For what needs no provider: only the database can be away."""
CALLBACKS = "outbound_callbacks"
"""The queue of what providers and recipients bring about; `outbound.add_callback` has it too."""


# The budget of attempts is the message's own: a hold or a deferral uses none of it. What is counted
# here are runs, so that a fault of ours ends among the dead letters too.
@APP.job(
    queue="outbound_whatsapp",
    retry=Retry(delays=DEFAULT_DELAYS, max_attempts=MOST_RUNS, permanent=(Undeliverable,)),
    batch=SENT_TOGETHER,
)
async def send(batch: Batch[Sending]) -> None:
    """Send messages, if policy still allows it: note the attempts, call, write what came of each."""
    await sending.send(batch, guards=(irrelevance,))


@APP.job(queue=CALLBACKS, retry=AT_HAND, batch=TAKEN_TOGETHER)
async def take_callback(batch: Batch[Callback]) -> None:
    """Apply callbacks that were stored: each of their lines once, a batch of those of a large one here."""
    await taking.take(batch, batch[0].ctx.settings(OutboundSettings), _take)


@APP.job(queue=CALLBACKS, retry=AT_HAND)
async def take_lines(ctx: Context, callback_id: int, begin: int, done: int) -> None:
    """Apply the next batch of the lines of a callback; `done` of those before `begin` had an effect."""
    await _take(ctx, callback_id, begin, done)


async def _take(ctx: Context, callback_id: int, begin: int = 0, done: int = 0) -> None:
    """Apply a batch of lines, and add the job of the next one in the same transaction.

    So no row is held for longer than a batch takes, each is applied once whatever crashes, they keep
    their order, and between two of them other tenants have their turns.
    """
    settings = ctx.settings(OutboundSettings)
    async with ctx.transaction() as conn:
        row = await store.first(conn, "callback", id=callback_id)
        if row is None or row["processed_at"] is not None:
            return
        try:
            lines, odd = await callbacks.read(row["provider"], callbacks.stored(row), settings)
        except BodyTooLarge as error:
            ctx.log.warning("callback_too_long", provider=row["provider"], signed_by=row["tenant_id"])
            await store.run(conn, "end_callback", id=callback_id, lines=0, ignored=error.values["lines"])
            ctx.result = {"applied": 0, "ignored": error.values["lines"], "error": error.message}
            return
        end = begin + callbacks.BATCH
        applied, _ = await callbacks.apply(conn, lines[begin:end], settings, only=row["tenant_id"])
        done += applied
        if end < len(lines):
            queue = WORDS if callbacks.words_of(lines[end : end + 1]) else CALLBACKS
            await take_lines.options(queue=queue).enqueue(conn, callback_id=callback_id, begin=end, done=done)
            ctx.result = {"applied": applied, "left": len(lines) - end}
            return
        ignored = len(lines) - done + odd
        await store.run(conn, "end_callback", id=callback_id, lines=done, ignored=ignored)
        asked = {} if lines else PROVIDERS[row["provider"]].asks(callbacks.stored(row).body)
        ctx.result = {"applied": done, "ignored": ignored, **asked}


@APP.job(queue=WORDS)  # it is a person's word, by way of the provider: it waits for no status
async def opt_out(ctx: Context, message_id: UUID, code: str, *, transactional: bool) -> None:
    """End the consents of a recipient who opted out, as a provider says, and cancel what waits."""
    async with ctx.transaction() as conn:
        revoked, cancelled = await callbacks.opt_out(
            conn,
            ctx.job.tenant_id,
            message_id,
            code,
            transactional=transactional,
            settings=ctx.settings(OutboundSettings),
        )
        ctx.result = {"revoked": revoked, "cancelled": cancelled}


@APP.job(queue=CALLBACKS)
async def fall_back(ctx: Context, message_id: UUID) -> None:
    """Try the other channel that the caller named, for a recipient who cannot be reached here."""
    settings = ctx.settings(OutboundSettings)
    async with ctx.transaction() as conn:
        ctx.result = await fallbacks.fall_back(conn, ctx.job.tenant_id, message_id, settings)


@APP.job(queue=CALLBACKS, retry=Retry(delays=(5, 60, 300), max_attempts=MOST_RUNS))
async def probe(ctx: Context, sender_id: int) -> Snooze | None:
    """Try one message at a provider that was away, again and again until it answers."""
    async with ctx.fenced() as conn:
        wait = await outages.probe(conn, ctx.job.tenant_id, sender_id, ctx.settings(OutboundSettings))
    return None if wait is None else Snooze(wait)


@APP.job()
async def expire_consents(ctx: Context) -> None:
    """End consents whose time is over."""
    async with ctx.transaction() as conn:
        ctx.result = {"expired": await consents.expire(conn)}


@APP.job()
async def forget(ctx: Context, subject_id: str) -> Snooze | None:
    """Blank what was just being sent to a person who is erased, once it has ended."""
    async with ctx.transaction() as conn:
        erased, is_over = await erasure.forget(conn, ctx.job.tenant_id, erasure.ACTOR, subject_id)
        ctx.result = {"messages": erased}
    return None if is_over else Snooze(erasure.AGAIN.total_seconds())


@APP.job()
async def prune(ctx: Context) -> None:
    """Forget what nobody needs any more: callbacks, what people wrote, old suppressions, and old messages.

    Messages go in batches, each by itself: a table of years is not held up by its first pruning.
    """
    settings = ctx.settings(OutboundSettings)
    forgotten = 0
    while settings.keep_message_days:
        async with ctx.fenced() as conn:
            row = await store.one(conn, "prune_messages", days=settings.keep_message_days, most=BATCH)
        forgotten += row["forgotten"]
        if row["forgotten"] < BATCH:
            break
    async with ctx.transaction() as conn:
        row = await store.one(conn, "prune", days=settings.keep_days, suppression_years=SUPPRESSION_YEARS)
        ctx.result = {"forgotten": row["forgotten"] + forgotten}


@APP.job()
async def sweep(ctx: Context) -> None:
    """Find messages that no job sends any more, and have them sent or cancelled."""
    async with ctx.transaction() as conn:
        ctx.result = await orphans.sweep(conn)


@APP.job(queue=CALLBACKS)
async def wake(
    ctx: Context,
    *,
    again: bool,
    sender_id: int | None = None,
    template_code: str | None = None,
    language: str | None = None,
    quiet: bool = False,
) -> None:
    """Run the sends that wait for a sender, a template or quiet hours which have changed; each decides anew."""
    about: dict[str, Any] = {"sender_id": sender_id, "template_code": template_code, "language": language}
    async with ctx.transaction() as conn:
        woken = await holds.wake(conn, ctx.job.tenant_id, **about, again=again, quiet=quiet)
        ctx.result = {"woken": woken}


APP.schedule(expire_consents, cron="*/10 * * * *")
APP.schedule(sweep, cron="5-55/10 * * * *")
APP.schedule(prune, cron="20 3 * * *")

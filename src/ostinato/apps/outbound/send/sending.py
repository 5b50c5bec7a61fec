"""Sends messages, many at once: attempts begin in one transaction, and what was taken is settled in sets.

Between the two no transaction is open. Each answer is written as soon as it came, together with those that
came meanwhile: a provider that is slow with one message holds up no other. What is not simply taken (it
failed, or nobody knows) is settled by itself. If a set cannot be written, each of it is tried alone: what is
wrong with one message is no matter of the others.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from ostinato import Context, Done, Snooze
from ostinato.apps.outbound.errors import Undeliverable
from ostinato.apps.outbound.providers import PROVIDERS, sessions
from ostinato.apps.outbound.providers.protocol import Outcome, Refused, Taken
from ostinato.apps.outbound.providers.wire import Wire, pooled
from ostinato.apps.outbound.send import attempts, settle
from ostinato.apps.outbound.send.attempts import Go, Guard, Step, Wanted
from ostinato.apps.outbound.send.settle import Answer
from ostinato.apps.outbound.senders import accounts
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.errors import SecretKeyMissing, SecretRefused
from ostinato.jobs import Batch, Item
from ostinato.observe import get_logger

log = get_logger("outbound")

TOGETHER_SECONDS = 0.02
"""How long the first answer of a set waits for others: it is in doubt for as long, if this process dies."""


@dataclass(frozen=True, slots=True)
class Sending:
    """The arguments of a job that sends a message."""

    message_id: UUID


class Told(NamedTuple):
    """A job, and the answer that its provider gave."""

    item: Item[Sending]
    answer: Answer


async def send(batch: Batch[Sending], guards: Sequence[Guard]) -> None:
    """Send messages, if policy still allows it: note the attempts, call, write what came of each."""
    settings = batch[0].ctx.settings(OutboundSettings)
    going = [(item, step) for item, step in await _begun(batch, settings, guards) if isinstance(step, Go)]
    told: list[Told] = []
    came = asyncio.Event()
    asking = {asyncio.create_task(_ask(item, step, settings, told, came)) for item, step in going}
    try:
        while asking or told:
            if not told:
                await _next(asking, came)
            came.clear()
            asking = {task for task in asking if not task.done()}
            taken = told.copy()
            told.clear()
            await _settle(batch, taken, settings)
    finally:
        for task in asking:
            task.cancel()
        if asking:
            await asyncio.wait(asking)


async def _next(asking: set[asyncio.Task[None]], came: asyncio.Event) -> None:
    """Wait until an answer came, and a moment for those that come with it, or until nobody asks any more."""
    heard = asyncio.create_task(came.wait())
    try:
        await asyncio.wait({heard, *asking}, return_when=asyncio.FIRST_COMPLETED)
        if asking:
            await asyncio.wait(asking, timeout=TOGETHER_SECONDS)
    finally:
        heard.cancel()


async def _begun(
    batch: Batch[Sending], settings: OutboundSettings, guards: Sequence[Guard]
) -> list[tuple[Item[Sending], Step]]:
    """Begin the attempts of a batch; a message that is not sent now gets its verdict here."""
    items = list(batch.open)
    if len(items) > 1:
        try:
            async with batch.part(items).fenced() as conn:
                steps = await attempts.begin(conn, [_wanted(item) for item in items], settings, guards)
            return [_judged(item, step) for item, step in zip(items, steps, strict=True)]
        except Exception as error:  # noqa: BLE001 - whatever it is, each is tried alone
            log.warning("batch_not_begun", jobs=len(items), error=type(error).__name__)
    alone = [await _begun_alone(item, settings, guards) for item in items if item.is_open]
    return [found for found in alone if found is not None]


async def _begun_alone(
    item: Item[Sending], settings: OutboundSettings, guards: Sequence[Guard]
) -> tuple[Item[Sending], Step] | None:
    try:
        with item.flow():
            async with item.ctx.fenced() as conn:
                (step,) = await attempts.begin(conn, [_wanted(item)], settings, guards)
    except Exception as error:  # noqa: BLE001 - it is the verdict of this job alone
        item.settle(error)
        return None
    return _judged(item, step)


def _wanted(item: Item[Sending]) -> Wanted:
    return Wanted(item.ctx.job, item.args.message_id, item.ctx.correlation_id, item.flow)


def _judged(item: Item[Sending], step: Step) -> tuple[Item[Sending], Step]:
    """Give a job its verdict whose message does not go."""
    match step:
        case attempts.Over(what):
            item.settle(Done({"outcome": what}))
        case attempts.Wait(seconds):
            item.settle(Snooze(seconds))
        case attempts.Dead(reason):
            item.settle(Undeliverable(reason))
        case Go():
            pass
    return item, step


async def _ask(
    item: Item[Sending], step: Go, settings: OutboundSettings, told: list[Told], came: asyncio.Event
) -> None:
    """Ask the provider; what it took is noted for the next set, anything else is settled here."""
    with item.flow():
        try:
            if not item.is_open:
                return  # it was cancelled meanwhile
            outcome = await _sent(item.ctx, step, settings)
            if isinstance(outcome, Taken):
                told.append(Told(item, Answer(item.ctx.correlation_id, step.message, step.content, outcome)))
                came.set()
                return
            item.settle(await settle.settle(item.ctx, step.message, step.content, outcome, settings))
        except Exception as error:  # noqa: BLE001 - it is the verdict of this job alone
            item.settle(error)


async def _sent(ctx: Context, step: Go, settings: OutboundSettings) -> Outcome:
    """Send by the sender's own account, or by the installation's."""
    sender = step.content.sender
    try:
        account = accounts.settings_of(ctx.vault, ctx.job.tenant_id, sender, settings)
    except (SecretRefused, SecretKeyMissing) as error:  # nothing was sent: its account cannot be opened
        return Refused("CREDENTIALS", error.message)
    http = await ctx.shared(pooled, settings.proxy_url, settings.ca_file)
    wire = Wire(http, account, step.now, await ctx.shared(sessions.kept))
    return await PROVIDERS[sender.provider].send(step.content, wire)


async def _settle(batch: Batch[Sending], taken: list[Told], settings: OutboundSettings) -> None:
    """Write what was taken, and complete its jobs; who has left is in doubt, as after a crash."""
    taken = [each for each in taken if each.item.is_open]
    if len(taken) > 1:
        try:
            async with batch.part([each.item for each in taken]).transaction() as conn:
                await settle.took(conn, [each.answer for each in taken])
        except Exception as error:  # noqa: BLE001 - one is held elsewhere, or cannot be written
            log.warning("batch_not_settled", jobs=len(taken), error=type(error).__name__)
        else:
            return
    for item, answer in taken:
        if item.is_open:
            await _settle_alone(item, answer, settings)


async def _settle_alone(item: Item[Sending], answer: Answer, settings: OutboundSettings) -> None:
    try:
        with item.flow():
            item.settle(await settle.settle(item.ctx, answer.begun, answer.content, answer.taken, settings))
    except Exception as error:  # noqa: BLE001 - it is the verdict of this job alone
        item.settle(error)

"""Takes callbacks that were stored: a few statuses each go together, anything else by itself.

Providers post one or two statuses at a time, thousands of times: applied one after the other, each would be a
transaction and a dozen calls of its own. Those that wait at the same moment are applied by one transaction, which holds
the rows of no more lines than that of a large callback. If they cannot go together, each is tried alone: what is wrong
with one is no matter of the others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from ostinato import Context
from ostinato.apps.outbound import store
from ostinato.apps.outbound.model import WORDS
from ostinato.apps.outbound.providers.lines import StatusLine
from ostinato.apps.outbound.send import callbacks
from ostinato.apps.outbound.send.callbacks import Report
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.jobs import Batch, Item
from ostinato.observe import get_logger

FEW = 10
"""Callbacks of no more lines go together: one or two is usual."""

log = get_logger("outbound")


@dataclass(frozen=True, slots=True)
class Callback:
    """The arguments of a job that applies a callback."""

    callback_id: int


class Taking(NamedTuple):
    """A callback that goes together with others."""

    item: Item[Callback]
    reports: list[Report]
    odd: int


async def take(
    batch: Batch[Callback], settings: OutboundSettings, alone: Callable[[Context, int], Awaitable[None]]
) -> None:
    """Apply the callbacks of a batch; `alone` applies one as its job would by itself."""
    spoken = [item for item in batch.open if item.ctx.job.queue == WORDS]
    await _each(spoken, alone)  # what people said waits for nothing else
    for some in _chunks(await _found(batch, settings)):
        await _together(batch, some, settings)
    await _each([item for item in batch.open if item not in spoken], alone)


async def _each(items: Sequence[Item[Callback]], alone: Callable[[Context, int], Awaitable[None]]) -> None:
    async def one(item: Item[Callback]) -> None:
        try:
            with item.flow():
                await alone(item.ctx, item.args.callback_id)
        except Exception as error:  # noqa: BLE001 - it is the verdict of this job alone
            item.settle(error)
        else:
            item.settle()

    await asyncio.gather(*(one(item) for item in items))


async def _found(batch: Batch[Callback], settings: OutboundSettings) -> list[Taking]:
    """Read those that may go together, in the order in which they came."""
    items = {item.args.callback_id: item for item in batch.open}
    if len(items) < 2:  # noqa: PLR2004 - more than one
        return []
    try:
        async with batch.part(list(items.values())).fenced() as conn:
            rows = await store.rows(conn, "callbacks", ids=list(items))
    except Exception as error:  # noqa: BLE001 - one is held elsewhere: each is tried alone
        log.warning("callbacks_not_read_together", jobs=len(items), error=type(error).__name__)
        return []
    found = []
    for row in rows:
        try:
            lines, odd = await callbacks.read(row["provider"], callbacks.stored(row), settings)
        except Exception as error:  # noqa: BLE001 - it is tried alone, and refused or failed alone
            log.warning("callback_not_read", provider=row["provider"], error=type(error).__name__)
            continue
        item, usual = items[row["id"]], [line for line in lines if _is_usual(line)]
        if 0 < len(lines) <= FEW and len(usual) == len(lines):
            correlation_id = item.ctx.correlation_id
            found.append(Taking(item, [Report(line, row["tenant_id"], correlation_id) for line in usual], odd))
    return found


def _is_usual(line: object) -> TypeGuard[StatusLine]:
    return isinstance(line, StatusLine) and line.reported != "failed"


def _chunks(found: Sequence[Taking]) -> Iterator[list[Taking]]:
    """Split them so that one transaction applies no more lines than of a large callback."""
    some: list[Taking] = []
    for each in found:
        if sum(len(one.reports) for one in some) + len(each.reports) > callbacks.BATCH:
            yield some
            some = []
        some.append(each)
    if some:
        yield some


async def _together(batch: Batch[Callback], some: Sequence[Taking], settings: OutboundSettings) -> None:
    """Apply callbacks, and complete their jobs; if that is not possible, they are left."""
    some = [each for each in some if each.item.is_open]
    if len(some) < 2:  # noqa: PLR2004 - more than one
        return
    try:
        async with batch.part([each.item for each in some]).transaction() as conn:
            done = iter(await callbacks.report(conn, [one for each in some for one in each.reports], settings))
            applied = [sum(next(done) for _ in each.reports) for each in some]
            ignored = [len(each.reports) + each.odd - count for each, count in zip(some, applied, strict=True)]
            ids = [each.item.args.callback_id for each in some]
            await store.run(conn, "end_callbacks", ids=ids, lines=applied, ignored=ignored)
            for each, count, rest in zip(some, applied, ignored, strict=True):
                each.item.ctx.result = {"applied": count, "ignored": rest}
    except Exception as error:  # noqa: BLE001 - one is held elsewhere, or cannot be written
        log.warning("callbacks_not_taken_together", jobs=len(some), error=type(error).__name__)

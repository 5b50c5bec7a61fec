"""The subscribers of the fault tests, run by real worker processes.

    relayed   takes its time, and writes in the transaction that ends its job
    made      writes in the transaction that ends its job
    heard     writes outside of any transaction: at least once

An event may ask for time at its first attempt ("seconds"), or that it fails ("fails").
"""

import os
from typing import Any

import psycopg

from ostinato import App, Context
from ostinato._core.base.events import Event
from tests.faults.app import STUBBORN
from tests.waiting import let_pass

app = App("told")

TYPE = "thing.happened"
happened = app.event(TYPE)

IN_TRANSACTIONS = ("told.relayed", "told.made")


async def first(attempt: int, event: Event[Any]) -> None:
    """What an event asks for at its first attempt."""
    if attempt == 1:
        await let_pass(event.payload.get("seconds", 0))
        if event.payload.get("fails"):
            raise ConnectionError("not yet")


async def book(ctx: Context, event: Event[Any]) -> None:
    async with ctx.transaction() as conn:
        await conn.execute(
            "insert into booked (subscription, event_id, key) values (%s, %s, %s)",
            [ctx.job.kind, event.id, event.ordering_key],
        )


# A buried event keeps its key waiting: what comes after it may not come before it.
@app.on(TYPE, retry=STUBBORN, start="beginning", on_poison="block")
async def relayed(ctx: Context, event: Event[Any]) -> None:
    await first(ctx.job.attempt, event)
    await book(ctx, event)


@app.on(TYPE, retry=STUBBORN, start="beginning", on_poison="block")
async def made(ctx: Context, event: Event[Any]) -> None:
    await first(ctx.job.attempt, event)
    await book(ctx, event)


@app.on(TYPE, retry=STUBBORN, start="beginning", on_poison="block")
async def heard(ctx: Context, event: Event[Any]) -> None:
    url = os.environ["OSTINATO_TEST_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("insert into heard (event_id, key) values (%s, %s)", [event.id, event.ordering_key])
    await first(ctx.job.attempt, event)

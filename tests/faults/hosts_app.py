"""What runs on the hosts of test_hosts.py: each promise leaves a history, written in the transactions that keep it.

lease     the token of the lease, written under its guard
begin     a job of a queue that lets one run at a time has begun; outside of its transaction
end       … and ended
emitted   an event, in the transaction that emits it
booked    the same event, as its subscriber has it
slot      a slot of a schedule was served
told      those that hold on may end; a test writes it
"""

import os
from typing import Any

import psycopg

from ostinato import App, Context, Queue, Snooze, leases
from ostinato.errors import LeaseHeld
from ostinato.outbox import Event
from ostinato.schedules import Slot
from tests.faults.app import STUBBORN
from tests.waiting import let_pass

app = App("hosts", queues=[Queue("narrow", key_concurrency=1)])
happened = app.event("hosts.happened")

NOTE = "insert into history (what, key, number, job_id, attempt) values (%s, %s, %s, %s, %s)"


async def note(conn: Any, ctx: Context, what: str, key: str, number: int = 0) -> None:  # noqa: ANN401 - a connection
    await conn.execute(NOTE, [what, key, number, *ctx.token])


@app.job(retry=STUBBORN, open=True)
async def leased(ctx: Context) -> Snooze | None:
    """Holds the one lease, and writes under its guard."""
    try:
        async with leases.hold(ctx, "till") as lease:
            await let_pass(0.02)
            async with ctx.transaction() as conn:
                await lease.guard(conn)
                await note(conn, ctx, "lease", "till", lease.token)
    except LeaseHeld:
        return Snooze(0.2)
    return None


@app.job(retry=STUBBORN, open=True, queue="narrow")
async def narrow(ctx: Context) -> None:
    """Runs alone of its key."""
    url = os.environ["OSTINATO_DATABASE_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=3) as conn:
        await note(conn, ctx, "begin", "k")
    await let_pass(0.02)
    async with ctx.transaction() as conn:
        await note(conn, ctx, "end", "k")


@app.job(retry=STUBBORN, open=True)
async def emitting(ctx: Context, key: str) -> None:
    async with ctx.transaction() as conn:
        number = await happened.emit(conn, {}, key=key)
        await note(conn, ctx, "emitted", key, number)


@app.on(happened.name, retry=STUBBORN, start="beginning", on_poison="block")
async def book(ctx: Context, event: Event[Any]) -> None:
    async with ctx.transaction() as conn:
        await note(conn, ctx, "booked", str(event.ordering_key), event.id)


@app.job(retry=STUBBORN)
async def serve(ctx: Context, scheduled_for: Slot) -> None:
    async with ctx.transaction() as conn:
        await note(conn, ctx, "slot", str(scheduled_for.key))


@app.job(retry=STUBBORN)
async def holding(ctx: Context, until: int) -> None:
    """Holds on until it is told, or runs for the second time: who is cut off has something that another takes over."""
    url = os.environ["OSTINATO_DATABASE_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=3) as conn:
        while ctx.job.attempt == 1:
            told = await conn.execute("select from history where what = 'told' and number >= %s", [until])
            if await told.fetchone() is not None:
                return
            await let_pass(0.1)

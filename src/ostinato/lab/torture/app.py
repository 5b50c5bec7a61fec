"""Declares the jobs of `ostinato torture`: what real handlers do, and what they should not.

Every kind in `WITH_EFFECT` leaves one row in `torture.effect`, written in the transaction that ends
the job: exactly one for each job that is done, whatever happens to the worker. Each of the
`SUBSCRIPTIONS` leaves one row in `torture.booked` for each event, in the same way.
"""

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import psycopg

from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import LeaseHeld
from ostinato._core.base.events import Event
from ostinato._core.base.settings import ENV_PREFIX
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine.fires import Slot
from ostinato._core.engine.queues import Queue
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context, SyncContext
from ostinato._core.runtime.handlers.leases import hold
from ostinato._core.runtime.handlers.outcomes import Snooze

app = App("torture", queues=[Queue("narrow", key_concurrency=1)])

# Quicker than the default, with as many attempts: what the database does may use up none of them.
STUBBORN = Retry(base=0.1, factor=1.5, cap=1.5)
FILE = ("ostinato.lab.torture", "sql/torture.sql")
EVENTS = ("ostinato.lab.torture", "sql/events.sql")
PROMISES = ("ostinato.lab.torture", "sql/promises.sql")
TENANT = "torture"

happened = app.event("torture.happened")


async def emit(conn: psycopg.AsyncConnection[Any], keys: Sequence[str | None]) -> list[int]:
    """Emit an event of each key, and record it as a fact, in one transaction."""
    ids = await happened.emit_many(conn, [({}, key) for key in keys], tenant=TENANT, correlation_id="torture")
    await conn.execute(statement(*EVENTS, "note_facts"), [ids, list(keys)])
    return ids


async def _end(ctx: Context) -> None:
    async with ctx.transaction() as conn:
        await conn.execute(statement(*FILE, "write_effect"), ctx.token)


async def _note(conn: psycopg.AsyncConnection[Any], ctx: Context, what: str, key: str, number: int = 0) -> None:
    await conn.execute(statement(*PROMISES, "write"), [what, key, number, *ctx.token])


@app.job(retry=STUBBORN)
async def plain(ctx: Context, number: int) -> int:  # noqa: ARG001 - a handler takes it
    """Return a constant."""
    return number


@app.job(retry=STUBBORN)
async def effect(ctx: Context) -> None:
    """Writes at once."""
    await _end(ctx)


@app.job(retry=STUBBORN)
async def slow(ctx: Context, seconds: float) -> None:
    """Takes its time."""
    await asyncio.sleep(seconds)
    await _end(ctx)


@app.job(retry=STUBBORN, queue="rude")
async def blocking(ctx: Context, seconds: float) -> None:
    """Blocks the event loop, and every other job of its process with it."""
    time.sleep(seconds)  # noqa: ASYNC251 - the point of it
    await _end(ctx)


@app.job(retry=STUBBORN)
def threaded(ctx: SyncContext, seconds: float) -> None:
    """Run as a plain function, in a thread."""
    time.sleep(seconds)
    with ctx.transaction() as conn:
        conn.execute(statement(*FILE, "write_effect"), ctx.token)


@app.job(retry=STUBBORN)
async def flaky(ctx: Context, failures: int) -> None:
    """Fails some times."""
    if ctx.job.failures < failures:
        raise ConnectionError(f"failure {ctx.job.failures + 1} of {failures}")
    await _end(ctx)


@app.job(retry=STUBBORN)
async def sleepy(ctx: Context, times: int) -> Snooze | None:
    """Snoozes some times."""
    if ctx.job.attempt <= times:
        return Snooze(0.2)
    await _end(ctx)
    return None


@app.job(retry=STUBBORN)
async def single(ctx: Context) -> None:
    """Enqueued under a unique key."""
    await asyncio.sleep(0.05)
    await _end(ctx)


@app.job(retry=STUBBORN)
async def unwanted(ctx: Context) -> None:
    """Goes on until it is cancelled."""
    while not ctx.cancelled:  # noqa: ASYNC110 - as handlers do
        await asyncio.sleep(0.05)


@app.job(retry=STUBBORN)
async def outside(ctx: Context, key: str) -> None:
    """Calls another system, which recognises by a key what it has done already."""
    url = os.environ[f"{ENV_PREFIX}DATABASE_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        values: dict[str, Any] = {"job_id": ctx.job.id, "attempt": ctx.job.attempt, "key": key}
        await conn.execute(statement(*FILE, "call_outside"), values)


@app.job(retry=STUBBORN)
async def emitting(ctx: Context, key: str) -> None:
    """Emits an event in the transaction that ends it."""
    async with ctx.transaction() as conn:
        await conn.execute(statement(*FILE, "write_effect"), ctx.token)
        await emit(conn, [key])


# A buried event keeps its key waiting, so that what comes after it does not come before it.
@app.on(happened.name, retry=STUBBORN, start="beginning", on_poison="block")
async def relayed(ctx: Context, event: Event[Any]) -> None:
    """Books an event, and takes its time."""
    await asyncio.sleep(0.02)
    async with ctx.transaction() as conn:
        await conn.execute(statement(*EVENTS, "book"), _booked(relayed.name, event))


@app.on(happened.name, retry=STUBBORN, start="beginning", on_poison="block")
async def made(ctx: Context, event: Event[Any]) -> None:
    """Books an event at once."""
    async with ctx.transaction() as conn:
        await conn.execute(statement(*EVENTS, "book"), _booked(made.name, event))


def _booked(subscription: str, event: Event[Any]) -> list[object]:
    return [subscription, event.id, event.ordering_key]


@app.job(retry=STUBBORN)
async def leased(ctx: Context) -> Snooze | None:
    """Holds the one lease, and writes under its guard."""
    try:
        async with hold(ctx, "till") as lease:
            await asyncio.sleep(0.02)
            async with ctx.transaction() as conn:
                await lease.guard(conn)
                await _note(conn, ctx, "lease", "till", lease.token)
    except LeaseHeld:
        return Snooze(0.2)
    return None


@app.job(retry=STUBBORN, queue="narrow")
async def narrow(ctx: Context, key: str) -> None:
    """Runs alone of its key."""
    url = os.environ[f"{ENV_PREFIX}DATABASE_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=3) as conn:
        await _note(conn, ctx, "begin", key)
    await asyncio.sleep(0.02)
    async with ctx.transaction() as conn:
        await _note(conn, ctx, "end", key)


@app.job(retry=STUBBORN)
async def slot(ctx: Context, scheduled_for: Slot) -> None:
    """Serves a slot of a schedule."""
    async with ctx.transaction() as conn:
        await _note(conn, ctx, "slot", str(scheduled_for.key))


@app.job(retry=STUBBORN, queue="rude")
async def poison(ctx: Context) -> None:  # noqa: ARG001 - a handler takes it
    """Kills its process, always."""
    os.kill(os.getpid(), signal.SIGKILL)


POISON = poison.name
SUBSCRIPTIONS = [relayed.name, made.name]
WITH_EFFECT = [kind.name for kind in (effect, slow, blocking, threaded, flaky, sleepy, single, emitting)]

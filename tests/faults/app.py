"""The jobs of the fault tests, run by real worker processes."""

import asyncio
import ctypes
import os
import re
import resource
import signal
import threading
from asyncio.subprocess import PIPE
from collections import deque
from itertools import repeat
from pathlib import Path
from typing import Any

import psycopg

from ostinato import App, Context, Retry, SyncContext, connect, leases
from ostinato.jobs import Batch
from tests.waiting import let_pass, until

app = App("faults")

# Quicker than the default, and no more attempts: what a fault uses up, users lose.
STUBBORN = Retry(base=0.1, factor=1.5, cap=1)
ONCE = Retry(max_attempts=1)


async def note_start(ctx: Context) -> None:
    """Leave a trace outside of the job's transaction, by the database's clock."""
    url = os.environ["OSTINATO_TEST_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("insert into started values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
async def plain(ctx: Context) -> None:
    return None


@app.job(retry=STUBBORN)
async def effect(ctx: Context, seconds: float = 0) -> None:
    """Writes in the transaction that ends the job, after some time."""
    if seconds:
        await let_pass(seconds)
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
async def slow_at_first(ctx: Context) -> None:
    """Takes long, unless somebody has tried before."""
    if ctx.job.attempt == 1:
        await let_pass(3600)
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
async def long_transaction(ctx: Context, seconds: float) -> None:
    """Writes first and commits later."""
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)
        await let_pass(seconds)


@app.job(retry=ONCE)
async def once_only(ctx: Context, seconds: float = 0) -> None:
    """As `long_transaction`, but a failure is a dead letter."""
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)
        await let_pass(seconds)


@app.job(retry=ONCE)
def once_only_threaded(ctx: SyncContext, seconds: float = 0) -> None:
    """The same as a plain function."""
    with ctx.transaction() as conn:
        conn.execute("insert into effect values (%s, %s)", ctx.token)
        threading.Event().wait(seconds)


@app.job(retry=ONCE)
async def once_only_fenced(ctx: Context) -> None:
    """The same beside the transaction that ends the job."""
    async with ctx.fenced() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=ONCE)
async def once_only_step(ctx: Context) -> None:
    """The same as a step."""
    await ctx.step_in_transaction("write", write, *ctx.token)


@app.job(retry=ONCE, batch=1)
async def once_only_batch(batch: Batch[None]) -> None:
    """The same for a batch."""
    async with batch.transaction() as conn:
        for item in batch:
            await conn.execute("insert into effect values (%s, %s)", item.ctx.token)


@app.job(retry=ONCE)
async def once_only_client(ctx: Context) -> None:
    """The same on a connection of a client of its own, under a lease."""
    async with connect() as client, leases.hold(client, "effect", ttl=3600) as lease, client.transaction() as conn:
        await lease.guard(conn)
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


async def write(conn: psycopg.AsyncConnection[Any], job_id: int, attempt: int) -> None:
    """Leave the effect of a job."""
    await conn.execute("insert into effect values (%s, %s)", (job_id, attempt))


@app.job(retry=STUBBORN)
def threaded(ctx: SyncContext, seconds: float = 0) -> None:
    """A plain function."""
    threading.Event().wait(seconds)
    with ctx.transaction() as conn:
        conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
async def flaky(ctx: Context, failures: int) -> None:
    """Fails some times before it writes."""
    if ctx.job.failures < failures:
        raise ConnectionError("not yet")
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
async def traced(ctx: Context, seconds: float = 0) -> None:
    """Leaves a trace of its start, at once, and then takes its time."""
    await note_start(ctx)
    await let_pass(seconds)


@app.job(retry=STUBBORN)
async def slow_failure(ctx: Context) -> None:
    """Fails as soon as the test lets it, by a row of attempt 0."""
    await note_start(ctx)
    url = os.environ["OSTINATO_TEST_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        while True:
            told = await conn.execute("select from started where attempt = 0")
            if told.rowcount:
                raise ConnectionError("as told")
            await let_pass(0.05)


@app.job(retry=STUBBORN)
async def effect_when_told(ctx: Context) -> None:
    """Writes in its transaction as soon as the test lets it, by a row of attempt 0."""
    url = os.environ["OSTINATO_TEST_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        while not (await conn.execute("select from started where attempt = 0")).rowcount:
            await let_pass(0.05)
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
def threaded_when_told(ctx: SyncContext) -> None:
    """The same as a plain function."""
    with psycopg.connect(os.environ["OSTINATO_TEST_URL"], autocommit=True) as conn:
        until(lambda: conn.execute("select from started where attempt = 0").rowcount)
    with ctx.transaction() as conn:
        conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job(retry=STUBBORN)
async def blocking(ctx: Context, seconds: float) -> None:
    """Blocks the event loop."""
    await note_start(ctx)
    threading.Event().wait(seconds)


@app.job(retry=STUBBORN)
async def unstoppable(ctx: Context) -> None:
    """Swallows every wish that it should end."""
    await note_start(ctx)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@app.job(retry=STUBBORN)
def stuck(ctx: SyncContext) -> None:
    """A plain function that never returns."""
    threading.Event().wait()


@app.job(retry=STUBBORN)
async def poison(ctx: Context, how: str) -> None:
    """Takes its process down."""
    match how:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            ctypes.string_at(0)


@app.job(retry=STUBBORN)
async def stepped(ctx: Context, step: str, edge: str) -> None:
    """Takes three steps with effects outside of them, and dies once, at an edge of one of them."""
    url = os.environ["OSTINATO_TEST_URL"]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:

        async def at(here: str, name: str) -> None:
            if (name, here) == (step, edge):
                died = await conn.execute("insert into died values (%s) on conflict do nothing", [ctx.job.id])
                if died.rowcount:
                    os.kill(os.getpid(), signal.SIGKILL)

        async def effect(name: str) -> None:
            await at("during", name)
            await conn.execute("insert into ran values (%s, %s)", [ctx.job.id, name])
            await at("after the effect", name)

        for name in ("one", "two", "three"):
            await at("before", name)
            await ctx.step(name, effect, name)
            await at("after the save", name)


@app.job(retry=STUBBORN, timeout=5)
async def blocks_once(ctx: Context) -> None:
    """Blocks the event loop for ever, once, and lets other threads run."""
    await note_start(ctx)
    if ctx.job.attempt == 1:
        threading.Event().wait(600)


@app.job(retry=STUBBORN)
async def blocks_without_timeout(ctx: Context) -> None:
    """Blocks the event loop for ever, and has no timeout."""
    await note_start(ctx)
    threading.Event().wait(600)


@app.job(retry=STUBBORN)
async def holds_gil(ctx: Context, path: str) -> None:
    """Holds the GIL until somebody writes into a pipe: code in C that never lets go of it."""
    pipe = os.open(path, os.O_RDWR)
    await note_start(ctx)
    ctypes.PyDLL(None).read(pipe, ctypes.create_string_buffer(1), 1)


@app.job(retry=STUBBORN)
async def never_lets_go(ctx: Context) -> None:
    """Holds the GIL for ever, without a look at signals."""
    await note_start(ctx)
    deque(repeat(None), maxlen=0)


@app.job(retry=STUBBORN, timeout=5)
async def backtracks_once(ctx: Context) -> None:
    """Holds the GIL for years, once."""
    await note_start(ctx)
    if ctx.job.attempt == 1:
        re.match(r"(a+)+$", "a" * 60 + "!")


@app.job(retry=STUBBORN)
async def backtracks(ctx: Context, length: int) -> None:
    """Holds the GIL for as long as the pattern takes: each letter doubles it."""
    await note_start(ctx)
    re.match(r"(a+)+$", "a" * length + "!")


@app.job(retry=STUBBORN, timeout=1000)
async def patient(ctx: Context, seconds: float) -> None:
    """Has a timeout of its own, which is never over."""
    await note_start(ctx)
    await let_pass(seconds)


@app.job(retry=STUBBORN)
async def starts_child(ctx: Context) -> None:
    """Starts a process in a session of its own that would outlive everything, and awaits it."""
    child = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    ctx.progress(child.pid)
    await child.wait()


@app.job(retry=STUBBORN)
async def starts_forgetful_child(ctx: Context) -> None:
    """The same with nothing in its environment, by a process between that ends at once."""
    between = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", "sleep 600 & echo $!; read line", stdin=PIPE, stdout=PIPE, env={}, start_new_session=True
    )
    assert between.stdout is not None
    ctx.progress(int(await between.stdout.readline()))
    await between.wait()


@app.job(retry=ONCE)
def hungry(ctx: SyncContext) -> None:
    """Takes memory until there is none left for its process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**28, hard))
    try:
        _ = [bytearray(2**24) for _ in range(2**16)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

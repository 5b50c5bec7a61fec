"""Read by mypy, never run: what the public surface promises to an editor.

Every `type: ignore` here is a promise too: mypy complains if the line were not an error.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, assert_type

import asyncpg
import psycopg
from asyncpg.pool import PoolConnectionProxy
from django.db import connection as django_connection
from django.db import connections
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from pydantic import BaseModel
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncSession

from ostinato import App, Cancel, Client, Context, Done, Retry, Snooze, SyncContext, Unique, connect
from ostinato.jobs import Batch, End
from ostinato.schedules import Schedule
from ostinato.steps import Children, Joined

app = App("typed")


@app.job(queue="mail", retry=Retry(delays=(1, 2)), timeout=30)
async def send(ctx: Context, invoice_id: int, note: str = "") -> Done | Snooze | Cancel | None:
    assert_type(ctx.job.attempt, int)
    async with ctx.transaction() as conn:
        assert_type(conn, AsyncConnection[Any])
    return Done({"invoice": invoice_id, "note": note})


@dataclass
class Mail:
    to: str


@app.job(batch=100, queue="mail")
async def send_many(batch: Batch[Mail]) -> None:
    for item in batch:
        assert_type(item.args.to, str)
        assert_type(item.ctx, Context)
    async with batch.transaction() as conn:
        assert_type(conn, AsyncConnection[Any])


@app.job(batch=100)  # type: ignore[arg-type]
async def not_a_batch(ctx: Context, to: str) -> None: ...


@app.job()
def plain(ctx: SyncContext, path: str) -> None:
    with ctx.transaction() as conn:
        conn.execute("select 1")


async def calls(client: Client, conn: AsyncConnection[Any]) -> None:
    assert_type(await send.enqueue(client, 7), int)
    assert_type(await client.wait(await send.enqueue(client, 7), timeout=5), End)
    assert_type(await client.job(7).wait(timeout=5), End)
    assert_type(await send.enqueue(conn, invoice_id=7, note="soon"), int)
    assert_type(await send.options(delay=60, unique=Unique("k")).enqueue(conn, 7), int)
    assert_type(await send.enqueue_many(client, [{"invoice_id": 1}]), list[int])
    assert_type(await send.enqueue(client.for_tenant("acme"), 7), int)
    await send.enqueue(client, "seven")  # type: ignore[arg-type]
    await send.enqueue(client)  # type: ignore[call-arg]
    await send.enqueue(client, invoice_id=7, amount=1)  # type: ignore[call-arg]
    send.options(dely=60)  # type: ignore[call-arg]
    await plain.enqueue(client, 7)  # type: ignore[arg-type]


async def many(client: Client) -> None:
    """What `kind.args` makes is checked, by name and by type, and belongs to its kind."""
    assert_type(await send.enqueue_many(client, [send.args(1), send.args(invoice_id=2, note="soon")]), list[int])
    assert_type(await send.enqueue_many(client, (send.args(n) for n in range(3))), list[int])
    send.args("one")  # type: ignore[arg-type]
    send.args(invoice=1)  # type: ignore[call-arg]
    await send.enqueue_many(client, [plain.args("x")])  # type: ignore[arg-type]


class Paid(BaseModel):
    amount: int


paid = app.event("invoice.paid", payload=Paid)


async def elsewhere(session: AsyncSession, sync: orm.Session, plainly: psycopg.Connection[Any]) -> None:
    """The caller's own transaction, of whichever library: one of the other world is refused."""
    assert_type(await send.enqueue(session, 7), int)
    await send.enqueue(session, "seven")  # type: ignore[arg-type]
    await send.enqueue(7, 7)  # type: ignore[arg-type]
    await send.enqueue(None, 7)  # type: ignore[arg-type]
    await send.enqueue(sync, 7)  # type: ignore[arg-type]
    await send.enqueue(plainly, 7)  # type: ignore[arg-type]
    await send.enqueue_many(sync, [send.args(7)])  # type: ignore[arg-type]
    await paid.emit(session, Paid(amount=1))
    await paid.emit(7, Paid(amount=1))  # type: ignore[arg-type]
    await paid.emit(sync, Paid(amount=1))  # type: ignore[arg-type]


def in_sync_code(
    sync: orm.Session, plainly: psycopg.Connection[Any], session: AsyncSession, conn: AsyncConnection[Any]
) -> None:
    assert_type(send.enqueue_sync(sync, 7), int)
    assert_type(send.enqueue_sync(plainly, 7), int)
    send.enqueue_sync(sync, "seven")  # type: ignore[arg-type]
    send.enqueue_sync(session, 7)  # type: ignore[arg-type]
    send.enqueue_sync(conn, 7)  # type: ignore[arg-type]
    paid.emit_sync(plainly, Paid(amount=1))
    paid.emit_sync(conn, Paid(amount=1))  # type: ignore[arg-type]


async def lent(
    pool: AsyncConnectionPool, of_asyncpg: asyncpg.Pool, conn: asyncpg.Connection, proxy: PoolConnectionProxy
) -> None:
    """What a pool lends is a connection; mypy knows no types of asyncpg, nor of Django."""
    async with pool.connection() as of_psycopg:
        assert_type(await send.enqueue(of_psycopg, 7), int)
    await send.enqueue(conn, 7)
    await send.enqueue(proxy, 7)
    async with of_asyncpg.acquire() as of_pool:
        await send.enqueue(of_pool, 7)
    await send.enqueue(of_asyncpg, 7)  # refused by pyright
    await send.enqueue(django_connection, 7)  # refused by pyright


def lent_in_sync_code(pool: ConnectionPool) -> None:
    with pool.connection() as of_psycopg:
        assert_type(send.enqueue_sync(of_psycopg, 7), int)
    send.enqueue_sync(django_connection, 7)
    send.enqueue_sync(connections["default"], 7)
    send.enqueue_sync(connections, 7)  # refused by pyright
    send.enqueue_sync(pool, 7)  # type: ignore[arg-type]


def timetable() -> None:
    """As are the arguments of a schedule."""
    assert_type(app.schedule(send, send.args(7), cron="0 9 * * *"), Schedule)
    app.schedule(send, {"invoice_id": 7}, cron="0 9 * * *", name="by-name")
    app.schedule(send, send.args("seven"), cron="0 9 * * *")  # type: ignore[arg-type]
    app.schedule(send, plain.args("x"), cron="0 9 * * *")  # refused by pyright; mypy joins the two kinds


async def children(ctx: Context, thread: SyncContext) -> None:
    one = await ctx.spawn(send, 7, note="soon")
    many = await ctx.spawn_many(send, [{"invoice_id": 1}])
    assert_type(await ctx.join(one, [many], on_failure="ignore", timeout=60), Joined)
    assert_type(thread.spawn(plain, path="a"), Children)
    await ctx.spawn(send, "seven")  # type: ignore[arg-type]
    thread.spawn(plain, 7)  # type: ignore[arg-type]
    await ctx.join(one, on_failure="retry")  # type: ignore[arg-type]


@asynccontextmanager
async def lifespan() -> AsyncIterator[Client]:
    async with connect() as client:
        assert_type(client, Client)
        yield client

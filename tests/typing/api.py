"""Read by mypy, never run: what the public surface promises to an editor.

Every `type: ignore` here is a promise too: mypy complains if the line were not an error.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, assert_type

from psycopg import AsyncConnection

from ostinato import App, Cancel, Client, Context, Done, Retry, Snooze, SyncContext, Unique, connect
from ostinato.jobs import End

app = App("typed")


@app.job(queue="mail", retry=Retry(delays=(1, 2)), timeout=30)
async def send(ctx: Context, invoice_id: int, note: str = "") -> Done | Snooze | Cancel | None:
    assert_type(ctx.job.attempt, int)
    async with ctx.transaction() as conn:
        assert_type(conn, AsyncConnection[Any])
    return Done({"invoice": invoice_id, "note": note})


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


@asynccontextmanager
async def lifespan() -> AsyncIterator[Client]:
    async with connect() as client:
        assert_type(client, Client)
        yield client

"""`python -m bench.events`: how many events a second, from the commit to the handler.

One process, one embedded server, the defaults: writers, sequencer and handlers share the machine.
Prints the rates of emitting (one by one, and in bulk), sequencing and dispatching; then, for many
keys, some, and one, the rate of the whole way with a worker, and the latency from a commit to its
handler.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection

from bench import loop
from ostinato import App, Worker, testing
from ostinato._core.base.flow import flow
from ostinato._core.db.pool import connect
from ostinato._core.engine import outbox, subscriptions, upkeep
from ostinato._core.engine.outbox import NewEvent

COUNT = 20_000
CHUNK = 500
KEYS = (500, 50, 1)
SINGLES = 500
PROBES = 200
NAME = "bench.note"


def emitted(count: int, keys: int = KEYS[0]) -> list[NewEvent]:
    return [NewEvent("happened", '{"a": 1}', "bench", f"k{n % keys}") for n in range(count)]


async def measured(what: str, count: int, work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    rate = count / (time.perf_counter() - started)
    print(f"{what:<32} {rate:>10,.0f} events/s")
    return rate


async def emit_all(conn: AsyncConnection[Any], keys: int = KEYS[0]) -> None:
    for _ in range(COUNT // CHUNK):
        await outbox.emit_many(conn, emitted(CHUNK, keys))


async def sequence_all(conn: AsyncConnection[Any]) -> None:
    while (await outbox.sequence(conn)).stamped:
        pass


async def dispatch_all(conn: AsyncConnection[Any]) -> None:
    while await subscriptions.dispatch(conn):
        pass


async def whole_way(keys: int) -> float:
    """Emit, sequence, dispatch and handle, all at the same time, on a fresh database; events a second."""
    app = App("bench")
    happened = app.event("happened")
    seen = 0
    arrived = asyncio.Event()

    @app.on("happened", name=NAME)
    async def note(_ctx: object, _event: object) -> None:
        nonlocal seen
        seen += 1
        arrived.set()

    async def until(count: int) -> None:
        while seen < count:
            arrived.clear()
            await arrived.wait()

    async with prepared() as engine:

        async def emit_and_wait() -> None:
            async with engine.client.connection() as conn:
                await emit_all(conn, keys)
            await until(COUNT)

        worker = Worker([app], engine.database)
        running = asyncio.create_task(worker.run())
        await worker.started.wait()
        rate = await measured(f"commit to handler, {keys} keys", COUNT, emit_and_wait)
        waits = []
        for _ in range(PROBES):
            before, started = seen, time.perf_counter()
            await happened.emit(engine.client, {"a": 1}, key="k")
            await until(before + 1)
            waits.append(1000 * (time.perf_counter() - started))
        waits.sort()
        print(f"{'  latency, ms':<32} p50 {waits[PROBES // 2]:.1f}, p99 {waits[-2]:.1f}")
        worker.stop()
        await running
    return rate


@asynccontextmanager
async def prepared() -> AsyncIterator[testing.Engine]:
    """A fresh engine with this week's partitions."""
    async with testing.engine() as engine:
        async with await connect(engine.database.admin_url, role="migrate") as conn:
            await upkeep.run(conn, 14)
        yield engine


async def parts() -> None:
    async with prepared() as engine, engine.client.connection() as conn:
        await subscriptions.subscribe(conn, NAME, types=["happened"])

        async def singles() -> None:
            for event in emitted(SINGLES):
                await outbox.emit(conn, event)

        await measured("emitted, one transaction each", SINGLES, singles)
        await measured(f"emitted, {CHUNK} a statement", COUNT, lambda: emit_all(conn))
        await measured("sequenced", COUNT + SINGLES, lambda: sequence_all(conn))
        await measured("made into jobs", COUNT + SINGLES, lambda: dispatch_all(conn))


async def main() -> None:
    with flow(tenant="bench", correlation="bench"):
        await parts()
        for keys in [int(word) for word in sys.argv[1:]] or KEYS:
            await whole_way(keys)


if __name__ == "__main__":
    sys.exit(loop.run(main()))

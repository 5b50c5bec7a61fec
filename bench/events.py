"""`python -m bench.events`: how many events a second, from the commit to the handler.

One process, one embedded server, the defaults: writers, sequencer and handlers share the machine.
Prints the rates of telling (one by one, and in bulk), sequencing, taking and settling, and of the
whole way with a worker; then the latency from a commit to its handler.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from psycopg import AsyncConnection

from ostinato import App, Worker, testing
from ostinato._core.base.flow import flow
from ostinato._core.db.pool import connect
from ostinato._core.engine import outbox, subscriptions, upkeep, workers
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.subscriptions import Settlement

COUNT = 20_000
CHUNK = 500
BATCH = 200
SINGLES = 500
PROBES = 200
NAME = "bench.note"


def told(count: int) -> list[NewEvent]:
    return [NewEvent("happened", '{"a": 1}', "bench", f"k{n % 500}") for n in range(count)]


async def measured(what: str, count: int, work: Callable[[], Awaitable[object]]) -> None:
    started = time.perf_counter()
    await work()
    print(f"{what:<32} {count / (time.perf_counter() - started):>10,.0f} events/s")


async def emit_all(conn: AsyncConnection[Any]) -> None:
    for _ in range(COUNT // CHUNK):
        await outbox.emit_many(conn, told(CHUNK))


async def sequence_all(conn: AsyncConnection[Any]) -> None:
    while (await outbox.sequence(conn)).stamped:
        pass


async def deliver_all(conn: AsyncConnection[Any]) -> None:
    worker_id = await workers.register(conn, "bench", ["default"], [], 3600)
    while taken := await subscriptions.take(conn, NAME, worker_id, BATCH):
        ended = [Settlement(one.position, one.attempt, "done") for one in taken]
        await subscriptions.settle(conn, NAME, ended)
    await workers.unregister(conn, worker_id)


async def whole_way(engine: testing.Engine) -> None:
    app = App("bench")
    happened = app.event("happened")
    seen = 0
    arrived = asyncio.Event()

    @app.on("happened", mode="relay", name=NAME)
    async def note(_ctx: object, _event: object) -> None:
        nonlocal seen
        seen += 1
        arrived.set()

    async def until(count: int) -> None:
        while seen < count:
            arrived.clear()
            await arrived.wait()

    async def emit_and_wait() -> None:
        async with engine.client.connection() as conn:
            await emit_all(conn)
        await until(COUNT)

    worker = Worker([app], engine.database)
    running = asyncio.create_task(worker.run())
    await worker.started.wait()
    await measured("told, sequenced and handled", COUNT, emit_and_wait)
    waits = []
    for _ in range(PROBES):
        before, started = seen, time.perf_counter()
        await happened.emit(engine.client, {"a": 1}, key="k")
        await until(before + 1)
        waits.append(1000 * (time.perf_counter() - started))
    waits.sort()
    print(f"{'commit to handler, ms':<32} p50 {waits[PROBES // 2]:.1f}, p99 {waits[-2]:.1f}")
    worker.stop()
    await running


async def main() -> None:
    async with testing.engine() as engine:
        async with await connect(engine.database.admin_url, role="migrate") as conn:
            await upkeep.run(conn, 14)
        with flow(tenant="bench", correlation="bench"):
            async with engine.client.connection() as conn:
                await subscriptions.subscribe(conn, NAME, types=["happened"])

                async def singles() -> None:
                    for event in told(SINGLES):
                        await outbox.emit(conn, event)

                await measured("told, one transaction each", SINGLES, singles)
                await measured(f"told, {CHUNK} a statement", COUNT, lambda: emit_all(conn))
                await measured("sequenced", COUNT + SINGLES, lambda: sequence_all(conn))
                await measured("taken and settled", COUNT + SINGLES, lambda: deliver_all(conn))
            await whole_way(engine)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

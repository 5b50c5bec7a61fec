"""PgQueuer: asyncpg pool and uvloop; BENCH_BATCH is the batch: 100 is fast, 10 its default."""

import asyncio
import json
import os
import sys

import asyncpg  # type: ignore[import-not-found]
import pgqueuer  # type: ignore[import-not-found]
import uvloop  # type: ignore[import-not-found]

from bench.systems.driver import Opaque, Producer, main, postgres_observer
from bench.systems.probe import Payload, Probe

PACKAGE = "pgqueuer"
ENTRYPOINT = "bench"
BATCH = int(os.environ.get("BENCH_BATCH", "100"))

open_observer = postgres_observer


def prepare(dsn: str) -> None:
    async def install() -> None:
        connection = await asyncpg.connect(dsn)
        await pgqueuer.Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    asyncio.run(install())


class Enqueuer:
    def __init__(self, queries: Opaque) -> None:
        self.queries = queries

    async def bulk(self, payloads: list[Payload]) -> None:
        count = len(payloads)
        bodies = [json.dumps(job).encode() for job in payloads]
        await self.queries.enqueue([ENTRYPOINT] * count, bodies, [0] * count)

    async def one(self, payload: Payload) -> None:
        await self.queries.enqueue(ENTRYPOINT, json.dumps(payload).encode())


async def open_producer(dsn: str) -> Producer:
    connection = await asyncpg.connect(dsn)
    return Enqueuer(pgqueuer.Queries.from_asyncpg_connection(connection))


def run_worker(dsn: str, probe: Probe) -> None:
    async def job(message: Opaque) -> None:
        probe.hit(json.loads(message.payload))

    async def work() -> None:
        pool = await asyncpg.create_pool(dsn, min_size=5, max_size=10)
        queue = pgqueuer.PgQueuer.from_asyncpg_pool(pool)
        queue.entrypoint(ENTRYPOINT)(job)
        await queue.run(batch_size=BATCH)

    uvloop.run(work())


if __name__ == "__main__":
    main(sys.modules[__name__])

"""Absurd: async client, concurrency and claim batch 50, defaults otherwise.

Its SDK enqueues one task a call; the bulk way is its own SQL function over a set.
"""

import asyncio
import json
import sys
from pathlib import Path

import absurd_sdk  # type: ignore[import-not-found]
import absurdctl  # type: ignore[import-not-found]
import psycopg

from bench.systems.driver import STEPS, Opaque, Producer, main, postgres_observer
from bench.systems.probe import Payload, Probe

PACKAGE = "absurd-sdk"
QUEUE = "bench"
TASK = "bench"
CONCURRENCY = 50
BULK = (Path(__file__).parents[1] / "sql" / "absurd_bulk.sql").read_bytes()

open_observer = postgres_observer


def prepare(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(absurdctl.BUNDLED_SCHEMA_SQL.encode())
    absurd_sdk.Absurd(dsn, queue_name=QUEUE).create_queue()


class Spawner:
    def __init__(self, client: Opaque, connection: psycopg.AsyncConnection) -> None:
        self.client = client
        self.connection = connection

    async def bulk(self, payloads: list[Payload]) -> None:
        await self.connection.execute(BULK, [QUEUE, TASK, [json.dumps(job) for job in payloads]])

    async def one(self, payload: Payload) -> None:
        await self.client.spawn(TASK, payload, queue=QUEUE)


async def open_producer(dsn: str) -> Producer:
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    client = absurd_sdk.AsyncAbsurd(dsn, queue_name=QUEUE)
    await client.list_queues()  # connects
    return Spawner(client, connection)


def run_worker(dsn: str, probe: Probe) -> None:
    async def work() -> None:
        client = absurd_sdk.AsyncAbsurd(dsn, queue_name=QUEUE)

        async def nothing() -> None:
            return None

        async def job(params: Payload, context: Opaque) -> None:
            probe.hit(params)
            for step in STEPS:
                await context.step(step, nothing)

        client.register_task(name=TASK)(job)
        await client.start_worker(concurrency=CONCURRENCY)

    asyncio.run(work())


if __name__ == "__main__":
    main(sys.modules[__name__])

"""Procrastinate: async psycopg connector, concurrency 50, defaults otherwise."""

import asyncio
import logging
import sys

import procrastinate  # type: ignore[import-not-found]

from bench.systems.driver import Opaque, Producer, main, postgres_observer
from bench.systems.probe import Payload, Probe

PACKAGE = "procrastinate"
CONCURRENCY = 50
CONNECTIONS = 4
TASK = "bench"

open_observer = postgres_observer


def app_for(dsn: str, connections: int) -> Opaque:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    connector = procrastinate.PsycopgConnector(conninfo=dsn, min_size=connections, max_size=connections)
    return procrastinate.App(connector=connector)


def prepare(dsn: str) -> None:
    async def apply() -> None:
        async with app_for(dsn, 1).open_async() as app:
            await app.schema_manager.apply_schema_async()

    asyncio.run(apply())


class Deferrer:
    def __init__(self, task: Opaque) -> None:
        self.task = task

    async def bulk(self, payloads: list[Payload]) -> None:
        await self.task.batch_defer_async(*({"payload": job} for job in payloads))

    async def one(self, payload: Payload) -> None:
        await self.task.defer_async(payload=payload)


async def open_producer(dsn: str) -> Producer:
    app = app_for(dsn, 1)
    await app.open_async()
    return Deferrer(app.configure_task(TASK))


def run_worker(dsn: str, probe: Probe) -> None:
    app = app_for(dsn, CONNECTIONS)

    async def job(payload: Payload) -> None:
        probe.hit(payload)

    app.task(name=TASK)(job)
    app.run_worker(concurrency=CONCURRENCY)


if __name__ == "__main__":
    main(sys.modules[__name__])

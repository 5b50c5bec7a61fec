"""DBOS: async workflows on a queue polled every 50 ms, pool of 20, defaults otherwise.

There is no bulk enqueue in its client; the best it offers is many enqueues in one transaction.
"""

import sys
import threading

import dbos  # type: ignore[import-not-found]
import sqlalchemy  # type: ignore[import-not-found]

from bench.systems.driver import STEPS, Producer, main, postgres_observer
from bench.systems.probe import Payload, Probe

PACKAGE = "dbos"
QUEUE = "bench"
OPTIONS = {"workflow_name": "bench", "queue_name": QUEUE}
POLL_SECONDS = 0.05
WORKER_CONCURRENCY = 500

open_observer = postgres_observer


def launch(dsn: str) -> None:
    dbos.DBOS(
        config={
            "name": "bench",
            "system_database_url": dsn,
            "log_level": "ERROR",
            "sys_db_pool_size": 20,
            "application_version": "1",
        }
    )


def prepare(dsn: str) -> None:
    launch(dsn)
    dbos.DBOS.launch()
    dbos.DBOS.register_queue(QUEUE, worker_concurrency=WORKER_CONCURRENCY, polling_interval_sec=POLL_SECONDS)
    dbos.DBOS.destroy()


class Enqueuer:
    def __init__(self, dsn: str) -> None:
        self.client = dbos.DBOSClient(system_database_url=dsn)
        self.engine = sqlalchemy.create_engine(dsn.replace("postgresql:", "postgresql+psycopg:", 1))

    async def bulk(self, payloads: list[Payload]) -> None:
        with self.engine.begin() as connection:
            for job in payloads:
                self.client.enqueue_in_transaction(connection, OPTIONS, job)

    async def one(self, payload: Payload) -> None:
        self.client.enqueue(OPTIONS, payload)


async def open_producer(dsn: str) -> Producer:
    return Enqueuer(dsn)


def run_worker(dsn: str, probe: Probe) -> None:
    launch(dsn)

    async def nothing() -> None:
        return None

    async def job(payload: Payload) -> None:
        probe.hit(payload)
        for step in STEPS:
            await dbos.DBOS.run_step_async({"name": step}, nothing)

    dbos.DBOS.workflow(name="bench")(job)
    dbos.DBOS.launch()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.modules[__name__])

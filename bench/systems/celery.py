"""Celery on Redis over a Unix socket: solo or threads pool, prefetch 100, no results, Redis without fsync.

Early acknowledgement (its default) makes it faster, and loses what a killed worker held.
"""

import os
import sys

import celery  # type: ignore[import-not-found]
import redis  # type: ignore[import-not-found]

from bench.systems.driver import Observer, Opaque, Producer, main
from bench.systems.probe import Payload, Probe

PACKAGE = "celery"
QUEUE = "bench"
TASK = "bench"
SOCKET = os.environ.get("BENCH_REDIS", "")
PREFETCH = 100
POOL = os.environ.get("BENCH_POOL", "solo")


def app_for() -> Opaque:
    app = celery.Celery("bench", broker=f"redis+socket://{SOCKET}")
    app.conf.update(
        task_default_queue=QUEUE,
        task_ignore_result=True,
        worker_prefetch_multiplier=PREFETCH,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
    )
    return app


def prepare(_dsn: str) -> None:
    redis.Redis(unix_socket_path=SOCKET).flushall()


class Sender:
    def __init__(self) -> None:
        self.app = app_for()
        self.producer = self.app.amqp.producer_pool.acquire()

    async def bulk(self, payloads: list[Payload]) -> None:
        for job in payloads:
            await self.one(job)

    async def one(self, payload: Payload) -> None:
        self.app.send_task(TASK, (payload,), producer=self.producer)


async def open_producer(_dsn: str) -> Producer:
    return Sender()


def open_observer(_dsn: str, _unfinished: str) -> Observer:
    connection = redis.Redis(unix_socket_path=SOCKET)

    def nothing_left() -> bool:
        waiting: int = connection.llen(QUEUE)
        unacknowledged: int = connection.hlen("unacked")
        return waiting + unacknowledged == 0

    return nothing_left


def run_worker(_dsn: str, probe: Probe) -> None:
    app = app_for()
    app.task(name=TASK, ignore_result=True)(probe.hit)
    pool = ["--pool=solo"] if POOL == "solo" else [f"--pool={POOL}", "--concurrency=100"]
    app.worker_main(["worker", *pool, "--without-gossip", "--without-mingle", "--loglevel=ERROR"])


if __name__ == "__main__":
    main(sys.modules[__name__])

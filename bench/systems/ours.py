"""Ostinato: the adapter of the benchmark. Default settings, nothing switched off.

The functions of `bench.systems.driver.System`, and below them the two that only our scenarios use.
`dsn` is always the administrator's address of a fresh, empty database on the embedded server.
"""

import sys

from bench.systems.driver import TenantProducer, main, postgres_observer
from bench.systems.probe import Probe

PACKAGE = "ostinato"

open_observer = postgres_observer


def prepare(dsn: str) -> None:
    """Migrates the database and makes sure that the worker role can log in to it."""
    raise NotImplementedError("bench.systems.ours.prepare")


async def open_producer(dsn: str) -> TenantProducer:
    """Connects as an application would and returns an object with three methods.

    `bulk(payloads)` enqueues a set in ONE transaction (`enqueue_many` or COPY), `one(payload)` a
    single job with its own commit, `bulk_for(payloads, tenants)` a set with a tenant for each.
    A payload `{"n": 1}` or `{"n": 1, "t": 2}` is the job's only argument or its keyword arguments.
    """
    raise NotImplementedError("bench.systems.ours.open_producer")


def run_worker(dsn: str, probe: Probe) -> None:
    """Runs one worker process as `ostinato worker` does, with the worker role and full features.

    The one job kind calls `probe.hit(payload)` with the payload's dict and returns. Runs until the
    process is killed: it need not stop by itself. Beats, timeout, metrics and tenants stay on.
    """
    raise NotImplementedError("bench.systems.ours.run_worker")


def worker_dsn(dsn: str) -> str:
    """The same database as the worker role sees it, so that pgbench pays for row security too."""
    raise NotImplementedError("bench.systems.ours.worker_dsn")


def limit_script(dsn: str, batch: int) -> str:
    """A pgbench script of the SQL limit: ONE transaction claims `batch` jobs and completes them.

    It calls the very functions the worker calls, with the arguments the worker gives. Whatever it
    needs beforehand (a row in `worker`, which no rescue may take for dead while the script runs)
    is set up here, through `dsn`. Every run takes exactly `batch` jobs while that many wait.
    """
    raise NotImplementedError("bench.systems.ours.limit_script")


if __name__ == "__main__":
    main(sys.modules[__name__])

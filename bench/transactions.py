"""`python -m bench.transactions [jobs] [rounds]`: jobs that end in a transaction of their own.

Each writes one row in `ctx.transaction()`, which also completes the job. Beside it, in the same
run, on the same server and on as many connections, pgbench runs the same statements (begin, insert,
complete_job, commit) for jobs that were claimed beforehand, and two bare inserts.

Prints medians of rounds that take turns, and the share of pgbench that the worker reaches. Ends
with 1 if that is less than 70 %.
"""

import asyncio
import json
import os
import sys
import time
from statistics import median
from typing import NamedTuple

import psycopg

from bench import loop
from bench.places import sql
from bench.server import BenchServer, pgbench, running
from bench.systems.ours import database, prepare, worker_dsn
from ostinato import App, Client, Context, Worker
from ostinato._core.base import log
from ostinato._core.base.settings import Settings

CONNECTIONS = 10
WANTED = 0.7
LIMIT_SECONDS = 300


class Round(NamedTuple):
    """Transactions a second."""

    worker: float
    same: float
    bare: float


class Ended:
    """How many jobs have ended, and whether those that are waited for have."""

    def __init__(self, wanted: int) -> None:
        self.count = 0
        self.wanted = wanted
        self.all = asyncio.Event()

    def add(self) -> None:
        self.count += 1
        if self.count == self.wanted:
            self.all.set()


def app_with(ended: Ended) -> App:
    """One kind, which writes a row."""
    app = App("bench")

    @app.job(timeout=30)
    async def write(ctx: Context, n: int) -> None:  # noqa: ARG001 - as every job of a benchmark
        async with ctx.transaction() as conn:
            await conn.execute("insert into bench_effect values (%s, %s)", ctx.token)
        ended.add()

    return app


async def fill(dsn: str, count: int) -> None:
    """Add jobs."""
    kind = app_with(Ended(0))["bench.write"]
    async with Client(database(dsn)) as client:
        await kind.enqueue_many(client, [{"n": n} for n in range(count)])


async def work(dsn: str, count: int) -> float:
    """Jobs a second of one worker, from when it is up."""
    ended = Ended(count)
    settings = Settings(handler_connections=CONNECTIONS)
    worker = Worker([app_with(ended)], database(dsn), settings)
    running_worker = asyncio.create_task(worker.run())
    await worker.started.wait()
    started, before = time.perf_counter(), ended.count
    await ended.all.wait()
    seconds = time.perf_counter() - started
    worker.stop()
    await running_worker
    return (count - before) / seconds


def on_pgbench(dsn: str, script: str, count: int) -> float:
    """Transactions a second of pgbench, for jobs that are claimed here."""
    with psycopg.connect(worker_dsn(dsn), autocommit=True) as conn:
        found = conn.execute(sql("transactions_claim")).fetchone()
    job, claim, *counted = found or (0, 0)
    if counted != [count] * 3:
        raise RuntimeError(f"the numbers have gaps, of {count}: {found}")
    each = count // CONNECTIONS
    return pgbench(
        worker_dsn(dsn),
        sql(script).decode(),
        limit=LIMIT_SECONDS,
        transactions=each,
        clients=CONNECTIONS,
        variables={"job0": job, "claim0": claim, "each": each, "n": 0},
    )


def one_round(server: BenchServer, count: int) -> Round:
    """The three, each in a database of its own."""
    rates = []
    for what in ("worker", "transactions_pgbench", "transactions_bare"):
        with server.database("bench_transactions") as dsn:
            prepare(dsn)
            with psycopg.connect(dsn, autocommit=True) as conn:
                conn.execute(sql("transactions_tables"))
            asyncio.run(fill(dsn, count))
            server.analyze(dsn)
            server.checkpoint()
            if what == "worker":
                rates.append(loop.run(work(dsn, count)))
            else:
                rates.append(on_pgbench(dsn, what, count))
    return Round(*rates)


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    log.configure(level="error")
    with running() as server:
        found = [one_round(server, count) for _ in range(rounds)]
    for each in found:
        print(json.dumps({name: round(rate) for name, rate in each._asdict().items()}))
    middle = Round(*(median(column) for column in zip(*found, strict=True)))
    share = median(each.worker / each.same for each in found)
    print(
        f"{CONNECTIONS} connections, {count} jobs, load {os.getloadavg()[0]:.1f}:"
        f" ctx.transaction() {middle.worker:,.0f} jobs/s,"
        f" pgbench with the same statements {middle.same:,.0f}/s ({share:.0%}),"
        f" with two bare inserts {middle.bare:,.0f}/s"
    )
    return int(share < WANTED)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench.cells [jobs]`: two cells on this machine against one, and how long a tenant's move takes.

A cell here is a PostgreSQL server of its own with one worker process. The same number of jobs is drained by one cell,
and by two, half each, on the same cores: the figure says what cells cost, not what a second machine gives. Then a
tenant with 10,000 waiting jobs moves from one to the other, and the pause is printed.
"""

import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from statistics import median

import psutil  # type: ignore[import-untyped]
import psycopg

from bench.places import ROOT, sql
from bench.server import BenchServer, running
from bench.systems import ours
from ostinato import App, Client, Context, Worker
from ostinato._core.base import log
from ostinato._core.db.backup import server as admin
from ostinato._core.engine import cell_setup
from ostinato._core.engine.moves import Move, Moved, Side

ROUNDS = 3
BULK = 1000
MOVED_JOBS = 10_000
LOOK_SECONDS = 0.02

app = App("bench")


@app.job(timeout=30, open=True)
async def noop(ctx: Context, n: int) -> None:
    """Do nothing."""


def main() -> None:
    """Measure, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
    log.configure("json", "warning")
    with ExitStack() as stack:
        servers = [stack.enter_context(running(ROOT / ".bench" / f"cell{n}")) for n in (1, 2)]
        dsns = [stack.enter_context(server.database("bench_cells")) for server in servers]
        for dsn in dsns:
            ours.prepare(dsn)
        rates: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(ROUNDS):
            for cells in (1, 2):
                rates[cells].append(drained(servers, dsns[:cells], count))
        moved = asyncio.run(move(dsns))
    one, two = median(rates[1]), median(rates[2])
    print(f"{psutil.cpu_count()} cores, {count:,} jobs a round, medians of {ROUNDS}")
    print(f"one cell, jobs/s            {one:,.0f}")
    print(f"two cells, jobs/s           {two:,.0f}  ({two / one:.2f}x)")
    print(f"move of {moved.rows:,} rows: no job of it started for {moved.jobs_paused:.2f} s,", end=" ")
    print(f"callers refused for {moved.callers_paused:.2f} s")


def drained(servers: Sequence[BenchServer], dsns: Sequence[str], count: int) -> float:
    """Jobs a second, from the start of the workers' first claims until no job is left in any cell."""
    for dsn in dsns:
        asyncio.run(fill(dsn, count // len(dsns)))
    for server in servers:
        server.checkpoint()
    workers = [multiprocessing.get_context("spawn").Process(target=work, args=(dsn,)) for dsn in dsns]
    with ExitStack() as stack:
        conns = [stack.enter_context(psycopg.connect(dsn, autocommit=True)) for dsn in dsns]
        for process in workers:
            process.start()
        try:
            while left(conns) == count:
                time.sleep(LOOK_SECONDS)
            began = time.monotonic()
            while left(conns):
                time.sleep(LOOK_SECONDS)
            return count / (time.monotonic() - began)
        finally:
            for process in workers:
                process.terminate()
                process.join()


def left(conns: Sequence[psycopg.Connection[tuple[int]]]) -> int:
    """The jobs that are not finished."""
    rows = [conn.execute(sql("ours_left")).fetchone() for conn in conns]
    return sum(row[0] for row in rows if row is not None)


async def fill(dsn: str, count: int, tenant: str = "default") -> None:
    """Add jobs."""
    async with Client(ours.database(dsn)) as client:
        for first in range(0, count, BULK):
            jobs = [{"n": n} for n in range(first, min(first + BULK, count))]
            await noop.options(tenant=tenant).enqueue_many(client, jobs)


def work(dsn: str) -> None:
    """Run one worker process."""
    log.configure("json", "warning")
    asyncio.run(Worker([app], ours.database(dsn)).run())


async def move(dsns: Sequence[str]) -> Moved:
    """Move a tenant with waiting jobs."""
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(await admin.connect(dsn)) for dsn in dsns]
        for conn in (one, two):  # the jobs of the rounds had ids of both: a cell is numbered before its first job
            await conn.execute("truncate ostinato_data.job cascade")
            await conn.execute("truncate ostinato_data.outcome, ostinato_data.event cascade")
        await cell_setup.share_secrets(one, two, [])
        for number, conn in enumerate((one, two), 1):
            await cell_setup.number_ids(conn, number, [])
        await fill(dsns[0], MOVED_JOBS, "acme")
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sides = (Side("one", one), Side("two", two), Side("one", one))
        return await Move("acme", *sides, file=Path(folder) / "acme.gz", schemas=[]).run()


if __name__ == "__main__":
    main()

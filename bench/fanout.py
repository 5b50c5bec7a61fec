"""`python -m bench.fanout [children] [rounds]`: a parent spawns children and joins them; children a second.

One worker with its defaults, one embedded server, on this machine. The same number of plain jobs, added in
one statement, runs in turns with it: what being a child costs. Where the peers are installed (`make
bench`), DBOS runs the same in a process of its own: a workflow that starts children on a queue and gets
their results.

Prints medians of rounds that take turns.
"""

import asyncio
import os
import subprocess
import sys
import time
from statistics import median

from bench.places import PEERS_PYTHON, ROOT
from bench.server import running
from bench.systems.ours import database, prepare, worker_dsn
from ostinato import App, Client, Context, Done, Worker
from ostinato._core.base import log
from ostinato._core.base.settings import Settings

CHILDREN = 10_000
ROUNDS = 3
LIMIT_SECONDS = 600
PEER_LIMIT_SECONDS = 3600
"""A peer that is slow is measured as well."""


def app_with(done: asyncio.Event, count: int) -> App:
    """A parent, and what it spawns; plain jobs tell when the last has run."""
    app = App("bench")
    ran = 0

    @app.job()
    async def leaf(ctx: Context, n: int) -> None:  # noqa: ARG001 - as every job of a benchmark
        nonlocal ran
        ran += 1
        if ran == count:
            done.set()

    @app.job()
    async def parent(ctx: Context, children: int) -> Done:
        joined = await ctx.join(await ctx.spawn_many(leaf, ({"n": n} for n in range(children))))
        return Done(joined.done)

    return app


async def fanned(dsn: str, count: int) -> float:
    """Children a second, from the enqueue of the parent to its end."""
    app = app_with(asyncio.Event(), -1)
    worker = Worker([app], database(dsn), Settings())
    task = asyncio.create_task(worker.run())
    try:
        async with Client(database(dsn)) as client, asyncio.timeout(LIMIT_SECONDS):
            started = time.perf_counter()
            job_id = await app["bench.parent"].enqueue(client, children=count)
            joined = await client.result(job_id)
            seconds = time.perf_counter() - started
        if joined != count:
            raise SystemExit(f"{joined} of {count} children were joined")
    finally:
        worker.stop()
        await task
    return count / seconds


async def plain(dsn: str, count: int) -> float:
    """The same number of jobs that are no children, added in one statement."""
    done = asyncio.Event()
    app = app_with(done, count)
    worker = Worker([app], database(dsn), Settings())
    task = asyncio.create_task(worker.run())
    try:
        async with Client(database(dsn)) as client, asyncio.timeout(LIMIT_SECONDS):
            started = time.perf_counter()
            await app["bench.leaf"].enqueue_many(client, [{"n": n} for n in range(count)])
            await done.wait()
            seconds = time.perf_counter() - started
    finally:
        worker.stop()
        await task
    return count / seconds


def dbos(dsn: str, count: int) -> float | str:
    """The same in DBOS; a text says why there is no figure."""
    if not PEERS_PYTHON.exists():
        return "not installed (make bench)"
    command = [str(PEERS_PYTHON), "-m", "bench.systems.dbos_fanout", dsn, str(count)]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, timeout=PEER_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {PEER_LIMIT_SECONDS} s"
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()
        return f"failed: {said[-1] if said else f'exit code {ended.returncode}'}"
    return float(ended.stdout.split()[-1])


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else CHILDREN
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    log.configure(level="error")
    why = ""
    found: dict[str, list[float]] = {"children joined": [], "plain jobs": [], "DBOS": []}
    with running() as server:
        for _ in range(rounds):
            for what, measure in (("children joined", fanned), ("plain jobs", plain)):
                with server.database("bench_fanout") as dsn:
                    prepare(dsn)
                    found[what].append(asyncio.run(measure(worker_dsn(dsn), count)))
            with server.database("bench_fanout") as dsn:
                peer = dbos(dsn, count)
            if isinstance(peer, str):
                why = peer
            else:
                found["DBOS"].append(peer)
    for what, rates in found.items():
        told = f"{median(rates):>10,.0f} a second" if rates else f" {why}"
        print(f"{what:<16}{told}")
    print(f"{count} of each, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

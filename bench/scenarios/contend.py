"""Many workers on one backlog: contention must not eat what one worker alone reaches.

All workers start and warm up (a new session plans every function once) until each has run jobs,
wait idle, and then the backlog appears in one commit. They count in a file that all map; the run
ends as every drain does: all have run, and the tables hold nothing unfinished.
"""

import mmap
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench.catalog import Runner, System
from bench.launch import Arguments, SystemFailedError, child
from bench.measure import START_LIMIT_SECONDS, Bench, Figures
from bench.places import WORK
from bench.scenarios.common import prepared
from bench.systems.driver import Observer, postgres_observer
from bench.systems.probe import SharedProbe

WARMUP_JOBS = 1_000  # for each worker, of which some get none: again, until all had some
WARMUP_TIMES = 20
STEADY_SECONDS = 3.0
LOOK_EVERY_SECONDS = 0.01


@contextmanager
def counters(workers: int) -> Iterator[tuple[Path, memoryview]]:
    """A file with two numbers for each worker: jobs run, and when its first one started."""
    path = WORK / "counters"
    path.write_bytes(bytes(SharedProbe.SLOT_BYTES * workers))
    with path.open("r+b") as file:
        yield path, memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    path.unlink()


def wait_until_steady(bench: Bench, database: str, workers: int) -> None:
    """Until all have connected and no further session has come for a while."""
    deadline = time.monotonic() + START_LIMIT_SECONDS + workers
    seen, since = 0, time.monotonic()
    while seen < workers or time.monotonic() - since < STEADY_SECONDS:
        sessions = bench.server.sessions(database)
        if sessions != seen:
            seen, since = sessions, time.monotonic()
        if time.monotonic() > deadline:
            raise SystemFailedError(f"{workers} workers: only {seen} sessions appeared")
        time.sleep(0.1)


def rate_with(bench: Bench, system: System, workers: int) -> float:
    count, warmup = bench.sizes.contend_jobs, WARMUP_JOBS * workers
    limit = bench.sizes.drain_limit_seconds * 2 + START_LIMIT_SECONDS + workers
    with counters(workers) as (path, slots), prepared(bench, system) as url, ExitStack() as stack:
        for slot in range(workers):
            shared: Arguments = {"counter": str(path), "slot": slot, "limit": limit}
            stack.enter_context(child(system, "work", url, bench.extra, **shared))
        wait_until_steady(bench, f"bench_case_{system.module}", workers)
        nothing_left = postgres_observer(url, system.unfinished)
        run = 0
        while run == 0 or (0 in slots[: 2 * workers : 2] and run < WARMUP_TIMES * warmup):
            bench.fill(system, url, warmup, batch=warmup)
            run += warmup
            wait_until_run(bench, slots, run, nothing_left)
        for slot in range(workers):
            slots[slot * 2 + 1] = 0
        bench.fill(system, url, count, batch=count)
        wait_until_run(bench, slots, run + count, nothing_left)
        ended = time.monotonic_ns()
        first = min(start for start in slots[1::2] if start)
    return count / ((ended - first) / 1e9)


def wait_until_run(bench: Bench, slots: memoryview, count: int, nothing_left: Observer) -> None:
    deadline = time.monotonic() + bench.sizes.drain_limit_seconds
    while sum(slots[::2]) < count or not nothing_left():
        if time.monotonic() > deadline:
            raise SystemFailedError(f"only {sum(slots[::2])} of {count} jobs in time")
        time.sleep(LOOK_EVERY_SECONDS)


def run(bench: Bench, system: System) -> Figures:
    if system.runner is Runner.NODE or system.needs_redis:
        raise SystemFailedError("only Python workers on PostgreSQL can count in a shared file")
    measured: dict[int, list[float]] = {workers: [] for workers in bench.sizes.contend_workers}
    for _ in range(bench.sizes.repeats):
        for workers, rates_seen in measured.items():
            rates_seen.append(rate_with(bench, system, workers))
    rates = {workers: median(rates_seen) for workers, rates_seen in measured.items()}
    figures: Figures = {f"contend_{workers}": rate for workers, rate in rates.items()}
    alone = rates[1]
    shares = {f"contend_{w}_share": rate / alone for w, rate in rates.items() if w > 1}
    return {**figures, **shares}

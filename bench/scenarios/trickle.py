"""What a trickle costs: CPU and statements while single jobs come in at a slow, steady rate.

A worker can buy a short start latency by asking the database all the time. Its latency does not
show that, and its idle rate does not either: this does. Every system is asked.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]
from psycopg.conninfo import conninfo_to_dict

from bench.catalog import BY_KEY, System
from bench.launch import Answer, child
from bench.measure import START_LIMIT_SECONDS, Bench, Figures, milliseconds
from bench.scenarios.common import prepared
from bench.stats import percentile

SYSTEMS = frozenset(BY_KEY)
SLOW, QUICK = 10, 50
COUNTED_JOBS = 60


@dataclass(frozen=True)
class Stage:
    """One system at work; `pids` are the first processes of its worker and its database."""

    bench: Bench
    system: System
    url: str
    pids: tuple[int, int]

    @contextmanager
    def producer(self, rate: int, numbers: range) -> Iterator[Callable[[], None]]:
        """A producer that has connected; the call enqueues at a steady rate, to the end."""
        pace = {"n": len(numbers), "rate": rate, "offset": numbers.start}

        def produce() -> None:
            producer.go()
            producer.answer(START_LIMIT_SECONDS + len(numbers) / rate)
            time.sleep(1 / rate)  # the time of the last job

        with child(self.system, "produce", self.url, self.bench.extra, **pace) as producer:
            producer.answer(START_LIMIT_SECONDS)
            yield produce

    def cpu(self, rate: int, numbers: range) -> float:
        """The CPU of worker and database meanwhile, as a percentage of one core."""
        with self.producer(rate, numbers) as produce:
            before, started = cpu_seconds(self.pids), time.monotonic()
            produce()
            used = cpu_seconds(self.pids) - before
            return 100 * used / (time.monotonic() - started)

    def statements(self, rate: int, numbers: range) -> float:
        """What the database is sent for one job, by producer and worker together."""
        database = str(conninfo_to_dict(self.url)["dbname"])
        with self.producer(rate, numbers) as produce, self.bench.server.counting(database) as counted:
            produce()
        return counted() / len(numbers)


def cpu_seconds(roots: tuple[int, ...]) -> float:
    """The CPU that processes and all that they started have used, ended children included."""
    found = [psutil.Process(pid) for pid in roots]
    return sum(_used(each) for root in found for each in (root, *root.children(recursive=True)))


def _used(process: psutil.Process) -> float:
    try:
        return float(sum(process.cpu_times()[:4]))  # user and system, its own and its ended children's
    except psutil.NoSuchProcess:
        return 0.0


def run(bench: Bench, system: System) -> Figures:
    """The figures of one system, from one worker process that stays for all of them."""
    seconds = bench.sizes.trickle_seconds
    slow = range(SLOW * seconds)
    quick = range(slow.stop, slow.stop + QUICK * seconds)
    counted = range(quick.stop, quick.stop + COUNTED_JOBS * (not system.needs_redis))
    limit = 3 * START_LIMIT_SECONDS + 4 * seconds
    with (
        prepared(bench, system) as url,
        child(system, "work", url, bench.extra, n=counted.stop, limit=limit) as worker,
        child(system, "produce", url, bench.extra, n=0, rate=1, knock=True) as knocker,
    ):
        knocker.answer(START_LIMIT_SECONDS)
        worker.answer(START_LIMIT_SECONDS)
        time.sleep(bench.sizes.settle_seconds)
        stage = Stage(bench, system, url, (worker.process.pid, bench.database_pid(system)))
        figures = {"cpu_at_10": stage.cpu(SLOW, slow), "cpu_at_50": stage.cpu(QUICK, quick)}
        if counted:
            figures["statements"] = stage.statements(SLOW, counted)
        # The first second warms up; the last notification may end with the producer's process.
        return figures | latencies(worker.answer(limit), slow[SLOW:-1])


def latencies(answer: Answer, numbers: range) -> Figures:
    """The start latencies of the jobs with these numbers."""
    starts = {n: ns for n, ns in answer["latencies_ns"].items() if int(n) in numbers}
    found = milliseconds(answer | {"latencies_ns": starts}, warmup=0)
    return {"trickle_p50": percentile(found, 50), "trickle_p99": percentile(found, 99)}

"""One round of one system: the figures that every system is asked for."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bench.catalog import System
from bench.launch import Answer, Argument, Arguments, call, child
from bench.server import BenchServer
from bench.sizes import Sizes

START_LIMIT_SECONDS = 60.0
COMMON = ("bulk", "single", "drain", "latency", "idle")

Figures = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """All that a measurement needs: the server, the sizes, and the environment of the children."""

    server: BenchServer
    sizes: Sizes
    extra: Mapping[str, str]

    def database_pid(self, system: System) -> int:
        """The first process of the database that a system uses."""
        return int(self.extra["BENCH_REDIS_PID"]) if system.needs_redis else self.server.pid

    def call(self, system: System, action: str, url: str, **args: Argument) -> Answer:
        limit = self.sizes.drain_limit_seconds
        return call(system, action, url, self.extra, limit=limit, **args)

    def fill(self, system: System, url: str, count: int, **args: Argument) -> float:
        """Enqueues a backlog in sets; jobs a second."""
        args.setdefault("batch", self.sizes.batch)
        answer = self.call(system, "bulk", url, n=count, **args)
        return count / float(answer["seconds"])

    def drain(self, system: System, url: str, count: int, **args: Argument) -> Answer:
        """Drains a backlog with one worker process; its answer, with the rate."""
        answer = self.call(system, "drain", url, n=count, unfinished=system.unfinished, **args)
        return {**answer, "rate": count / float(answer["seconds"])}


def jobs_of(system: System, sizes: Sizes) -> int:
    return max(400, round(system.jobs * sizes.jobs_share))


def one_round(bench: Bench, system: System, only: Collection[str]) -> Figures:
    """Measures what `only` names, in a database of its own."""
    figures: Figures = {}
    name = f"bench_{system.key}".replace("-", "_")
    with bench.server.database(name) as url:
        figures["version"] = bench.call(system, "prepare", url)["version"]
        bench.server.checkpoint()
        if {"bulk", "single", "drain"} & set(only):
            figures |= throughput(bench, system, url, only)
        waits = {"latency", "idle"} & set(only)
        empty = "drain" in only or not {"bulk", "single"} & set(only)
        if waits and empty:
            bench.server.tidy(url)
            figures |= latency_and_idle(bench, system, url, name, only)
    if waits and not empty:  # what was enqueued is still there, and would be in the way
        figures |= one_round(bench, system, waits)
    return figures


def throughput(bench: Bench, system: System, url: str, only: Collection[str]) -> Figures:
    """Bulk, one by one, and the drain of all that was enqueued, with the log that it wrote."""
    figures: Figures = {}
    jobs, singles = jobs_of(system, bench.sizes), bench.sizes.singles
    start = bench.server.wal_bytes()
    figures["bulk"] = bench.fill(system, url, jobs)
    bulk_wal = bench.server.wal_bytes() - start
    if "single" in only:
        answer = bench.call(system, "single", url, n=singles)
        figures["single"] = singles / answer["seconds"]
    else:
        singles = 0
    if "drain" not in only:
        return figures
    bench.server.analyze(url)
    start = bench.server.wal_bytes()
    answer = bench.drain(system, url, jobs + singles)
    figures["drain"] = answer["rate"]
    figures["client_cpu_us"] = answer["cpu_seconds"] / (jobs + singles) * 1e6
    if not system.needs_redis:
        drain_wal = bench.server.wal_bytes() - start
        figures["wal"] = bulk_wal / jobs + drain_wal / (jobs + singles)
    return figures


def latency_and_idle(bench: Bench, system: System, url: str, database: str, only: Collection[str]) -> Figures:
    """One idle worker: what it asks of the database, then how soon it starts a job."""
    figures: Figures = {}
    sizes = bench.sizes
    count = sizes.latency_rate * sizes.latency_seconds + sizes.latency_warmup
    work: Arguments = {"n": count, "limit": START_LIMIT_SECONDS + sizes.idle_seconds + sizes.latency_seconds}
    pace: Arguments = {"n": count, "rate": sizes.latency_rate, "knock": True}
    with (
        child(system, "work", url, bench.extra, **work) as worker,
        child(system, "produce", url, bench.extra, **pace) as producer,
    ):
        producer.answer(START_LIMIT_SECONDS)
        worker.answer(START_LIMIT_SECONDS)
        time.sleep(sizes.settle_seconds)
        if "idle" in only and not system.needs_redis:
            with bench.server.counting(database) as counted:
                time.sleep(sizes.idle_seconds)
            figures["idle"] = counted() / sizes.idle_seconds
        if "latency" in only:
            producer.go()
            producer.answer(sizes.latency_seconds + START_LIMIT_SECONDS)
            answer = worker.answer(START_LIMIT_SECONDS)
            figures["latencies_ms"] = milliseconds(answer, sizes.latency_warmup)
    return figures


def milliseconds(answer: Answer, warmup: int) -> list[float]:
    """Latencies without those of the warm-up."""
    if answer["missing"]:
        raise RuntimeError(f"{answer['missing']} jobs of the latency run never started.")
    return [ns / 1e6 for n, ns in answer["latencies_ns"].items() if int(n) >= warmup]

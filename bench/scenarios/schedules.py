"""A schedule for each entity, a tenth of them due at the same second.

One worker process: how late the jobs are added, and how late their handlers start. Rows, not
threads: what the process has of both is told, too.
"""

import time
from importlib import import_module

import psutil  # type: ignore[import-untyped]
import psycopg

from bench.catalog import System
from bench.launch import child
from bench.measure import START_LIMIT_SECONDS, Bench, Figures, milliseconds
from bench.places import sql
from bench.scenarios.common import prepared
from bench.stats import percentile

LEAD_SECONDS = 5


def run(bench: Bench, system: System) -> Figures:
    ours = import_module("bench.systems.ours")
    count, due = bench.sizes.schedules, bench.sizes.schedules_due
    limit = START_LIMIT_SECONDS + 60
    with prepared(bench, system) as url:
        started = time.monotonic()
        ours.write_schedules(url, range(due, count), None)
        rate = (count - due) / (time.monotonic() - started)
        bench.server.tidy(url)
        with child(system, "work", url, bench.extra, n=due, limit=limit) as worker:
            ours.knock(url)
            worker.answer(limit)
            idle = psutil.Process(worker.process.pid)
            before = idle.num_threads(), idle.memory_info().rss
            ours.write_schedules(url, range(due), int(time.time()) + LEAD_SECONDS)
            answer = worker.answer(limit)
        with psycopg.connect(url) as connection:
            row = connection.execute(sql("schedule_lateness")).fetchone()
    added = list(row[0]) if row is not None and row[0] else []
    if len(added) != due:
        raise RuntimeError(f"{len(added)} of {due} schedules fired.")
    started_ms = milliseconds(answer, warmup=0)
    return {
        "schedules_written": rate,
        "schedules_p50": percentile(added, 50),
        "schedules_p99": percentile(added, 99),
        "schedules_start_p99": percentile(started_ms, 99),
        "schedules_threads": before[0],
        "schedules_mb": before[1] / 1e6,
    }

"""How much of what the SQL functions can do does the Python worker reach?

pgbench, one client, runs the worker's own claim and complete functions on the same backlog.
"""

from importlib import import_module
from statistics import median

import psycopg

from bench.catalog import System
from bench.measure import Bench, Figures
from bench.places import sql
from bench.scenarios.common import filled_and_drained, prepared, ratio
from bench.server import pgbench

BATCH = 500


def sql_rate(bench: Bench, url: str, count: int) -> float:
    """Jobs a second through the SQL functions alone; `count` jobs wait in the database."""
    ours = import_module("bench.systems.ours")
    script: str = ours.limit_script(url, BATCH)
    transactions = count // BATCH
    rate = BATCH * pgbench(
        ours.worker_dsn(url), script, limit=bench.sizes.drain_limit_seconds, transactions=transactions
    )
    with psycopg.connect(url) as connection:
        row = connection.execute(sql("ours_left")).fetchone()
    left = -1 if row is None else int(row[0])
    if left != count - transactions * BATCH:
        raise RuntimeError(f"The SQL limit left {left} of {count} jobs, so its rate means nothing.")
    return rate


def run(bench: Bench, system: System) -> Figures:
    count = bench.sizes.limit_jobs
    alone: list[float] = []
    worker: list[float] = []
    for _ in range(bench.sizes.repeats):
        with prepared(bench, system) as url:
            bench.fill(system, url, count)
            bench.server.analyze(url)
            alone.append(sql_rate(bench, url, count))
        with prepared(bench, system) as url:
            worker.append(filled_and_drained(bench, system, url, count))
    return {"limit_sql": median(alone), "limit_share": ratio(worker, alone)}

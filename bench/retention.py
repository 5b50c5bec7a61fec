"""`python -m bench.retention [--rows 50000000] [--retention-days 14]`: a large history on one machine, and its price.

Fills a fresh database with so many outcomes over eight weeks, by statements that write sets, and measures, on the
history and beside it:

    claim       1,000 jobs claimed and completed in sets of 100, by the SQL functions; and without a history
    why         `ostinato.why` of jobs of the history
    list        the first page of a tenant's jobs, and of all, as the console asks for them
    archive     the weeks past retention into compressed JSON lines; with more days there are fewer of them
    drop        the same weeks, dropped by upkeep

Times are medians. What a statement reads does not depend on the machine: `tests/sql/test_price*.py` counts that.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

import psycopg

from bench.places import sql
from bench.server import running
from bench.systems import ours
from ostinato._core.db.backup.shelf import Shelf
from ostinato._core.engine import archive, upkeep

BATCH = 250_000
DAYS = 56
ROUNDS = 20
CLAIMS, SET = 10, 100


def main() -> None:
    """Fill, measure, print."""
    given = argparse.ArgumentParser()
    given.add_argument("--rows", type=int, default=50_000_000)
    given.add_argument("--retention-days", type=int, default=14)
    asked = given.parse_args()
    count = asked.rows
    figures: dict[str, float] = {}
    with running() as server, server.database("bench_retention") as dsn:
        ours.prepare(dsn)
        with psycopg.connect(dsn, autocommit=True) as conn:
            figures["claim and complete 100 jobs, without a history, ms"] = claims(conn)
            conn.execute("set synchronous_commit = off")
            began = time.monotonic()
            fill(conn, count)
            figures["filled, s"] = time.monotonic() - began
            server.analyze(dsn)
            server.checkpoint()
            conn.execute("set synchronous_commit = on")
            size, weeks = one(conn, sql("retention_sizes"))
            figures |= {"history, GB": float(size) / 1e9, "weeks": float(weeks)}
            figures["claim and complete 100 jobs, ms"] = claims(conn)
            figures |= looks(conn)
        figures |= asyncio.run(leave(dsn, asked.retention_days))
    width = max(map(len, figures))
    print(f"{count:,} outcomes")
    for name, value in figures.items():
        print(f"{name:<{width}}  {value:,.2f}")
    print(json.dumps({"rows": count, **figures}))


def fill(conn: psycopg.Connection[tuple[object, ...]], count: int) -> None:
    """Make the history."""
    conn.execute("set role ostinato_owner")  # whose the partitions are
    conn.execute(sql("retention_weeks"), {"days": DAYS})
    conn.execute("reset role")
    for first in range(1, count + 1, BATCH):
        last = min(first + BATCH - 1, count)
        conn.execute(sql("retention_fill"), {"first": first, "last": last, "all": count, "days": DAYS})
        print(f"\r{last:,}", end="", file=sys.stderr, flush=True)
    conn.execute("select setval('ostinato_data.job_id_seq', %s)", [count + 1])


def claims(conn: psycopg.Connection[tuple[object, ...]]) -> float:
    """Claim jobs and complete them, in sets; returns the median of a set in milliseconds."""
    conn.execute("select ostinato.enqueue_jobs('{bench.noop}', array_fill('{}'::text, array[%s]))", [CLAIMS * SET])
    (worker,) = one(conn, b"select ostinato.register_worker('bench', '{default}', '{bench.noop}', 86400)")
    times = []
    for _ in range(CLAIMS):
        began = time.perf_counter()
        conn.execute(
            "select ostinato.complete_jobs(array_agg(claim_id), array_agg(job_id), array_agg(attempt), array_agg(1))"
            " from ostinato.claim_jobs(%s, 'default', %s, array['bench.noop'])",
            [worker, SET],
        )
        times.append((time.perf_counter() - began) * 1000)
    return median(times)


def looks(conn: psycopg.Connection[tuple[object, ...]]) -> dict[str, float]:
    """Ask as people do."""
    days = iter(range(ROUNDS * 10))

    def why() -> None:
        (job,) = one(conn, sql("retention_one"), {"days": 1 + next(days) % (DAYS - 2)})
        conn.execute("select * from ostinato.why(%s)", [job]).fetchall()

    def listed(tenant: str | None) -> Callable[[], None]:
        return lambda: void(conn.execute("select * from ostinato.list_jobs(tenant_id => %s, most => 50)", [tenant]))

    return {
        "why, ms": timed(why),
        "console list, all tenants, ms": timed(listed(None)),
        "console list, one tenant, ms": timed(listed("tenant7")),
    }


async def leave(dsn: str, retention: int) -> dict[str, float]:
    """Archive all weeks that are past retention, then drop them, one by one as upkeep does."""
    async with await psycopg.AsyncConnection.connect(ours.worker_dsn(dsn), autocommit=True) as conn:
        with tempfile.TemporaryDirectory() as folder:
            await archive.require(conn, folder)
            began = time.monotonic()
            done = await archive.run(conn, Shelf(folder), retention)
            seconds = time.monotonic() - began
            rows, size = sum(each.rows for each in done), sum(each.bytes for each in done)
            drops = []
            while True:
                began = time.monotonic()
                actions = await upkeep.run(conn, retention)
                if not any(action.action == "dropped" for action in actions):
                    break
                drops.append(time.monotonic() - began)
    return {
        "archived, rows": rows,
        "archived, rows a second": rows / seconds,
        "archived, bytes a row": size / max(1, rows),
        "weeks dropped": len(drops),
        "drop of a week, archive checked, s": median(drops) if drops else 0.0,
    }


def timed(ask: Callable[[], None]) -> float:
    """The median of some rounds, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1000)
    return median(times)


def one(
    conn: psycopg.Connection[tuple[object, ...]], statement: bytes, values: dict[str, int] | None = None
) -> tuple[object, ...]:
    """The row of a statement that has one."""
    row = conn.execute(statement, values).fetchone()
    assert row is not None  # noqa: S101 - a row always
    return row


def void(cursor: psycopg.Cursor[tuple[object, ...]]) -> None:
    """Read all, and keep nothing."""
    cursor.fetchall()


if __name__ == "__main__":
    main()

"""Measures the rows of `bench.apps` that need no HTTP server of ours, in small rounds.

plain functions   a drain of plain functions beside one of async functions, and that beside the SQL functions
one by one        jobs added in a transaction each, beside bare inserts of one row, over one connection
events            from the commit to the handler, 500 keys and one key
webhooks          one endpoint, beside httpx alone
rounds            100,000 groups due at once, against 5 s
"""

import json
import time
from collections.abc import Awaitable, Callable
from statistics import median

import psycopg

from bench import events, loop, rounds, webhooks
from bench.catalog import BY_KEY, OURS
from bench.http import NOOP
from bench.measure import Bench, one_round
from bench.places import sql
from bench.scenarios import limit
from bench.server import BenchServer
from bench.sizes import QUICK
from bench.systems import ours
from bench.targets import PLAIN
from ostinato import Client, testing
from ostinato._core.base.flow import flow

SINGLES = 300
TURNS = 5
MESSAGES = 3_000
KEYS = (500, 1)
NAMES = frozenset(
    {
        *("drain", "limit", "plain", "single", "bare insert", "webhooks", "beside webhooks"),
        *(f"events {keys}" for keys in KEYS),
        "rounds in time",
    }
)
"""What `measure` finds."""


async def a_second(count: int, work: Callable[[int], Awaitable[object]]) -> float:
    started = time.perf_counter()
    for number in range(count):
        await work(number)
    return count / (time.perf_counter() - started)


async def one_by_one(dsn: str) -> dict[str, float]:
    """Jobs and bare rows a second, each with its commit, in turns."""
    statement = sql("bare_insert").decode()
    found: dict[str, list[float]] = {"single": [], "bare insert": []}
    async with (
        await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn,
        Client(ours.database(dsn)) as client,
    ):
        await conn.execute(sql("bare_table"))

        async def insert(number: int) -> None:
            await (await conn.execute(statement, [json.dumps({"n": number})], prepare=True)).fetchone()

        async def enqueue(number: int) -> None:
            await NOOP.enqueue(client, n=number)

        for _ in range(TURNS):
            found["single"].append(await a_second(SINGLES, enqueue))
            found["bare insert"].append(await a_second(SINGLES, insert))
    return {name: median(each) for name, each in found.items()}


async def rounds_in_time() -> float:
    """How much of the time that it may be late the worst of 100,000 groups leaves: 1 is all of it."""
    async with testing.engine() as engine:
        opened = (await rounds.measure(engine, rounds.GROUPS))["open"]
    return rounds.LATEST_SECONDS / opened.late


async def event_rates() -> dict[str, float]:
    with flow(tenant="bench", correlation="bench"):
        return {f"events {keys}": await events.whole_way(keys) for keys in KEYS}


def measure(server: BenchServer) -> dict[str, float]:
    """All of them, by the names that the rows have."""
    bench = Bench(server, QUICK, {})
    reached = limit.run(bench, BY_KEY[OURS])
    found = {
        "drain": reached["limit_sql"] * reached["limit_share"],
        "limit": reached["limit_sql"],
        "plain": one_round(bench, BY_KEY[PLAIN], {"drain"})["drain"],
    }
    with server.database("bench_single") as dsn:
        ours.prepare(dsn)
        found |= loop.run(one_by_one(dsn))
    sent = loop.run(webhooks.one_round(MESSAGES))
    found |= {"webhooks": sent.worker, "beside webhooks": sent.alone} | loop.run(event_rates())
    found["rounds in time"] = loop.run(rounds_in_time())
    assert found.keys() == NAMES, found.keys() ^ NAMES  # noqa: S101
    return found

"""Ostinato: the adapter of the benchmark. Default settings, nothing switched off.

The functions of `bench.systems.driver.System`, and below them the two that only our scenarios use.
`dsn` is always the administrator's address of a fresh, empty database on the embedded server.
"""

import asyncio
import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench import loop
from bench.systems.driver import STEPS, main, postgres_observer
from bench.systems.probe import Payload, Probe
from ostinato import App, Client, Context, SyncContext, Worker
from ostinato._core.base import log
from ostinato._core.db.migrate import migrate
from ostinato._core.engine import schedules, upkeep
from ostinato._core.engine.jobs import NewJob, enqueue_many
from ostinato._core.engine.schedules import Schedule
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.database import Database

PACKAGE = "ostinato"
RETENTION_DAYS = 14
ZONES = ("Europe/Paris", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe")
DAY_SECONDS = 86_400
PLAIN = bool(os.environ.get("BENCH_PLAIN"))
"""Whether the handler is a plain function, which runs in a thread."""

open_observer = postgres_observer


def prepare(dsn: str) -> None:
    """Migrates the database and makes the partitions that a worker would have made."""

    async def up() -> None:
        await migrate(dsn, [ENGINE])
        async with await psycopg.AsyncConnection.connect(worker_dsn(dsn), autocommit=True) as conn:
            await upkeep.run(conn, RETENTION_DAYS)

    asyncio.run(up())


def app_with(probe: Probe | None, *, open: bool = False) -> App:  # noqa: A002 - as App.job has it
    """One kind, with a timeout, as a real one has."""
    app = App("bench")

    async def nothing() -> None:
        return None

    if PLAIN:

        @app.job(name="bench.noop", timeout=30, open=open)
        def plain(_ctx: SyncContext, n: int, t: int = 0) -> None:
            if probe is not None:
                probe.hit({"n": n, "t": t})

        return app

    @app.job(timeout=30, open=open)
    async def noop(ctx: Context, n: int, t: int = 0) -> None:
        if probe is not None:
            probe.hit({"n": n, "t": t})
        for step in STEPS:
            await ctx.step(step, nothing)

    return app


class Producer:
    """A client, as an application has one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._noop = app_with(None)["bench.noop"]

    async def bulk(self, payloads: list[Payload]) -> None:
        await self._noop.enqueue_many(self._client, payloads)

    async def one(self, payload: Payload) -> None:
        await self._noop.enqueue(self._client, **payload)

    async def bulk_for(self, payloads: list[Payload], tenants: list[str]) -> None:
        jobs = [
            NewJob("bench.noop", json.dumps(payload), "default", 0, tenant_id=tenant)
            for payload, tenant in zip(payloads, tenants, strict=True)
        ]
        async with self._client.transaction() as conn:
            await enqueue_many(conn, jobs)


async def open_producer(dsn: str) -> Producer:
    return Producer(await Client(database(dsn)).__aenter__())


def run_worker(dsn: str, probe: Probe) -> None:
    log.configure("json", "warning")
    loop.run(_work(dsn, probe))


async def _work(dsn: str, probe: Probe) -> None:
    await Worker([app_with(probe)], database(dsn)).run()


def database(dsn: str) -> Database:
    url = worker_dsn(dsn)
    return Database(url=url, admin_url=dsn, listen_url=url)


def worker_dsn(dsn: str) -> str:
    """The same database for the role `ostinato_worker`: pgbench pays for row security too."""
    parts: dict[str, Any] = conninfo_to_dict(dsn)
    parts.pop("password", None)
    return make_conninfo("", **(parts | {"user": "ostinato_worker"}))


def knock(dsn: str) -> None:
    """A job that tells a worker's probe that it is there."""
    payload: Payload = {"n": -1, "t": time.monotonic_ns()}

    async def one() -> None:
        async with Client(database(dsn)) as client:
            await client.enqueue("bench.noop", payload)

    asyncio.run(one())


def write_schedules(dsn: str, numbers: range, at: int | None) -> None:
    """A daily schedule each, all at one time (in seconds of Unix) or spread over the day ahead.

    Their jobs carry the monotonic time of the slot, so that a probe tells how late they start.
    """
    now = int(time.time())

    def schedule(n: int) -> Schedule:
        slot = at or now + 1800 + n * 7919 % (DAY_SECONDS - 3600)
        zone = ZONES[n % len(ZONES)]
        local = datetime.fromtimestamp(slot, UTC).astimezone(ZoneInfo(zone)).time()
        due = time.monotonic_ns() + round((slot - time.time()) * 1e9)
        return Schedule(f"s{n}", "bench.noop", {"n": n, "t": due}, at_time=local, zone=zone, key=f"e{n}")

    async def write() -> None:
        async with Client(database(dsn)) as client, client.connection() as conn:
            await schedules.upsert_many(conn, [schedule(n) for n in numbers])

    asyncio.run(write())


def limit_script(dsn: str, batch: int) -> str:
    """A pgbench script of the SQL limit: ONE transaction claims `batch` jobs and completes them."""
    with psycopg.connect(worker_dsn(dsn), autocommit=True) as conn:
        row = conn.execute("select ostinato.register_worker('limit', '{default}', '{bench.noop}', 86400)").fetchone()
    assert row is not None  # noqa: S101
    return (
        "select ostinato.complete_jobs(array_agg(claim_id), array_agg(job_id), array_agg(attempt),"  # noqa: S608 - a uuid of our own and a number
        " array_agg(1)) from ostinato.claim_jobs("
        f"'{row[0]}', 'default', {batch}, array['bench.noop']);"
    )


if __name__ == "__main__":
    main(sys.modules[__name__])

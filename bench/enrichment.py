"""`python -m bench.enrichment`: cached reads, and enrichments a second against the sandbox.

One process with the API, a worker and the caller in it; the sandbox is a thread of it, too, without
its limits, so that what is measured is ours: the pipeline with its lock, six steps, five events and
the merge. The real sources allow six companies a second, and are what limits in production.

    cached read    GET /v1/requests/{id} of a fresh company, one caller after the other
    cached ask     POST /v1/requests for a company that is known
    enrichments    so many companies asked for at once, until the last one is done

With `--bulk 600` it asks for so many in batches, and the sandbox has the official limits: the search takes 7 calls a
second, the RCS 250 a minute, which is the narrower one. It shows the share of each that was reached, and how often a
source answered 429.
"""

import argparse
import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from statistics import median, quantiles
from typing import Any

import httpx

from ostinato import Client, Worker, testing
from ostinato._core.base import log
from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.engine import keys, upkeep
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.sandbox import Registers
from ostinato.apps.enrichment.schema import COMPONENT
from ostinato.lab.sandbox.faults import Call
from ostinato.lab.sandbox.running import running

READS = 500
BATCH = 1000
OFFICIAL = {"/search": 7.0, "/extrait_kbis": 250 / 60}
"""Calls a second that a source allows; INPI says none. Each company is one call to each."""
COMPANIES = 200
FAST = {
    "SEARCH_PER_SECOND": "100000",
    "INPI_PER_SECOND": "100000",
    "RCS_PER_SECOND": "100000",
    "IDENTIFIER_LUHN": "off",  # its warnings would be printed among the figures
}


async def timed(http: httpx.AsyncClient, method: str, path: str, **options: Any) -> float:  # noqa: ANN401 - as httpx
    started = time.perf_counter()
    answer = await http.request(method, path, **options)
    took = time.perf_counter() - started
    answer.raise_for_status()
    return took * 1000


async def ended(http: httpx.AsyncClient, ids: list[str]) -> None:
    for request_id in ids:
        while (await http.get(f"/v1/requests/{request_id}")).json()["enrichment_running"]:  # noqa: ASYNC110 - as callers do
            await asyncio.sleep(0.02)


async def asked(http: httpx.AsyncClient, siren: str) -> str:
    answer = await http.post("/v1/requests", json={"siren": siren})
    answer.raise_for_status()
    request_id: str = answer.json()["request"]["id"]
    return request_id


async def measure_cached(http: httpx.AsyncClient, reads: int) -> None:
    first = await asked(http, "998000000")
    await ended(http, [first])
    for what, method, path, options in (
        ("cached read", "GET", f"/v1/requests/{first}", {}),
        ("cached ask", "POST", "/v1/requests", {"json": {"siren": "998000000"}}),
    ):
        took = [await timed(http, method, path, **options) for _ in range(reads)]
        p99 = quantiles(took, n=100)[98]
        print(f"{what:<12} p50 {median(took):6.2f} ms   p99 {p99:6.2f} ms   ({reads} calls)")


async def measure_runs(http: httpx.AsyncClient, companies: int) -> None:
    started = time.perf_counter()
    sirens = [f"998{number:06}" for number in range(1, companies + 1)]
    ids = await asyncio.gather(*(asked(http, siren) for siren in sirens))
    await ended(http, ids)
    took_all = time.perf_counter() - started
    print(f"enrichments  {companies / took_all:6.1f} a second   ({companies} companies at once)")


@asynccontextmanager
async def serving(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """An API with the settings that the environment has now, and a caller of it."""
    parts = Parts(database, Settings(api_rate_per_minute=10_000_000), apps=(APP,))
    app = build(parts)
    async with app.router.lifespan_context(app):
        # Not as the API, which may make no keys.
        async with Client(database) as client, client.connection() as conn:
            key = await keys.create(conn, tenant_id="bench", subject="bench", roles=("agency_user",))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://bench.test",
            headers={"Authorization": f"Bearer {key.key}"},
            timeout=60,
        ) as http:
            yield http


@contextmanager
def unlimited() -> Iterator[None]:
    """The sandbox without its limits, and settings that lead there."""
    registers = Registers(limits=(1_000_000, 1_000_000))
    with running(registers) as sandbox:
        own = {f"OSTINATO_ENRICHMENT_{name}": value for name, value in FAST.items()}
        os.environ.update(registers.settings(sandbox.url) | own)
        yield


@asynccontextmanager
async def working(database: Database) -> AsyncIterator[None]:
    """A worker of this process."""
    worker = Worker([APP], database)
    running_worker = asyncio.create_task(worker.run())
    await worker.started.wait()
    yield
    worker.stop()
    await running_worker


async def known(database: Database, sirens: list[str]) -> str:
    """Have companies enriched; the id of the last request."""
    with unlimited():
        async with working(database), serving(database) as http:
            ids = [await asked(http, siren) for siren in sirens]
            await ended(http, ids)
    return ids[-1]


async def run(reads: int, companies: int) -> None:
    with unlimited():
        async with testing.engine() as engine:
            await migrate.migrate(engine.database.admin_url, [COMPONENT])
            await upkeep.run(engine.admin, 14)  # partitions, before the worker makes them
            async with working(engine.database):
                async with serving(engine.database) as http:
                    await measure_cached(http, reads)
                os.environ["OSTINATO_ENRICHMENT_SYNC_MS"] = "0"
                async with serving(engine.database) as http:
                    await measure_runs(http, companies)


async def run_bulk(companies: int) -> None:
    """Ask for companies in batches, at the limits of the sources, and show how close to them the calls came."""
    registers = Registers()
    with running(registers) as sandbox:
        os.environ.update(registers.settings(sandbox.url) | {"OSTINATO_ENRICHMENT_IDENTIFIER_LUHN": "off"})
        async with testing.engine() as engine:
            await migrate.migrate(engine.database.admin_url, [COMPONENT])
            await upkeep.run(engine.admin, 14)
            sirens = [f"998{number:06}" for number in range(1, companies + 1)]
            calls: dict[int, Call] = {}
            async with working(engine.database), serving(engine.database) as http:
                for start in range(0, companies, BATCH):
                    lines = [{"siren": siren} for siren in sirens[start : start + BATCH]]
                    (await http.post("/v1/requests/batch", json=lines)).raise_for_status()
                while sum("extrait_kbis" in call.path for call in calls.values()) < companies:
                    await asyncio.sleep(0.5)
                    calls |= {call.number: call for call in list(sandbox.faults.calls)}  # it keeps the last 2,000
    refused = sum(call.status == HTTPStatus.TOO_MANY_REQUESTS for call in calls.values())
    for path, limit in OFFICIAL.items():
        at = sorted(call.at for call in calls.values() if path in call.path)
        rate = (len(at) - 1) / (at[-1] - at[0])
        print(f"{path:<22}{len(at):>7} calls{rate:>7.2f} a second   {rate / limit:>4.0%} of its {limit:.2f}")
    print(f"{companies} companies, {refused} answers 429, load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=READS)
    parser.add_argument("--companies", type=int, default=COMPANIES)
    parser.add_argument("--bulk", type=int, help="only that: so many companies at the official limits, four a second")
    options = parser.parse_args()
    log.configure(level="error")
    asyncio.run(run_bulk(options.bulk) if options.bulk else run(options.reads, options.companies))


if __name__ == "__main__":
    main()

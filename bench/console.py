"""`python -m bench.console`: how long the pages of the console take on a large database.

Fills a database with 10 million outcomes, 1 million waiting jobs, 10,000 dead letters, 1,000 tenants
and 200,000 rows of each application, starts the API, signs in as the installation and as one tenant,
and asks for every page several times. Then 200 tabs follow the page Now while somebody adds jobs.

    page    the time until its last byte, median and worst of its rounds, both at most 200 ms; and the CPU that the
            API and the database take for it, which does not depend on what else runs on the machine
    tabs    statements a second in the database, at most 5, and CPU of the API, at most 5 % of a core

`--outcomes 100000 --waiting 10000` is a quick look.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from html import unescape
from statistics import median

import httpx
import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench.places import sql
from bench.server import BenchServer, running
from bench.systems import ours
from ostinato import Client
from ostinato._core.base.settings import Settings
from ostinato._core.db.migrate import migrate
from ostinato._core.engine import bulk, clock, keys, outbox, portals, schedules, subscriptions, webhooks, workers
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.testing import KEY
from ostinato._faces.cli.frame.loading import INSTALLED, load_apps
from ostinato._faces.cli.frame.schema import components

MOST_MS = 200.0
MOST_STATEMENTS = 5.0
MOST_CPU = 5.0
TABS, TABS_OF_SESSION = 200, 20
BATCH = 100_000
DEAD = 10_000
ROWS_OF_APPS = 200_000
ROUNDS = 5
SETTLE_SECONDS, WATCH_SECONDS = 10.0, 20.0
WORKER_SECONDS = 3600.0
TENANT = "tenant7"
OF_ALL = ("/subscriptions/bench1", "/subscriptions/bench1/replay?since=1", "/queues/queue2/limits")
"""Pages that only the operators of the installation see."""
OF_A_CUSTOMER = ("/portal", "/portal/endpoints/bench1")
ROLES = ("admin", "agency_user", "capture", "clerk", "organizer")
LISTS = (
    *("/", "/jobs", "/jobs?state=done", "/jobs?state=ready", "/jobs?kind=shop.kind3", "/jobs?queue=queue2"),
    *("/dead-letters", "/queues", "/workers", "/schedules", "/events", "/webhooks", "/trail/order-77", "/alerts"),
    *("/leases", "/machines", "/access", "/access/audit", "/bulk", "/inbox", "/find?q=shop"),
    *("/bulk/new?verb=cancel&kind=shop.kind3", "/enqueue", "/schedules-new"),
    *("/schedules/tenant7/bench1", "/schedules/tenant7/bench1/move", "/schedules/tenant7/bench1/catch-up"),
    "/webhooks/tenant7/bench1",
    *("/apps/capture", "/apps/enrichment", "/apps/enrichment/companies", "/apps/outbound", "/apps/outbound/messages"),
    *("/apps/outbound/templates", "/apps/outbound/senders", "/apps/rounds", "/apps/watchfolder"),
    *("/apps/outbound/consents?subject=contact-7&tenant=tenant7", "/apps/watchfolder/scans"),
    *("/apps/watchfolder/scans?q=toiture", "/apps/watchfolder/scans?q=scan-77007"),
)
KIND = re.compile(r"\d.*")
DETAILS = re.compile(
    r'href="/console(/(?:(?:jobs|dead-letters|queues|schedules|inbox|events|workers|bulk|apps/\w+)[/?](?!file|capture)[^"]*[0-9=%][^"]*))"'
)


@dataclass(frozen=True)
class Page:
    """The times of one page, and the CPU of a request for it, in milliseconds."""

    who: str
    path: str
    times: list[float]
    cpu: float


def fill(server: BenchServer, dsn: str, outcomes: int, waiting: int) -> None:
    """Make the history and the backlog."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("set synchronous_commit = off")
        for first in range(1, outcomes + 1, BATCH):
            last = min(first + BATCH - 1, outcomes)
            conn.execute(sql("console_fill"), {"first": first, "last": last, "all": outcomes})
            say(f"{last:,} outcomes")
        conn.execute("select setval('ostinato_data.job_id_seq', %s)", [outcomes + 1])
        for _ in range(0, waiting, BATCH):
            conn.execute(sql("console_waiting"), {"count": min(BATCH, waiting)})
        say(f"{waiting:,} waiting")
        conn.execute(sql("console_dead"), {"count": min(DEAD, outcomes)})
        conn.execute(sql("console_series"))
        with conn.transaction():
            for statement in sql("console_apps").rstrip().rstrip(b";").split(b";\n"):
                conn.execute(statement, {"count": min(ROWS_OF_APPS, outcomes)})
    server.analyze(dsn)
    server.checkpoint()


def say(text: str) -> None:
    """Show how far it is."""
    print(f"\r{text:<40}", end="", file=sys.stderr, flush=True)


async def key_of(dsn: str, tenant: str, *roles: str) -> str:
    """A key for somebody."""
    async with Client(ours.database(dsn)) as client, client.connection() as conn:
        return (await keys.create(conn, tenant_id=tenant, subject="bench", roles=roles)).key


async def furnish(dsn: str) -> str:
    """One of each thing that the history has none of, in the tenant; and the text of a link to its portal."""
    async with Client(ours.database(dsn), Settings(secret_key=KEY)) as client, client.connection() as conn:
        kinds = [f"shop.kind{n}" for n in range(10)]
        await workers.register(conn, "bench1", ["default"], kinds, WORKER_SECONDS)
        await schedules.upsert(conn, Schedule("bench1", "shop.kind3", cron="*/5 * * * *", tenant_id=TENANT))
        await webhooks.create_endpoint(conn, "bench1", "https://partner.example.com/in", tenant_id=TENANT)
        await subscriptions.subscribe(conn, "bench1", types=["bench.said"], kind="shop.kind3")
        at = await clock.now(conn)
        await outbox.emit(
            conn, NewEvent("bench.said", "{}", "bench", tenant_id=TENANT, correlation_id="bench", occurred_at=at)
        )
        await bulk.start(conn, "cancel", {"tenant_id": TENANT, "kind": "shop.nothing"}, reason="bench")
        return (await portals.open_portal(conn, tenant_id=TENANT, seconds=WORKER_SECONDS)).text


@contextmanager
def api(dsn: str) -> Iterator[tuple[str, int]]:
    """Serve the API; its address and its process."""
    worker = ours.worker_dsn(dsn)
    env = {
        **os.environ,
        "OSTINATO_DATABASE_URL": worker,
        "OSTINATO_API_DATABASE_URL": worker.replace("ostinato_worker", "ostinato_api"),
        "OSTINATO_API_RATE_PER_MINUTE": "1000000",
        "OSTINATO_API_METRICS_PORT": "0",
        "OSTINATO_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "ostinato", "api", "--port", "0", "--json"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - a pipe, as asked above
            yield ready(process.stdout), process.pid
        finally:
            process.terminate()


def ready(lines: Iterator[str]) -> str:
    """The address that the API names when it is ready."""
    for line in lines:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise RuntimeError("the API ended before it was ready")


@asynccontextmanager
async def visitor(url: str, key: str) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in."""
    limits = httpx.Limits(max_connections=2 * TABS_OF_SESSION)
    async with httpx.AsyncClient(base_url=f"{url}/console", trust_env=False, timeout=120, limits=limits) as http:
        answer = await http.post("/sign-in", data={"key": key})
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise RuntimeError(f"signing in gave {answer.status_code}: {answer.text[:500]}")
        yield http


async def pages(url: str, who: str, key: str, processes: list[psutil.Process], *more: str) -> list[Page]:
    """Every list, and one of each thing that the lists lead to."""
    async with visitor(url, key) as http:
        paths = [*LISTS, *more]
        links: dict[str, str] = {}
        for path in paths:
            for link in DETAILS.findall((await http.get(path)).text):
                links.setdefault(KIND.sub("N", link.split("?")[0]), unescape(link))
        return [await timed(http, who, path, processes) for path in dict.fromkeys([*paths, *links.values()])]


async def of_a_customer(url: str, ticket: str, processes: list[psutil.Process]) -> list[Page]:
    """The pages of the portal, to somebody who came by a link."""
    async with httpx.AsyncClient(base_url=f"{url}/console", trust_env=False, timeout=120) as http:
        answer = await http.post("/portal/enter", data={"ticket": ticket})
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise RuntimeError(f"the link to the portal gave {answer.status_code}")
        return [await timed(http, "a customer", path, processes) for path in OF_A_CUSTOMER]


async def timed(http: httpx.AsyncClient, who: str, path: str, processes: list[psutil.Process]) -> Page:
    """One page, asked for several times."""
    times, before = [], sum(map(cpu_of, processes))
    for _ in range(ROUNDS):
        started = time.perf_counter()
        answer = await http.get(path)
        times.append((time.perf_counter() - started) * 1000)
        if answer.status_code != httpx.codes.OK:
            raise RuntimeError(f"{path} gave {answer.status_code}")
    return Page(who, path, times, (sum(map(cpu_of, processes)) - before) / ROUNDS * 1000)


async def tabs(server: BenchServer, dsn: str, url: str, key: str, pid: int) -> tuple[float, float]:
    """Statements a second and CPU, while tabs follow Now."""
    process = psutil.Process(pid)
    async with AsyncExitStack() as stack:
        following = []
        for _ in range(TABS // TABS_OF_SESSION):
            http = await stack.enter_async_context(visitor(url, key))
            following += [asyncio.create_task(follow(http)) for _ in range(TABS_OF_SESSION)]
        await asyncio.sleep(SETTLE_SECONDS)
        before, started = cpu_of(process), time.monotonic()
        with server.counting(str(conninfo_to_dict(dsn)["dbname"])) as counted:
            await asyncio.sleep(WATCH_SECONDS)
            statements = counted()
        seconds = time.monotonic() - started
        used = cpu_of(process) - before
        heard = [task.done() for task in following]
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        if any(heard):
            raise RuntimeError(f"{sum(heard)} of {TABS} tabs ended early")
    return statements / seconds, 100 * used / seconds


async def follow(http: httpx.AsyncClient) -> None:
    """Read the stream of one tab until it is closed."""
    async with http.stream("GET", "/live", timeout=None) as stream:
        stream.raise_for_status()
        async for _ in stream.aiter_bytes():
            pass


def cpu_of(process: psutil.Process) -> float:
    """The CPU that a process and its children have used, in seconds."""
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


def show(found: list[Page]) -> bool:
    """Print the table; whether every page is in time."""
    print(f"{'who':<14}{'page':<44}{'p50 ms':>9}{'worst ms':>10}{'CPU ms':>8}")
    for page in sorted(found, key=lambda page: -median(page.times)):
        late = " late" if median(page.times) > MOST_MS else " late once" if max(page.times) > MOST_MS else ""
        took = f"{median(page.times):>9.1f}{max(page.times):>10.1f}{page.cpu:>8.0f}{late}"
        print(f"{page.who:<14}{page.path[:42]:<44}{took}")
    middle, worst = max(median(page.times) for page in found), max(max(page.times) for page in found)
    print(f"{len(found)} pages: the slowest {middle:.1f} ms by its median, {worst:.1f} ms by its worst round")
    return worst <= MOST_MS


def main() -> int:
    """Fill, ask, follow and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--outcomes", type=int, default=10_000_000)
    parser.add_argument("--waiting", type=int, default=1_000_000)
    asked = parser.parse_args()
    with running() as server, server.database("bench_console") as dsn:
        ours.prepare(dsn)
        asyncio.run(migrate(dsn, components(load_apps([INSTALLED]))))
        started = time.monotonic()
        fill(server, dsn, asked.outcomes, asked.waiting)
        say("")
        print(f"\r{asked.outcomes:,} outcomes, {asked.waiting:,} waiting: {time.monotonic() - started:.0f} s to fill")
        everybody = asyncio.run(key_of(dsn, "default", *ROLES, "installation"))
        ticket = asyncio.run(furnish(dsn))
        one = asyncio.run(key_of(dsn, TENANT, *ROLES))
        with api(dsn) as (url, pid):
            both = [psutil.Process(pid), psutil.Process(server.pid)]
            found = asyncio.run(pages(url, "installation", everybody, both, *OF_ALL))
            found += asyncio.run(pages(url, "a tenant", one, both))
            found += asyncio.run(of_a_customer(url, ticket, both))
            statements, cpu = asyncio.run(tabs(server, dsn, url, everybody, pid))
    in_time = show(found)
    print(f"{TABS} tabs on Now: {statements:.1f} statements/s, {cpu:.1f} % of a core; load {os.getloadavg()[0]:.1f}")
    return int(not in_time or statements > MOST_STATEMENTS or cpu > MOST_CPU)


if __name__ == "__main__":
    sys.exit(main())

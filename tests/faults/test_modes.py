"""Three ways to connect, one conformance suite: direct, pooled with a direct line, pooled alone.

The pooler is PgBouncer in transaction mode with fewer connections than clients: no session is what
it seems. Without it installed only the direct way is tested, and the others say so.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import psycopg
import pytest

from ostinato import App, Client, Context, Retry, Snooze, SyncContext, Unique
from ostinato._core.base.metrics import DOORBELL_RINGS
from ostinato._core.db.embedded import Server
from ostinato._core.engine import jobs
from ostinato._core.runtime.database import Database
from ostinato.testing import Engine
from tests import bouncer
from tests.faults.site import Site
from tests.needs import lacking
from tests.runtime.lab import Lab, counted, forever, listens
from tests.slow import first_only
from tests.waiting import until_async

Mode = Literal["direct", "pooled, direct listen", "pooled, polling"]
# `make test` tries the first one here, and the direct one in tests/runtime.
MODES: list[Mode] = ["pooled, polling", "pooled, direct listen", "direct"]


@pytest.fixture(scope="module")
def port(server: Server) -> Iterator[int]:
    with bouncer.own_folder() as folder, bouncer.in_front_of(server, folder) as running:
        yield running


@pytest.fixture(params=first_only(MODES))
def database(request: pytest.FixtureRequest, site: Site) -> Database:
    mode: Mode = request.param
    direct = site.urls.worker
    if mode == "direct":
        return Database(url=direct, admin_url=site.urls.admin, listen_url=direct)
    if bouncer.program() is None:
        lacking("pgbouncer", "PgBouncer is not installed: the pooled ways to connect are not tested")
    url = bouncer.through(direct, request.getfixturevalue("port"))
    listen = direct if mode == "pooled, direct listen" else None
    return Database(url=url, admin_url=site.urls.admin, listen_url=listen, pooled=True)


@pytest.fixture
async def lab(database: Database) -> AsyncIterator[Lab]:
    async with (
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as admin,
        Client(database) as client,
    ):
        yield Lab(Engine(database, client, admin), App("modes"))


async def test_a_life_of_jobs(lab: Lab) -> None:
    """Enqueue, claim, complete, retry, snooze, progress, a unique key, a thread, a transaction."""

    @lab.app.job()
    async def add(ctx: Context, a: int, b: int) -> int:
        ctx.progress(1, 2, "halfway")
        return a + b

    @lab.app.job(retry=Retry(delays=(0, 0)))
    async def third_time(ctx: Context) -> int:
        if ctx.job.failures < 2:
            raise ConnectionError("not yet")
        return ctx.job.attempt

    @lab.app.job()
    async def later(ctx: Context) -> Snooze | int:
        return ctx.job.attempt if ctx.job.attempt == 3 else Snooze(0.05)

    @lab.app.job()
    def threaded(ctx: SyncContext) -> None:
        with ctx.transaction(result=lambda: "threaded") as conn:
            conn.execute("insert into effect values (%s, %s)", ctx.token)

    @lab.app.job()
    async def written(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("insert into effect values (%s, %s)", ctx.token)
            ctx.result = "written"

    async with lab.worker():
        sums = await add.enqueue_many(lab.client, [{"a": n, "b": 1} for n in range(50)])
        async with lab.client.transaction() as conn:
            others = [await kind.enqueue(conn) for kind in (third_time, later, threaded, written)]
        keyed = add.options(unique=Unique("once"), delay=3600)
        first, second = (await keyed.enqueue(lab.client, a=1, b=1), await keyed.enqueue(lab.client, a=2, b=2))
        results = [(await lab.becomes(job_id, "done", "dead")).result for job_id in sums]
        ended = [(await lab.becomes(job_id, "done", "dead")).result for job_id in others]

    assert results == [n + 1 for n in range(50)]
    assert ended == [3, 3, "threaded", "written"]
    assert first == second
    assert await lab.rows("select job_id, attempt from effect order by 1") == [(others[2], 1), (others[3], 1)]


@pytest.mark.proof
async def test_many_calls_on_few_connections(lab: Lab) -> None:
    """More than a driver needs to prepare a statement, on connections that others use too."""

    @lab.app.job()
    async def work(ctx: Context, n: int) -> int:
        return n

    async with lab.worker(), lab.worker():
        for n in range(30):
            await work.enqueue(lab.client, n=n)
        ids = await asyncio.gather(*(work.enqueue(lab.client, n=n) for n in range(30)))
        for job_id in ids:
            await lab.becomes(job_id, "done", "dead")
        await lab.until("select count(*) = 60 from ostinato_data.outcome where outcome = 'done'")


async def test_a_waiting_and_a_running_job_are_cancelled(lab: Lab) -> None:
    started = asyncio.Event()

    @lab.app.job()
    async def endless(ctx: Context) -> None:
        started.set()
        await forever()

    async with lab.worker():
        waiting = await endless.options(delay=3600).enqueue(lab.client)
        running = await endless.enqueue(lab.client)
        await started.wait()
        async with lab.client.connection() as conn:
            assert await jobs.cancel(conn, waiting) == "scheduled"
            assert await jobs.cancel(conn, running) == "running"
        await lab.becomes(running, "cancelled")

    assert await lab.state(waiting) == "cancelled"


async def test_an_idle_worker_is_woken_by_the_doorbell_or_finds_out_by_itself(lab: Lab, database: Database) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    rings = database.listen_url is not None
    # With a line to the server a poll is not needed; without one it is all there is.
    async with lab.worker(poll_seconds=3600 if rings else 0.05) as worker:
        await until_async(lambda: listens(worker))
        await until_async(lambda: not worker._claimer._due)
        for _ in range(3):
            await lab.becomes(await work.enqueue(lab.client), "done")

    if rings:
        assert counted(worker, DOORBELL_RINGS) > 0


async def test_a_worker_that_is_declared_dead_starts_over(lab: Lab) -> None:
    started = asyncio.Event()

    @lab.app.job(retry=Retry(delays=(0, 0, 0)))
    async def work(ctx: Context) -> int:
        if ctx.job.attempt == 1:
            started.set()
            await forever()
        return ctx.job.attempt

    async with lab.worker() as worker:
        first_id = worker.id
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await lab.rows("delete from ostinato_data.worker")
        await until_async(lambda: worker.id != first_id)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.state == "done"
    assert (await lab.outcomes(job_id))[0] == "lost"


@pytest.mark.proof
def test_worker_processes_die_and_others_take_over(site: Site, database: Database) -> None:
    settings: dict[str, Any] = {"pooled": "true"} if database.pooled else {}
    if database.pooled and database.listen_url is not None:
        settings["listen_url"] = database.listen_url
    crew = site.crew(database.url, **settings)
    first = crew.start()
    site.ready(first)
    ids = site.enqueue("slow_at_first", 10) + site.enqueue("flaky", 10, failures=2)
    site.until("select sum(cardinality(job_ids)) >= 10 from ostinato_data.claim")
    site.ready(crew.start())
    first.kill()
    site.until_idle()

    site.check(ids, ids)


@pytest.mark.proof
def test_a_pooler_that_is_started_again_is_found_again(server: Server, site: Site) -> None:
    if bouncer.program() is None:
        lacking("pgbouncer", "PgBouncer is not installed: its restart is not tested")
    with bouncer.own_folder() as folder, bouncer.in_front_of(server, folder) as port:
        crew = site.crew(bouncer.through(site.urls.worker, port), pooled="true")
        site.ready(crew.start())
        ids = site.enqueue("effect", 20, seconds=0.1)
        site.until("select count(*) > 5 from effect")
        # All its connections, on both sides, end at once; a moment later it is there again.
        os.kill(int((folder / "pgbouncer.pid").read_text()), signal.SIGKILL)
        with bouncer.in_front_of(server, folder, port):
            site.until_idle()

    site.check(ids, ids)

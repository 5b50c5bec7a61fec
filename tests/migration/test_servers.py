"""The engine on every PostgreSQL that is there: 15 to 18, of the wheel or of the system."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato import App, Context, Retry, Worker
from ostinato.base.settings import Settings
from ostinato.db import binaries, embedded
from ostinato.db.embedded import Server
from ostinato.engine import inspect, jobs, upkeep
from ostinato.testing import engine_on

app = App("versions")


@app.job(retry=Retry(delays=(60, 3600)))
async def flaky(ctx: Context, until: int) -> int:
    if ctx.job.failures < until:
        raise ValueError("not yet")
    return until


@app.job()
async def transactional(ctx: Context) -> None:
    async with ctx.transaction() as conn:
        await conn.execute("select 1")


def folder_of(major: int) -> Path | None:
    if major in binaries.FOLDERS:
        return binaries.embedded(major)
    found = Path(f"/usr/lib/postgresql/{major}/bin")
    return found if (found / "postgres").exists() else None


@pytest.fixture(scope="module", params=[15, 16, 17, 18])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = folder_of(request.param)
    if folder is None:
        pytest.skip(f"PostgreSQL {request.param} is not installed")
    with embedded.start(tmp_path_factory.mktemp("version"), binaries=folder) as running:
        yield running


async def test_jobs_live_their_lives_on_this_server(server: Server) -> None:
    async with engine_on(server, "lives") as engine:
        await upkeep.run(engine.admin, 14)
        done = await flaky.enqueue(engine.client, until=2)
        dead = await flaky.enqueue(engine.client, until=9)
        many = await transactional.enqueue_many(engine.client, [{}] * 50)
        report = await engine.run_until_idle(app)
        again = await jobs.redrive(engine.admin, kind="versions.flaky")
        states = {job.id: job.state for job in await inspect.list_jobs(engine.admin, most=100)}
        reasons = await inspect.why(engine.admin, dead)

    assert report.done == 51
    assert (again.matching, again.redriven) == (1, 1)
    assert states == {done: "done", dead: "ready"} | dict.fromkeys(many, "done")
    assert reasons


async def test_a_worker_works_on_this_server(server: Server) -> None:
    ran = asyncio.Event()
    local = App("local")

    @local.job()
    async def once(ctx: Context) -> None:
        ran.set()

    async with engine_on(server, "works") as engine:
        worker = Worker([local], engine.database, Settings(poll_seconds=0.2))
        running = asyncio.create_task(worker.run())
        await once.enqueue(engine.client)
        await asyncio.wait_for(ran.wait(), 60)
        worker.stop()
        await running

"""The engine on every PostgreSQL that is there: 15 to 18, of the wheel or of the system."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import psycopg
import pytest

from ostinato import App, Context, Retry, Worker
from ostinato._core.base.errors import NotFound
from ostinato._core.base.flow import flow
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.db import binaries, embedded
from ostinato._core.db.embedded import Server
from ostinato._core.engine import fires, inspect, jobs, machines, steps, tenants, upkeep, webhook_deliveries, webhooks
from ostinato._core.engine.fires import Slot
from ostinato._core.runtime.services.webhooks import app as deliveries
from ostinato.testing import engine_on
from tests.needs import lacking
from tests.runtime.receiver import Receiver, Reply
from tests.slow import first_only
from tools.machines import EXAMPLE

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


@pytest.fixture(scope="module", params=first_only([15, 16, 17, 18]))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = folder_of(request.param)
    if folder is None:
        lacking(f"postgresql-{request.param}", f"PostgreSQL {request.param} is not installed")
    with embedded.start(tmp_path_factory.mktemp("version"), binaries=folder) as running:
        watched = watch_for_compiling(running)
        yield running
        assert not watched or compiled_by(running) == []


def compiled_by(server: Server) -> list[str]:
    """The plans in its log that were compiled."""
    log = server.log_path.read_text(errors="replace")
    entries = re.split(r"^(?=\d{4}-)", log, flags=re.MULTILINE)
    return [entry for entry in entries if "JIT:" in entry]


def watch_for_compiling(server: Server) -> bool:
    """Compile what is dear, as servers do by default, and log all plans; False: it cannot."""
    with psycopg.connect(server.admin_url, autocommit=True) as conn:
        conn.execute("set jit = on")
        if conn.execute("select pg_jit_available()").fetchone() != (True,):
            return False
        conn.execute("load 'auto_explain'")
        for setting in (
            "jit = on",
            "session_preload_libraries = 'auto_explain'",
            "auto_explain.log_min_duration = 0",
            "auto_explain.log_nested_statements = on",
        ):
            conn.execute(f"alter system set {setting}")
        conn.execute("select pg_reload_conf()")
    return True


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
        await ran.wait()
        worker.stop()
        await running


@pytest.mark.proof
async def test_machines_tenants_and_trails_hold_on_this_server(server: Server) -> None:
    async with engine_on(server, "holds") as engine:
        await engine.admin.execute("create schema billing authorization ostinato_owner")
        async with engine.admin.transaction():
            await engine.admin.execute("set local role ostinato_owner")
            await engine.admin.execute(
                "create table billing.invoice (id int, tenant_id text, state text default 'draft',"
                " sent_at text, receipt text)"
            )
            await engine.admin.execute("grant usage on schema billing to ostinato_tenant")
            await engine.admin.execute("grant all on billing.invoice to ostinato_tenant")
            await tenants.protect(engine.admin, "billing.invoice")
            await machines.install(engine.admin, EXAMPLE)
            await machines.attach(engine.admin, EXAMPLE, "billing.invoice")
        with flow(correlation="req-1"):
            async with engine.client.for_tenant("acme").transaction() as conn:
                await conn.execute("insert into billing.invoice values (7, 'acme')")
                await machines.transition(
                    conn, EXAMPLE, "billing.invoice", 7, "send", by="ana", changes={"sent_at": "x"}
                )
        async with engine.client.for_tenant("other").transaction() as conn:
            with pytest.raises(NotFound):
                await machines.transition(conn, EXAMPLE, "billing.invoice", 7, "cancel", by="eve")
        with pytest.raises(psycopg.Error, match="cannot be written"):
            await engine.admin.execute("update billing.invoice set state = 'void'")
        await upkeep.run(engine.admin, 14)
        told = await inspect.trail(engine.admin, "req-1")

    assert [(line.source, line.state) for line in told] == [("transition", "sent")]


@pytest.mark.proof
async def test_schedules_fire_once_a_slot_on_this_server(server: Server) -> None:
    served: list[Slot] = []
    rounds = App("rounds")

    @rounds.job()
    async def opens(ctx: Context, scheduled_for: Slot) -> None:
        served.append(scheduled_for)

    rounds.schedule(opens, at_time=time(2, 30), zone="Europe/Paris")
    rounds.schedule(opens, name="dense", cron="*/30 1-3 * * *", zone="Europe/Paris", overlap="both")
    async with engine_on(server, "schedules") as engine:
        await upkeep.run(engine.admin, 14)
        await engine.clock.freeze(datetime(2026, 10, 24, 12, tzinfo=UTC))
        await engine.run_until_idle(rounds)
        for _ in range(36):
            await engine.clock.move(timedelta(minutes=30))
            await engine.run_until_idle(rounds)
        (past,) = await fires.list_fires(engine.admin, "rounds.opens")
        assert len(await fires.next_fires(engine.admin, "dense", 3)) == 3
        assert await fires.recompute(engine.admin) == 0

    assert past.slot_at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    dense = [slot.at for slot in served if slot.schedule == "dense"]
    first = datetime(2026, 10, 24, 23, 0, tzinfo=UTC)
    assert dense == [first + timedelta(minutes=30 * n) for n in range(8)]


@pytest.mark.proof
async def test_steps_sleeps_and_waits_hold_on_this_server(server: Server) -> None:
    local = App("steps")
    ran: list[str] = []

    @local.job(retry=Retry(delays=(60,)))
    async def stepped(ctx: Context) -> str:
        await ctx.step("one", ran.append, "one")
        if ctx.job.attempt == 1:
            raise ValueError("not yet")
        await ctx.sleep(3600)
        return str(await ctx.wait_for("order.paid", "7"))

    async with engine_on(server, "steps") as engine:
        await upkeep.run(engine.admin, 14)
        job = await stepped.enqueue(engine.client)
        await engine.run_until_idle(local)
        waiting = [step.type for step in await steps.of_job(engine.admin, job)]
        await steps.signal(engine.admin, job, '"paid"')
        report = await engine.run_until_idle(local)
        restarted = await steps.restart(engine.admin, job, "one")

    assert waiting == ["call", "sleep", "waiting"]
    assert (report.done, ran, restarted) == (1, ["one"], "done")


@pytest.mark.proof
async def test_webhooks_are_delivered_on_this_server(server: Server) -> None:
    here = "127.0.0.1:*"
    paid = App("shop").event("order.paid")
    with Receiver() as receiver:
        receiver.script.append(Reply(500))
        async with engine_on(server, "webhooks") as engine, engine.client.connection() as conn:
            await upkeep.run(engine.admin, 14)
            await webhooks.create_endpoint(
                conn, "till", receiver.url, headers={"x-a": "b"}, allowed=parse_allowed(here)
            )
            for order in (7, 8):
                await paid.emit(conn, {"order": order}, key="k", tenant="default", correlation_id="c")
            await engine.run_until_idle(deliveries(Settings(webhooks_allow_private=here)))
            await webhooks.rotate(conn, "till")
            await webhook_deliveries.heal(conn)
            await webhook_deliveries.prune(conn, 14)
            sent = await webhook_deliveries.find(conn, "till", states=("delivered",))
            again = await webhook_deliveries.redeliver(conn, "till", sent)
            shown = await webhooks.show_endpoint(conn, "till")

        assert [request.body[-3:-2] for request in receiver.requests] == [b"7", b"7", b"8"]
        assert (again, shown.state, len(shown.secret_hints)) == (2, "active", 2)

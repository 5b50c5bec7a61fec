"""The rest of the engine where sessions are not what they seem, and on the oldest PostgreSQL.

One conformance suite with a real worker, twice: through PgBouncer in transaction mode, with fewer
connections than clients and no line to listen on, and on the PostgreSQL 15 of the system. What is
not installed is not tested, and says so.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest

from ostinato import App, Client, Context, LeaseLost, Retry
from ostinato._core.base.canonical import Declaration
from ostinato._core.base.errors import IdempotencyConflict, IllegalTransition, LeaseHeld
from ostinato._core.base.events import Event
from ostinato._core.base.flow import flow
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.base.webhooks import verify
from ostinato._core.db import embedded, migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import clock, idempotency, machines, outbox, schedules, webhooks
from ostinato._core.engine.fires import Slot
from ostinato._core.engine.schedules import Schedule
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers import leases
from ostinato._core.runtime.testing import KEY
from ostinato.testing import Engine
from tests import bouncer
from tests.needs import lacking
from tests.runtime.lab import Lab
from tests.runtime.receiver import Receiver, Reply
from tests.slow import first_only
from tests.waiting import until_async
from tools.machines import EXAMPLE

pytestmark = pytest.mark.slow

BINARIES = Path("/usr/lib/postgresql/15/bin")
AT_ONCE = Retry(delays=(0, 0))
PAYMENT = Declaration(include=("amount",), exclude=("trace",))

_names = itertools.count(1)


@pytest.fixture(scope="module")
def port(server: Server) -> Iterator[int]:
    if bouncer.program() is None:
        lacking("pgbouncer", "PgBouncer is not installed: coordination through it is not tested")
    with bouncer.own_folder() as folder, bouncer.in_front_of(server, folder) as running:
        yield running


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not (BINARIES / "postgres").exists():
        lacking("postgresql-15", "PostgreSQL 15 is not installed: coordination on it is not tested")
    with embedded.start(tmp_path_factory.mktemp("oldest"), binaries=BINARIES) as running:
        urls = running.create_database("template_15")
        asyncio.run(migrate.migrate(urls.admin, [ENGINE]))
        yield running


@pytest.fixture(params=first_only(["pooled", "oldest"]))
def database(request: pytest.FixtureRequest) -> Database:
    where: Literal["pooled", "oldest"] = request.param
    name = f"coordination_{next(_names)}"
    if where == "oldest":
        older: Server = request.getfixturevalue("oldest")
        made: Urls = older.create_database(name, template="template_15")
        return Database(made.worker, made.admin, made.worker)
    port: int = request.getfixturevalue("port")
    server: Server = request.getfixturevalue("server")
    urls = server.create_database(name, template=request.getfixturevalue("template"))
    return Database(bouncer.through(urls.worker, port), urls.admin, None, pooled=True)


@pytest.fixture
async def lab(database: Database) -> AsyncIterator[Lab]:
    async with (
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as admin,
        Client(database, Settings(secret_key=KEY)) as client,
    ):
        await admin.execute("create table effect (n bigint generated always as identity, note text)")
        await admin.execute("grant all on effect to ostinato_worker")
        # As a janitor does, before there is anything that it could be in the way of.
        await admin.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
        yield Lab(Engine(database, client, admin), App("lab"))


async def noted(lab: Lab) -> list[str]:
    return [row[0] for row in await lab.rows("select note from effect order by n")]


async def settled(lab: Lab) -> None:
    """Wait until every event is where it should be."""
    await lab.until("select not ostinato_internal.has_unsequenced()")
    await lab.until(
        "select not exists (select from ostinato.list_subscriptions() s where s.behind + s.waiting + s.held > 0)"
    )


async def test_events_are_told_in_order_and_take_effect_once(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    tries: list[int] = []

    async def book(ctx: Any, event: Event[Any], who: str) -> None:  # noqa: ANN401
        async with ctx.transaction() as conn:
            note = f"{who} {event.ordering_key} {event.payload['n']}"
            await conn.execute("insert into effect (note) values (%s)", [note])
            tries.append(event.id)
            if event.payload["n"] == 0 and tries.count(event.id) == 1:
                raise ConnectionError("cut off")

    @lab.app.on("invoice.paid", retry=AT_ONCE)
    async def relayed(ctx: Any, event: Event[Any]) -> None:  # noqa: ANN401
        await book(ctx, event, "relay")

    @lab.app.on("invoice.paid", retry=AT_ONCE)
    async def made(ctx: Any, event: Event[Any]) -> None:  # noqa: ANN401
        await book(ctx, event, "job")

    async def tell(number: int, *, commit: bool = True) -> None:
        with flow(tenant="acme", correlation="r"):
            async with lab.client.transaction() as conn:
                for key in ("a", "b"):
                    await paid.emit(conn, {"n": number}, key=key)
                if not commit:
                    raise psycopg.Rollback

    async with lab.worker(), lab.worker():
        for number in range(6):
            await tell(number)
            await tell(99, commit=False)
        await settled(lab)
        found = await noted(lab)
        async with lab.client.connection() as conn:
            again = await outbox.replay(conn, "lab.relayed", 11)
        await settled(lab)

    for who, key in itertools.product(("relay", "job"), ("a", "b")):
        mine = [note for note in found if note.startswith(f"{who} {key} ")]
        assert mine == [f"{who} {key} {number}" for number in range(6)]
    assert len(found) == 24
    assert (again, sorted((await noted(lab))[24:])) == (2, ["relay a 5", "relay b 5"])


async def test_webhooks_are_signed_tried_again_and_in_order(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")

    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    with Receiver() as receiver:
        receiver.script.append(Reply(500))
        async with lab.client.transaction() as conn:
            made = await webhooks.create_endpoint(
                conn,
                "till",
                receiver.url,
                retry=Retry(delays=(0.05,), jitter=0, max_attempts=9),
                allowed=parse_allowed("127.0.0.1:*"),
            )
        async with lab.worker(webhooks_allow_private="127.0.0.1:*"):
            with flow(tenant="default", correlation="r"):
                told = await paid.emit_many(lab.client, [({"n": n}, "k") for n in range(5)])
            await lab.until("select count(*) = 5 from ostinato_data.webhook_delivery d where d.state = 'delivered'")
        requests = list(receiver.requests)

    assert [request.headers["webhook-id"] for request in requests] == [f"{event_id}" for event_id in (told[0], *told)]
    for request in requests:
        at = int(request.headers["webhook-timestamp"])
        verify(request.headers, request.body, [made.secret], now=at)


async def test_of_many_requests_at_once_one_takes_effect_and_all_have_its_answer(lab: Lab) -> None:
    async def ask(amount: int, number: int) -> tuple[bool, Any]:
        payload = {"amount": amount, "trace": number}
        async with lab.client.connection() as conn, idempotency.once(conn, "pay", "k", payload, PAYMENT) as once:
            if once.is_new:
                await conn.execute("insert into effect (note) values (%s)", [f"{number}"])
                once.answer = {"by": number}
        return once.is_new, once.answer

    @lab.app.job()
    async def pay(ctx: Context, number: int) -> Any:  # noqa: ANN401
        return (await ask(7, number))[1]

    async with lab.worker(), lab.worker():
        ids = await pay.enqueue_many(lab.client, [{"number": number} for number in range(12)])
        answers = await asyncio.gather(*(ask(7, number) for number in range(12, 24)))
        results = [(await lab.becomes(job_id, "done", "dead")).result for job_id in ids]
    with pytest.raises(IdempotencyConflict, match="amount"):
        await ask(8, 24)

    assert len(await noted(lab)) == 1
    assert len({str(answer) for answer in (*results, *(answer for _, answer in answers))}) == 1


async def test_a_lease_has_one_holder_and_who_lost_it_writes_nothing(lab: Lab) -> None:
    held, gone = asyncio.Event(), asyncio.Event()
    tokens: list[int] = []

    @lab.app.job(retry=AT_ONCE)
    async def sync(ctx: Context) -> None:
        async with leases.hold(ctx, "till") as lease:
            tokens.append(lease.token)
            if ctx.job.attempt == 1:
                held.set()
                await gone.wait()
            async with lab.client.transaction() as conn:
                await conn.execute("insert into effect (note) values (%s)", [f"{lease.token}"])
                await lease.guard(conn)

    async with lab.worker() as worker:
        first_id = worker.id
        job_id = await sync.enqueue(lab.client)
        await held.wait()
        with pytest.raises(LeaseHeld):
            async with leases.hold(lab.client, "till"):
                pass
        async with lab.client.transaction() as conn:
            joined = await leases.enqueue_or_attach(conn, "till", sync)
        # It is declared dead, while its handler goes on; the next attempt takes the lease over.
        await lab.rows("delete from ostinato_data.worker where id = %s", first_id)
        ended = await lab.becomes(job_id, "done", "dead")
        gone.set()

    assert (joined.job_id, joined.attached) == (job_id, True)
    assert (ended.state, ended.attempt) == ("done", 2)
    assert await noted(lab) == [f"{max(tokens)}"]
    assert tokens[0] < tokens[1]
    with pytest.raises(LeaseLost):
        await write_late(lab)
    assert len(await noted(lab)) == 1


async def write_late(lab: Lab) -> None:
    """Write with a lease that was taken away."""
    async with leases.hold(lab.client, "till", ttl=3600) as lease:
        await lab.rows("update ostinato_data.lease set token = token + 1")
        async with lab.client.transaction() as conn:
            await conn.execute("insert into effect (note) values ('late')")
            await lease.guard(conn)


async def test_a_schedule_fires_once_a_slot_however_many_workers_there_are(lab: Lab) -> None:
    served: list[Slot] = []

    @lab.app.job()
    async def opens(ctx: Context, scheduled_for: Slot) -> None:
        served.append(scheduled_for)

    async with lab.worker(), lab.worker(), lab.worker():
        at = await clock.now(lab.engine.admin) + timedelta(seconds=3)
        async with lab.client.transaction() as conn:
            await schedules.upsert_many(
                conn, [Schedule(f"open-{n}", opens.name, at=at, key=f"shop-{n}") for n in range(20)]
            )

        async def all_served() -> bool:
            return len(served) >= 20

        await until_async(all_served)
        await lab.until("select count(*) = 20 from ostinato_data.schedule_fire")

    assert sorted(str(slot.key) for slot in served) == sorted(f"shop-{n}" for n in range(20))
    assert {slot.at for slot in served} == {at}


async def test_steps_are_taken_once_and_a_job_waits_for_its_event(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    ran: list[str] = []

    @lab.app.job(retry=AT_ONCE)
    async def order(ctx: Context) -> Any:  # noqa: ANN401
        await ctx.step("charge", ran.append, "charge")
        if ctx.job.attempt == 1:
            raise ConnectionError("not yet")
        await ctx.sleep(0.05)
        told = await ctx.wait_for("invoice.paid", "7")
        await ctx.step("ship", ran.append, "ship")
        return told

    async with lab.worker(), lab.worker():
        with flow(tenant="acme", correlation="r"):
            job_id = await order.enqueue(lab.client)
            await lab.until("select exists (select from ostinato.job_steps(%s) s where s.type = 'waiting')", job_id)
            await paid.emit(lab.client, {"n": 7}, key="7")
        ended = await lab.becomes(job_id, "done", "dead")

    assert (ended.state, ran) == ("done", ["charge", "ship"])


async def test_a_machine_lets_nothing_through_but_its_transitions(lab: Lab) -> None:
    table = "billing.invoice"
    await lab.rows("create schema billing authorization ostinato_owner")
    async with lab.engine.admin.transaction():
        await lab.rows("set local role ostinato_owner")
        await lab.rows(
            "create table billing.invoice (id int, tenant_id text, state text default 'draft',"
            " sent_at text, receipt text)"
        )
        await lab.rows("grant usage on schema billing to ostinato_worker")
        await lab.rows("grant all on billing.invoice to ostinato_worker")
        await machines.install(lab.engine.admin, EXAMPLE)
        await machines.attach(lab.engine.admin, EXAMPLE, table)
    await lab.rows("insert into billing.invoice select n, 'acme' from generate_series(1, 10) n")

    @lab.app.job()
    async def send(ctx: Context, number: int) -> None:
        async with ctx.transaction() as conn:
            await machines.transition(conn, EXAMPLE, table, number, "send", by="job", changes={"sent_at": "now"})

    async with lab.worker(), lab.worker():
        with flow(tenant="acme", correlation="r"):
            ids = await send.enqueue_many(lab.client, [{"number": n + 1} for n in range(10)])
        ends = [(await lab.becomes(job_id, "done", "dead")).state for job_id in ids]
    with pytest.raises(IllegalTransition, match="cannot be written"):
        async with lab.client.transaction() as conn:
            await conn.execute("update billing.invoice set state = 'void'")

    assert set(ends) == {"done"}
    assert await lab.rows("select distinct state from billing.invoice") == [("sent",)]
    assert await lab.value("select count(*) from ostinato_data.transition") == 10

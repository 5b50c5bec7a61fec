"""Events on their way: from a commit to their handlers, as jobs."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from ostinato import App, Context, Retry, Snooze, SyncContext
from ostinato._core.base.errors import CommitUnknown, InvalidInput, NotConfigured, NotFound
from ostinato._core.base.events import Event
from ostinato._core.base.flow import current, flow
from ostinato._core.base.metrics import EVENTS_SEQUENCED
from ostinato._core.engine import claims, outbox, subscriptions
from ostinato._core.engine.claims import Job
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.runtime.services import janitor
from ostinato._core.runtime.worker import lanes
from tests.runtime.lab import FAST, Lab, counted
from tests.waiting import until_async

NOW = Retry(delays=(0, 0))


@dataclass
class Paid:
    """The payload that these tests tell."""

    n: int
    at: datetime | None = None


@pytest.fixture(autouse=True)
def in_a_flow() -> Iterator[None]:
    with flow(tenant="acme", correlation="request-1"):
        yield


@pytest.fixture(autouse=True)
async def effect_table(lab: Lab) -> None:
    await lab.rows("create table effect (event_id bigint, note text)")
    await lab.rows("grant select, insert on effect to ostinato_worker")


async def settled(lab: Lab, name: str) -> None:
    """Wait until a subscription has nothing left to do."""
    await lab.until("select not ostinato_internal.has_unsequenced()")
    await lab.until(
        "select exists (select from ostinato.list_subscriptions() s where s.name = %s and"
        " s.behind + s.waiting + s.held = 0)",
        name,
    )


async def test_events_arrive_in_order_with_their_payload_in_the_flow_of_their_writer(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid", payload=Paid)
    seen: list[Event[Paid]] = []
    flows: set[Any] = set()

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Paid]) -> None:
        ctx.log.info("noted")
        assert ctx.event is event
        seen.append(event)
        flows.add(current()[:2])

    async with lab.worker() as worker:
        async with lab.client.transaction() as conn:
            told = [await paid.emit(conn, Paid(n), key="k") for n in range(5)]
            with pytest.raises(InvalidInput, match="n: Input should be a valid integer"):
                await paid.emit(conn, {"n": "many"}, key="k")
        told += await paid.emit_many(lab.client, [(Paid(5), "k"), ({"n": 6}, "k")])
        await settled(lab, "lab.note")
        assert counted(worker, EVENTS_SEQUENCED) == 7

    assert [event.id for event in seen] == told
    assert [event.payload for event in seen] == [Paid(n) for n in range(7)]
    assert [event.position for event in seen] == list(range(1, 8))
    assert (seen[0].tenant_id, seen[0].correlation_id, seen[0].producer) == ("acme", "request-1", "lab")
    assert flows == {("acme", "request-1")}


async def test_plain_functions_handle_events_in_threads(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid", payload=Paid)
    threads: list[str] = []

    @lab.app.on("invoice.paid")
    def note(ctx: SyncContext, event: Event[Paid]) -> None:
        threads.append(threading.current_thread().name)
        assert ctx.event is event
        with ctx.transaction() as conn:
            conn.execute("insert into effect values (%s, %s)", (event.id, "threaded"))

    async with lab.worker():
        told = await paid.emit(lab.client, Paid(1), key="k")
        await settled(lab, "lab.note")

    assert await lab.rows("select * from effect") == [(told, "threaded")]
    assert threads[0] != threading.main_thread().name


async def test_what_a_handler_writes_in_its_transaction_takes_effect_once(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    attempts: list[int] = []

    @lab.app.on("invoice.paid", retry=NOW)
    async def note(ctx: Context, event: Event[Any]) -> None:
        attempts.append(event.id)
        async with ctx.transaction() as conn:
            await conn.execute("insert into effect values (%s, 'once')", [event.id])
            if len(attempts) == 1:
                raise ConnectionError("cut off")
        if len(attempts) == 2:
            raise ValueError("too late to matter")

    async with lab.worker():
        first = await paid.emit(lab.client, {}, key="k")
        second = await paid.emit(lab.client, {}, key="k")
        await settled(lab, "lab.note")

    assert attempts == [first, first, second]
    assert await lab.rows("select event_id from effect order by 1") == [(first,), (second,)]


async def test_a_poison_event_is_buried_and_only_its_own_key_noticed(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    seen: list[int] = []
    mended = asyncio.Event()

    @lab.app.on("invoice.paid", retry=NOW)
    async def note(ctx: Context, event: Event[Any]) -> None:
        if event.payload["n"] == 0 and not mended.is_set():
            raise ValueError("poison")
        seen.append(event.payload["n"])

    async with lab.worker():
        for n in range(4):
            await paid.emit(lab.client, {"n": n}, key=f"k{n % 2}")
        await settled(lab, "lab.note")
        (buried,) = await subscriptions.buried(lab.engine.admin, "lab.note")
        assert (buried.position, buried.reason) == (1, "attempts_used_up")
        assert buried.error["message"] == "poison"
        assert sorted(seen) == [1, 2, 3]
        assert seen.index(1) < seen.index(3)
        assert await lab.rows("select kind from ostinato_data.dead_letter") == [("lab.note",)]

        mended.set()
        assert await outbox.redeliver(lab.engine.admin, "lab.note") == 1
        await settled(lab, "lab.note")
        assert seen[-1] == 0


async def test_a_permanent_error_and_a_payload_that_does_not_fit_are_buried_at_once(lab: Lab) -> None:
    old = App("old")
    told = old.event("invoice.paid")
    lab.app.event("invoice.paid", payload=Paid)
    runs: list[int] = []

    @lab.app.on("invoice.paid", retry=Retry(permanent=(KeyError,)))
    async def note(ctx: Context, event: Event[Paid]) -> None:
        runs.append(event.payload.n)
        raise KeyError("gone")

    async with lab.worker():
        await lab.until("select exists (select from ostinato_data.subscription)")
        await lab.rows("delete from ostinato_data.event_type")
        await told.emit(lab.client, {"n": "many"})
        await told.emit(lab.client, {"n": 1})
        await settled(lab, "lab.note")
        buried = await subscriptions.buried(lab.engine.admin)

    assert {one.reason for one in buried} == {"permanent_error"}
    assert {one.signature for one in buried} >= {"KeyError: <text>"}
    assert runs == [1]


async def test_a_slow_key_holds_up_no_other(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    gate = asyncio.Event()
    seen: list[str | None] = []

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> None:
        if event.ordering_key == "slow":
            await gate.wait()
        seen.append(event.ordering_key)

    async with lab.worker():
        await paid.emit(lab.client, {}, key="slow")
        for n in range(50):
            await paid.emit(lab.client, {}, key=f"k{n % 5}")
        await until_async(lambda: len(seen) == 50)
        gate.set()
        await settled(lab, "lab.note")

    assert seen[-1] == "slow"


async def test_an_event_that_is_a_job_may_sleep_and_take_steps(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    charged: list[int] = []
    woken: list[int] = []

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> object:
        await ctx.step("charge", charged.append, event.id)
        await ctx.sleep(0.05)
        woken.append(event.id)
        return Snooze(0) if len(woken) == 1 else None

    async with lab.worker():
        told = await paid.emit(lab.client, {}, key="k")
        await settled(lab, "lab.note")

    assert charged == [told]
    assert woken == [told, told]


async def test_emitting_in_the_transaction_of_a_job_happens_once_with_its_completion(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    seen: list[int] = []

    @lab.app.job(retry=NOW)
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await paid.emit(conn, {"attempt": ctx.job.attempt}, key="k")
            if ctx.job.attempt == 1:
                raise ConnectionError("cut off")

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> None:
        seen.append(event.payload["attempt"])

    async with lab.worker():
        with flow(tenant="globex", correlation="request-9"):
            job_id = await pay.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")
        await settled(lab, "lab.note")

    assert seen == [2]
    (told,) = await outbox.list_events(lab.engine.admin)
    assert (told.tenant_id, told.correlation_id) == ("globex", "request-9")


async def test_what_a_job_tells_wakes_the_relay_of_its_worker_without_a_poll(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    seen: list[int] = []

    @lab.app.job()
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await paid.emit(conn, {})

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> None:
        seen.append(event.id)

    async with lab.worker(poll_seconds=60, expiry_seconds=200):
        await pay.enqueue(lab.client)
        await until_async(lambda: seen)


async def test_a_commit_rings_the_relay_of_another_process(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    seen: list[int] = []

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> None:
        seen.append(event.id)

    async with lab.worker(poll_seconds=60, expiry_seconds=200):
        told = await paid.emit(lab.client, {})
        await until_async(lambda: seen == [told])


async def test_the_events_of_a_key_run_one_after_the_other_and_those_behind_a_failure_wait(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid", payload=Paid)
    running: set[str | None] = set()
    seen: list[int] = []

    @lab.app.on("invoice.paid", retry=NOW)
    async def note(ctx: Context, event: Event[Paid]) -> None:
        assert event.ordering_key not in running
        running.add(event.ordering_key)
        await asyncio.sleep(0)  # noqa: TID251 - lets the others have their turn
        running.remove(event.ordering_key)
        if event.payload.n % 10 == 3 and ctx.job.failures == 0:
            raise ValueError("the first time")
        seen.append(event.payload.n)

    async with lab.worker():
        await paid.emit_many(lab.client, [(Paid(n), "k") for n in range(40)])
        await settled(lab, "lab.note")

    assert seen == list(range(40))


async def test_those_behind_one_another_are_marked_in_sets(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round trip for each of them made one key thirty times slower than many."""
    paid = lab.app.event("invoice.paid", payload=Paid)
    seen: list[int] = []
    marks: list[int] = []
    begin = claims.begin

    async def counting(conn: Any, jobs: list[Job], *, alone: bool = False) -> list[int]:  # noqa: ANN401 - as begin
        marks.append(len(jobs))
        return await begin(conn, jobs, alone=alone)

    monkeypatch.setattr(claims, "begin", counting)
    monkeypatch.setattr(lanes, "SOON_SECONDS", 0.0)  # only the first of the claim may start at once

    @lab.app.on("invoice.paid")
    async def note(_ctx: Context, event: Event[Paid]) -> None:
        monkeypatch.setattr(lanes, "SOON_SECONDS", 1.0)
        seen.append(event.payload.n)

    async with lab.worker(concurrency=1) as worker:
        worker.lanes._rate = FAST
        await paid.emit_many(lab.client, [(Paid(n), "k") for n in range(200)])
        await settled(lab, "lab.note")

    assert seen == list(range(200))
    assert len(marks) < 20


async def test_a_slow_first_gives_back_those_behind_it(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    gate = asyncio.Event()

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> None:
        await gate.wait()

    async with lab.worker():
        await paid.emit_many(lab.client, [({}, "k") for _ in range(5)])
        await lab.until("select exists (select from ostinato_data.claim)")
        await lab.until("select count(*) = 4 from ostinato_data.scheduled where reason = 'behind'")
        gate.set()
        await settled(lab, "lab.note")


async def test_a_commit_in_doubt_lets_its_key_go_on(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler is told that its commit may be lost, and it is not."""
    paid = lab.app.event("invoice.paid")
    seen: list[int] = []

    @lab.app.on("invoice.paid", retry=NOW)
    async def note(ctx: Context, event: Event[Any]) -> None:
        seen.append(event.id)
        async with ctx.transaction():
            pass
        if len(seen) == 1:
            ctx.settled = False
            raise CommitUnknown("the answer was lost")

    monkeypatch.setattr(janitor, "DELIVERIES_SECONDS", 3600.0)
    async with lab.worker():
        told = await paid.emit_many(lab.client, [({}, "k"), ({}, "k")])
        await settled(lab, "lab.note")

    assert seen == told


async def test_a_worker_that_stops_gives_back_what_it_has_not_done_in_order(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    begun = asyncio.Event()

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Any]) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with lab.worker():
        await paid.emit(lab.client, {}, key="k")
        await paid.emit(lab.client, {}, key="k")
        await begun.wait()

    assert await lab.rows("select open from ostinato_data.delivery order by position") == [(True,), (False,)]
    assert await lab.rows("select crashes, failures from ostinato_data.ready") == [(0, 0)]
    assert await lab.rows("select crashes, reason from ostinato_data.scheduled") == [(0, "behind")]


async def test_several_workers_share_a_subscription_and_keep_the_order_of_each_key(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid", payload=Paid)
    seen: dict[str | None, list[int]] = {}

    @lab.app.on("invoice.paid")
    async def note(ctx: Context, event: Event[Paid]) -> None:
        await asyncio.sleep(0)  # noqa: TID251 - lets the others have their turn
        seen.setdefault(event.ordering_key, []).append(event.payload.n)

    async with lab.worker(), lab.worker(), lab.worker():
        for start in range(0, 600, 50):
            await paid.emit_many(lab.client, [(Paid(n), f"k{n % 7}") for n in range(start, start + 50)])
        await settled(lab, "lab.note")

    assert sum(len(numbers) for numbers in seen.values()) == 600
    assert all(numbers == sorted(numbers) for numbers in seen.values())


async def test_a_replay_delivers_again(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid", payload=Paid)
    seen: list[int] = []

    @lab.app.on("invoice.paid", "invoice.void")
    async def note(ctx: Context, event: Event[Paid]) -> None:
        seen.append(event.payload.n)

    async with lab.worker():
        await paid.emit_many(lab.client, [(Paid(n), "k") for n in range(4)])
        await settled(lab, "lab.note")
        assert await outbox.replay(lab.engine.admin, "lab.note", 3, preview=True) == 2
        assert await outbox.replay(lab.engine.admin, "lab.note", 3) == 2
        await until_async(lambda: len(seen) == 6)
        await settled(lab, "lab.note")

    assert seen == [0, 1, 2, 3, 2, 3]


async def test_a_subscription_to_everything_gets_types_that_nobody_here_declared(lab: Lab) -> None:
    seen: list[Any] = []

    @lab.app.on("*", name="audit")
    async def note(ctx: Context, event: Event[Any]) -> None:
        seen.append((event.type, event.payload))

    async with lab.worker():
        async with lab.client.connection() as conn:
            await outbox.emit(conn, NewEvent("x.happened", '{"a": 1}', "elsewhere"))
        await settled(lab, "audit")

    assert seen == [("x.happened", {"a": 1})]


async def test_events_are_looked_at_from_python(lab: Lab) -> None:
    paid = lab.app.event("invoice.paid")
    with psycopg.connect(lab.engine.database.url) as conn:
        told = paid.emit_sync(conn, {"n": 1}, key="k", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
    async with lab.client.connection() as conn:
        await subscriptions.subscribe(conn, "behind", start=0)
        assert (await outbox.sequence(conn)).stamped == 1
        shown = await outbox.show_event(conn, told)
        (row,) = await subscriptions.list_subscriptions(conn)
        assert await subscriptions.deliveries_of(conn, told) == []
        await subscriptions.pause(conn, "behind")
        await subscriptions.resume(conn, "behind")
        await subscriptions.drop(conn, "behind")
        with pytest.raises(NotFound):
            await outbox.show_event(conn, 1)
        assert await outbox.emit_many(conn, []) == []

    assert shown.payload == {"n": 1}
    assert shown.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert row.behind == 1


async def test_what_is_not_declared_is_refused(lab: Lab) -> None:
    lab.app.event("invoice.paid")

    with pytest.raises(NotFound, match=r"invoice\.void"):
        await lab.app.emit(lab.client, "invoice.void", {})
    with pytest.raises(NotFound, match="version 2"):
        await lab.app.emit(lab.client, "invoice.paid", {}, version=2)
    with pytest.raises(InvalidInput, match="two events"):
        lab.app.event("invoice.paid")
    with pytest.raises(InvalidInput, match="time zone"):
        await lab.app.emit(lab.client, "invoice.paid", {}, occurred_at=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidInput, match="NUL"):
        await lab.app.emit(lab.client, "invoice.paid", {"a": "\0"})
    assert await lab.app.emit(lab.client, "invoice.paid", {}, key="k")


def test_a_subscriber_that_makes_no_sense_is_refused() -> None:
    app = App("odd")

    with pytest.raises(InvalidInput, match="lists no type of event"):
        app.on(name="x")(lambda ctx, event: None)  # noqa: ARG005
    with pytest.raises(InvalidInput, match="has 501 characters, not 1 to"):
        app.on("x", name="x" * 501)(lambda ctx, event: None)  # noqa: ARG005
    with pytest.raises(InvalidInput, match="two parameters"):
        app.on("x", name="x")(lambda ctx: None)  # type: ignore[arg-type,misc]  # noqa: ARG005
    with pytest.raises(TypeError, match="mode"):
        app.on("x", name="x", mode="relay")  # type: ignore[call-arg]
    app.on("x", name="x")(lambda ctx, event: (ctx, event))
    with pytest.raises(InvalidInput, match="two handlers"):
        app.on("y", name="x")(lambda ctx, event: None)  # noqa: ARG005
    assert app.subscribers["x"]("ctx", "event") == ("ctx", "event")  # type: ignore[arg-type]


async def test_a_worker_needs_something_to_do(lab: Lab) -> None:
    with pytest.raises(NotConfigured, match="subscription"):
        lab.new_worker()

"""Steps in a handler: run once, whatever happens; sleeps and waits across restarts; errors."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_type

import pytest
from psycopg import AsyncConnection, Connection
from structlog.typing import EventDict

from ostinato import App, Context, Done, LeaseLost, Retry, Snooze, SyncContext
from ostinato._core.base.errors import InvalidInput, OstinatoError
from ostinato._core.base.flow import flow
from ostinato._core.base.metrics import FENCED_WRITES
from ostinato._core.engine import steps, upkeep
from ostinato._core.runtime.database import Database
from ostinato.testing import Engine
from tests.proxy import Proxy, between
from tests.runtime.lab import Lab, counted
from tests.waiting import until_async

NOW = Retry(delays=(0, 0, 0))
TAKE_ALL = "select ostinato_internal.rescue_claims(array[c.id], 9) from ostinato_data.claim c"


class Colour(StrEnum):
    RED = "red"


@pytest.fixture
def ran() -> Counter[str]:
    """How often each step ran."""
    return Counter()


@pytest.fixture
async def proxied(lab: Lab, tmp_path: Path) -> AsyncIterator[tuple[Lab, Proxy]]:
    """A lab whose workers reach the database through a proxy; the test itself does not."""
    real = lab.engine.database
    with between(real.url, tmp_path) as proxy:
        through = proxy.url(real.url)
        lab.engine.database = Database(url=through, admin_url=real.admin_url, listen_url=through, server=real.server)
        yield lab, proxy


async def emit(lab: Lab | Engine, event: str, key: str, payload: str) -> None:
    """Tell an event and let the sequencer run."""
    admin = lab.admin if isinstance(lab, Engine) else lab.engine.admin
    await admin.execute(
        "select ostinato.emit_event(type => %s, ordering_key => %s, payload => %s, tenant_id =>"
        " 'default', correlation_id => 'c', producer => 'test', occurred_at => ostinato.now())",
        (event, key, payload),
    )
    await admin.execute("select ostinato.sequence_events()")


async def names(lab: Lab, job_id: int) -> list[str]:
    return [step.name for step in await steps.of_job(lab.engine.admin, job_id)]


# Steps


async def test_what_is_done_is_not_done_again(lab: Lab, ran: Counter[str]) -> None:
    async def fetch(n: int, *, twice: bool) -> dict[str, int]:
        ran["fetch"] += 1
        return {"n": 2 * n if twice else n}

    def add(value: dict[str, int], more: int) -> int:
        ran["add"] += 1
        return value["n"] + more

    def note() -> str | None:
        ran["note"] += 1
        return None

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> Done:
        value = await ctx.step("fetch", fetch, 3, twice=True)
        assert_type(value, dict[str, int])
        total = assert_type(await ctx.step("add", add, value, more=1), int)
        nothing = await ctx.step("note", note)
        if ctx.job.attempt < 3:
            raise ConnectionError("after all steps")
        return Done([value, total, nothing])

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == [{"n": 6}, 7, None]
    assert ran == {"fetch": 1, "add": 1, "note": 1}
    assert await lab.outcomes(job_id) == ["failed", "failed", "done"]
    assert [step.attempt for step in await steps.of_job(lab.engine.admin, job_id)] == [1, 1, 1]


async def test_a_step_that_fails_keeps_nothing_and_is_tried_again(lab: Lab, ran: Counter[str]) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        def flaky() -> str:
            ran["flaky"] += 1
            if ctx.job.attempt < 3:
                raise ConnectionError("not yet")
            return "there"

        await ctx.step("before", ran.update, ["before"])
        await ctx.step("flaky", flaky)

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert ran == {"before": 1, "flaky": 3}
    assert await names(lab, job_id) == ["before", "flaky"]


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("position", [1, 2, 3])
async def test_a_step_whose_connection_is_cut_is_saved_once(
    proxied: tuple[Lab, Proxy],
    ran: Counter[str],
    fault: Any,  # noqa: ANN401 - a literal
    position: int,
) -> None:
    lab, proxy = proxied

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        for at in (1, 2, 3):
            if at == position:
                proxy.once(fault, "save_steps")
            await ctx.step(f"step {at}", ran.update, [f"step {at}"])

    async with lab.worker(beat_seconds=1, expiry_seconds=30):
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert [happened for happened, _ in proxy.faults] == [fault]
    assert ran == {"step 1": 1, "step 2": 1, "step 3": 1}
    assert await lab.outcomes(job_id) == ["done"]


async def test_handlers_wait_with_their_steps_while_the_database_is_away(
    proxied: tuple[Lab, Proxy], ran: Counter[str], logs: list[EventDict]
) -> None:
    lab, proxy = proxied
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        started.set()
        await gate.wait()
        await ctx.step("one", ran.update, ["one"])
        await ctx.step("two", ran.update, ["two"])

    async with lab.worker(beat_seconds=1, expiry_seconds=30):
        job_id = await work.enqueue(lab.client)
        await started.wait()
        with proxy.away():
            gate.set()
            await until_async(
                lambda: any(line["event"] == "database_unavailable" and line["loop"] == "saver" for line in logs)
            )
        await lab.becomes(job_id, "done", "dead")

    assert ran == {"one": 1, "two": 1}
    assert await lab.outcomes(job_id) == ["done"]


@pytest.mark.parametrize("edge", ["before", "during", "after the effect", "after the save"])
async def test_a_job_lost_at_any_edge_of_a_step_repeats_no_committed_one(
    lab: Lab, ran: Counter[str], edge: str
) -> None:
    """The job is taken away at the edge, and the handler that lost it stops there."""
    caught: list[LeaseLost] = []

    async def lose_at(here: str, ctx: Context) -> None:
        if here == edge and ctx.job.attempt == 1:
            await lab.rows(TAKE_ALL)
            if here in ("before", "after the save"):
                raise LeaseLost("the process died here", job_id=ctx.job.id)

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        async def charge() -> None:
            await lose_at("during", ctx)
            ran["charge"] += 1
            await lose_at("after the effect", ctx)

        await ctx.step("first", ran.update, ["first"])
        await lose_at("before", ctx)
        try:
            await ctx.step("charge", charge)
        except LeaseLost as error:
            caught.append(error)
            raise
        await lose_at("after the save", ctx)

    async with lab.worker() as worker:
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    refused = edge in ("during", "after the effect")
    # What was done and not committed is done again: that is what a step can promise.
    assert ran == {"first": 1, "charge": 2 if refused else 1}
    assert await lab.outcomes(job_id) == ["lost", "done"]
    assert len(caught) == refused
    assert counted(worker, FENCED_WRITES, "step") == refused
    assert counted(worker, FENCED_WRITES, "complete") == (not refused)


async def test_two_holders_at_once_commit_a_step_once(lab: Lab, ran: Counter[str]) -> None:
    """A worker that was taken for dead goes on while another one has its job."""
    gate, second = asyncio.Event(), asyncio.Event()
    results: list[str] = []

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        async def charge() -> str:
            ran["charge"] += 1
            if ctx.job.attempt == 1:
                await gate.wait()
            else:
                second.set()
            return f"attempt {ctx.job.attempt}"

        results.append(await ctx.step("charge", charge))

    async with lab.worker(), lab.worker():
        job_id = await work.enqueue(lab.client)
        await until_async(lambda: ran["charge"] == 1)
        await lab.rows(TAKE_ALL)
        await second.wait()
        gate.set()
        await lab.becomes(job_id, "done", "dead")

    assert results == ["attempt 2"]
    (step,) = await steps.of_job(lab.engine.admin, job_id)
    assert (step.result, step.attempt) == ("attempt 2", 2)


async def test_steps_of_many_jobs_are_written_in_few_statements(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    really = steps.save

    async def save(conn: AsyncConnection[Any], new: list[steps.NewStep]) -> list[int]:
        sizes.append(len(new))
        return await really(conn, new)

    monkeypatch.setattr(steps, "save", save)

    @lab.app.job()
    async def work(ctx: Context, n: int) -> None:
        for at in range(3):
            assert await ctx.step(f"step {at}", sum, [n, at]) == n + at

    await work.enqueue_many(lab.client, [{"n": n} for n in range(200)])
    async with lab.worker():
        await lab.until("select count(*) = 200 from ostinato_data.outcome where outcome = 'done'")

    assert sum(sizes) == 600
    assert len(sizes) < 100


async def test_steps_at_the_same_time_keep_their_places(lab: Lab, ran: Counter[str]) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> Done:
        async def part(n: int) -> int:
            ran[f"part {n}"] += 1
            return n

        found = await asyncio.gather(*(ctx.step(f"part {n}", part, n) for n in range(5)))
        if ctx.job.attempt == 1:
            raise ConnectionError
        return Done(found)

    async with lab.worker():
        ended = await lab.becomes(await work.enqueue(lab.client), "done", "dead")

    assert ended.result == [0, 1, 2, 3, 4]
    assert set(ran.values()) == {1}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({1, 2}, "set"),
        (b"bytes", "bytes"),
        (float("nan"), "nan"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        ((1, 2), "tuple"),
        ({"a": (1,)}, "tuple"),
        ({1: "a"}, "key"),
        (Colour.RED, "Colour"),
        ("x" * 1_048_576, "1,048,576"),
    ],
    ids=str,
)
async def test_a_result_that_would_not_come_back_the_same_is_refused(lab: Lab, result: object, words: str) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        await ctx.step("odd", lambda: result)

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        ended = await lab.becomes(job_id, "dead", "done", "scheduled")

    assert ended.state == "dead"
    assert "'odd'" in ended.error["message"]
    assert words in ended.error["message"]
    assert await names(lab, job_id) == []


async def test_one_that_the_database_refuses_does_not_hold_up_the_others(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = steps.save

    async def save(conn: AsyncConnection[Any], new: list[steps.NewStep]) -> list[int]:
        if any(step.result == '"bad"' for step in new):
            raise InvalidInput("the database does not like it")
        return await really(conn, new)

    monkeypatch.setattr(steps, "save", save)

    @lab.app.job()
    async def work(ctx: Context, value: str) -> None:
        await ctx.step("keep", lambda: value)

    ids = await work.enqueue_many(lab.client, [{"value": v} for v in ("a", "bad", "b")])
    async with lab.worker():
        states = [(await lab.becomes(job_id, "done", "dead")).state for job_id in ids]

    assert states == ["done", "dead", "done"]


async def test_an_error_of_the_database_that_is_nobodys_fault_fails_the_attempt(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def save(conn: AsyncConnection[Any], new: list[steps.NewStep]) -> list[int]:
        raise OstinatoError("broken")

    monkeypatch.setattr(steps, "save", save)

    @lab.app.job(retry=Retry(delays=(3600,)))
    async def work(ctx: Context) -> None:
        await ctx.step("keep", lambda: 1)

    async with lab.worker():
        ended = await lab.becomes(await work.enqueue(lab.client), "scheduled", "dead")

    assert ended.state == "scheduled"


# Other steps than those stored


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (["fetch", "bill"], ["step 2", "'charge'", "'bill'"]),
        (["charge", "fetch"], ["step 1", "'fetch'", "'charge'"]),
        (["fetch", "check", "charge"], ["step 2", "'charge'", "'check'"]),
        (["fetch"], ["ended after 1 step", "step 2", "'charge'"]),
    ],
    ids=["renamed", "reordered", "inserted", "removed"],
)
async def test_a_version_that_takes_other_steps_is_told_so(
    lab: Lab, ran: Counter[str], second: list[str], words: list[str]
) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        for name in ["fetch", "charge"] if ctx.job.attempt == 1 else second:
            await ctx.step(name, ran.update, [name])
        if ctx.job.attempt == 1:
            raise ConnectionError

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.state == "dead"
    assert ended.error["type"] == "StepMismatch"
    for word in [*words, "1 fetch, 2 charge"]:
        assert word in ended.error["message"]
    assert ran == {"fetch": 1, "charge": 1}
    assert await lab.outcomes(job_id) == ["failed", "dead"]


async def test_a_mismatch_cannot_be_swallowed(lab: Lab, ran: Counter[str]) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        if ctx.job.attempt == 1:
            await ctx.step("fetch", ran.update, ["fetch"])
            raise ConnectionError
        for name in ("a", "b"):
            try:
                await ctx.step(name, ran.update, [name])
            except OstinatoError:
                continue

    async with lab.worker():
        ended = await lab.becomes(await work.enqueue(lab.client), "done", "dead")

    assert (ended.state, ended.error["type"]) == ("dead", "StepMismatch")
    assert ran == {"fetch": 1}


async def test_a_transaction_that_ends_the_job_wants_all_stored_steps_taken(lab: Lab) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        await ctx.step("one", lambda: 1)
        if ctx.job.attempt == 1:
            await ctx.step("two", lambda: 2)
            raise ConnectionError
        async with ctx.transaction():
            pass

    async with lab.worker():
        ended = await lab.becomes(await work.enqueue(lab.client), "done", "dead")

    assert (ended.state, ended.error["type"]) == ("dead", "StepMismatch")


async def test_a_job_that_snoozes_need_not_come_by_all_steps(lab: Lab) -> None:
    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> Snooze | None:
        await ctx.step("one", lambda: 1)
        if ctx.job.attempt == 2:
            return Snooze(0)
        await ctx.step("two", lambda: 2)
        if ctx.job.attempt == 1:
            raise ConnectionError
        return None

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert (ended.state, ended.attempt) == ("done", 3)


async def inside_transaction(ctx: Context) -> None:
    async with ctx.transaction():
        await ctx.step("late", lambda: 1)


async def after_transaction(ctx: Context) -> None:
    async with ctx.transaction():
        pass
    await ctx.step("late", lambda: 1)


async def nested(ctx: Context) -> None:
    async def outer() -> None:
        await ctx.step("inner", lambda: 1)

    await ctx.step("outer", outer)


async def nested_sleep(ctx: Context) -> None:
    async def outer() -> None:
        await ctx.sleep(1)

    await ctx.step("outer", outer)


async def sleeping_beside(ctx: Context) -> None:
    async def long() -> None:
        await asyncio.Event().wait()

    beside = asyncio.create_task(ctx.step("long", long))
    await asyncio.wait({beside}, timeout=0.001)
    try:
        await ctx.sleep(1)
    finally:
        beside.cancel()


async def unnamed(ctx: Context) -> None:
    await ctx.step("", lambda: 1)


async def numbered_key(ctx: Context) -> None:
    await ctx.wait_for("order.paid", 7)  # type: ignore[arg-type]


async def endless(ctx: Context) -> None:
    await ctx.sleep(float("inf"))


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (inside_transaction, "inside ctx.transaction()"),
        (nested, "inside another step"),
        (nested_sleep, "inside another step"),
        (sleeping_beside, "while a step was still running"),
        (unnamed, "1 to 200"),
        (numbered_key, "the key 7"),
        (endless, "inf seconds"),
    ],
)
async def test_misuse_is_told_and_not_tried_again(
    lab: Lab,
    handler: Any,  # noqa: ANN401 - any of those above
    words: str,
) -> None:
    misused = lab.app.job(retry=NOW)(handler)

    async with lab.worker():
        job_id = await misused.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead", "scheduled")

    assert ended.state == "dead"
    assert words in ended.error["message"]


async def test_a_step_after_the_end_of_the_job_runs_nothing(lab: Lab, logs: list[EventDict]) -> None:
    late = lab.app.job(retry=NOW)(after_transaction)

    async with lab.worker():
        job_id = await late.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead", "scheduled")

    assert await lab.outcomes(job_id) == ["done"]
    assert await names(lab, job_id) == []
    assert "error_after_completion" in [line["event"] for line in logs]


# Steps with writes of their own


@pytest.fixture
async def effect_table(lab: Lab) -> None:
    await lab.rows("create table effect (note text)")
    await lab.rows("grant select, insert on effect to ostinato_worker")


@pytest.mark.usefixtures("effect_table")
@pytest.mark.parametrize("fault", [None, "before", "after"])
async def test_the_writes_of_a_step_in_a_transaction_are_made_once(
    proxied: tuple[Lab, Proxy],
    ran: Counter[str],
    fault: Any,  # noqa: ANN401 - a literal or none
) -> None:
    lab, proxy = proxied

    async def book(conn: AsyncConnection[Any], note: str) -> str:
        ran["book"] += 1
        await conn.execute("insert into effect values (%s)", [note])
        if fault is not None and ran["book"] == 1:
            proxy.once(fault, "COMMIT")
        return note.upper()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> Done:
        booked = await ctx.step_in_transaction("book", book, "paid")
        if ctx.job.attempt == 1:
            raise ConnectionError
        return Done(booked)

    async with lab.worker(beat_seconds=1, expiry_seconds=30):
        ended = await lab.becomes(await work.enqueue(lab.client), "done", "dead")

    assert ended.result == "PAID"
    assert await lab.rows("select note from effect") == [("paid",)]
    assert ran["book"] == (2 if fault == "before" else 1)


@pytest.mark.usefixtures("effect_table")
async def test_a_step_in_a_transaction_that_comes_too_late_writes_nothing(lab: Lab) -> None:
    async def book(conn: AsyncConnection[Any], ctx: Context) -> None:
        if ctx.job.attempt == 1:
            await lab.rows(TAKE_ALL)
        await conn.execute("insert into effect values (%s)", [f"attempt {ctx.job.attempt}"])

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        await ctx.step_in_transaction("book", book, ctx)

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert await lab.rows("select note from effect") == [("attempt 2",)]
    assert await lab.outcomes(job_id) == ["lost", "done"]


@pytest.mark.usefixtures("effect_table")
async def test_a_plain_function_has_the_same_steps(lab: Lab, ran: Counter[str]) -> None:
    def book(conn: Connection[Any], note: str) -> str:
        ran["book"] += 1
        conn.execute("insert into effect values (%s)", [note])
        return note

    def fetch(n: int) -> int:
        ran["fetch"] += 1
        return n

    @lab.app.job(retry=NOW)
    def work(ctx: SyncContext) -> Done:
        found = ctx.step("fetch", fetch, 7)
        note = ctx.step_in_transaction("book", book, "paid")
        ctx.sleep(0)
        if ctx.job.failures == 0:
            raise ConnectionError
        paid = ctx.wait_for("order.paid", str(found), timeout=0)
        return Done([found, note, paid])

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.until("select exists (select from ostinato_data.step where job_id = %s and type = 'timeout')", job_id)
        ended = await lab.becomes(job_id, "dead", "done")

    assert ended.state == "dead"
    assert "order.paid" in ended.error["message"]
    assert ran == {"fetch": 1, "book": 1}
    assert await names(lab, job_id) == ["fetch", "book", "sleep", "order.paid/7"]


async def test_a_late_step_of_a_plain_function_is_refused(lab: Lab, ran: Counter[str]) -> None:
    loop = asyncio.get_running_loop()

    @lab.app.job(retry=NOW)
    def work(ctx: SyncContext) -> None:
        def charge() -> None:
            ran["charge"] += 1
            if ctx.job.attempt == 1:
                asyncio.run_coroutine_threadsafe(lab.rows(TAKE_ALL), loop).result()

        ctx.step("charge", charge)

    async with lab.worker() as worker:
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert await lab.outcomes(job_id) == ["lost", "done"]
    assert counted(worker, FENCED_WRITES, "step") == 1


# Sleeping and waiting


async def test_a_sleep_lasts_for_its_time_and_costs_no_failure(engine: Engine) -> None:
    app = App("nap")
    at: list[Any] = []

    @app.job(retry=Retry(max_attempts=1))
    async def nap(ctx: Context) -> None:
        await ctx.step("before", lambda: at.append("before"))
        await ctx.sleep(3600)
        at.append(await engine.clock.now())
        await ctx.sleep(86_400)
        at.append(await engine.clock.now())

    start = await engine.clock.now()
    job_id = await nap.enqueue(engine.client)
    report = await engine.run_until_idle(app)

    assert (report.done, report.snoozed, report.failed) == (1, 2, 0)
    assert at[0] == "before"
    assert [round((time - start).total_seconds() / 3600) for time in at[1:]] == [1, 25, 25]
    kinds = [step.type for step in await steps.of_job(engine.admin, job_id)]
    assert kinds == ["call", "sleep", "sleep"]


async def test_a_sleeper_goes_on_under_another_worker(engine: Engine, ran: Counter[str]) -> None:
    app = App("nap")

    @app.job()
    async def nap(ctx: Context) -> None:
        await ctx.step("before", ran.update, ["before"])
        await ctx.sleep(3600)
        await ctx.step("after", ran.update, ["after"])

    await engine.clock.freeze()
    await nap.enqueue(engine.client)
    await engine.run_until_idle(app, move_clock=False)
    assert ran == {"before": 1}

    await engine.clock.move(3599)
    await engine.run_until_idle(app, move_clock=False)
    assert ran == {"before": 1}
    await engine.clock.move(1)
    report = await engine.run_until_idle(app, move_clock=False)

    assert ran == {"before": 1, "after": 1}
    assert report.done == 1


async def test_a_sleep_cannot_be_swallowed(engine: Engine, ran: Counter[str]) -> None:
    app = App("nap")

    @app.job()
    async def nap(ctx: Context) -> None:
        for hour in (1, 2):
            try:
                await ctx.sleep(3600)
                await ctx.step(f"hour {hour}", ran.update, [f"hour {hour}"])
            except BaseException:  # noqa: BLE001, S112 - what a careless handler does
                continue

    await nap.enqueue(engine.client)
    report = await engine.run_until_idle(app)

    assert ran == {"hour 1": 1, "hour 2": 1}
    assert (report.done, report.snoozed) == (1, 2)


async def test_a_job_waits_for_its_event_across_workers_and_gets_the_payload(engine: Engine, ran: Counter[str]) -> None:
    app = App("shop")

    @app.job()
    async def order(ctx: Context, number: int) -> Done:
        await ctx.step("ask", ran.update, ["ask"])
        paid = await ctx.wait_for("order.paid", str(number), timeout=86_400)
        return Done(paid["amount"])

    job_id = await order.enqueue(engine.client, number=7)
    await engine.run_until_idle(app, move_clock=False)
    await engine.clock.move(3600)
    await emit(engine, "order.paid", "8", '{"amount": 1}')
    await emit(engine, "order.paid", "7", '{"amount": 42}')

    report = await engine.run_until_idle(app, move_clock=False)

    assert (report.done, ran["ask"]) == (1, 1)
    found = await steps.of_job(engine.admin, job_id)
    assert [(step.type, step.result) for step in found][1:] == [("event", {"amount": 42})]


async def test_patience_ends_with_a_timeout_error_in_every_attempt(engine: Engine, ran: Counter[str]) -> None:
    app = App("shop")

    @app.job(retry=Retry(delays=(60, 60), jitter=0))
    async def order(ctx: Context) -> Done:
        try:
            await ctx.wait_for("order.paid", "7", timeout=3600)
        except TimeoutError:
            await ctx.step("remind", ran.update, ["remind"])
            if ctx.job.failures == 0:
                raise ConnectionError from None
        return Done("reminded")

    await order.enqueue(engine.client)
    start = await engine.clock.now()
    report = await engine.run_until_idle(app, pass_timeouts=True)
    await emit(engine, "order.paid", "7", "{}")

    assert (report.done, report.failed, report.snoozed, ran["remind"]) == (1, 1, 1, 1)
    assert 3600 < (await engine.clock.now() - start).total_seconds() < 3900


async def test_a_timeout_that_nobody_catches_is_permanent(engine: Engine) -> None:
    app = App("shop")

    @app.job(retry=Retry(delays=(60, 60, 60), jitter=0))
    async def order(ctx: Context) -> None:
        await ctx.wait_for("order.paid", "7", timeout=3600)

    job_id = await order.enqueue(engine.client)
    waits = await engine.run_until_idle(app)
    report = await engine.run_until_idle(app, pass_timeouts=True)

    assert [(each.job_id, each.event, each.key) for each in waits.waiting] == [(job_id, "order.paid", "7")]
    assert (waits.failed, report.failed, report.waiting) == (0, 1, [])
    cursor = await engine.admin.execute("select reason from ostinato_data.dead_letter where job_id = %s", (job_id,))
    assert await cursor.fetchone() == ("permanent_error",)


async def test_an_idle_engine_with_a_job_that_waits_for_an_event_is_idle(engine: Engine) -> None:
    app = App("shop")

    @app.job()
    async def order(ctx: Context) -> None:
        await ctx.wait_for("order.paid", "7")

    start = await engine.clock.now()
    await order.enqueue(engine.client)
    report = await engine.run_until_idle(app)

    assert report.snoozed == 1
    assert (await engine.clock.now() - start).total_seconds() < 600  # what the machine took, and no more


async def test_an_event_reaches_a_job_that_waits_in_a_real_worker(lab: Lab) -> None:
    @lab.app.job()
    async def order(ctx: Context) -> Done:
        return Done(await ctx.wait_for("order.paid", "7"))

    async with lab.worker():
        job_id = await order.enqueue(lab.client)
        await lab.until("select exists (select from ostinato_data.job_wait)")
        await emit(lab, "order.paid", "7", '{"amount": 3}')
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == {"amount": 3}


async def test_an_event_that_an_app_tells_wakes_the_job_by_itself(lab: Lab) -> None:
    """The worker's own relay gives it its position; nobody helps."""
    paid = lab.app.event("order.paid")

    @lab.app.job()
    async def order(ctx: Context) -> Done:
        return Done(await ctx.wait_for("order.paid", "7"))

    async with lab.worker():
        with flow(tenant="acme", correlation="request-7"):
            job_id = await order.enqueue(lab.client)
            await lab.until("select exists (select from ostinato_data.job_wait)")
            await paid.emit(lab.client, {"amount": 3}, key="7")
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == {"amount": 3}


async def test_a_load_that_fails_fails_the_attempt_and_holds_up_nobody(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def load(*_: object) -> list[steps.StoredStep]:
        raise OstinatoError("broken")

    monkeypatch.setattr(steps, "load", load)

    @lab.app.job(retry=Retry(delays=(0, 3600)))
    async def work(ctx: Context) -> None:
        await ctx.step("one", lambda: 1)
        raise ConnectionError

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.until("select exists (select from ostinato_data.scheduled where failures = 2)")
        ended = await lab.outcome(job_id)

    assert "broken" in ended.error["message"]


async def test_in_a_storm_of_waits_and_events_no_event_is_missed(lab: Lab) -> None:
    rng = random.Random(7)
    keys = [str(n) for n in range(60)]

    @lab.app.job()
    async def order(ctx: Context, key: str) -> Done:
        first = await ctx.wait_for("order.paid", key)
        second = await ctx.wait_for("order.paid", key)
        return Done([first["n"], second["n"]])

    async def tell() -> None:
        told = [(key, n) for key in keys for n in (1, 2)]
        rng.shuffle(told)
        told.sort(key=lambda pair: pair[1])
        for key, n in told:
            await emit(lab, "order.paid", key, f'{{"n": {n}}}')

    async with lab.worker(), lab.worker():
        ids, _ = await asyncio.gather(order.enqueue_many(lab.client, [{"key": key} for key in keys]), tell())
        # Those that were told before their job was made do not count: tell twice more.
        await tell()
        ended = [await lab.becomes(job_id, "done", "dead") for job_id in ids]

    assert {one.state for one in ended} == {"done"}
    assert await lab.value("select count(*) from ostinato_data.job_wait") == 0


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("verb", ["sleep_jobs", "wait_jobs", "load_steps"])
async def test_a_departure_whose_connection_is_cut_happens_once(
    proxied: tuple[Lab, Proxy],
    ran: Counter[str],
    fault: Any,  # noqa: ANN401 - a literal
    verb: str,
) -> None:
    lab, proxy = proxied
    proxy.once(fault, verb)

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> Done:
        await ctx.step("one", ran.update, ["one"])
        await ctx.sleep(0.01)
        return Done(await ctx.wait_for("order.paid", "7"))

    async with lab.worker(beat_seconds=1, expiry_seconds=30):
        job_id = await work.enqueue(lab.client)
        await lab.until("select exists (select from ostinato_data.job_wait)")
        await emit(lab, "order.paid", "7", '{"by": "card"}')
        ended = await lab.becomes(job_id, "done", "dead")

    assert [happened for happened, _ in proxy.faults] == [fault]
    assert (ended.result, ran["one"]) == ({"by": "card"}, 1)
    assert await lab.outcomes(job_id) == ["done"]


async def test_a_job_that_is_cancelled_while_it_wants_to_sleep_is_cancelled(lab: Lab) -> None:
    gate = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> None:
        await gate.wait()
        await ctx.sleep(3600)

    async with lab.worker(cancel_grace_seconds=30):
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "running")
        await lab.rows("select ostinato.cancel_job(%s)", job_id)
        gate.set()
        ended = await lab.becomes(job_id, "cancelled", "scheduled")

    assert ended.state == "cancelled"


@pytest.mark.parametrize("how", ["step", "sleep", "wait", "load"])
async def test_a_partition_that_is_added_under_a_step_costs_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, ran: Counter[str], how: str
) -> None:
    """Whoever waited for upkeep must not overlook the steps that it moved meanwhile."""

    async def no_upkeep(*_: object) -> None:
        return None

    monkeypatch.setattr(upkeep, "run", no_upkeep)
    weeks = await lab.rows(
        "select inhrelid::regclass::text from pg_inherits where inhparent in ("
        "'ostinato_data.job'::regclass, 'ostinato_data.outcome'::regclass,"
        " 'ostinato_data.step'::regclass)"
    )
    for (week,) in weeks:
        if not week.endswith("_default"):
            await lab.rows(f"drop table {week}")
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        await ctx.step("one", ran.update, ["one"])
        if how == "load" and ctx.job.attempt == 1:
            raise ConnectionError
        if not gate.is_set():
            started.set()
            await gate.wait()
        if how == "sleep":
            await ctx.sleep(0)
        elif how == "wait":
            await ctx.wait_for("order.paid", "7")
        await ctx.step("two", ran.update, ["two"])

    async with (
        lab.worker(beat_seconds=1, expiry_seconds=30),
        await AsyncConnection.connect(lab.engine.database.admin_url) as moving,
    ):
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await moving.execute("select ostinato.upkeep_partitions(14)")
        gate.set()
        await lab.until(
            "select count(*) > 0 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", moving.info.backend_pid
        )
        await moving.commit()
        if how == "wait":
            await lab.until("select exists (select from ostinato_data.job_wait)")
            await emit(lab, "order.paid", "7", "{}")
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.state == "done"
    assert ran == {"one": 1, "two": 1}


# Restarting


async def test_a_job_runs_again_from_a_chosen_step(lab: Lab, ran: Counter[str]) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> Done:
        for name in ("fetch", "charge", "ship"):
            await ctx.step(name, ran.update, [name])
        return Done(ctx.job.attempt)

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done")
        was = await steps.restart(lab.engine.admin, job_id, "charge")
        ended = await lab.becomes(job_id, "done")

    assert (was, ended.result) == ("done", 2)
    assert ran == {"fetch": 1, "charge": 2, "ship": 2}
    assert [step.attempt for step in await steps.of_job(lab.engine.admin, job_id)] == [1, 2, 2]


async def test_a_mended_job_goes_on_behind_its_last_step(lab: Lab, ran: Counter[str]) -> None:
    mended = False

    @lab.app.job(retry=Retry(max_attempts=1))
    async def work(ctx: Context) -> None:
        await ctx.step("charge", ran.update, ["charge"])
        if not mended:
            raise ConnectionError

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "dead")
        mended = True
        await lab.rows("select ostinato.retry_job(%s)", job_id)
        await lab.becomes(job_id, "done")

    assert ran == {"charge": 1}


async def test_a_job_without_steps_costs_no_statement_of_the_saver(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def load(*_: object) -> list[steps.StoredStep]:
        asked.append("load")
        return []

    monkeypatch.setattr(steps, "load", load)

    @lab.app.job(retry=NOW)
    async def work(ctx: Context, stepping: bool) -> None:  # noqa: FBT001 - an argument of a job
        if stepping:
            await ctx.step("one", lambda: 1)
        elif ctx.job.attempt == 1:
            raise ConnectionError

    async with lab.worker():
        ids = await work.enqueue_many(lab.client, [{"stepping": False}, {"stepping": True}])
        for job_id in ids:
            await lab.becomes(job_id, "done", "dead")

    assert asked == []

"""A job that its handler holds in a transaction holds up no other; and connections are enough."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from ostinato import Context, SyncContext, leases
from ostinato._core.engine import claims
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.worker import claimer
from ostinato._core.runtime.worker.slots import Slots
from tests.runtime.lab import QUICK, Lab
from tests.waiting import until_async


@pytest.mark.parametrize("how", ["guard", "fence", "transaction", "fenced"])
async def test_a_transaction_that_holds_its_job_delays_no_other_verdict(lab: Lab, how: str) -> None:
    holds, goes_on = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def long(ctx: Context) -> None:
        async with AsyncExitStack() as stack:
            if how == "guard":
                lease = await stack.enter_async_context(leases.hold(ctx, "x"))
                conn = await stack.enter_async_context(lab.client.transaction())
                await lease.guard(conn)
            elif how == "fence":
                await ctx.fence(await stack.enter_async_context(lab.client.transaction()))
            else:
                conn = await stack.enter_async_context(getattr(ctx, how)())
                await conn.execute("select ostinato.fence_job(%s, %s)", [ctx.job.id, ctx.job.attempt])
            holds.set()
            await goes_on.wait()

    @lab.app.job()
    async def quick(ctx: Context) -> None:
        await holds.wait()

    job = await long.enqueue(lab.client)
    others = [await quick.enqueue(lab.client) for _ in range(10)]
    async with lab.worker():
        for other in others:
            await lab.becomes(other, "done")
        assert await lab.state(job) == "running"
        goes_on.set()
        await lab.becomes(job, "done")

    # They did not wait until the server ended that transaction, which was idle for too long.
    assert await lab.rows("select attempt, outcome from ostinato_data.outcome where job_id = %s", job) == [(1, "done")]


async def test_a_kind_that_held_its_job_once_is_claimed_apart(lab: Lab) -> None:
    @lab.app.job()
    async def write(ctx: Context) -> None:
        async with ctx.transaction():
            pass

    async with lab.worker() as worker:
        await lab.becomes(await write.enqueue(lab.client), "done")
        assert worker.host.marker.apart == {write.name}
        await lab.rows("select ostinato.pause_queue('default')")
        jobs = [await write.enqueue(lab.client) for _ in range(3)]
        await lab.rows("select ostinato.resume_queue('default')")
        for job in jobs:
            await lab.becomes(job, "done")


async def test_more_transactions_than_connections_wait_for_their_turn(lab: Lab) -> None:
    """The first ones go on when another has waited for longer than a call may take."""
    came: list[float] = []

    def waited() -> bool:
        return len(came) > 4 and time.monotonic() - came[4] > 1.1 * QUICK["call_timeout_seconds"]

    @lab.app.job()
    async def slow(ctx: Context) -> None:
        came.append(time.monotonic())
        async with ctx.transaction():
            await until_async(waited)

    jobs = [await slow.enqueue(lab.client) for _ in range(40)]
    async with lab.worker(handler_connections=4):
        for job in jobs:
            await lab.becomes(job, "done")

    assert await lab.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]


async def test_plain_functions_wait_for_their_turn_too(lab: Lab) -> None:
    @lab.app.job()
    def slow(ctx: SyncContext) -> None:
        with ctx.transaction() as conn:
            conn.execute("select pg_sleep(0.05)")

    jobs = [await slow.enqueue(lab.client) for _ in range(20)]
    async with lab.worker(handler_connections=2):
        await until_async(
            lambda: lab.value(
                "select count(*) > 0 from pg_stat_activity where application_name = %s", "ostinato/handler"
            )
        )
        for job in jobs:
            most = await lab.value(
                "select count(*) from pg_stat_activity where application_name = 'ostinato/handler' and state <> 'idle'"
            )
            assert most <= 2
            await lab.becomes(job, "done")


async def test_jobs_that_would_only_wait_for_a_connection_are_left_to_others(lab: Lab) -> None:
    entered, goes_on = [], asyncio.Event()

    @lab.app.job()
    async def hold(ctx: Context) -> None:
        async with ctx.transaction():
            entered.append(ctx.job.id)
            await goes_on.wait()

    @lab.app.job()
    async def plain(ctx: Context) -> None:
        return None

    async with lab.worker(handler_connections=2) as worker:
        for _ in range(2):
            await hold.enqueue(lab.client)
        await until_async(lambda: len(entered) == 2)
        waiting = [await hold.enqueue(lab.client) for _ in range(30)]
        await lab.becomes(await plain.enqueue(lab.client), "done")
        assert worker.lanes.running <= 2 + 1
        goes_on.set()
        for job in waiting:
            await lab.becomes(job, "done")


async def test_each_transaction_that_ends_costs_no_claim(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that leaves out the kinds that wait for a connection steps over all their jobs, to find nothing."""
    monkeypatch.setattr(claimer, "CROWDED_SECONDS", 3600)
    ask, empty = claims.claim, []

    async def noted(*args: Any, **options: Any) -> list[Job]:  # noqa: ANN401 - as it is called
        found = await ask(*args, **options)
        if not found:
            empty.append(options["kinds"])
        return found

    monkeypatch.setattr(claims, "claim", noted)

    @lab.app.job()
    async def write(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("select pg_sleep(0.005)")

    jobs = await write.enqueue_many(lab.client, [{}] * 200)
    async with lab.worker(handler_connections=2, poll_seconds=3600):
        for job in jobs:
            await lab.becomes(job, "done")

    assert len(empty) < len(jobs) / 2


async def test_pool_sizes_follow_the_concurrency_within_what_the_server_has(lab: Lab) -> None:
    @lab.app.job()
    async def plain(ctx: Context) -> None:
        return None

    server = await lab.value("select ostinato.server_connections()")
    async with lab.worker(concurrency=5) as worker:
        assert worker.host.slots.most == 5
    async with lab.worker(concurrency=100_000) as worker:
        assert worker.host.slots.most == server // 4
    async with lab.worker(concurrency=50, handler_connections=7) as worker:
        assert worker.host.slots.most == 7


async def test_a_turn_that_was_not_waited_for_is_given_on() -> None:
    slots = Slots(1)
    await slots.take()
    first, second = asyncio.create_task(slots.take()), asyncio.create_task(slots.take())
    await until_async(lambda: slots.room() < 0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    slots.give_back()
    await second

    assert slots.room() == 1  # one is taken, and one more may come and wait

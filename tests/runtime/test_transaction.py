"""A job's writes made in its own transaction take effect with its completion, exactly once."""

import asyncio
import threading
from typing import Any

import psycopg
import pytest
from structlog.typing import EventDict

from ostinato import Context, LeaseLost, Retry, Snooze, SyncContext
from ostinato._core.base.metrics import FENCED_WRITES, JOBS_FINISHED
from tests.runtime.lab import Lab, counted
from tests.waiting import until_async

NOW = Retry(delays=(0, 0, 0))


@pytest.fixture(autouse=True)
async def effect_table(lab: Lab) -> None:
    await lab.rows("create table effect (job_id bigint, attempt integer, note text)")
    await lab.rows("grant select, insert on effect to ostinato_worker")


async def write(conn: psycopg.AsyncConnection[Any], ctx: Context, note: str = "") -> None:
    await conn.execute("insert into effect values (%s, %s, %s)", (*ctx.token, note))


async def effects(lab: Lab) -> list[tuple[Any, ...]]:
    return await lab.rows("select job_id, attempt, note from effect order by 1, 2, 3")


async def test_writes_and_completion_commit_together_with_the_result(lab: Lab) -> None:
    @lab.app.job()
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await write(conn, ctx, "paid")
            ctx.result = {"receipt": 7}

    async with lab.worker():
        job_id = await pay.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == {"receipt": 7}
    assert await effects(lab) == [(job_id, 1, "paid")]


async def test_an_error_inside_takes_the_writes_back_and_the_next_attempt_makes_them_once(lab: Lab) -> None:
    @lab.app.job(retry=NOW)
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await write(conn, ctx)
            if ctx.job.attempt < 3:
                raise ConnectionError("halfway")

    async with lab.worker():
        job_id = await pay.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 3, "")]
    assert await lab.outcomes(job_id) == ["failed", "failed", "done"]


async def test_an_error_after_it_is_said_and_undoes_nothing(lab: Lab, logs: list[EventDict]) -> None:
    @lab.app.job(retry=NOW)
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await write(conn, ctx)
        raise ConnectionError("too late to matter")

    async with lab.worker():
        job_id = await pay.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead", "scheduled")

    assert await effects(lab) == [(job_id, 1, "")]
    assert await lab.outcomes(job_id) == ["done"]
    assert [line["job_id"] for line in logs if line["event"] == "error_after_completion"] == [job_id]


async def test_what_is_returned_after_it_changes_nothing(lab: Lab) -> None:
    @lab.app.job()
    async def pay(ctx: Context) -> Snooze:
        async with ctx.transaction() as conn:
            await write(conn, ctx)
        return Snooze(0)

    async with lab.worker() as worker:
        job_id = await pay.enqueue(lab.client)
        await lab.becomes(job_id, "done", "scheduled")

    assert await effects(lab) == [(job_id, 1, "")]
    assert counted(worker, FENCED_WRITES, "snooze") == 0


async def test_a_second_transaction_of_one_attempt_is_refused(lab: Lab, logs: list[EventDict]) -> None:
    @lab.app.job(retry=NOW)
    async def pay(ctx: Context) -> None:
        for note in ("first", "second"):
            async with ctx.transaction() as conn:
                await write(conn, ctx, note)

    async with lab.worker():
        job_id = await pay.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 1, "first")]
    assert "error_after_completion" in [line["event"] for line in logs]


async def test_a_result_that_cannot_be_stored_takes_the_writes_back(lab: Lab) -> None:
    @lab.app.job()
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await write(conn, ctx)
            ctx.result = object()

    async with lab.worker():
        ended = await lab.becomes(await pay.enqueue(lab.client), "done", "dead", "scheduled")

    assert ended.state == "dead"
    assert await effects(lab) == []


async def test_a_transaction_that_comes_too_late_writes_nothing_and_raises_lease_lost(lab: Lab) -> None:
    caught: list[LeaseLost] = []
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def pay(ctx: Context) -> None:
        if ctx.job.attempt == 1:
            started.set()
            await gate.wait()
        try:
            async with ctx.transaction() as conn:
                await write(conn, ctx)
        except LeaseLost as error:
            caught.append(error)
            raise

    async with lab.worker() as worker:
        job_id = await pay.enqueue(lab.client)
        await started.wait()
        # Somebody takes the job: as if this worker had been silent for too long.
        await lab.rows("select ostinato_internal.rescue_claims(array[c.id], 3) from ostinato_data.claim c")
        gate.set()
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 2, "")]
    assert [error.values["job_id"] for error in caught] == [job_id]
    assert await lab.outcomes(job_id) == ["lost", "done"]
    assert counted(worker, FENCED_WRITES, "complete") == 1


async def test_a_plain_function_has_the_same_transaction(lab: Lab) -> None:
    @lab.app.job(retry=NOW)
    def pay(ctx: SyncContext) -> None:
        with ctx.transaction(result=lambda: "receipt") as conn:
            conn.execute("insert into effect values (%s, %s, '')", ctx.token)
            if ctx.job.attempt == 1:
                raise ConnectionError("halfway")

    async with lab.worker():
        job_id = await pay.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == "receipt"
    assert await effects(lab) == [(job_id, 2, "")]


async def test_a_plain_function_that_lost_its_job_writes_nothing(lab: Lab) -> None:
    loop = asyncio.get_running_loop()
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    def pay(ctx: SyncContext) -> None:
        if ctx.job.attempt == 1:
            loop.call_soon_threadsafe(started.set)
            asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()
        with ctx.transaction() as conn:
            conn.execute("insert into effect values (%s, %s, '')", ctx.token)

    async with lab.worker() as worker:
        job_id = await pay.enqueue(lab.client)
        await started.wait()
        await lab.rows("select ostinato_internal.rescue_claims(array[c.id], 3) from ostinato_data.claim c")
        gate.set()
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 2, "")]
    assert counted(worker, FENCED_WRITES, "complete") == 1


async def test_the_fence_guards_writes_of_a_transaction_that_does_not_end_the_job(lab: Lab) -> None:
    @lab.app.job()
    async def step(ctx: Context) -> str:
        async with lab.client.transaction() as conn:
            await ctx.fence(conn)
            await write(conn, ctx, "step")
        async with ctx.transaction() as conn:
            await write(conn, ctx, "end")
        return ""

    async with lab.worker():
        job_id = await step.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 1, "end"), (job_id, 1, "step")]


async def test_a_fenced_transaction_is_committed_and_the_job_goes_on(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None:
        async with ctx.fenced() as conn:
            await write(conn, ctx, "middle")
        async with ctx.transaction() as conn:
            await write(conn, ctx, "end")

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 1, "end"), (job_id, 1, "middle")]


async def test_a_fenced_transaction_of_who_lost_the_job_writes_nothing(lab: Lab) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        if ctx.job.attempt == 1:
            started.set()
            await gate.wait()
        async with ctx.fenced() as conn:
            await write(conn, ctx, "middle")

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await lab.rows("select ostinato_internal.rescue_claims(array[c.id], 3) from ostinato_data.claim c")
        gate.set()
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 2, "middle")]


async def test_a_fence_in_the_transaction_that_ends_the_job_stands_in_nobodys_way(lab: Lab) -> None:
    """Two jobs of one claim, each with the other's lock in its way, would be a deadlock."""
    both_fenced = asyncio.Barrier(2)

    @lab.app.job()
    async def work(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await ctx.fence(conn)
            await both_fenced.wait()

    ids = await work.enqueue_many(lab.client, [{}, {}])
    async with lab.worker() as worker:
        for job_id in ids:
            await lab.becomes(job_id, "done")

    assert worker.recorder.value(JOBS_FINISHED, work.name, "failed") == 0


async def test_the_fence_refuses_who_lost_the_job(lab: Lab) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def step(ctx: Context) -> None:
        if ctx.job.attempt == 1:
            started.set()
            await gate.wait()
        async with lab.client.transaction() as conn:
            await ctx.fence(conn)
            await write(conn, ctx, "step")

    async with lab.worker():
        job_id = await step.enqueue(lab.client)
        await started.wait()
        await lab.rows("select ostinato_internal.rescue_claims(array[c.id], 3) from ostinato_data.claim c")
        gate.set()
        await lab.becomes(job_id, "done", "dead")

    assert await effects(lab) == [(job_id, 2, "step")]
    assert await lab.outcomes(job_id) == ["lost", "done"]


async def test_a_lost_lease_of_another_job_is_an_error_like_any_other(lab: Lab) -> None:
    @lab.app.job(retry=Retry(max_attempts=1))
    async def meddle(ctx: Context) -> None:
        raise LeaseLost("of somebody else", job_id=ctx.job.id + 1)

    async with lab.worker():
        ended = await lab.becomes(await meddle.enqueue(lab.client), "dead", "done", "scheduled")

    assert (ended.state, ended.error["type"]) == ("dead", "LeaseLost")


async def test_a_broken_rule_of_the_handlers_own_tables_reaches_the_handler(lab: Lab) -> None:
    await lab.rows("alter table effect add check (note <> 'bad')")

    @lab.app.job()
    async def careful(ctx: Context) -> str:
        try:
            async with lab.client.transaction() as conn:
                await write(conn, ctx, "bad")
        except psycopg.errors.CheckViolation:
            return "seen"
        return "not seen"

    async with lab.worker():
        ended = await lab.becomes(await careful.enqueue(lab.client), "done", "dead")

    assert ended.result == "seen"


async def test_many_transactions_at_once_share_the_connections_that_there_are(lab: Lab) -> None:
    @lab.app.job()
    async def pay(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await write(conn, ctx)

    async with lab.worker(concurrency=100):
        await pay.enqueue_many(lab.client, [{}] * 300)
        await lab.until("select count(*) = 300 from ostinato_data.outcome")

    assert await lab.value("select count(distinct job_id) from effect") == 300
    assert await lab.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]


async def gone(lab: Lab, pid: int) -> None:
    """Wait until a session has ended."""
    await lab.until("select not exists (select from pg_stat_activity where pid = %s)", pid)


@pytest.mark.parametrize("then", ["ends", "asks"])
async def test_a_transaction_that_is_left_idle_fails_with_the_limit_in_its_error(lab: Lab, then: str) -> None:
    """Whether the handler notices by its next statement, or by the end of the block."""

    @lab.app.job(retry=Retry(max_attempts=1))
    async def dawdles(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            await write(conn, ctx)
            await gone(lab, conn.info.backend_pid)
            if then == "asks":
                await write(conn, ctx)

    async with lab.worker(transaction_idle_seconds=0.05):
        job_id = await dawdles.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.error["type"] == "TransactionIdle"
    assert "left without a statement for longer than 0.05 s" in ended.error["message"]
    assert "raise `transaction_idle_seconds` (0.05 s)" in ended.error["traceback"]
    assert await effects(lab) == []


async def test_a_plain_function_that_leaves_its_transaction_idle_has_the_same_error(lab: Lab) -> None:
    over = threading.Event()
    pids: list[int] = []

    @lab.app.job(retry=Retry(max_attempts=1))
    def dawdles(ctx: SyncContext) -> None:
        with ctx.transaction() as conn:
            pids.append(conn.info.backend_pid)
            over.wait()

    async with lab.worker(transaction_idle_seconds=0.05):
        job_id = await dawdles.enqueue(lab.client)
        await until_async(lambda: pids)
        await gone(lab, pids[0])
        over.set()
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.error["type"] == "TransactionIdle"
    assert "longer than 0.05 s" in ended.error["message"]


async def test_how_long_a_transaction_may_be_idle_is_a_setting(lab: Lab) -> None:
    @lab.app.job()
    async def limit(ctx: Context) -> None:
        async with ctx.transaction() as conn:
            shown = await conn.execute("show idle_in_transaction_session_timeout")
            ctx.result = await shown.fetchone()

    async def shown(**settings: float) -> object:
        async with lab.worker(**settings):  # type: ignore[arg-type]
            return (await lab.becomes(await limit.enqueue(lab.client), "done", "dead")).result

    assert await shown() == ["30s"]
    assert await shown(transaction_idle_seconds=120) == ["2min"]


async def test_of_two_handlers_that_lock_crosswise_one_is_rolled_back_and_run_again(lab: Lab) -> None:
    """A deadlock is the database's verdict on two transactions, and not the job's failure: no attempt is used up."""
    both = asyncio.Barrier(2)

    @lab.app.job(retry=Retry(max_attempts=1))
    async def locks(ctx: Context, first: int, second: int) -> None:
        async with ctx.transaction() as conn:
            await conn.execute("select pg_advisory_xact_lock(%s)", [first])
            if ctx.job.attempt == 1:
                await both.wait()
            await conn.execute("select pg_advisory_xact_lock(%s)", [second])

    jobs = [await locks.enqueue(lab.client, 1, 2), await locks.enqueue(lab.client, 2, 1)]
    async with lab.worker():
        for job in jobs:
            await lab.becomes(job, "done")

    assert await lab.rows("select job_id, count(*) from ostinato_data.outcome group by 1 order by 1") == [
        (job, 1) for job in sorted(jobs)
    ]


async def test_a_rollback_on_purpose_leaves_the_job_to_its_handler(lab: Lab) -> None:
    @lab.app.job()
    async def pay(ctx: Context) -> str:
        async with ctx.transaction() as conn:
            await write(conn, ctx, "paid")
            if ctx.job.attempt == 1:
                raise psycopg.Rollback
        return "nothing was due"

    async with lab.worker():
        ended = await lab.becomes(await pay.enqueue(lab.client), "done", "dead")

    assert (ended.state, ended.result, ended.attempt) == ("done", "nothing was due", 1)
    assert await effects(lab) == []


async def test_a_plain_function_that_rolls_back_on_purpose_has_not_ended_its_job(lab: Lab) -> None:
    @lab.app.job(retry=Retry(max_attempts=1))
    def pay(ctx: SyncContext) -> str:
        with ctx.transaction() as conn:
            conn.execute("insert into effect values (%s, %s, 'paid')", ctx.token)
            raise psycopg.Rollback
        return "nothing was due"  # type: ignore[unreachable]

    job_id = await pay.enqueue(lab.client)
    async with lab.worker():
        assert (await lab.becomes(job_id, "done", "dead")).result == "nothing was due"

    assert await effects(lab) == []

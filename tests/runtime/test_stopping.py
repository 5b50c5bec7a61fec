"""Handlers that are to stop: timeouts, cancel requests, a worker that drains."""

import asyncio
import threading
from typing import Any

import pytest
from structlog.typing import EventDict

from ostinato import Cancel, Context, Retry, Snooze, SyncContext
from ostinato._core.base.metrics import FENCED_WRITES
from ostinato._core.engine import claims, jobs
from tests.runtime.lab import FAST, Lab, counted, forever, running
from tests.waiting import until_async

ONCE = Retry(max_attempts=1)


async def cancel(lab: Lab, job_id: int, reason: str = "cancelled by request") -> str:
    async with lab.client.connection() as conn:
        return await jobs.cancel(conn, job_id, reason)


def events(logs: list[EventDict]) -> list[str]:
    return [line["event"] for line in logs]


async def stubborn(gate: asyncio.Event) -> None:
    """Do not let anybody stop you."""
    while not gate.is_set():
        try:
            await gate.wait()
        except asyncio.CancelledError:
            continue


async def test_a_handler_that_takes_too_long_is_a_failed_attempt(lab: Lab) -> None:
    @lab.app.job(timeout=0.1, retry=ONCE)
    async def slow(ctx: Context) -> None:
        await forever()

    async with lab.worker():
        ended = await lab.becomes(await slow.enqueue(lab.client), "dead", "done")

    assert ended.error["type"] == "TimeoutError"
    assert "lab.slow took longer than its timeout of 0.1 s" in ended.error["message"]


async def test_a_timeout_is_tried_again_by_the_policy(lab: Lab) -> None:
    @lab.app.job(timeout=1, retry=Retry(delays=(0,)))
    async def slow_once(ctx: Context) -> int:
        if ctx.job.attempt == 1:
            await forever()
        return ctx.job.attempt

    async with lab.worker():
        job_id = await slow_once.enqueue(lab.client)
        ended = await lab.becomes(job_id, "dead", "done")

    assert ended.result == 2
    assert await lab.outcomes(job_id) == ["failed", "done"]


async def test_a_handler_that_cleans_up_in_time_still_timed_out(lab: Lab) -> None:
    cleaned: list[bool] = []

    @lab.app.job(timeout=0.1, retry=ONCE)
    async def tidy(ctx: Context) -> None:
        try:
            await forever()
        finally:
            cleaned.append(True)

    async with lab.worker():
        ended = await lab.becomes(await tidy.enqueue(lab.client), "dead", "done")

    assert (ended.error["type"], cleaned) == ("TimeoutError", [True])


async def test_a_handler_that_swallows_its_end_is_abandoned_and_its_slot_is_free(
    lab: Lab, logs: list[EventDict]
) -> None:
    gate, started = asyncio.Event(), asyncio.Event()

    @lab.app.job(timeout=0.1, retry=ONCE)
    async def deaf(ctx: Context) -> None:
        started.set()
        await stubborn(gate)

    @lab.app.job()
    async def next_one(ctx: Context) -> None:
        return None

    async with lab.worker(concurrency=1):
        job_id = await deaf.enqueue(lab.client)
        await started.wait()
        other_id = await next_one.enqueue(lab.client)
        ended = await lab.becomes(job_id, "dead", "done")
        await lab.becomes(other_id, "done")
        gate.set()

    assert ended.error["type"] == "TimeoutError"
    assert "handler_does_not_stop" in events(logs)
    assert await lab.outcomes(job_id) == ["dead"]


async def test_the_late_transaction_of_an_abandoned_handler_is_refused(lab: Lab) -> None:
    gate, over = asyncio.Event(), asyncio.Event()
    errors: list[str] = []

    @lab.app.job(timeout=0.1, retry=ONCE)
    async def deaf(ctx: Context) -> None:
        await stubborn(gate)
        try:
            async with ctx.transaction():
                pass
        except Exception as error:
            errors.append(type(error).__name__)
            raise
        finally:
            over.set()

    async with lab.worker():
        job_id = await deaf.enqueue(lab.client)
        await lab.becomes(job_id, "dead")
        gate.set()
        await over.wait()

    assert errors == ["LeaseLost"]
    assert await lab.outcomes(job_id) == ["dead"]


@pytest.mark.parametrize("how", ["transaction", "fenced"])
async def test_the_open_transaction_of_an_abandoned_handler_holds_up_no_verdict(lab: Lab, how: str) -> None:
    """It holds its job by the fence: nobody waits until the server ends it for being idle."""
    gate, over = asyncio.Event(), asyncio.Event()

    @lab.app.job(timeout=0.5, retry=ONCE)
    async def deaf(ctx: Context) -> None:
        try:
            async with getattr(ctx, how)() as conn:
                await conn.execute("select ostinato.fence_job(%s, %s)", [ctx.job.id, ctx.job.attempt])
                await stubborn(gate)
        finally:
            over.set()

    async with lab.worker(transaction_idle_seconds=3600):
        job_id = await deaf.enqueue(lab.client)
        await lab.becomes(job_id, "dead")
        gate.set()
        await over.wait()

    assert await lab.outcomes(job_id) == ["dead"]


async def test_the_running_statement_of_an_abandoned_function_holds_up_no_verdict(lab: Lab) -> None:
    """A server that does not look whether its clients are there learns that they are not after the statement."""
    check = "alter role ostinato_worker in database runtime {} client_connection_check_interval"
    await lab.rows(f"{check.format('set')} = 0")

    @lab.app.job(timeout=1, retry=ONCE)
    def counts(ctx: SyncContext) -> None:
        with ctx.transaction() as conn:
            conn.execute("select ostinato.fence_job(%s, %s)", ctx.token)
            conn.execute("select pg_sleep(3600)")

    async with lab.worker(statement_seconds=3600):
        job_id = await counts.enqueue(lab.client)
        await lab.becomes(job_id, "dead")
    await lab.rows(check.format("reset"))

    assert await lab.outcomes(job_id) == ["dead"]


async def test_a_stuck_thread_times_out_and_takes_no_other_functions_place(lab: Lab, logs: list[EventDict]) -> None:
    gate = threading.Event()

    @lab.app.job(timeout=0.1, retry=ONCE)
    def stuck(ctx: SyncContext) -> None:
        gate.wait()

    @lab.app.job(timeout=5, retry=ONCE)
    def fine(ctx: SyncContext) -> str:
        return threading.current_thread().name

    try:
        async with lab.worker(concurrency=1):
            stuck_ids = [await stuck.enqueue(lab.client) for _ in range(3)]
            for job_id in stuck_ids:
                await lab.becomes(job_id, "dead")
            ended = await lab.becomes(await fine.enqueue(lab.client), "done", "dead")
    finally:
        gate.set()

    assert ended.state == "done"
    assert ended.result.startswith("ostinato-job")
    assert events(logs).count("thread_left_running") == 3


async def test_plain_functions_run_beside_each_other_in_threads(lab: Lab) -> None:
    meeting = threading.Barrier(8, timeout=120)

    @lab.app.job()
    def meet(ctx: SyncContext) -> str:
        meeting.wait()
        return threading.current_thread().name

    async with lab.worker(concurrency=8):
        ids = await meet.enqueue_many(lab.client, [{}] * 8)
        names = {(await lab.becomes(job_id, "done", "dead")).result for job_id in ids}

    assert len(names) == 8


async def test_a_running_job_sees_that_it_is_to_be_cancelled(lab: Lab) -> None:
    started = asyncio.Event()

    @lab.app.job()
    async def polite(ctx: Context) -> Cancel:
        started.set()
        await until_async(lambda: ctx.cancelled)
        return Cancel("as you wish")

    async with lab.worker(cancel_grace_seconds=60):
        job_id = await polite.enqueue(lab.client)
        await started.wait()
        assert await cancel(lab, job_id) == "running"
        ended = await lab.becomes(job_id, "cancelled", "done")

    assert (ended.state, ended.error) == ("cancelled", {"reason": "as you wish"})
    assert await lab.value("select count(*) from ostinato_data.cancel_request") == 0


async def test_a_plain_function_sees_it_too(lab: Lab) -> None:
    started, gate = threading.Event(), threading.Event()

    @lab.app.job()
    def polite(ctx: SyncContext) -> Cancel:
        started.set()
        while not ctx.cancelled:
            gate.wait(0.01)
        return Cancel("as you wish")

    async with lab.worker(cancel_grace_seconds=60):
        job_id = await polite.enqueue(lab.client)
        await until_async(started.is_set)
        await cancel(lab, job_id)
        ended = await lab.becomes(job_id, "cancelled", "done")

    assert ended.error == {"reason": "as you wish"}


async def test_a_job_that_does_not_look_is_cancelled_after_the_grace_time(lab: Lab) -> None:
    started = asyncio.Event()

    @lab.app.job()
    async def busy(ctx: Context) -> None:
        started.set()
        await forever()

    async with lab.worker():
        job_id = await busy.enqueue(lab.client)
        await started.wait()
        await cancel(lab, job_id)
        ended = await lab.becomes(job_id, "cancelled", "done", "dead")

    assert ended.state == "cancelled"


async def test_a_job_that_ignores_even_that_is_cancelled_without_it(lab: Lab, logs: list[EventDict]) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def deaf(ctx: Context) -> str:
        started.set()
        await stubborn(gate)
        return "too late"

    async with lab.worker() as worker:
        job_id = await deaf.enqueue(lab.client)
        await started.wait()
        await cancel(lab, job_id)
        ended = await lab.becomes(job_id, "cancelled", "done", "dead")
        gate.set()

    assert ended.state == "cancelled"
    assert await lab.outcomes(job_id) == ["cancelled"]
    assert "handler_does_not_stop" in events(logs)
    assert counted(worker, FENCED_WRITES, "complete") == 0


async def test_a_job_that_is_done_before_it_looks_is_done(lab: Lab) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def quick(ctx: Context) -> str:
        started.set()
        await gate.wait()
        return "done all the same"

    async with lab.worker(cancel_grace_seconds=60):
        job_id = await quick.enqueue(lab.client)
        await started.wait()
        await cancel(lab, job_id)
        gate.set()
        ended = await lab.becomes(job_id, "done", "cancelled")

    assert ended.result == "done all the same"
    assert await lab.value("select count(*) from ostinato_data.cancel_request") == 0


async def test_a_cancelled_job_that_fails_is_not_tried_again(lab: Lab) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=Retry(delays=(0, 0, 0)))
    async def breaks(ctx: Context) -> None:
        started.set()
        await gate.wait()
        raise ConnectionError("because it was cancelled")

    async with lab.worker(cancel_grace_seconds=60):
        job_id = await breaks.enqueue(lab.client)
        await started.wait()
        await cancel(lab, job_id)
        gate.set()
        ended = await lab.becomes(job_id, "done", "cancelled", "scheduled")

    assert ended.state == "cancelled"
    assert await lab.outcomes(job_id) == ["cancelled"]


async def test_a_worker_that_stops_lets_running_jobs_end_and_starts_nothing(lab: Lab) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def slow(ctx: Context) -> str:
        started.set()
        await gate.wait()
        return "ended"

    worker = lab.new_worker(concurrency=1, prefetch=100)
    async with running(worker) as task:
        ids = await slow.enqueue_many(lab.client, [{}] * 5)
        await started.wait()
        worker.stop()
        await until_async(lambda: worker._claimer.paused)
        gate.set()
        await task

    assert [await lab.state(job_id) for job_id in ids] == ["done", *["ready"] * 4]
    assert await lab.value("select count(*) from ostinato_data.worker") == 0
    assert await lab.value("select count(*) from ostinato_data.claim") == 0


async def test_what_had_not_started_is_given_back_without_using_up_anything(lab: Lab) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def slow(ctx: Context) -> None:
        started.set()
        await gate.wait()

    worker = lab.new_worker(concurrency=1, prefetch=100)
    async with running(worker) as task:
        # Claimed ahead, as it happens when jobs were fast until now.
        worker.lanes._rate = FAST
        await slow.enqueue_many(lab.client, [{}] * 50)
        await started.wait()
        await until_async(lambda: worker.lanes.buffered)
        worker.stop()
        gate.set()
        await task

    assert await lab.rows("select distinct failures, crashes from ostinato_data.ready") == [(0, 0)]
    assert await lab.value("select count(*) from ostinato_data.ready") == 49
    assert await lab.rows("select outcome, attempt from ostinato_data.outcome") == [("done", 1)]


async def test_jobs_that_outlast_the_drain_are_given_back_to_run_elsewhere(lab: Lab) -> None:
    started, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    attempts: list[int] = []

    @lab.app.job(retry=ONCE)
    async def slow(ctx: Context) -> None:
        attempts.append(ctx.job.attempt)
        started.set()
        if ctx.job.attempt == 1:
            await forever()

    @lab.app.job(retry=ONCE)
    def slow_in_a_thread(ctx: SyncContext) -> None:
        loop.call_soon_threadsafe(attempts.append, ctx.job.attempt)
        if ctx.job.attempt == 1:
            gate.wait()

    try:
        worker = lab.new_worker(drain_seconds=0.1)
        async with running(worker) as task:
            ids = [await slow.enqueue(lab.client), await slow_in_a_thread.enqueue(lab.client)]
            await until_async(lambda: len(attempts) == 2)
            worker.stop()
            await task
        waiting = await lab.rows("select attempt, failures, crashes from ostinato_data.ready")
        async with lab.worker():
            for job_id in ids:
                await lab.becomes(job_id, "done", "dead")
    finally:
        gate.set()

    assert waiting == [(2, 0, 0), (2, 0, 0)]
    assert sorted(attempts) == [1, 1, 2, 2]
    assert await lab.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]


async def test_even_a_handler_that_does_not_stop_is_given_back_at_the_end_of_the_drain(lab: Lab) -> None:
    gate, started = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=ONCE)
    async def deaf(ctx: Context) -> None:
        started.set()
        await stubborn(gate)

    worker = lab.new_worker(drain_seconds=0.1)
    async with running(worker) as task:
        job_id = await deaf.enqueue(lab.client)
        await started.wait()
        worker.stop()
        await task
    found = await lab.rows("select attempt, failures, crashes from ostinato_data.ready")
    gate.set()

    assert await lab.state(job_id) == "ready"
    assert found == [(2, 0, 0)]


async def test_a_claim_that_arrives_during_the_drain_goes_straight_back(
    lab: Lab,
    monkeypatch: Any,  # noqa: ANN401 - pytest's own
) -> None:
    ran: list[int] = []
    on_its_way, gate = asyncio.Event(), asyncio.Event()
    claim = claims.claim

    async def slow_claim(*args: Any, **kwargs: Any) -> list[claims.Job]:  # noqa: ANN401
        found = await claim(*args, **kwargs)
        if found:
            on_its_way.set()
            await gate.wait()
        return found

    @lab.app.job()
    async def quick(ctx: Context) -> None:
        ran.append(ctx.job.id)

    monkeypatch.setattr(claims, "claim", slow_claim)
    worker = lab.new_worker()
    async with running(worker) as task:
        job_id = await quick.enqueue(lab.client)
        await on_its_way.wait()
        worker.stop()
        await until_async(lambda: worker.lanes._stopping)
        gate.set()
        await task

    assert (ran, await lab.state(job_id)) == ([], "ready")
    assert await lab.rows("select attempt, crashes from ostinato_data.ready") == [(2, 0)]


async def test_jobs_behind_stuck_lanes_are_given_back_for_others(lab: Lab) -> None:
    gate, started = asyncio.Event(), asyncio.Event()
    ran: list[str] = []

    @lab.app.job()
    async def slow(ctx: Context) -> None:
        started.set()
        await gate.wait()

    @lab.app.job()
    async def quick(ctx: Context) -> None:
        ran.append("elsewhere")

    async with lab.worker(concurrency=1, prefetch=100) as stuck:
        await slow.enqueue(lab.client)
        await started.wait()
        stuck.lanes._rate = FAST
        await quick.enqueue_many(lab.client, [{}] * 10)
        await until_async(lambda: stuck.lanes.buffered == 10)
        stuck.lanes._rate = 0.0
        async with lab.worker(concurrency=10):
            await until_async(lambda: len(ran) == 10)
        gate.set()

    assert await lab.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]
    assert await lab.value("select max(attempt) from ostinato_data.outcome") > 1


async def test_a_handler_that_goes_on_and_on_hears_that_its_worker_stops(lab: Lab) -> None:
    begun = asyncio.Event()

    @lab.app.job()
    async def tend(ctx: Context) -> Snooze | None:
        begun.set()
        while not ctx.stopping:  # noqa: ASYNC110 - as such a handler does
            await asyncio.sleep(0.01)  # noqa: TID251 - as above
        return Snooze(0)

    job_id = await tend.enqueue(lab.client)
    async with lab.worker(drain_seconds=60):
        await begun.wait()

    assert await lab.state(job_id) in {"scheduled", "ready"}

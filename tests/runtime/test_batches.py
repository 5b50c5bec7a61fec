"""Several jobs in one call of a handler: each has its own verdict, fence, time and tenant."""

import asyncio
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from ostinato import Done, InvalidInput, LeaseLost, Retry, Snooze
from ostinato._core.base.metrics import JOBS_FINISHED
from ostinato.jobs import Batch
from tests.runtime.lab import Lab, counted, forever
from tests.waiting import until_async

NOW = Retry(delays=(0, 0, 0))
NEVER = Retry(max_attempts=1)


@dataclass
class Mail:
    to: str
    copies: int = 1


@pytest.fixture(autouse=True)
async def effect_table(lab: Lab) -> None:
    await lab.rows("create table if not exists effect (job_id bigint, attempt integer)")
    await lab.rows("delete from effect")
    await lab.rows("grant select, insert on effect to ostinato_worker")


async def write(conn: psycopg.AsyncConnection[Any], items: Batch[Any]) -> None:
    for item in items:
        await conn.execute("insert into effect values (%s, %s)", item.ctx.token)


async def effects(lab: Lab) -> list[tuple[Any, ...]]:
    return await lab.rows("select job_id, attempt from effect order by 1, 2")


async def states(lab: Lab, ids: list[int]) -> list[str | None]:
    return [await lab.state(job_id) for job_id in ids]


async def test_jobs_that_start_together_are_one_call_and_each_has_its_own_result(lab: Lab) -> None:
    sizes = []

    @lab.app.job(batch=3)
    async def send(batch: Batch[Mail]) -> list[Any]:
        sizes.append(len(batch))
        return [Done({"to": item.args.to, "copies": item.args.copies}) for item in batch]

    ids = await send.enqueue_many(lab.client, [{"to": f"m{n}"} for n in range(4)])
    ids.append(await send.enqueue(lab.client, to="m4", copies=2))
    async with lab.worker() as worker:
        ended = [await lab.becomes(job_id, "done", "dead") for job_id in ids]
        assert counted(worker, JOBS_FINISHED, "lab.send", "done") == 5

    assert [each.result for each in ended] == [
        *({"to": f"m{n}", "copies": 1} for n in range(4)),
        {"to": "m4", "copies": 2},
    ]
    assert sorted(sizes) == [2, 3]


async def test_arguments_are_checked_as_those_of_any_kind(lab: Lab) -> None:
    @lab.app.job(batch=3)
    async def send(batch: Batch[Mail]) -> None: ...

    @lab.app.job(batch=3)
    async def plain(batch: Batch[None]) -> None: ...

    with pytest.raises(InvalidInput, match="copies"):
        await send.enqueue(lab.client, to="a", copies="many")
    with pytest.raises(InvalidInput, match="to"):
        await send.enqueue(lab.client)
    damaged = await lab.value("select ostinato.enqueue_job('lab.send', '{\"from\": 1}')")
    fine = await send.enqueue(lab.client, to="a")
    nothing = await plain.enqueue(lab.client)
    async with lab.worker():
        assert (await lab.becomes(damaged, "dead", "done")).state == "dead"
        assert (await lab.becomes(fine, "dead", "done")).state == "done"
        assert (await lab.becomes(nothing, "dead", "done")).state == "done"


def test_a_handler_of_a_batch_is_async_and_takes_one(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="async function"):

        @lab.app.job(batch=3)
        def thread(batch: Batch[Mail]) -> None: ...

    with pytest.raises(InvalidInput, match="async function"):

        @lab.app.job(batch=3)  # type: ignore[arg-type]
        async def single(ctx: object, to: str) -> None: ...

    with pytest.raises(InvalidInput, match="at most 0"):

        @lab.app.job(batch=0)
        async def none(batch: Batch[Mail]) -> None: ...


async def test_one_bad_job_fails_by_its_own_policy(lab: Lab) -> None:
    @lab.app.job(batch=10, retry=NOW)
    async def send(batch: Batch[Mail]) -> None:
        for item in batch:
            if item.args.to == "bad":
                item.settle(ConnectionError("no such mailbox"))
            if item.args.to == "later" and item.ctx.job.attempt == 1:
                item.settle(Snooze(0))

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "bad"}, {"to": "later"}])
    async with lab.worker():
        ended = [(await lab.becomes(job_id, "done", "dead")).state for job_id in ids]

    assert ended == ["done", "dead", "done"]
    assert await lab.outcomes(ids[1]) == ["failed", "failed", "failed", "dead"]


async def test_an_error_of_the_whole_fails_those_without_a_verdict(lab: Lab) -> None:
    @lab.app.job(batch=10, retry=NEVER)
    async def send(batch: Batch[Mail]) -> None:
        batch[0].settle(Done("sent"))
        raise ConnectionError("the provider is away")

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "b"}, {"to": "c"}])
    async with lab.worker():
        ended = [await lab.becomes(job_id, "done", "dead") for job_id in ids]

    assert [each.state for each in ended] == ["done", "dead", "dead"]
    assert ended[0].result == "sent"
    assert "away" in ended[1].error["message"]
    assert "test_batches" in ended[2].error["traceback"]


async def test_too_few_outcomes_are_an_error(lab: Lab) -> None:
    @lab.app.job(batch=10, retry=NEVER)
    async def send(batch: Batch[Mail]) -> list[None]:
        return [None]

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "b"}])
    async with lab.worker():
        ended = [await lab.becomes(job_id, "done", "dead") for job_id in ids]

    assert [each.error["type"] for each in ended] == ["TypeError"] * 2


async def test_writes_and_all_completions_commit_together(lab: Lab) -> None:
    @lab.app.job(batch=10, retry=NOW)
    async def send(batch: Batch[Mail]) -> None:
        async with batch.transaction() as conn:
            await write(conn, batch)
            for item in batch:
                item.ctx.result = item.args.to
            if batch[0].ctx.job.attempt == 1:
                raise ConnectionError("halfway")

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "b"}])
    async with lab.worker():
        ended = [await lab.becomes(job_id, "done", "dead") for job_id in ids]

    assert [each.result for each in ended] == ["a", "b"]
    assert await effects(lab) == [(job_id, 2) for job_id in sorted(ids)]
    assert await lab.outcomes(ids[0]) == ["failed", "done"]


@pytest.mark.parametrize("ending", [True, False])
async def test_if_one_job_is_held_elsewhere_nothing_is_written_and_the_others_come_again(
    lab: Lab,
    ending: bool,  # noqa: FBT001 - whether the transaction ends the jobs
) -> None:
    refused = []

    @lab.app.job(batch=10)
    async def send(batch: Batch[Mail]) -> None:
        first = next((item for item in batch if item.args.to == "lost" and item.ctx.job.attempt == 1), None)
        try:
            async with batch.transaction() if ending else batch.fenced() as conn:
                await write(conn, batch)
                if first is not None:  # a late verdict: somebody else has it by now
                    await first.ctx.set_apart()
                    job = first.ctx.job
                    given = [job.claim_id], [job.id], [job.attempt]
                    await lab.rows("select ostinato.release_jobs(%s, %s, %s)", *given)
        except LeaseLost as error:
            refused.append(error.values["job_ids"])
            raise

    ids = await send.enqueue_many(lab.client, [{"to": "lost"}, {"to": "b"}, {"to": "c"}])
    async with lab.worker():
        for job_id in ids:
            await lab.becomes(job_id, "done", "dead")

    assert refused == [[ids[0]]]
    assert [job_id for job_id, _ in await effects(lab)] == sorted(ids)
    assert [await lab.outcomes(job_id) for job_id in ids] == [["done"]] * 3


async def test_a_job_that_is_cancelled_leaves_and_the_others_go_on(lab: Lab) -> None:
    began = asyncio.Event()

    @lab.app.job(batch=10)
    async def send(batch: Batch[Mail]) -> None:
        began.set()
        await until_async(lambda: batch[0].is_gone)
        assert [item.args.to for item in batch.open] == ["b"]

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "b"}])
    async with lab.worker():
        await began.wait()
        await lab.rows("select ostinato.cancel_job(%s)", ids[0])
        ended = [(await lab.becomes(job_id, "done", "dead", "cancelled")).state for job_id in ids]

    assert ended == ["cancelled", "done"]


async def test_a_batch_that_takes_too_long_is_stopped_and_each_job_fails(lab: Lab) -> None:
    stopped = asyncio.Event()

    @lab.app.job(batch=10, retry=NEVER, timeout=2)
    async def send(batch: Batch[Mail]) -> None:
        try:
            await forever()
        finally:
            stopped.set()

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "b"}])
    async with lab.worker():
        ended = [await lab.becomes(job_id, "done", "dead") for job_id in ids]
        await stopped.wait()

    assert ["timeout" in each.error["message"] for each in ended] == [True, True]


async def test_a_worker_that_stops_gives_all_jobs_of_a_batch_back(lab: Lab) -> None:
    began = asyncio.Event()

    @lab.app.job(batch=10)
    async def send(batch: Batch[Mail]) -> None:
        began.set()
        await forever()

    ids = await send.enqueue_many(lab.client, [{"to": "a"}, {"to": "b"}])
    async with lab.worker(drain_seconds=0.1):
        await began.wait()

    assert await states(lab, ids) == ["ready", "ready"]
    assert [await lab.outcomes(job_id) for job_id in ids] == [[], []]


async def test_what_a_batch_adds_is_in_the_flow_of_the_job_that_it_is_for(lab: Lab) -> None:
    @lab.app.job()
    async def follow(ctx: object) -> None: ...

    @lab.app.job(batch=10)
    async def send(batch: Batch[Mail]) -> None:
        async with batch.transaction() as conn:
            for item in batch:
                with item.flow():
                    await follow.enqueue(conn)
            await follow.enqueue(conn)

    async with lab.client.transaction() as conn:
        for tenant in ("acme", "beta"):
            await send.options(tenant=tenant, correlation_id=f"of-{tenant}").enqueue(conn, to=tenant)
    async with lab.worker():
        await lab.until(
            "select count(*) = 3 from ostinato_data.outcome o join ostinato_data.job j on j.id = o.job_id"
            " where j.kind = 'lab.follow'"
        )

    rows = await lab.rows(
        "select tenant_id, correlation_id from ostinato_data.job where kind = 'lab.follow' order by 1"
    )
    assert rows == [("acme", "of-acme"), ("beta", "of-beta"), ("default", None)]


async def test_a_batch_that_is_rolled_back_on_purpose_is_left_to_its_handler(lab: Lab) -> None:
    after: list[bool] = []

    @lab.app.job(batch=2)
    async def send(batch: Batch[Mail]) -> None:
        async with batch.transaction() as conn:
            await write(conn, batch)
            raise psycopg.Rollback
        after.extend(item.is_open for item in batch)  # type: ignore[unreachable]

    job_id = await send.enqueue(lab.client, to="a")
    async with lab.worker():
        assert (await lab.becomes(job_id, "done", "dead")).state == "done"

    assert after == [True]  # else it had a verdict that was never written
    assert await effects(lab) == []

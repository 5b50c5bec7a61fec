"""Several apps and queues in one worker: priorities, limits, pauses, and what is not its work."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from structlog.typing import EventDict

from ostinato import App, Context, InvalidInput, Queue, Rate, Worker
from ostinato._core.base.errors import NotConfigured
from ostinato._core.base.metrics import CLAIMS
from ostinato._core.engine import queues
from tests.runtime.lab import Lab, counted
from tests.waiting import let_pass, until_async


async def test_one_worker_serves_the_queues_of_several_apps(lab: Lab) -> None:
    billing, mail = App("billing"), App("mail", queues=[Queue("bulk")])

    @billing.job()
    async def pay(ctx: Context) -> str:
        return ctx.job.kind

    @mail.job(queue="post")
    async def send(ctx: Context) -> str:
        return ctx.job.kind

    async with lab.worker(billing, mail) as worker:
        first = await lab.becomes(await pay.enqueue(lab.client), "done")
        second = await lab.becomes(await send.enqueue(lab.client), "done")
        third = await lab.becomes(await send.options(queue="bulk").enqueue(lab.client), "done")

    assert (first.result, second.result, third.result) == ("billing.pay", "mail.send", "mail.send")
    assert set(worker.queues) == {"default", "post", "bulk", "webhooks", "ostinato"}


async def test_a_worker_can_be_told_which_queues_to_serve(lab: Lab) -> None:
    @lab.app.job(queue="mine")
    async def work(ctx: Context) -> None: ...

    async with lab.worker(queues=["mine"]):
        other = await work.options(queue="other").enqueue(lab.client)
        await lab.becomes(await work.enqueue(lab.client), "done")

    assert await lab.state(other) == "ready"


async def test_a_worker_without_kinds_or_with_two_of_one_name_does_not_start(lab: Lab) -> None:
    one, two = App("one"), App("two")

    @one.job(name="same")
    async def first(ctx: Context) -> None: ...

    @two.job(name="same")
    async def second(ctx: Context) -> None: ...

    with pytest.raises(NotConfigured, match="at least one kind"):
        Worker([App("empty")], lab.engine.database)
    with pytest.raises(InvalidInput, match="two apps have a kind named 'same'"):
        Worker([one, two], lab.engine.database)


async def test_lower_priority_runs_first_and_then_the_older(lab: Lab) -> None:
    order: list[str] = []

    @lab.app.job()
    async def work(ctx: Context, name: str) -> None:
        order.append(name)

    for name, priority in [("a", 5), ("b", -5), ("c", 0), ("d", -5), ("e", 5)]:
        await work.options(priority=priority).enqueue(lab.client, name=name)
    async with lab.worker(concurrency=1):
        await until_async(lambda: len(order) == 5)

    assert order == ["b", "d", "c", "a", "e"]


async def test_a_queue_runs_no_more_at_once_than_its_limit_over_all_workers(lab: Lab) -> None:
    now, most, ran = Counter[str](), Counter[str](), Counter[str]()
    app = App("limited", queues=[Queue("two", concurrency=2)])

    @app.job(queue="two")
    async def work(ctx: Context) -> None:
        now["two"] += 1
        most["two"] = max(most["two"], now["two"])
        await until_async(lambda: most["two"] > 1)
        await let_pass(0.05)  # a third one could come
        now["two"] -= 1
        ran["two"] += 1

    async with lab.worker(app), lab.worker(app):
        await work.enqueue_many(lab.client, [{}] * 20)
        await until_async(lambda: ran["two"] == 20)

    assert most["two"] == 2


async def test_a_key_runs_no_more_at_once_than_its_limit(lab: Lab) -> None:
    now, most, ran = Counter[str](), Counter[str](), Counter[str]()
    app = App("limited", queues=[Queue("keyed", key_concurrency=1)])

    @app.job(queue="keyed")
    async def work(ctx: Context, key: str) -> None:
        now[key] += 1
        most[key] = max(most[key], now[key])
        await asyncio.wait({asyncio.create_task(until_async(lambda: len(+now) > 1))}, timeout=0.05)
        now[key] -= 1
        ran[key] += 1

    async with lab.worker(app), lab.worker(app):
        for key in "abc":
            await work.options(limit_key=key).enqueue_many(lab.client, [{"key": key}] * 5)
        await until_async(lambda: ran == {"a": 5, "b": 5, "c": 5})

    assert most == {"a": 1, "b": 1, "c": 1}


async def test_a_rate_holds_back_what_is_too_much(lab: Lab) -> None:
    started: list[int] = []
    app = App("limited", queues=[Queue("slow", rate=Rate(3, 3600))])

    @app.job(queue="slow")
    async def work(ctx: Context) -> None:
        started.append(ctx.job.id)

    async with lab.worker(app) as worker:
        await work.enqueue_many(lab.client, [{}] * 10)
        await until_async(lambda: len(started) == 3)
        asked = counted(worker, CLAIMS, "slow")
        await until_async(lambda: counted(worker, CLAIMS, "slow") >= asked + 3)

    assert len(started) == 3
    assert await lab.value("select count(*) from ostinato_data.ready") == 7


async def test_a_paused_queue_starts_nothing_until_it_is_resumed(lab: Lab) -> None:
    ran: list[str] = []

    @lab.app.job()
    async def work(ctx: Context, name: str) -> None:
        ran.append(name)

    @lab.app.job(queue="other")
    async def beside(ctx: Context) -> None:
        ran.append("beside")

    async with lab.worker():
        async with lab.client.connection() as conn:
            await queues.pause(conn, "default")
        job_id = await work.enqueue(lab.client, name="paused")
        await lab.becomes(await beside.enqueue(lab.client), "done")
        assert await lab.state(job_id) == "ready"
        async with lab.client.connection() as conn:
            await queues.resume(conn, "default")
        await lab.becomes(job_id, "done")

    assert ran == ["beside", "paused"]


async def test_jobs_of_kinds_that_a_worker_does_not_know_are_left_to_others(lab: Lab, logs: list[EventDict]) -> None:
    @lab.app.job()
    async def known(ctx: Context) -> None: ...

    unknown_id = await lab.client.enqueue("later.version")
    async with lab.worker():
        await lab.becomes(await known.enqueue(lab.client), "done")

    assert await lab.state(unknown_id) == "ready"
    assert [line for line in logs if line["log_level"] == "error"] == []


async def test_a_job_enqueued_in_plain_sql_goes_to_the_queue_of_its_kind(lab: Lab) -> None:
    @lab.app.job(queue="mail", priority=4)
    async def send(ctx: Context, to: str) -> str:
        return to

    async with lab.worker():
        job_id: Any = await lab.value("select ostinato.enqueue_job(kind => 'lab.send', args => '{\"to\": \"ada\"}')")
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == "ada"
    assert await lab.rows("select queue, priority from ostinato_data.job") == [("mail", 4)]


async def test_a_backlog_of_one_tenant_does_not_hold_up_another(lab: Lab) -> None:
    order: list[str] = []

    @lab.app.job()
    async def work(ctx: Context) -> None:
        order.append(ctx.job.tenant_id)

    await work.options(tenant="big").enqueue_many(lab.client, [{}] * 500)
    await work.options(tenant="small").enqueue(lab.client)
    async with lab.worker(concurrency=1, prefetch=1):
        await until_async(lambda: "small" in order)

    assert order.index("small") < 20

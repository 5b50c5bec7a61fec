"""No ring gets lost: the workers of these tests ignore what polls find."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from ostinato import App, Client, Context, Queue, SyncContext, Worker
from ostinato._core.engine import queues
from ostinato._core.engine.claims import Job
from tests.runtime.lab import Lab, listens
from tests.waiting import until_async


@pytest.fixture
def runs() -> Counter[str]:
    """How often each kind ran."""
    return Counter()


def with_work(app: App, runs: Counter[str], queue: str = "default") -> App:
    """The app with a kind that counts how often it runs."""

    @app.job(queue=queue)
    async def work(ctx: Context) -> None:
        runs[ctx.job.kind] += 1

    return app


@asynccontextmanager
async def heedless(lab: Lab, *apps: App) -> AsyncIterator[Worker]:
    """A worker that rests and hears rings, and does nothing about the jobs that a poll finds."""
    async with lab.worker(*apps) as worker:
        worker._claimer.saw_ready = lambda *_: None  # type: ignore[method-assign]
        await until_async(lambda: listens(worker) and not worker._claimer._due)
        yield worker


async def test_the_jobs_of_clients_that_commit_at_once_all_start(lab: Lab, runs: Counter[str]) -> None:
    app = with_work(lab.app, runs)

    async def commit_ten() -> None:
        async with Client(lab.engine.database) as client:
            for _ in range(10):
                await app["lab.work"].enqueue(client)

    async with heedless(lab):
        await asyncio.gather(*(commit_ten() for _ in range(4)))
        await until_async(lambda: runs["lab.work"] == 40)


async def test_each_ring_in_plain_sql_starts_its_job(lab: Lab, runs: Counter[str]) -> None:
    with_work(lab.app, runs)

    def commit_twenty() -> None:
        with psycopg.connect(lab.engine.database.url, autocommit=True) as conn:
            for _ in range(20):
                conn.execute("select ostinato.enqueue_job('lab.work', '{}')")
                conn.execute("select ostinato.ring_doorbell('default')")

    async with heedless(lab):
        await asyncio.gather(*(asyncio.to_thread(commit_twenty) for _ in range(2)))
        await until_async(lambda: runs["lab.work"] == 40)


async def test_a_ring_during_a_claim_that_finds_nothing_is_followed_by_another_claim(
    lab: Lab, runs: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_work(lab.app, runs)

    async with heedless(lab) as worker:
        claimer = worker._claimer
        ask = claimer._ask

        async def ask_and_be_late(queue: str, wanted: int) -> list[Job]:
            monkeypatch.undo()
            found = await ask(queue, wanted)
            await lab.rows("select ostinato.enqueue_job('lab.work', '{}')")
            claimer.rouse(queue)
            return found

        monkeypatch.setattr(claimer, "_ask", ask_and_be_late)
        claimer.rouse("default")
        await until_async(lambda: runs["lab.work"] == 1)


async def test_the_end_of_a_job_lets_the_next_one_of_a_limited_queue_start(lab: Lab, runs: Counter[str]) -> None:
    app = with_work(App("limited", queues=[Queue("narrow", concurrency=1)]), runs, "narrow")

    async with heedless(lab, app):
        await app["limited.work"].enqueue_many(lab.client, [{}] * 5)
        await until_async(lambda: runs["limited.work"] == 5)


async def test_a_worker_learns_of_a_limit_that_is_set_while_it_runs(lab: Lab, runs: Counter[str]) -> None:
    app = with_work(lab.app, runs)

    async with heedless(lab) as worker:
        await until_async(lambda: not worker._claimer._limited)
        async with lab.client.connection() as conn:
            await queues.configure(conn, Queue("default", concurrency=1))
        worker._poller.reconciling.wake()
        await until_async(lambda: worker._claimer._limited)
        await app["lab.work"].enqueue_many(lab.client, [{}] * 5)
        await until_async(lambda: runs["lab.work"] == 5)


async def test_a_job_that_a_thread_adds_in_its_own_transaction_starts_when_that_ends(
    lab: Lab, runs: Counter[str]
) -> None:
    with_work(lab.app, runs)

    @lab.app.job()
    def first(ctx: SyncContext) -> None:
        with ctx.transaction() as conn:
            conn.execute("select ostinato.enqueue_job('lab.work', '{}')")

    async with heedless(lab):
        await first.enqueue(lab.client)
        await until_async(lambda: runs["lab.work"] == 1)

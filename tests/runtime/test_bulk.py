"""Bulk actions as jobs: they run to the end, a canary watches, and a worker that is asked to ends."""

from ostinato import App, Retry
from ostinato._core.engine import bulk, inspect, jobs, workers
from ostinato._core.engine.jobs import NewJob
from ostinato._core.runtime.services.bulk import app as bulk_app
from ostinato.testing import Engine
from tests.runtime.lab import Lab
from tests.waiting import until_async


def failing(broken: list[bool]) -> App:
    """An app whose one kind fails while something is broken."""
    app = App("shop")

    @app.job(retry=Retry(max_attempts=1))
    def send(ctx: object) -> None:
        if broken[0]:
            raise ValueError("the mail server is away")

    return app


async def dead_letters(engine: Engine, app: App, count: int) -> None:
    async with engine.client.transaction() as conn:
        await jobs.enqueue_many(conn, [NewJob("shop.send")] * count)
    await engine.run_until_idle(app)


async def test_a_canary_redrives_all_when_the_cause_is_gone(engine: Engine) -> None:
    broken = [True]
    app = failing(broken)
    await dead_letters(engine, app, 25)
    broken[0] = False
    async with engine.client.transaction() as conn:
        started = await bulk.start(conn, "redrive", {"kind": "shop.send"}, canary=True)

    await engine.run_until_idle(app, bulk_app())

    async with engine.client.connection() as conn:
        found = await bulk.show(conn, started)
        left = await inspect.list_dead_letters(conn)
    assert (found.state, found.done, found.matching, left) == ("done", 25, 25, [])


async def test_a_canary_halts_after_one_when_it_fails_again(engine: Engine) -> None:
    app = failing([True])
    await dead_letters(engine, app, 25)
    async with engine.client.transaction() as conn:
        started = await bulk.start(conn, "redrive", {"kind": "shop.send"}, canary=True)

    await engine.run_until_idle(app, bulk_app())

    async with engine.client.connection() as conn:
        found = await bulk.show(conn, started)
    assert (found.state, found.done, found.failed) == ("halted", 1, 1)
    assert "the mail server is away" in str(found.note)


async def test_a_worker_runs_bulk_actions_and_ends_when_it_is_asked_to(lab: Lab) -> None:
    app = App("shop")

    @app.job(queue="elsewhere")
    def send(ctx: object) -> None: ...

    async with lab.engine.client.transaction() as conn:
        await jobs.enqueue_many(conn, [NewJob("app.nobody")] * 1_100)
        started = await bulk.start(conn, "cancel", {"kind": "app.nobody"})
    async with lab.worker(app) as worker, lab.engine.client.connection() as conn:

        async def is_over() -> bool:
            return (await bulk.show(conn, started)).state == "done"

        await until_async(is_over)
        assert (await bulk.show(conn, started)).done == 1_100
        assert worker.id is not None
        await workers.drain(conn, worker.id)

        async def is_gone() -> bool:
            return await inspect.list_workers(conn) == []

        await until_async(is_gone)

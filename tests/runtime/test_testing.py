"""`ostinato.testing`: the real engine on the real PostgreSQL, with a clock to move."""

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from ostinato import App, Cancel, Context, Retry, Snooze, testing
from ostinato._core.db.embedded import Server
from ostinato.testing import Engine

app = App("shop")


@app.job(retry=Retry(delays=(60, 3600, 20 * 3600), jitter=0))
async def charge(ctx: Context) -> str:
    if ctx.job.failures < 3:
        raise ConnectionError("the bank sleeps")
    return "charged"


@app.job()
async def wait_for_it(ctx: Context) -> Snooze | None:
    return Snooze(86_400) if ctx.job.attempt < 3 else None


async def test_a_day_of_retries_takes_no_time(engine: Engine) -> None:
    start = await engine.clock.now()
    await charge.enqueue(engine.client)

    report = await engine.run_until_idle(app)

    assert (report.done, report.failed) == (1, 3)
    assert [attempt for _, attempt in report.runs] == [1, 2, 3, 4]
    passed = await engine.clock.now() - start
    assert timedelta(hours=21) < passed < timedelta(hours=22)


async def test_snoozes_and_late_jobs_get_their_time(engine: Engine) -> None:
    start = await engine.clock.now()
    await wait_for_it.enqueue(engine.client)
    await charge.options(run_at=start + timedelta(days=7)).enqueue(engine.client)

    report = await engine.run_until_idle(app)

    assert (report.done, report.snoozed, report.failed) == (2, 2, 3)
    assert await engine.clock.now() - start > timedelta(days=7)


async def test_the_clock_can_be_left_alone(engine: Engine) -> None:
    await charge.enqueue(engine.client)

    report = await engine.run_until_idle(app, move_clock=False)

    assert (report.done, report.failed, len(report.runs)) == (0, 1, 1)


async def test_the_clock_stands_still_and_moves_as_told(engine: Engine) -> None:
    at = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
    await engine.clock.freeze(at)
    assert await engine.clock.now() == at

    assert await engine.clock.move(90) == at + timedelta(seconds=90)
    job_id = await charge.enqueue(engine.client)
    rows = await engine.admin.execute("select created_at from ostinato_data.job where id = %s", (job_id,))
    assert await rows.fetchall() == [(at + timedelta(seconds=90),)]


async def test_the_same_seed_gives_the_same_run(engine: Engine) -> None:
    jittery = App("jittery")

    @jittery.job(retry=Retry(base=10, jitter=1, max_attempts=4))
    async def fails(ctx: Context) -> None:
        raise ValueError("always")

    await engine.clock.freeze(datetime(2031, 1, 1, tzinfo=UTC))
    delays: list[list[float]] = []
    for _ in range(2):
        start = await engine.clock.now()
        job_id = await fails.enqueue(engine.client)
        await engine.run_until_idle(jittery, seed=7)
        rows = await engine.admin.execute(
            "select extract(epoch from finished_at - %s)::float from ostinato_data.outcome"
            " where job_id = %s order by attempt",
            (start, job_id),
        )
        delays.append([round(row[0], 2) for row in await rows.fetchall()])

    assert delays[0] == delays[1]
    assert len(set(delays[0])) == 4


async def test_plain_functions_transactions_and_cancels_are_counted_too(engine: Engine) -> None:
    mixed = App("mixed")

    @mixed.job()
    def plain(ctx: Context) -> int:
        return 1

    @mixed.job()
    async def careful(ctx: Context) -> None:
        async with ctx.transaction():
            ctx.result = 2

    @mixed.job()
    async def unneeded(ctx: Context) -> Cancel:
        return Cancel()

    for kind in (plain, careful, unneeded):
        await kind.enqueue(engine.client)
    report = await engine.run_until_idle(mixed)

    assert (report.done, report.cancelled, report.failed) == (2, 1, 0)


async def test_jobs_of_other_apps_do_not_keep_it_running(engine: Engine) -> None:
    await engine.client.enqueue("other.task")
    await engine.client.enqueue("other.later", delay=60)
    await charge.enqueue(engine.client)

    report = await engine.run_until_idle(app)

    assert report.done == 1


async def test_a_test_that_fails_leaves_a_usable_folder_behind(engine: Engine) -> None:
    assert engine.database.server is not None
    folder = engine.database.server.cluster.data_dir
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with testing.engine(folder, name="fails"):
                1 / 0  # noqa: B018 - the error is the point


async def test_engines_are_copies_of_one_template_and_nothing_of_one_is_in_another(shared_server: Server) -> None:
    """Also when several ask for the template at once, and it is not there yet."""
    made = await asyncio.gather(*(testing.template_on(shared_server) for _ in range(3)))
    async with (
        testing.engine_on(shared_server, "copy_1") as first,
        testing.engine_on(shared_server, "copy_2") as second,
    ):
        await charge.enqueue(first.client)
        await first.clock.move(timedelta(days=1))
        counts = [
            await (await each.admin.execute("select count(*) from ostinato_data.job")).fetchone()
            for each in (first, second)
        ]
        apart = await first.clock.now() - await second.clock.now()

    assert len(set(made)) == 1
    assert counts == [(1,), (0,)]
    assert apart > timedelta(hours=23)
    with psycopg.connect(shared_server.admin_url, autocommit=True) as conn:
        left = conn.execute("select datname from pg_database where datname like '%draft%'")
        assert left.fetchall() == []

"""Callers who wait for jobs to end: woken when they do, also where rings are missed or not to be had."""

import asyncio
from dataclasses import replace

import pytest

from ostinato import Cancel, Client, Context, Done
from ostinato._core.base.settings import Settings
from ostinato._core.runtime import ends
from ostinato._core.runtime.testing import KEY
from ostinato.errors import InvalidInput, JobCancelled, JobFailed, NotFound, OstinatoError, StillRunning
from ostinato.jobs import End, result_sync, wait_sync
from tests.runtime.lab import Lab
from tests.waiting import until_async


@pytest.fixture
def _only_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks a second time by himself: without a ring these tests wait for ever."""
    monkeypatch.setattr(ends, "FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(ends, "LONGEST_PAUSE", 3600.0)
    monkeypatch.setattr(ends, "LISTENING_PAUSE", 3600.0)


async def until_watched(lab: Lab) -> None:
    await lab.until("select exists (select from ostinato_data.job_watch)")


@pytest.mark.usefixtures("_only_rings")
async def test_the_result_of_a_job_wakes_its_caller(lab: Lab) -> None:
    @lab.app.job()
    async def add(_: Context, a: int, b: int) -> Done:
        return Done(a + b)

    job = await add.enqueue(lab.client, 2, 3)
    waiting = asyncio.create_task(lab.client.job(job).result())
    await until_watched(lab)
    assert not waiting.done()

    async with lab.worker():
        assert await waiting == 5

    assert await lab.rows("select * from ostinato_data.job_watch") == []


@pytest.mark.usefixtures("_only_rings")
async def test_a_job_that_was_cancelled_while_it_waited_wakes_its_caller(lab: Lab) -> None:
    job_id = await lab.client.enqueue("lab.later", delay=3600)
    waiting = asyncio.create_task(lab.client.wait(job_id))
    await until_watched(lab)

    await lab.rows("select ostinato.cancel_job(%s, 'not needed')", job_id)

    end = await waiting
    assert end.state == "cancelled"
    with pytest.raises(JobCancelled, match="not needed"):
        end.value()


@pytest.mark.usefixtures("_only_rings")
@pytest.mark.parametrize("how", ["fails", "cancels"])
async def test_a_job_that_ends_badly_wakes_its_caller(lab: Lab, how: str) -> None:
    @lab.app.job(retry=None)
    async def ends_badly(_: Context) -> Cancel:
        if how == "fails":
            raise ValueError("no such card")
        return Cancel("no longer wanted")

    job = await ends_badly.options(max_attempts=1).enqueue(lab.client)
    waiting = asyncio.create_task(lab.client.job(job).result())
    await until_watched(lab)

    error: type[OstinatoError] = JobFailed if how == "fails" else JobCancelled
    with pytest.raises(error, match="no such card" if how == "fails" else "no longer wanted") as raised:
        async with lab.worker():
            await waiting

    assert raised.value.values["job_id"] == job


async def test_a_retry_is_no_end(lab: Lab) -> None:
    @lab.app.job()
    async def second_time(ctx: Context) -> Done:
        if ctx.job.attempt == 1:
            raise ValueError("once")
        return Done("well")

    job = await second_time.enqueue(lab.client)
    waiting = asyncio.create_task(lab.client.job(job).result())
    async with lab.worker():
        await lab.becomes(job, "scheduled")
        assert not waiting.done()
        await lab.rows("select ostinato.retry_job(%s)", job)
        assert await waiting == "well"


async def test_the_time_of_a_caller_ends_and_the_job_goes_on(lab: Lab) -> None:
    job_id = await lab.client.enqueue("lab.nobody_runs_it")

    with pytest.raises(StillRunning, match="has not ended within 0 s") as raised:
        await lab.client.wait(job_id, timeout=0)
    with pytest.raises(TimeoutError):
        await lab.client.result(job_id, timeout=0.01)

    assert raised.value.hint
    assert await lab.state(job_id) == "ready"


async def test_a_job_that_has_ended_already_answers_at_once(lab: Lab) -> None:
    @lab.app.job()
    async def done(_: Context) -> Done:
        return Done({"pages": [1, None]})

    job = await done.enqueue(lab.client)
    await lab.engine.run_until_idle(lab.app)

    assert await lab.client.job(job).result(timeout=0) == {"pages": [1, None]}
    assert await lab.rows("select * from ostinato_data.job_watch") == []


async def test_what_was_rung_before_the_caller_listened_is_found_by_asking(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verb that looked for callers before this one was written down rings for nobody."""
    monkeypatch.setattr(ends.Ends, "_wake", lambda *_: None)
    job_id = await lab.client.enqueue("lab.later", delay=3600)
    waiting = asyncio.create_task(lab.client.wait(job_id))
    await until_watched(lab)

    await lab.rows("select ostinato.cancel_job(%s)", job_id)

    assert (await waiting).state == "cancelled"


async def test_behind_a_pooler_callers_ask(lab: Lab) -> None:
    database = replace(lab.engine.database, listen_url=None, pooled=True)
    async with Client(database, Settings(secret_key=KEY)) as client:
        job_id = await client.enqueue("lab.later", delay=3600)
        waiting = asyncio.create_task(client.wait(job_id))
        await until_watched(lab)

        await lab.rows("select ostinato.cancel_job(%s)", job_id)

        assert (await waiting).state == "cancelled"


@pytest.mark.usefixtures("_only_rings")
async def test_a_listener_whose_connection_was_cut_asks_again(lab: Lab) -> None:
    job_id = await lab.client.enqueue("lab.later", delay=3600)
    waiting = asyncio.create_task(lab.client.wait(job_id))

    async def begun() -> bool:
        listener = lab.client.ends._listener
        return listener is not None and listener.connected.is_set()

    await until_async(begun)
    await until_watched(lab)
    # Nobody is rung: it ends as by a verb that looked too early.
    await lab.rows("delete from ostinato_data.job_watch")
    await lab.rows("select ostinato.cancel_job(%s)", job_id)
    assert not waiting.done()
    await lab.rows(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and application_name like '%%heart%%' and pid <> pg_backend_pid()"
    )

    assert (await waiting).state == "cancelled"


async def test_a_tenant_waits_for_its_own_jobs_only(lab: Lab) -> None:
    mine, theirs = [await lab.client.enqueue("lab.later", delay=3600, tenant=name) for name in ("acme", "globex")]
    acme = lab.client.for_tenant("acme")
    waiting = asyncio.create_task(acme.result(mine))
    await until_watched(lab)

    with pytest.raises(NotFound):
        await acme.wait(theirs, timeout=0)
    await lab.rows("select ostinato.cancel_job(%s)", mine)
    with pytest.raises(JobCancelled):
        await waiting


@pytest.mark.parametrize("wrong", [1, 0, -7, 2**62])
async def test_there_is_no_such_job(lab: Lab, wrong: int) -> None:
    with pytest.raises(NotFound, match=f"there is no job {wrong}") as refused:
        await lab.client.wait(wrong, timeout=60)
    assert "after the commit" in str(refused.value.hint)


async def test_sync_code_waits_too(lab: Lab) -> None:
    @lab.app.job()
    async def add(_: Context, a: int, b: int) -> Done:
        return Done(a + b)

    job = await add.enqueue(lab.client, 2, 3)
    url = lab.engine.database.url
    with pytest.raises(StillRunning):
        await asyncio.to_thread(wait_sync, job, 0, database_url=url)

    async with lab.worker():
        assert await asyncio.to_thread(result_sync, job, database_url=url) == 5


def test_the_error_of_a_job_that_failed_names_the_command_that_explains_it() -> None:
    with pytest.raises(JobFailed) as refused:
        End(42, "dead", None, {"message": "the card was refused"}).value()

    assert "the card was refused" in str(refused.value)
    assert "ostinato why 42" in str(refused.value.hint)


async def test_sync_code_in_an_event_loop_is_told_the_other_call(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="while an event loop runs") as refused:
        result_sync(7, database_url=lab.engine.database.url)

    assert "await client.job(7).result" in str(refused.value.hint)


async def test_leftovers_of_callers_are_pruned(lab: Lab) -> None:
    job_id = await lab.client.enqueue("lab.later", delay=3600)
    with pytest.raises(StillRunning):
        await lab.client.wait(job_id, timeout=0)
    await lab.rows("update ostinato_data.job_watch set until = ostinato.now() - interval '1 second'")

    await lab.rows("select ostinato_internal.prune_leftovers(ostinato.now() - interval '14 days')")

    assert await lab.rows("select * from ostinato_data.job_watch") == []


async def test_a_listener_ends_with_its_client(lab: Lab) -> None:
    async with Client(lab.engine.database, Settings(secret_key=KEY)) as client:
        job_id = await client.enqueue("lab.later", delay=3600)
        waiting = asyncio.create_task(client.wait(job_id))
        await until_async(lambda: client.ends._listener)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        listener = client.ends._listener
    assert listener is not None
    assert not listener._thread.is_alive()

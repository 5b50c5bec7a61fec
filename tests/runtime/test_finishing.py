"""Verdicts reach the database: late if need be, once, and none holds up the others."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from structlog.typing import EventDict

from ostinato import Cancel, Context, Done, Retry, Snooze, SyncContext
from ostinato._core.base.errors import InvalidInput, OstinatoError
from ostinato._core.base.metrics import FENCED_WRITES, JOBS_FINISHED
from ostinato._core.engine import claims, upkeep
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.worker import finisher as finisher_module
from ostinato._core.runtime.worker.execute import Failed
from tests.proxy import Proxy, between
from tests.runtime.lab import Lab, counted, forever, running
from tests.waiting import until_async

NOW = Retry(delays=(0, 0, 0))


@pytest.fixture
async def proxied(lab: Lab, tmp_path: Path) -> AsyncIterator[tuple[Lab, Proxy]]:
    """A lab whose workers reach the database through a proxy; the test itself does not."""
    real = lab.engine.database
    with between(real.url, tmp_path) as proxy:
        through = proxy.url(real.url)
        lab.engine.database = Database(url=through, admin_url=real.admin_url, listen_url=through, server=real.server)
        yield lab, proxy


async def test_verdicts_wait_while_the_database_is_away(proxied: tuple[Lab, Proxy], logs: list[EventDict]) -> None:
    lab, proxy = proxied
    started: list[int] = []
    gate, ended = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context, how: str) -> object:
        started.append(ctx.job.id)
        if ctx.job.attempt > 1:
            return "again"
        await gate.wait()
        if ctx.job.id == max(started):
            ended.set()
        match how:
            case "done":
                return Done("kept")
            case "snooze":
                return Snooze(3600)
            case "cancel":
                return Cancel("kept")
            case _:
                raise ConnectionError("kept")

    # Long enough to be thought alive while the database is away.
    async with lab.worker(beat_seconds=1, expiry_seconds=30) as worker:
        ways = ["done", "snooze", "cancel", "fail"]
        ids = await work.enqueue_many(lab.client, [{"how": how} for how in ways])
        await until_async(lambda: len(started) == 4)
        with proxy.away():
            gate.set()
            await ended.wait()
            await until_async(lambda: worker._finisher.pending == 4)
            await until_async(lambda: any(line["event"] == "database_unavailable" for line in logs))
        for job_id, state in zip(ids, ["done", "scheduled", "cancelled", "done"], strict=True):
            await lab.becomes(job_id, state)

    assert await lab.outcomes(ids[0]) == ["done"]
    assert await lab.outcomes(ids[3]) == ["failed", "done"]
    assert "recovered" in [line["event"] for line in logs]
    assert [line for line in logs if line["event"] == "fenced"] == []


@pytest.mark.parametrize("fault", ["before", "after"])
@pytest.mark.parametrize("how", ["done", "fail", "snooze", "cancel", "transaction"])
async def test_a_verdict_whose_connection_is_cut_takes_effect_once(
    proxied: tuple[Lab, Proxy],
    logs: list[EventDict],
    fault: Any,  # noqa: ANN401 - a literal
    how: str,
) -> None:
    lab, proxy = proxied

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> object:
        if ctx.job.attempt > 1:
            return "again"
        match how:
            case "done":
                return Done("kept")
            case "snooze":
                return Snooze(3600)
            case "cancel":
                return Cancel("kept")
            case "transaction":
                async with ctx.transaction():
                    ctx.result = "kept"
                return None
            case _:
                raise ConnectionError("kept")

    verb = {"done": "complete_jobs", "transaction": "COMMIT"}.get(how, f"{how}_jobs")
    end = {"snooze": "scheduled", "cancel": "cancelled"}.get(how, "done")
    # The expiry is out of reach: a transaction cut before its end waits for nobody.
    async with lab.worker(beat_seconds=1, expiry_seconds=30) as worker:
        proxy.once(fault, verb)
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, end)
        await until_async(lambda: worker._finisher.pending == 0)

    assert [happened for happened, _ in proxy.faults] == [fault]
    expected = {
        "done": ["done"],
        "fail": ["failed", "done"],
        "snooze": [],
        "cancel": ["cancelled"],
        # A commit in doubt that did not take effect is the database's fault: no attempt failed.
        "transaction": ["done"],
    }
    assert await lab.outcomes(job_id) == expected[how]
    fenced = [line for line in logs if line["event"] == "fenced"]
    assert len(fenced) == (how == "transaction" and fault == "after")


async def test_a_worker_that_stops_while_the_database_is_away_still_writes_its_verdicts(
    proxied: tuple[Lab, Proxy],
) -> None:
    lab, proxy = proxied
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> str:
        started.set()
        await gate.wait()
        return "kept"

    async with lab.worker(beat_seconds=1, expiry_seconds=30, call_timeout_seconds=20) as worker:
        job_id = await work.enqueue(lab.client)
        await started.wait()
        with proxy.away():
            gate.set()
            worker.stop()
            await until_async(lambda: worker.lanes._stopping and worker._finisher.pending)
        # It may take the pool some seconds to notice that the database is back.
    ended = await lab.outcome(job_id)

    assert (ended.state, ended.attempt, ended.result) == ("done", 1, "kept")


async def test_a_verdict_that_cannot_be_written_does_not_hold_up_the_others(
    lab: Lab, logs: list[EventDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    @lab.app.job(retry=Retry(max_attempts=1))
    async def breaks(ctx: Context, bad: bool) -> None:  # noqa: FBT001 - an argument of a job
        raise ValueError("bad" if bad else "good")

    async with lab.worker() as worker:
        add = worker._finisher.add

        def spoil(job: claims.Job, verdict: Any, seconds: float) -> None:  # noqa: ANN401
            if isinstance(verdict, Failed) and "bad" in verdict.failure.signature:
                verdict = Failed(verdict.failure._replace(error="no JSON at all"))
            add(job, verdict, seconds)

        monkeypatch.setattr(worker.lanes, "_finish", spoil)
        ids = await breaks.enqueue_many(lab.client, [{"bad": n == 3} for n in range(10)])
        for job_id in ids:
            await lab.becomes(job_id, "dead")

    reasons = dict(await lab.rows("select job_id, reason from ostinato_data.dead_letter"))
    assert reasons.pop(ids[3]) == "verdict_not_writable"
    assert set(reasons.values()) == {"attempts_used_up"}
    assert [line["job_id"] for line in logs if line["event"] == "verdict_not_writable"] == [ids[3]]


async def test_a_verdict_that_the_database_cannot_take_now_waits_and_the_others_do_not(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a function that is broken for a while: no reason to bury what was done."""
    complete = claims.complete
    broken = [True]
    tries: list[int] = []

    async def refuse_one(conn: Any, jobs: Any, *rest: Any) -> list[int]:  # noqa: ANN401
        if broken[0] and any(job.kind == "lab.unlucky" for job in jobs):
            tries.append(len(jobs))
            raise OstinatoError("the function is broken")
        return await complete(conn, jobs, *rest)

    @lab.app.job()
    async def unlucky(ctx: Context) -> None:
        return None

    @lab.app.job()
    async def lucky(ctx: Context) -> None:
        return None

    monkeypatch.setattr(claims, "complete", refuse_one)
    async with lab.worker():
        job_id = await unlucky.enqueue(lab.client)
        await until_async(lambda: tries)
        for other_id in await lucky.enqueue_many(lab.client, [{}] * 20):
            await lab.becomes(other_id, "done")
        assert await lab.state(job_id) == "running"
        broken[0] = False
        await lab.becomes(job_id, "done")

    assert await lab.outcomes(job_id) == ["done"]


async def without_weeks(lab: Lab) -> None:
    """Leave only the default partitions, as if upkeep had not run for long."""
    for parent in ("job", "outcome", "step"):
        weeks = await lab.rows(
            "select inhrelid::regclass::text from pg_inherits where inhparent = ('ostinato_data.' || %s)::regclass",
            parent,
        )
        for (week,) in weeks:
            if not week.endswith("_default"):
                await lab.rows(f"drop table {week}")


@pytest.mark.parametrize("how", ["done", "fail", "bury", "snooze", "cancel", "release", "rescue"])
async def test_a_partition_that_is_added_under_a_verdict_costs_nothing(  # noqa: C901 - seven ways
    lab: Lab, monkeypatch: pytest.MonkeyPatch, logs: list[EventDict], how: str
) -> None:
    """Whoever waited for upkeep must not overlook the rows that it moved meanwhile."""

    async def no_upkeep(*_: object) -> None:
        return None

    monkeypatch.setattr(upkeep, "run", no_upkeep)
    await without_weeks(lab)
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=Retry(delays=(3600,)))
    async def work(ctx: Context) -> object:
        if ctx.job.attempt > 1:
            await forever()
        started.set()
        await gate.wait()
        match how:
            case "fail":
                raise ConnectionError("later")
            case "bury":
                raise InvalidInput("never")
            case "snooze":
                return Snooze(3600)
            case "cancel":
                return Cancel()
            case "release" | "rescue":
                await forever()
        return "kept"

    admin_url = lab.engine.database.admin_url
    worker = lab.new_worker(drain_seconds=0, beat_seconds=1, expiry_seconds=30)
    async with (
        running(worker),
        await psycopg.AsyncConnection.connect(admin_url) as moving,
        await psycopg.AsyncConnection.connect(admin_url, autocommit=True) as rescuing,
    ):
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await moving.execute("select ostinato.upkeep_partitions(14)")
        gate.set()
        rescue = asyncio.create_task(_rescue(rescuing) if how == "rescue" else forever())
        if how == "release":
            worker.stop()
        await lab.until(
            "select count(*) > 0 from pg_stat_activity where %s = any (pg_blocking_pids(pid))", moving.info.backend_pid
        )
        await moving.commit()
        ends = {"done": "done", "bury": "dead", "cancel": "cancelled", "release": "ready", "rescue": "running"}
        if how == "rescue":
            await rescue
        ended = await lab.becomes(job_id, ends.get(how, "scheduled"))
        rescue.cancel()

    # What waits or runs again counts the attempt that it will have, or has.
    assert ended.attempt == (1 if ended.state in ("done", "dead", "cancelled") else 2)
    odd = {line["event"] for line in logs} & {"fenced", "verdict_not_writable"}
    assert odd <= ({"fenced"} if how == "rescue" else set())


async def _rescue(conn: psycopg.AsyncConnection[Any]) -> None:
    """Take the jobs of all claims back, as from dead workers; again, if another was in the way."""
    while True:
        try:
            await conn.execute("select ostinato_internal.rescue_claims(array[c.id], 3) from ostinato_data.claim c")
        except psycopg.errors.SerializationFailure:
            continue
        return


async def test_progress_is_written_while_a_job_runs_and_gone_when_it_ends(lab: Lab) -> None:
    gate = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> None:
        for done in range(8):
            ctx.progress(done, 10, f"page {done}")
        await gate.wait()

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.until("select count(*) > 0 from ostinato_data.job_progress")
        found = await lab.rows("select job_id, attempt, done, total, note from ostinato_data.job_progress")
        gate.set()
        await lab.becomes(job_id, "done")

    assert found == [(job_id, 1, 7, 10, "page 7")]
    assert await lab.rows("select * from ostinato_data.job_progress") == []


async def test_progress_from_a_thread_and_with_odd_notes_is_written_too(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finisher_module, "PROGRESS_SECONDS", 0.01)
    loop = asyncio.get_running_loop()
    gate = asyncio.Event()

    @lab.app.job()
    def work(ctx: SyncContext) -> None:
        ctx.progress(1, None, "NUL \0, lone \ud800, long " + "x" * 10_000)
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()

    async with lab.worker():
        job_id = await work.enqueue(lab.client)
        await lab.until("select count(*) > 0 from ostinato_data.job_progress")
        note = await lab.value("select note from ostinato_data.job_progress")
        gate.set()
        await lab.becomes(job_id, "done")

    assert note.startswith("NUL \\x00, lone \\ud800, long xxx")
    assert len(note) == 1000


async def test_progress_of_an_attempt_that_was_lost_is_not_written_and_counted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finisher_module, "PROGRESS_SECONDS", 0.01)
    started, gate, again = asyncio.Event(), asyncio.Event(), asyncio.Event()
    over = asyncio.Event()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        if ctx.job.attempt == 1:
            started.set()
            await gate.wait()
            ctx.progress(99)
            await over.wait()
            return
        ctx.progress(1)
        await again.wait()

    async with lab.worker(beat_seconds=1, expiry_seconds=30) as worker:
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await lab.rows("select ostinato_internal.rescue_claims(array[id], 3) from ostinato_data.claim")
        await lab.until("select count(*) > 0 from ostinato_data.job_progress")
        gate.set()
        await until_async(lambda: counted(worker, FENCED_WRITES, "progress"))
        over.set()
        await until_async(lambda: counted(worker, FENCED_WRITES, "complete"))
        found = await lab.rows("select attempt, done from ostinato_data.job_progress")
        again.set()
        await lab.becomes(job_id, "done")

    assert found == [(2, 1)]


async def test_of_two_attempts_that_tell_at_once_only_the_lost_one_is_refused(lab: Lab, logs: list[EventDict]) -> None:
    started, again, gate, over = (asyncio.Event() for _ in range(4))

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        (started if ctx.job.attempt == 1 else again).set()
        await gate.wait()
        ctx.progress(ctx.job.attempt)
        await over.wait()

    async with lab.worker() as worker:
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await lab.rows("select ostinato_internal.rescue_claims(array[id], 3) from ostinato_data.claim")
        await again.wait()
        gate.set()
        await lab.until("select count(*) > 0 from ostinato_data.job_progress")
        await until_async(lambda: counted(worker, FENCED_WRITES, "progress"))
        found = await lab.rows("select attempt, done from ostinato_data.job_progress")
        over.set()
        await lab.becomes(job_id, "done")

    assert found == [(2, 2)]
    told = [line["attempt"] for line in logs if line.get("verb") == "progress"]
    assert told == [1]


async def test_what_ended_is_counted_by_kind_and_outcome(lab: Lab) -> None:
    @lab.app.job(retry=Retry(max_attempts=1))
    async def work(ctx: Context, how: str) -> object:
        if how == "fail":
            raise ValueError(how)
        return Cancel() if how == "cancel" else None

    async with lab.worker() as worker:
        ways = ["done", "done", "fail", "cancel"]
        for job_id in await work.enqueue_many(lab.client, [{"how": how} for how in ways]):
            await lab.becomes(job_id, "done", "dead", "cancelled")

    outcomes = ["done", "failed", "cancelled"]
    assert [counted(worker, JOBS_FINISHED, "lab.work", how) for how in outcomes] == [2, 1, 1]

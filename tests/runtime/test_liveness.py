"""Who is alive is known from the heart, not from the loop; who was declared dead starts over."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from structlog.typing import EventDict

from ostinato import Context, Retry
from ostinato._core.base.metrics import FENCED_WRITES, LOOP_BLOCKED_SECONDS
from ostinato._core.db.call import call
from ostinato._core.engine import claims, workers
from ostinato._core.runtime.worker import heart
from ostinato._core.runtime.worker import poller as poller_module
from ostinato.testing import Engine
from tests.runtime.lab import FAST, MORTAL, Lab, counted
from tests.waiting import until, until_async

NOW = Retry(delays=(0, 0, 0))


@contextmanager
def others(url: str) -> Iterator[None]:
    """Other workers, as far as a worker can tell: they look for dead ones all the time."""
    over = threading.Event()

    def look() -> None:
        with psycopg.connect(url, autocommit=True) as conn:
            while not over.wait(0.02):
                conn.execute("select ostinato.rescue_jobs()")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


FRESH = (
    "select coalesce(bool_and(beat_at > clock_timestamp() - make_interval(secs => expiry_seconds / 2)), true)"
    " from ostinato_data.worker"
)


def let_expiries_pass(url: str, count: int = 3) -> None:
    """Let expiries pass, as far as the database can tell: the last beat gets older by half of one, again and again, and
    others look for the dead until there is another beat.
    """

    def looked() -> bool:
        conn.execute("select ostinato.rescue_jobs()")
        return conn.execute(FRESH).fetchone() == (True,)

    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("update ostinato_data.claim set claimed_at = claimed_at - interval '1 hour'")
        for _ in range(2 * count):
            conn.execute(
                "update ostinato_data.worker set beat_at = beat_at - make_interval(secs => expiry_seconds / 2)"
            )
            until(looked)


class Beats:
    """The beats of the workers in this process; they can be held up on their way."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._url = url
        self._lost = threading.Event()
        beat = workers.heartbeat

        def sometimes(*args: Any, **kwargs: Any) -> bool:  # noqa: ANN401 - as the original
            if self._lost.is_set():
                raise psycopg.OperationalError("no way through")
            return beat(*args, **kwargs)

        monkeypatch.setattr(workers, "heartbeat", sometimes)

    @contextmanager
    def lost(self) -> Iterator[None]:
        """No beat arrives, and others watch."""
        self._lost.set()
        with others(self._url):
            yield
        self._lost.clear()


@pytest.fixture
def beats(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Beats:
    return Beats(lab.engine.database.url, monkeypatch)


async def declare_dead(lab: Lab, beats: Beats) -> None:
    """Let a worker be silent until others have taken its jobs."""
    with beats.lost():
        await lab.until("select count(*) = 0 from ostinato_data.worker")


async def test_a_handler_that_blocks_the_loop_is_named_and_its_job_not_started_twice(
    lab: Lab, logs: list[EventDict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heart, "BLOCKED_SECONDS", 0.3)
    monkeypatch.setattr(heart, "PULSE_SECONDS", 0.05)
    attempts: list[int] = []
    started, over = threading.Event(), threading.Event()

    def named() -> list[EventDict]:
        lines = [line for line in logs if line["event"] == "event_loop_blocked"]
        return [line for line in lines if line["handler"].endswith("blocks_everything")]

    def let_time_pass() -> None:
        started.wait()
        let_expiries_pass(lab.engine.database.admin_url)
        until(named)
        over.set()

    @lab.app.job()
    async def blocks_everything(ctx: Context) -> None:
        attempts.append(ctx.job.attempt)
        started.set()
        over.wait()

    async with lab.worker() as worker:
        job_id = await blocks_everything.enqueue(lab.client)
        await asyncio.gather(asyncio.to_thread(let_time_pass), lab.becomes(job_id, "done", "dead"))

    assert attempts == [1]
    assert await lab.outcomes(job_id) == ["done"]
    (line,) = named()
    assert "over.wait()" in line["where"]
    blocked = worker._heart.recorder.value(LOOP_BLOCKED_SECONDS, line["handler"])
    assert blocked >= 0.3


async def test_a_healthy_long_job_is_not_started_twice(lab: Lab) -> None:
    attempts: list[int] = []
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def long(ctx: Context) -> None:
        attempts.append(ctx.job.attempt)
        started.set()
        await gate.wait()

    async with lab.worker() as worker:
        job_id = await long.enqueue(lab.client)
        await started.wait()
        await asyncio.to_thread(let_expiries_pass, lab.engine.database.admin_url)
        gate.set()
        await lab.becomes(job_id, "done")

    assert attempts == [1]
    assert worker.lanes.running == 0


async def test_a_worker_that_was_declared_dead_goes_on_under_a_new_id(
    lab: Lab, beats: Beats, logs: list[EventDict]
) -> None:
    started = asyncio.Event()
    seen: list[tuple[int, str]] = []

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        if ctx.job.attempt > 1:
            return
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append((ctx.job.attempt, "stopped"))
            raise

    async with lab.worker(**MORTAL) as worker:
        first_id = worker.id
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await declare_dead(lab, beats)
        await until_async(lambda: worker.id != first_id)
        await lab.becomes(job_id, "done", "dead")

        assert await lab.rows("select id from ostinato_data.worker") == [(worker.id,)]

    assert seen == [(1, "stopped")]
    assert await lab.outcomes(job_id) == ["lost", "done"]
    assert "declared_dead" in [line["event"] for line in logs]
    assert counted(worker, FENCED_WRITES, "complete") == 1


async def test_a_verdict_of_the_dead_is_refused_and_counted(lab: Lab, logs: list[EventDict]) -> None:
    started, gate = asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> int:
        if ctx.job.attempt == 1:
            started.set()
            await gate.wait()
        return ctx.job.attempt

    # No beat for a while: the worker learns of its death from the fence alone.
    async with lab.worker(beat_seconds=20, expiry_seconds=60) as worker:
        job_id = await work.enqueue(lab.client)
        await started.wait()
        await lab.rows("select ostinato_internal.rescue_claims(array[id], 3) from ostinato_data.claim")
        gate.set()
        ended = await lab.becomes(job_id, "done")
        await until_async(lambda: counted(worker, FENCED_WRITES, "complete"))

    assert ended.result == 2
    assert await lab.outcomes(job_id) == ["lost", "done"]
    assert counted(worker, FENCED_WRITES, "complete") == 1
    (line,) = [line for line in logs if line["event"] == "fenced"]
    assert (line["verb"], line["job_id"], line["attempt"]) == ("complete", job_id, 1)


async def test_a_lost_attempt_that_does_not_stop_is_not_mixed_up_with_the_next_one(lab: Lab, beats: Beats) -> None:
    started, gate, again = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @lab.app.job(retry=NOW)
    async def deaf(ctx: Context) -> str:
        if ctx.job.attempt > 1:
            again.set()
            await gate.wait()
            return "second"
        started.set()
        while not again.is_set():
            try:
                await again.wait()
            except asyncio.CancelledError:
                continue
        return "first"

    async with lab.worker(cancel_grace_seconds=5, **MORTAL) as worker:
        job_id = await deaf.enqueue(lab.client)
        await started.wait()
        await declare_dead(lab, beats)
        await again.wait()
        # The first attempt has ended by now, while the second one runs in the same worker.
        await until_async(lambda: counted(worker, FENCED_WRITES, "complete"))
        gate.set()
        ended = await lab.becomes(job_id, "done")

    assert ended.result == "second"
    assert await lab.outcomes(job_id) == ["lost", "done"]


async def test_what_the_dead_had_claimed_and_not_started_is_forgotten_by_them(lab: Lab, beats: Beats) -> None:
    started, gate = asyncio.Event(), asyncio.Event()
    ran: list[tuple[int, int]] = []

    @lab.app.job(retry=NOW)
    async def work(ctx: Context) -> None:
        ran.append(ctx.token)
        if len(ran) == 1:
            started.set()
            await gate.wait()

    async with lab.worker(concurrency=1, prefetch=20, **MORTAL) as worker:
        worker.lanes._rate = FAST
        ids = await work.enqueue_many(lab.client, [{}] * 10)
        await started.wait()
        await until_async(lambda: worker.lanes.buffered)
        await declare_dead(lab, beats)
        for job_id in ids:
            await lab.becomes(job_id, "done", "dead")
        gate.set()

    finished = await lab.rows("select job_id, attempt from ostinato_data.outcome where outcome = 'done'")
    assert len(finished) == 10
    assert sorted(ran[1:]) == sorted(finished)


async def test_a_job_whose_claim_was_answered_into_the_void_is_given_back(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, logs: list[EventDict]
) -> None:
    """The answer to a claim may be lost with the connection: then nobody knows who has the job."""
    monkeypatch.setattr(poller_module, "RECONCILE_SECONDS", 0.1)
    gate, started = asyncio.Event(), asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> None:
        started.set()
        await gate.wait()

    monkeypatch.setattr(poller_module.Poller, "_unheard_seconds", lambda _: 0.4)
    async with lab.worker() as worker:
        known_id = await work.enqueue(lab.client)
        await started.wait()
        # From a queue that it does not ask, so that it is us who get the answer.
        unheard_id = await work.options(queue="elsewhere").enqueue(lab.client)
        await lab.rows("select ostinato.claim_jobs(%s, 'elsewhere', 1)", worker.id)
        await lab.becomes(unheard_id, "ready")
        gate.set()
        await lab.becomes(known_id, "done")

    assert await lab.rows("select attempt, failures, crashes from ostinato_data.ready") == [(2, 0, 0)]
    assert await lab.outcomes(known_id) == ["done"]
    assert "claim_never_heard_of" in [line["event"] for line in logs]


async def test_a_worker_whose_beats_do_not_get_through_takes_nothing_new(lab: Lab, beats: Beats) -> None:
    """Its claims would be taken from it at once, as those of a dead one, while it runs them."""
    ran: list[tuple[int, int]] = []

    @lab.app.job()
    async def work(ctx: Context) -> None:
        ran.append(ctx.token)

    async with lab.worker(**MORTAL) as worker:
        with beats.lost():
            await until_async(lambda: worker._heart.may_be_dead)
            job_id = await work.enqueue(lab.client)
            await lab.until("select count(*) = 0 from ostinato_data.worker")
            assert (ran, await lab.state(job_id)) == ([], "ready")
        await lab.becomes(job_id, "done")

    assert ran == [(job_id, 1)]


async def test_a_dead_worker_is_found_out_by_others_with_a_longer_expiry(engine: Engine) -> None:
    """Their beats are further apart than its own were: that is no outage of the database."""
    await engine.clock.freeze()
    await engine.client.enqueue("lab.work")
    conn = engine.admin
    hasty = await workers.register(conn, "hasty", ["default"], ["lab.work"], expiry_seconds=3)
    calm = await workers.register(conn, "calm", ["default"], ["lab.work"], expiry_seconds=15)
    await claims.claim(conn, hasty, "default", 1, kinds=None)

    rescued, seconds = 0, 0.0
    while not rescued and seconds < 60:
        await engine.clock.move(1.6)
        seconds += 1.6
        await call(conn, "heartbeat_worker", worker_id=calm)
        rescued = (await workers.poll(conn, calm, ["default"], 3)).rescued

    assert rescued == 1
    assert seconds < 15 + 3 + 2


async def test_an_outage_takes_nothing_from_workers_with_different_expiries(engine: Engine) -> None:
    await engine.clock.freeze()
    await engine.client.enqueue("lab.work")
    conn = engine.admin
    hasty = await workers.register(conn, "hasty", ["default"], ["lab.work"], expiry_seconds=3)
    calm = await workers.register(conn, "calm", ["default"], ["lab.work"], expiry_seconds=15)
    await claims.claim(conn, hasty, "default", 1, kinds=None)

    for outage in (4, 5, 60, 0.5, 4):  # one right after the other
        await engine.clock.move(outage)
        assert (await workers.poll(conn, calm, ["default"], 3)).rescued == 0
    await engine.clock.move(0.9)
    assert await call(conn, "heartbeat_worker", worker_id=hasty) == [(True,)]
    await engine.clock.move(1)

    assert (await workers.poll(conn, calm, ["default"], 3)).rescued == 0

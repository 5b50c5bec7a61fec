"""A worker with nothing to do asks for nothing: less than one statement a second by default."""

import re
from pathlib import Path

import psycopg
import pytest

from ostinato import Client, Context, Worker
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.services.alerts import ALERT_SECONDS
from ostinato._core.runtime.services.janitor import SAMPLES_SECONDS
from tests.runtime.lab import Lab, listens, running
from tests.waiting import until_async

ALERT_CALLS = 2  # for the figures, and for sources that failed
STATEMENT = re.compile(r"execute [^:]*: (.*)|statement: (.*)")


class ServerLog:
    """What the server was asked by workers since this object was made."""

    def __init__(self, path: Path, database: str) -> None:
        self._path = path
        self._mark = f"ostinato_worker@{database}"
        self._start = path.stat().st_size

    def statements(self) -> list[str]:
        with self._path.open("rb") as file:
            file.seek(self._start)
            lines = file.read().decode().splitlines()
        found = [STATEMENT.search(line) for line in lines if self._mark in line]
        return [match[1] or match[2] for match in found if match]


@pytest.fixture
async def server_log(lab: Lab) -> ServerLog:
    """The log of the server, with every statement of this database in it."""
    await lab.rows("alter role ostinato_worker in database runtime set log_statement = 'all'")
    assert lab.engine.database.server is not None
    return ServerLog(lab.engine.database.server.log_path, "runtime")


@pytest.fixture(autouse=True)
async def quiet_again(lab: Lab) -> object:
    yield
    await lab.rows("alter role ostinato_worker in database runtime reset log_statement")


def of(statements: list[str], *names: str) -> list[str]:
    return [text for text in statements if any(name in text for name in names)]


async def test_an_idle_worker_only_polls_and_beats(lab: Lab, server_log: ServerLog) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with lab.worker(poll_seconds=0.05) as worker:
        await lab.becomes(await work.enqueue(lab.client), "done")
        await until_async(
            lambda: len(of(server_log.statements(), "evaluate_alerts")) >= ALERT_CALLS
        )  # the janitor's first round
        await until_async(lambda: listens(worker) and not worker._finisher.pending)
        await until_async(lambda: not worker._claimer._due)
        before = len(server_log.statements())
        await until_async(lambda: len(of(server_log.statements()[before:], "poll_jobs")) >= 40)
        idle = server_log.statements()[before:]

    # Nothing but these: so the settings alone say how much an idle worker asks.
    assert of(idle, "poll_jobs", "heartbeat_worker", "sample_metrics", "_alerts") == idle
    defaults = Settings()
    assert 1 / (0.75 * defaults.poll_seconds) + 1 / defaults.beat_seconds <= 1.1
    services = 1 / SAMPLES_SECONDS + (1 + ALERT_CALLS) / ALERT_SECONDS
    assert 1 / defaults.poll_seconds + 1 / defaults.beat_seconds + services <= 1


def of_jobs(statements: list[str]) -> list[str]:
    """What was asked for the sake of jobs; the rest goes on without them."""
    idle = of(
        statements, "poll_jobs", "heartbeat", "metrics", "_alerts", "reconcile", "limited", "prune", "upkeep", "heal"
    )
    return [text for text in statements if text not in idle]


async def rests(worker: Worker, server_log: ServerLog) -> None:
    """Wait until a worker hears rings, has nothing in hand, and polled twice meanwhile."""
    polls = len(of(server_log.statements(), "poll_jobs"))
    await until_async(lambda: len(of(server_log.statements(), "poll_jobs")) >= polls + 2)
    await until_async(lambda: listens(worker) and not worker._finisher.pending)
    await until_async(lambda: not worker._claimer._due)


def polled_before_done(statements: list[str]) -> bool:
    """Whether a poll came between the job and its end, so that two of them found it: by chance, every 1.5 s."""
    enqueued, done = (statements.index(of(statements, verb)[0]) for verb in ("enqueue_job", "complete_jobs"))
    return bool(of(statements[enqueued:done], "poll_jobs"))


async def test_a_lone_job_costs_at_most_six_statements(lab: Lab, server_log: ServerLog) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    worker = Worker([lab.app], lab.engine.database)
    async with running(worker), Client(lab.engine.database) as client:
        asked = None
        while asked is None or polled_before_done(asked):
            await rests(worker, server_log)
            before = len(server_log.statements())
            await lab.becomes(await work.enqueue(client), "done")
            await rests(worker, server_log)
            asked = server_log.statements()[before:]
        asked = of_jobs(asked)

    assert len(asked) <= 6
    for verb in ("enqueue_job", "ring_doorbell", "claim_jobs", "complete_jobs"):
        assert len(of(asked, verb)) == 1, asked


async def test_a_worker_does_not_look_again_after_its_last_job(lab: Lab, server_log: ServerLog) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    worker = Worker([lab.app], lab.engine.database)
    async with running(worker):
        await rests(worker, server_log)
        await lab.becomes(await work.enqueue(lab.client), "done")
        ended = len(server_log.statements())
        await rests(worker, server_log)
        after = server_log.statements()[ended:]

    assert of(after, "claim_jobs", "await_jobs") == []


async def test_a_worker_that_heard_a_burst_comes_to_rest(lab: Lab, server_log: ServerLog) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    worker = Worker([lab.app], lab.engine.database)
    async with running(worker):
        for _ in range(50):
            await work.enqueue(lab.client)
        await lab.until("select count(*) = 50 from ostinato_data.outcome")
        await rests(worker, server_log)
        before = len(server_log.statements())
        await rests(worker, server_log)
        after = server_log.statements()[before:]

    assert of(after, "claim_jobs", "await_jobs") == []


async def test_a_job_that_nobody_here_can_run_does_not_make_a_worker_restless(lab: Lab, server_log: ServerLog) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    await lab.client.enqueue("later.version")
    async with lab.worker(poll_seconds=0.05) as worker:
        await lab.becomes(await work.enqueue(lab.client), "done")
        await until_async(lambda: worker._claimer._ready)
        await until_async(lambda: all(due > 0 for due in worker._claimer._due.values()) and worker._claimer._due)
        before = len(server_log.statements())
        await until_async(lambda: len(of(server_log.statements()[before:], "poll_jobs")) >= 40)
        restless = server_log.statements()[before:]

    # 40 polls took two seconds or more: five claims a second, and the tail of the hot phase.
    assert len(of(restless, "claim_jobs")) <= len(of(restless, "poll_jobs")) + 45


async def test_the_connections_of_a_worker_are_few_and_named(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    def names(url: str) -> list[tuple[str, int]]:
        with psycopg.connect(url) as conn:
            rows = conn.execute(
                "select application_name, count(*) from pg_stat_activity"
                " where datname = 'runtime' and usename = 'ostinato_worker'"
                " and application_name <> 'ostinato/client' and backend_start >= %s"
                " group by 1 order by 1",
                [since],
            )
            return [(str(name), int(count)) for name, count in rows]

    since = await lab.value("select clock_timestamp()")  # sessions of other tests may still end
    async with lab.worker():
        await lab.becomes(await work.enqueue(lab.client), "done")
        found = dict(names(lab.engine.database.admin_url))

    assert set(found) <= {"ostinato/heart", "ostinato/worker", "ostinato/handler"}
    assert found["ostinato/heart"] == 1
    assert sum(found.values()) <= 8

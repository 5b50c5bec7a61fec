"""The tally: what a worker did becomes one small statement, and at most one in ten seconds."""

import random

import psycopg
import pytest

from ostinato import Context
from ostinato._core.db.call import Connection
from ostinato._core.engine import series
from ostinato._core.engine.claims import Job
from tests.runtime.lab import Lab


@pytest.fixture(autouse=True)
def _kind(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...


def ended(kind: str, tenant: str, attempt: int = 1) -> tuple[Job, float, bool]:
    return Job("default", 1, attempt, 0, 0, 1, kind, "{}", tenant, None, None, 0.004), 0.5, False


async def test_a_thousand_attempts_are_one_statement_of_a_row_for_each_kind_and_tenant(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[list[series.Row]] = []

    async def counted(conn: Connection, rows: list[series.Row]) -> None:
        sent.append(rows)
        await record(conn, rows)

    record = series.record
    monkeypatch.setattr(series, "record", counted)
    async with lab.worker() as worker:
        for number in range(1000):
            worker.tally.add([ended(f"app.kind{number % 2}", f"tenant{number % 3}")], "done")
        await worker.tally.write()
        await worker.tally.write()  # nothing is left to say

    assert [len(rows) for rows in sent] == [6]
    assert await lab.rows("select kind, first, done from ostinato_data.series where step = 60 order by kind") == [
        ("app.kind0", 500, 500),
        ("app.kind1", 500, 500),
    ]


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
async def test_between_two_statements_are_ten_seconds_at_least(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, chance: float
) -> None:
    monkeypatch.setattr(random.Random, "uniform", lambda _, low, high: low + (high - low) * chance)
    async with lab.worker() as worker:
        seconds = await worker.tally._round()

    assert seconds >= 10


async def test_what_the_database_did_not_take_is_said_with_the_next(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise psycopg.OperationalError("the database is away")

    async with lab.worker() as worker:
        worker.tally.add([ended("app.kind", "acme"), ended("app.kind", "acme", attempt=2)], "failed")
        with monkeypatch.context() as patch:
            patch.setattr(series, "record", away)
            with pytest.raises(psycopg.OperationalError):
                await worker.tally.write()
        worker.tally.add([ended("app.kind", "acme")], "done")
        await worker.tally.write()

    found = await lab.rows("select first, done, failed, run_seconds from ostinato_data.series where step = 60")
    assert found == [(2, 1, 2, 1.5)]


async def test_the_start_latency_is_that_of_first_attempts(lab: Lab) -> None:
    """A job that asks to be run again every half a minute does not make the start look late."""
    async with lab.worker() as worker:
        worker.tally.add([ended("app.kind", "acme"), ended("app.kind", "acme", attempt=2)], "snoozed")
        await worker.tally.write()

    found = await lab.rows(
        "select first, (select sum(n) from unnest(latency) n) from ostinato_data.series where step = 60"
    )
    assert found == [(1, 1)]

"""The alerts of the seed: a job that is blocked, many failures, openings that are late."""

from datetime import timedelta

from ostinato.apps.rounds import APP, service
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.service import Due
from ostinato.engine import alerts, clock
from tests.apps.rounds.town import TENANT, Town


async def firing(town: Town) -> set[tuple[str, str]]:
    """Which alerts fire now, for what; as the functions' own role, a worker, evaluates them."""
    async with town.engine.client.connection() as conn:
        await alerts.declare(conn, [APP.name], list(APP.alerts))
        await alerts.evaluate(conn, timedelta(0))
        found = await alerts.firings(conn, only_open=True)
        lines = await alerts.list_alerts(conn)
    assert not any(line.failures for line in lines), lines
    return {(each.alert, each.label) for each in found}


async def note(town: Town, job: str, *, groups: int = 0, failed: int = 0, late: float = 0) -> None:
    async with town.engine.client.transaction() as conn:
        await service.note_run(
            conn,
            JobName(job),
            await clock.now(conn) - timedelta(seconds=2),
            groups=groups,
            failed=failed,
            worst_lateness=late,
            keep=timedelta(days=30),
        )


async def test_a_job_that_did_not_run_for_over_an_hour_is_told_of(town: Town) -> None:
    await town.at("2026-06-01T10:59:59Z")
    assert await firing(town) == set()

    await town.at("2026-06-01T11:00:01Z")
    await note(town, "open")
    assert await firing(town) == {("rounds.stalled", "create"), ("rounds.stalled", "close")}

    await note(town, "create")
    await note(town, "close")
    assert await firing(town) == set()


async def test_more_than_a_tenth_of_failures_is_told_of(town: Town) -> None:
    await note(town, "open", groups=90, failed=10)
    assert await firing(town) == set()
    await note(town, "open", groups=0, failed=1)
    assert await firing(town) == {("rounds.failing", "open")}


async def test_an_opening_that_was_over_five_minutes_late_is_told_of(town: Town) -> None:
    await note(town, "open", groups=1, late=300)
    assert await firing(town) == set()
    await note(town, "open", groups=1, late=301)
    assert await firing(town) == {("rounds.late", "open")}


async def test_a_round_that_is_due_and_not_open_is_told_of_before_it_opens(town: Town) -> None:
    await town.group()
    await town.create()
    for job in ("create", "open", "close"):
        await town.at("2026-06-02T12:30:00Z")
        await note(town, job)
    await town.at("2026-06-02T12:35:01Z")
    assert await firing(town) == {("rounds.late", "open")}


async def test_figures_and_failures_are_counted_and_forgotten(town: Town) -> None:
    due = Due(TENANT, 7, None, None, 7)
    async with town.engine.client.transaction() as conn:
        await service.note_failure(conn, JobName.OPEN, due, "conflict: planted")
    await note(town, "open", groups=120, failed=1, late=4)
    async with town.engine.client.connection() as conn:
        hour = timedelta(hours=1)
        found = {each.job: each for each in await service.figures(conn, hour)}
        errors = await service.failures_by_type(conn, hour)
    figures = found["open"]
    assert (figures.runs, figures.groups, figures.failed) == (1, 120, 1)
    assert (figures.seconds, figures.worst_lateness) == (2, 4)
    assert figures.groups_per_minute == 3600
    assert errors == [{"job": "open", "error": "conflict", "count": 1}]

    await town.at("2026-08-01T10:00:00Z")
    await note(town, "open")
    assert await town.value("select count(*) from rounds.failures") == 0
    assert await town.value("select count(*) from rounds.runs") == 1

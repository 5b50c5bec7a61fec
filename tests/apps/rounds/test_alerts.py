"""The alerts (R24 to R27): a job that is blocked, many failures, openings that are late."""

from datetime import timedelta

from ostinato._core.engine import alerts, clock
from ostinato.apps.rounds import APP, service
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.service import Due
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


async def note(
    town: Town,
    job: str,
    *,
    groups: int = 0,
    failed: int = 0,
    late: float = 0,
    error: str | None = None,
    mended: bool = False,
) -> None:
    async with town.engine.client.transaction() as conn:
        await service.note_run(
            conn,
            JobName(job),
            await clock.now(conn) - timedelta(seconds=2),
            groups=groups,
            failed=failed,
            worst_lateness=late,
            keep=timedelta(days=30),
            error=error,
            mended=mended,
        )


async def work(town: Town, *jobs: str) -> None:
    """Runs of jobs, from their claim to their end."""
    for job in jobs:
        await town.attempt(job)


async def test_a_job_that_did_not_run_for_over_an_hour_is_told_of(town: Town) -> None:
    await town.at("2026-06-01T10:59:59Z")
    assert await firing(town) == set()

    await town.at("2026-06-01T11:00:01Z")
    await note(town, "open")
    assert await firing(town) == {("rounds.stalled", "create"), ("rounds.stalled", "close")}

    await note(town, "create")
    await note(town, "close")
    assert await firing(town) == set()


async def test_neither_a_repair_nor_a_run_that_failed_ends_the_silence_of_a_job(town: Town) -> None:
    await town.at("2026-06-01T11:00:01Z")
    await note(town, "create", groups=1, mended=True)
    await note(town, "open", error="not_configured")
    await note(town, "close")

    assert await firing(town) == {("rounds.stalled", "create"), ("rounds.stalled", "open")}


async def test_more_than_a_tenth_of_failures_is_told_of(town: Town) -> None:
    """Of the groups that came up; those that fail again count once."""
    groups = await town.many(31)
    late = "update rounds.group_settings set drop_time = '14:36' where group_id = %s"
    await town.rows(late, groups[0])
    await town.run("create")
    async with town.refusing(*groups[:4]):
        for at in ("12:30", "12:35"):
            await town.at(f"2026-06-02T{at}:00Z")
            await work(town, "open")
            assert ("rounds.failing", "open") not in await firing(town)

        await town.at("2026-06-02T12:36:00Z")
        await work(town, "open")
        assert ("rounds.failing", "open") in await firing(town)


async def test_one_group_that_keeps_failing_is_no_mass(town: Town) -> None:
    """It is late, and that is told; but not that everything fails, however long it lasts."""
    groups = await town.many(20)
    await town.run("create")
    seen = set()
    async with town.refusing(groups[7]):
        for at in ("12:30", "13:00", "13:29", "13:31", "14:00", "14:32"):
            await town.at(f"2026-06-02T{at}:00Z")
            await work(town, "open", "create", "close")
            seen |= await firing(town)

    assert seen == {("rounds.late", "open")}


async def test_one_group_alone_at_its_hour_is_no_mass(town: Town) -> None:
    (group,) = await town.many(1)
    async with town.refusing(group):
        await work(town, "create", "open", "close")

    assert await town.value("select count(*) from rounds.failures") == 1
    assert await firing(town) == set()


async def test_many_groups_that_still_fail_hours_later_are_told_of(town: Town) -> None:
    groups = await town.many(20)
    async with town.refusing(*groups[:4]):
        for hour in ("10", "11", "12"):
            for minute in ("05", "35"):
                await town.at(f"2026-06-01T{hour}:{minute}:00Z")
                await work(town, "create")

            assert ("rounds.failing", "create") in await firing(town), hour


async def test_runs_that_fail_as_a_whole_are_told_of(town: Town) -> None:
    await town.many(1)
    await town.rows("revoke execute on function rounds.apply_creation from ostinato_worker")
    try:
        await APP["rounds.create"].enqueue(town.engine.client)
        await town.engine.run_until_idle(APP)
    finally:
        await town.rows("grant execute on function rounds.apply_creation to ostinato_worker")

    assert ("rounds.failing", "create") in await firing(town)
    async with town.engine.client.connection() as conn:
        errors = await service.failures_by_type(conn, timedelta(hours=1))
    assert [(each["job"], each["error"]) for each in errors] == [("create", "not_configured")]


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


async def test_a_round_that_cannot_be_timed_anew_is_told_of_when_its_old_time_has_passed(town: Town) -> None:
    group = await town.group()
    await town.create()
    await town.rows("update rounds.group_settings set drop_time = '14:00'")
    async with town.refusing(group):
        await town.at("2026-06-02T12:35:01Z")
        await work(town, "open", "create", "close")

    assert ("rounds.late", "open") in await firing(town)


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

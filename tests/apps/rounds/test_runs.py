"""A run as a whole: what is no group's fault, what a failed one did, two workers at once."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from structlog.typing import EventDict

from ostinato import Worker
from ostinato._core.base.errors import OstinatoError
from ostinato._core.base.settings import Settings
from ostinato.apps.rounds import APP
from ostinato.apps.rounds.batches import MOST_ALONE
from tests.apps.rounds.town import Town
from tests.runtime.lab import running
from tests.waiting import until_async

RUNS = "select groups, failed, worst_lateness, error from rounds.runs where job = %s order by id"


async def due(town: Town, count: int, at: str = "2026-06-02T12:30:00Z") -> list[int]:
    """Groups whose rounds are due at a time, and that time."""
    groups = await town.many(count)
    await town.create()
    await town.at(at)
    return groups


async def work(town: Town, job: str) -> None:
    """A run of a job by the engine, without its retries."""
    await APP[f"rounds.{job}"].enqueue(town.engine.client)
    await town.engine.run_until_idle(APP, move_clock=False)


async def events_by_round(town: Town) -> list[int]:
    return sorted(event["round_id"] for event in await town.events())


@pytest.mark.parametrize("zone", ["Atlantis/Town", "europe/paris"])
async def test_a_zone_that_nobody_knows_is_the_trouble_of_its_own_group(town: Town, zone: str) -> None:
    good, bad = await town.many(2)
    await town.rows("alter table rounds.group_settings disable trigger known_zone")
    await town.rows("update rounds.group_settings set zone = %s where group_id = %s", zone, bad)
    await town.rows("alter table rounds.group_settings enable trigger known_zone")

    await work(town, "create")

    assert len(await town.rounds(good)) == 1
    assert await town.rounds(bad) == {}
    assert await town.rows("select group_id, split_part(error, ':', 1) from rounds.failures") == [
        (bad, "invalid_input")
    ]
    assert await town.rows(RUNS, "create") == [(1, 1, 0, None)]
    # Trying again soon helps nobody: the settings are wrong, and each run looks at them anyway.
    mends = "select count(*) from ostinato_data.job where kind = 'rounds.repair'"
    assert await town.value(mends) == 0


async def test_a_round_that_cannot_be_timed_anew_is_the_trouble_of_its_own_group(town: Town) -> None:
    good, bad = await town.many(2)
    await town.create()
    change = "update rounds.group_settings set zone = %s, drop_time = '09:00' where group_id = %s"
    await town.rows("alter table rounds.group_settings disable trigger known_zone")
    await town.rows(change, "Atlantis/Town", bad)
    await town.rows("alter table rounds.group_settings enable trigger known_zone")
    await town.at("2026-06-02T12:30:00Z")

    await work(town, "open")

    assert list((await town.rounds(good)).values()) == ["open"]
    assert list((await town.rounds(bad)).values()) == ["scheduled"]


async def test_what_is_no_groups_fault_fails_the_run_once_and_it_is_tried_again(
    town: Town, logs: list[EventDict]
) -> None:
    """Seed: retry. A right that is missing is not looked for in each group."""
    groups = await due(town, 4)
    await town.rows("revoke execute on function rounds.apply_opening from ostinato_worker")
    try:
        await work(town, "open")
    finally:
        await town.rows("grant execute on function rounds.apply_opening to ostinato_worker")
    assert await town.rows(RUNS, "open") == [(0, 0, 0, "not_configured")]
    assert not [line for line in logs if line["event"] == "group_failed"]
    assert [line["error"] for line in logs if line["event"] == "run_failed"] == ["not_configured"]
    assert await town.value("select last_ended_at from rounds.job_state where job = 'open'") is None

    report = await town.engine.run_until_idle(APP)

    assert ("rounds.open", 2) in report.runs
    assert len(await town.events()) == len(groups)


async def test_what_a_run_did_before_it_failed_counts(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ROUNDS_SET_SIZE", "1")
    monkeypatch.setenv("OSTINATO_ROUNDS_SETS_AT_ONCE", "1")
    groups = await due(town, 3, "2026-06-02T12:36:00Z")
    async with town.refusing(groups[2], code="57014"):  # the server cancels what it is at
        await work(town, "open")
    assert await town.rows(RUNS, "open") == [(2, 0, 360, "database_unavailable")]
    assert await town.value("select count(*) from rounds.failures") == 0

    await town.engine.run_until_idle(APP)

    assert sum(row[0] for row in await town.rows(RUNS, "open")) == 3
    assert len(set(await events_by_round(town))) == len(await town.events()) == 3


async def test_where_nothing_can_be_done_the_run_gives_up_soon(town: Town) -> None:
    await town.many(MOST_ALONE + 60)
    async with town.refusing():
        with pytest.raises(OstinatoError, match=f"{MOST_ALONE + 1} groups failed and 0 did not"):
            await town.create()

    assert await town.value("select count(*) from rounds.failures") == MOST_ALONE + 1


async def test_many_groups_at_fault_keep_no_other_waiting(town: Town) -> None:
    groups = await town.many(MOST_ALONE + 35)
    good = groups[-5:]
    async with town.refusing(*groups[:-5]):
        with pytest.raises(OstinatoError, match="and 5 did not"):
            await town.create()

    made = await town.rows("select group_id from rounds.daily_rounds order by 1")
    assert [row[0] for row in made] == good


async def test_a_run_that_gave_up_on_some_still_does_its_other_work(town: Town) -> None:
    stale = await town.many(MOST_ALONE + 10)
    await town.create()
    await town.rows("update rounds.group_settings set drop_time = '09:00'")
    good = await town.many(3)
    await town.create()
    await town.at("2026-06-02T12:30:00Z")
    async with town.refusing(*stale):
        with pytest.raises(OstinatoError, match="groups failed"):
            await town.open()

    opened = await town.rows("select group_id from rounds.daily_rounds where status = 'open'")
    assert sorted(row[0] for row in opened) == good


async def test_a_group_that_keeps_failing_has_one_job_of_its_own(town: Town) -> None:
    (group,) = await town.many(1)
    async with town.refusing(group):
        await work(town, "create")
        await town.engine.run_until_idle(APP)  # until the job of its own has given up
        await work(town, "create")
        await work(town, "create")

    mends = "select count(*) from ostinato_data.job where kind = 'rounds.repair'"
    assert await town.value(mends) == 1
    assert await town.value("select count(*) from rounds.failures") >= 3


async def test_a_group_has_one_job_of_its_own_until_that_has_ended(town: Town) -> None:
    """Also when it fails anew after an hour, which counts as a first time."""
    (group,) = await town.many(1)
    async with town.refusing(group):
        await work(town, "create")
        await town.at("2026-06-01T11:30:00Z")
        await town.attempt("create")

    assert await town.value("select count(*) from ostinato_data.job where kind = 'rounds.repair'") == 1


async def test_two_workers_at_once_serve_each_slot_and_round_once(town: Town) -> None:
    """Two processes' worth of tickers, relays and lanes on one database."""
    groups = await town.many(40)
    await town.engine.run_until_idle(APP, move_clock=False)  # the schedules are there
    quick: dict[str, Any] = {"poll_seconds": 0.05}
    for at, wanted in (("2026-06-01T10:05:00Z", "scheduled"), ("2026-06-02T12:30:00Z", "open")):
        await town.at(at)
        async with AsyncExitStack() as stack:
            workers = [Worker([APP], town.engine.database, Settings(**quick)) for _ in range(2)]
            await asyncio.gather(*(stack.enter_async_context(running(each)) for each in workers))
            await until_async(partial(_all_are, town, wanted, len(groups)))

    jobs = await town.value("select count(*) from ostinato_data.job where kind = 'rounds.create'")
    fires = await town.rows(
        "select f.slot_at from ostinato_data.schedule_fire f join ostinato_data.job j"
        " on j.id = f.job_id where j.kind = 'rounds.create'"
    )
    assert jobs == len(fires) == len(set(fires)) > 0
    assert len(set(await events_by_round(town))) == len(await town.events()) == len(groups)
    done = "select job, sum(groups), sum(failed) from rounds.runs where job = 'open' group by 1"
    assert await town.rows(done) == [("open", len(groups), 0)]


async def _all_are(town: Town, status: str, count: int) -> bool:
    """Whether the runs have ended, and the rounds of the second of June are in a state."""
    job = "create" if status == "scheduled" else "open"
    found = await town.value(
        "select count(*) from rounds.daily_rounds where status = %s and scheduled_for_local_date = '2026-06-02'", status
    )
    ended = "select coalesce(sum(groups), 0) from rounds.runs where job = %s"
    return bool(found == count and await town.value(ended, job) >= count)

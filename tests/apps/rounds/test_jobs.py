"""Create, open and close: at the right moment, once, whatever happens in between."""

import asyncio
import random
from datetime import date, time, timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from structlog.typing import EventDict

from ostinato.apps.rounds import APP, groups, service
from ostinato.apps.rounds.groups import Person
from ostinato.apps.rounds.settings import RoundsSettings
from tests.apps.rounds.test_rules import TABLE
from tests.apps.rounds.town import TENANT, Town, moment

DAY = date(2026, 6, 2)
ORGANIZER = Person(TENANT, "olga", manages=True)
CHOSEN = (
    "select p.title from rounds.daily_rounds r join rounds.group_prompts p on p.id = r.source_prompt_id"
    " where r.group_id = %s order by r.scheduled_for_local_date"
)
RETIRE = (
    "update rounds.group_prompts p set is_active = false from rounds.daily_rounds r"
    " where r.group_id = %s and r.scheduled_for_local_date = %s and p.id = r.source_prompt_id"
)
WAITING_FOR_GROUPS = (
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and wait_event_type = 'Lock' and query ~ 'rounds\\.(begin|close)_'"
)


async def test_a_round_is_created_for_the_next_local_day(town: Town) -> None:
    group = await town.group()

    run = await town.create()

    assert run.done == 1
    assert await town.rounds(group) == {DAY: "scheduled"}
    ((opens, closes, prompt),) = await town.rows(
        "select open_at, close_at, source_prompt_id is not null from rounds.daily_rounds"
    )
    assert (opens, closes, prompt) == (moment("2026-06-02T12:30:00Z"), moment("2026-06-03T12:30:00Z"), True)


async def test_the_next_day_is_that_of_each_group(town: Town) -> None:
    await town.at("2026-06-01T23:00:00Z")  # the second of June in Paris, the first in New York
    paris = await town.group()
    york = await town.group(zone="America/New_York")

    await town.create()

    assert list(await town.rounds(paris)) == [date(2026, 6, 3)]
    assert list(await town.rounds(york)) == [date(2026, 6, 2)]


async def test_a_group_without_settings_follows_the_installation(town: Town) -> None:
    group = await town.group(drop_time=None, zone=None)
    town.settings = RoundsSettings(drop_time="09:00", zone="Asia/Tokyo")

    await town.create()

    found = await town.value("select open_at from rounds.daily_rounds where group_id = %s", group)
    assert found == moment("2026-06-02T00:00:00Z")


async def test_another_time_of_the_installation_counts_for_rounds_to_come(town: Town) -> None:
    group = await town.group(drop_time=None, zone=None)
    await town.create()
    town.settings = RoundsSettings(drop_time="09:00", zone="Asia/Tokyo")
    await town.at("2026-06-02T12:30:00Z")
    await town.run("open", "create")

    found = await town.rows(
        "select status, open_at from rounds.daily_rounds where group_id = %s order by open_at", group
    )
    assert found == [("open", moment("2026-06-02T12:30:00Z")), ("scheduled", moment("2026-06-03T00:00:00Z"))]


async def test_after_an_outage_of_days_todays_round_is_made_while_its_time_is_ahead(town: Town) -> None:
    """Two groups: at the restart the time of one is ahead, that of the other has just come."""
    ahead, passed = await town.group(drop_time="14:30:01"), await town.group(drop_time="14:30")
    await town.create()
    await town.at("2026-06-05T12:30:00Z")

    run = await town.create()

    today, tomorrow = date(2026, 6, 5), date(2026, 6, 6)
    assert await town.rounds(ahead) == {DAY: "scheduled", today: "scheduled", tomorrow: "scheduled"}
    assert await town.rounds(passed) == {DAY: "scheduled", tomorrow: "scheduled"}
    assert run.done == 3
    first, second = await town.rows(
        "select source_prompt_id from rounds.daily_rounds where group_id = %s and scheduled_for_local_date >= %s",
        ahead,
        today,
    )
    assert first != second
    await town.at("2026-06-05T12:30:01Z")
    await town.run("create", "open")
    assert (await town.rounds(ahead))[today] == "open"
    assert today not in await town.rounds(passed)


async def test_two_rounds_that_are_made_at_once_have_different_prompts(town: Town) -> None:
    """Today's and tomorrow's, after an outage: with two prompts each, no chance would do so for ten groups."""
    groups = [await town.group(prompts=2) for _ in range(10)]
    await town.at("2026-06-03T10:00:00Z")

    await town.create()

    chosen = await town.rows(
        "select count(distinct source_prompt_id), count(*) from rounds.daily_rounds where group_id = any (%s)"
        " group by group_id",
        groups,
    )
    assert chosen == [(2, 2)] * 10


async def test_a_group_that_was_made_before_an_outage_plays_on_the_day_of_the_restart(town: Town) -> None:
    """It has no round yet: it was made before today, which is what counts."""
    group = await town.group()
    await town.at("2026-06-03T10:00:00Z")

    await town.create()

    assert list(await town.rounds(group)) == [date(2026, 6, 3), date(2026, 6, 4)]


async def test_in_the_hour_that_the_clock_is_put_forward_a_round_to_come_is_made(town: Town) -> None:
    """At 03:10 by the clock, 02:30 seems over; it does not exist, and its round opens at 03:30."""
    await town.at("2026-03-20T10:00:00Z")
    group = await town.group(drop_time="02:30")
    await town.at("2026-03-29T01:10:00Z")

    await town.create()

    assert list(await town.rounds(group)) == [date(2026, 3, 29), date(2026, 3, 30)]


async def test_a_group_that_rests_gets_no_round(town: Town) -> None:
    group = await town.group()
    await town.rows("update rounds.groups set is_active = false")

    assert (await town.create()).done == 0
    assert await town.rounds(group) == {}


async def test_a_group_that_rests_is_not_looked_for(town: Town) -> None:
    """Its own guard: a run does not lock it for nothing, every five minutes."""
    resting, playing = await town.group(zone="Asia/Tokyo"), await town.group()
    async with town.engine.client.transaction() as conn:
        days = await service.days(conn, town.settings)
        await conn.execute("update rounds.groups set is_active = false where id = %s", [resting])
        params = {**days._asdict(), "default_zone": "UTC", "default_time": time(9)}

        found = await service.page(conn, "to_create", None, 10, **params)

        assert [due.group_id for due in found] == [playing]
        assert set((await service.days(conn, town.settings)).zones) == {"Europe/Paris"}


async def test_a_group_that_was_put_to_rest_meanwhile_gets_no_round(town: Town) -> None:
    """Its own guard: a run that has found it looks again under the lock."""
    group = await town.group()
    async with town.engine.client.transaction() as conn:
        days = await service.days(conn, town.settings)
        await conn.execute("update rounds.groups set is_active = false")

        made = await service.create_set(conn, [group], days, town.settings, random.Random(0), wait=True)

    assert made == []
    assert await town.rounds(group) == {}


async def test_a_retired_prompt_is_not_chosen_at_creation(town: Town) -> None:
    group = await town.group(prompts=20)
    await town.rows("update rounds.group_prompts set is_active = title = 'prompt 7'")

    await town.create()

    assert await town.rows(CHOSEN, group) == [("prompt 7",)]


async def test_a_retired_prompt_is_not_chosen_at_opening(town: Town) -> None:
    """Neither when the chosen one was retired, nor for an open round that waits for one."""
    group = await town.group(prompts=20)
    await town.create()
    await town.rows("update rounds.group_prompts set is_active = false")
    await town.at("2026-06-02T12:30:00Z")
    await town.open()
    assert await town.value("select resolved_title from rounds.daily_rounds") is None
    async with town.engine.client.transaction() as conn:
        assert await service.page(conn, "to_prompt", None, 10) == []

    await town.rows("update rounds.group_prompts set is_active = title = 'prompt 7'")
    await town.open()

    assert await town.rows(CHOSEN, group) == [("prompt 7",)]


async def test_a_round_goes_scheduled_open_closed_at_its_instants(town: Town) -> None:
    group = await town.group()
    await town.create()
    for at, status in (
        ("2026-06-02T12:29:59Z", "scheduled"),
        ("2026-06-02T12:30:00Z", "open"),
        ("2026-06-03T12:29:59Z", "open"),
        ("2026-06-03T12:30:00Z", "closed"),
    ):
        await town.at(at)
        await town.run("open", "close")
        assert await town.rounds(group) == {DAY: status}, at


async def test_a_run_looks_again_whether_the_time_has_come(town: Town) -> None:
    """Its own guard: what was due when it was looked for may be timed anew until it is locked."""
    group = await town.group()
    await town.create()
    round_id = await town.round_id(group, "2026-06-02")
    for at, status in (("2026-06-02T12:29:59Z", "scheduled"), ("2026-06-03T12:29:59Z", "open")):
        if status == "open":
            await town.at("2026-06-02T12:30:00Z")
            await town.open()
        await town.at(at)
        async with town.engine.client.transaction() as conn:
            if status == "scheduled":
                assert await service.open_set(conn, [round_id], random.Random(0), by="test", wait=True) == []
            else:
                assert await service.close_set(conn, [round_id], by="test", wait=True) == {}
        assert await town.rounds(group) == {DAY: status}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
async def test_on_days_with_a_moved_clock_rounds_open_at_the_exact_instant(
    town: Town, row: tuple[str, str, str, str, int]
) -> None:
    """R28: the literal condition opens too early, twice, or a day late."""
    day, drop, opens, closes, _ = row
    group = await town.group(drop_time=drop, prompts=1, members=())
    await town.at(f"{date.fromisoformat(day) - timedelta(days=1)}T12:00Z")
    await town.create()
    second = timedelta(seconds=1)
    seen = []
    for at, job in (
        (moment(opens) - second, "open"),
        (moment(opens), "open"),
        (moment(closes) - second, "close"),
        (moment(closes), "close"),
    ):
        await town.engine.clock.freeze(at)
        await town.run(job)
        seen.append((await town.rounds(group))[date.fromisoformat(day)])
    assert seen == ["scheduled", "open", "open", "closed"]


async def test_runs_may_be_repeated_without_effect(town: Town) -> None:
    """Seed: idempotence."""
    _, round_id = await town.opened_round()

    again = [run.done for run in await town.run("create", "create", "open", "open", "close")]

    assert again == [1, 0, 0, 0, 0]  # the one is the round of the day after
    assert len(await town.events()) == 1
    assert await town.value("select count(*) from ostinato_data.transition") == 1
    assert (await town.events())[0]["round_id"] == round_id


async def test_two_runs_at_once_never_collide(town: Town) -> None:
    """They meet: each passes over the group that is held here, and waits for it at its end."""
    ids = await town.many(60)
    town.settings = RoundsSettings(set_size=7, sets_at_once=3)

    for at, job in (
        ("2026-06-01T10:00:00Z", "create"),
        ("2026-06-02T12:30:00Z", "open"),
        ("2026-06-03T12:30:00Z", "close"),
    ):
        await town.at(at)
        async with town.engine.client.transaction() as conn:
            await conn.execute("select from rounds.groups where id = %s for update", [ids[30]])
            runs = [asyncio.create_task(town.run(job)) for _ in range(2)]
            while await town.value(WAITING_FOR_GROUPS) < 2:
                assert not any(run.done() for run in runs), "one did not wait"
                await asyncio.wait(runs, timeout=0.01)
        found = [run for task in runs for run in await task]
        assert sum(run.done for run in found) == len(ids)
        assert not any(run.failed for run in found)
    assert len(await town.events()) == len(ids)
    assert await town.rows("select status, count(*) from rounds.daily_rounds group by 1") == [("closed", len(ids))]


async def test_a_group_that_somebody_has_in_hands_is_waited_for(town: Town) -> None:
    busy, free = await town.group(), await town.group()
    await town.create()
    await town.at("2026-06-02T12:30:00Z")
    async with town.engine.client.transaction() as conn:
        await conn.execute("select from rounds.groups where id = %s for update", [busy])
        opening = asyncio.create_task(town.open())
        while (await town.rounds(free))[DAY] != "open":
            await asyncio.wait({opening}, timeout=0.01)
        assert (await town.rounds(busy))[DAY] == "scheduled"

    assert (await opening).done == 2
    assert (await town.rounds(busy))[DAY] == "open"


@pytest.mark.parametrize("job", ["create", "open", "close"])
async def test_the_failure_of_one_group_is_its_own(town: Town, logs: list[EventDict], job: str) -> None:
    """Seed: isolation, retry, logs."""
    bad = (await town.many(9))[4]
    times = {"create": "2026-06-01T10:00:00Z", "open": "2026-06-02T12:30:00Z", "close": "2026-06-03T12:30:00Z"}
    for before in ("create", "open", "close"):
        await town.at(times[before])
        if before == job:
            break
        await town.run(before)
    async with town.refusing(bad):
        (run,) = await town.run(job)

    assert (run.done, [due.group_id for due in run.failed]) == (8, [bad])
    (line,) = [line for line in logs if line["event"] == "group_failed"]
    assert (line["group_id"], line["job"], line["group_tenant_id"]) == (bad, job, TENANT)
    assert await town.rows("select job, group_id from rounds.failures") == [(job, bad)]
    (again,) = await town.run(job)
    assert (again.done, again.failed) == (1, [])


async def test_a_group_that_failed_is_tried_again_by_a_job_of_its_own(town: Town) -> None:
    group = await town.group()
    await town.at("2026-06-01T10:00:01Z")
    async with town.refusing(group):
        await APP["rounds.create"].enqueue(town.engine.client)
        await town.engine.run_until_idle(APP, move_clock=False)
    assert await town.rounds(group) == {}

    report = await town.engine.run_until_idle(APP)

    assert ("rounds.repair", 2) in report.runs
    assert await town.rounds(group) == {DAY: "scheduled"}
    noted = "select groups, failed, mended from rounds.runs order by id"
    assert await town.rows(noted) == [(0, 1, False), (1, 0, True)]


async def test_after_an_outage_over_midnight_a_round_opens_at_once(town: Town) -> None:
    """R28: the literal condition would wait until its close_at."""
    group = await town.group()
    await town.create()
    await town.at("2026-06-02T22:05:00Z")  # 00:05 of the third, in Paris

    run = await town.open()

    assert await town.rounds(group) == {DAY: "open"}
    assert run.worst_lateness == pytest.approx(9 * 3600 + 35 * 60)
    assert len(await town.events()) == 1


async def test_a_round_whose_whole_time_was_missed_is_closed_and_nobody_is_told(town: Town) -> None:
    group = await town.group()
    await town.create()
    await town.at("2026-06-03T12:30:00Z")

    await town.open()

    found = await town.rows("select status, missed from rounds.daily_rounds")
    assert found == [("closed", True)]
    assert await town.events() == []
    log = "select event from ostinato_data.transition order by id"
    assert await town.rows(log) == [("open",), ("close",)]
    assert await town.rounds(group) == {DAY: "closed"}


async def test_a_new_drop_time_moves_what_is_scheduled(town: Town) -> None:
    group = await town.group()
    await town.create()
    async with town.engine.client.for_tenant(TENANT, "olga").transaction() as conn:
        await groups.change_settings(conn, ORGANIZER, group, {"drop_time": "09:00"}, town.settings)

    ((opens, closes, stale),) = await town.rows("select open_at, close_at, stale from rounds.daily_rounds")
    assert (opens, closes) == (moment("2026-06-02T07:00Z"), moment("2026-06-03T07:00Z"))
    assert not stale
    await town.at("2026-06-02T07:00:00Z")
    assert (await town.open()).worst_lateness == 0


@pytest.mark.parametrize("change", ["drop_time = '09:00'", "zone = 'Europe/Moscow'"])
async def test_new_settings_count_whoever_wrote_them(town: Town, change: str) -> None:
    """Recomputed before opening, even if somebody changed the settings in psql."""
    group = await town.group()
    await town.create()
    await town.rows("update rounds.group_settings set " + change)  # noqa: S608
    await town.at("2026-06-02T06:59:59Z")
    await town.open()
    assert await town.rounds(group) == {DAY: "scheduled"}

    await town.at("2026-06-02T11:30:00Z")
    await town.open()

    assert await town.rounds(group) == {DAY: "open"}


async def test_the_first_settings_of_a_group_count_too(town: Town) -> None:
    """Until then it follows the installation, and has no row of its own."""
    group = await town.group()
    await town.rows("delete from rounds.group_settings")
    await town.create()
    await town.rows(
        "insert into rounds.group_settings (tenant_id, group_id, drop_time) values (%s, %s, '09:00')", TENANT, group
    )

    await town.at("2026-06-02T07:00:00Z")
    await town.open()

    assert await town.rounds(group) == {DAY: "open"}


async def test_a_drop_time_that_has_passed_today_opens_now_and_is_not_late(town: Town) -> None:
    await town.group()
    await town.create()
    await town.at("2026-06-02T11:00:00Z")
    await town.rows("update rounds.group_settings set drop_time = '09:00'")

    run = await town.open()

    assert (run.done, run.worst_lateness) == (1, 0)


async def test_an_open_round_keeps_its_times(town: Town) -> None:
    _, round_id = await town.opened_round()
    await town.rows("update rounds.group_settings set drop_time = '09:00'")
    await town.open()

    found = await town.value("select close_at from rounds.daily_rounds where id = %s", round_id)
    assert found == moment("2026-06-03T12:30Z")


async def test_no_prompt_of_the_last_seven_rounds_is_chosen_again(town: Town) -> None:
    group = await town.group(prompts=9)
    for day in range(1, 17):
        await town.at(f"2026-06-{day:02}T10:00:00Z")
        await town.create(seed=day)

    used = [
        row[0]
        for row in await town.rows(
            "select source_prompt_id from rounds.daily_rounds where group_id = %s order by scheduled_for_local_date",
            group,
        )
    ]
    assert len(used) == 16
    assert all(used[n] not in used[max(0, n - 7) : n] for n in range(16))


async def test_a_prompt_that_is_replaced_at_opening_is_none_of_the_last_seven_either(town: Town) -> None:
    """At the opening of a day the next one has its prompt already: of nine, one is left."""
    group = await town.group(prompts=10)
    used = "select source_prompt_id from rounds.daily_rounds where group_id = %s order by scheduled_for_local_date"
    for day in range(1, 22):
        await town.at(f"2026-06-{day:02}T10:00:00Z")
        await town.create(seed=day)
        if day % 3 == 0:  # the prompt of today is retired before its opening
            ids = [row[0] for row in await town.rows(used, group)]
            retire = "update rounds.group_prompts set is_active = false where id = %s"
            await town.rows(retire, ids[-2])
        await town.at(f"2026-06-{day:02}T12:30:00Z")
        await town.open(seed=day)
        await town.rows("update rounds.group_prompts set is_active = true")

    found = [row[0] for row in await town.rows(used, group)]
    assert len(found) == 21
    assert all(found[n] not in found[max(0, n - 7) : n] for n in range(21))


async def test_a_group_that_rests_plays_its_last_round_and_nobody_is_named(town: Town) -> None:
    group = await town.group()
    await town.create()
    await town.rows("update rounds.groups set is_active = false")
    await town.at("2026-06-02T12:30:00Z")
    await town.run("create", "open")

    assert await town.rounds(group) == {DAY: "open"}
    assert [event["recipients"] for event in await town.events()] == [[]]


async def test_settings_written_while_a_round_is_created_are_not_lost(town: Town) -> None:
    """In psql: the round is made with the old time, and timed anew before it opens."""
    group = await town.group()
    async with town.engine.client.transaction() as conn:
        days = await service.days(conn, town.settings)
        made = await service.create_set(conn, [group], days, town.settings, random.Random(0), wait=True)
        change = "update rounds.group_settings set drop_time = '09:00'"
        writing = asyncio.create_task(town.rows(change))
        async with await connected(town) as look:
            while not writing.done() and not await _waits(look):
                await asyncio.wait({writing}, timeout=0.01)
    await writing
    assert made == [group]

    await town.at("2026-06-02T07:00:00Z")
    await town.open()

    assert await town.rounds(group) == {DAY: "open"}


async def connected(town: Town) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(town.urls.admin, autocommit=True)


async def _waits(conn: psycopg.AsyncConnection[Any]) -> bool:
    found = await conn.execute(
        "select 1 from pg_stat_activity where datname = current_database()"
        " and wait_event_type = 'Lock' and query ~ 'group_settings'"
    )
    return await found.fetchone() is not None


@pytest.mark.parametrize("count", [2, 5, 7])
async def test_few_prompts_are_used_in_turn(town: Town, count: int) -> None:
    """The least recently used one is taken: each comes once before any comes again."""
    group = await town.group(prompts=count)
    for day in range(1, 16):
        await town.at(f"2026-06-{day:02}T10:00:00Z")
        await town.create(seed=day)

    used = await town.rows(CHOSEN, group)
    assert len(used) == 15
    assert all(len({*used[n : n + count]}) == count for n in range(15 - count))


async def test_no_prompt_opens_on_two_days_running_while_there_is_another(town: Town) -> None:
    """Of three, one is retired each third day before its opening: another takes its place, perhaps tomorrow's."""
    group = await town.group(prompts=3)
    opened = "select resolved_title from rounds.daily_rounds where resolved_title is not null order by opened_at"
    for day in range(1, 25):
        await town.at(f"2026-06-{day:02}T10:00:00Z")
        await town.create(seed=day)
        if day % 3 == 0:
            await town.rows(RETIRE, group, f"2026-06-{day:02}")
        await town.at(f"2026-06-{day:02}T12:30:00Z")
        await town.open(seed=day)
        await town.rows("update rounds.group_prompts set is_active = true")

    titles = await town.rows(opened)
    assert len(titles) == 23
    assert all(before != after for before, after in pairwise(titles))


async def test_the_only_prompt_comes_every_day(town: Town) -> None:
    group = await town.group(prompts=1)
    for day in (1, 2, 3):
        await town.at(f"2026-06-0{day}T10:00:00Z")
        await town.create()
        await town.at(f"2026-06-0{day}T12:30:00Z")
        await town.open()

    assert await town.rows(CHOSEN, group) == [("prompt 0",)] * 3
    assert len(await town.events()) == 2


async def test_without_a_prompt_nobody_is_told_until_there_is_one(town: Town) -> None:
    """R34: a round without a prompt."""
    group, round_id = await town.opened_round(prompts=0)
    assert (await town.rounds(group))[DAY] == "open"
    assert await town.events() == []

    await town.at("2026-06-02T13:00:00Z")
    await town.prompt(group, "at last")
    await town.open()
    await town.open()

    (event,) = await town.events()
    assert (event["round_id"], event["title"]) == (round_id, "at last")


async def test_a_round_that_never_got_a_prompt_is_closed_and_that_is_told(town: Town) -> None:
    _, round_id = await town.opened_round(prompts=0)
    await town.at("2026-06-03T12:30:00Z")
    await town.close()

    assert await town.events() == []
    assert [event["round_id"] for event in await town.events("rounds.closed")] == [round_id]


async def test_a_prompt_that_was_retired_before_opening_is_replaced(town: Town) -> None:
    await town.group(prompts=1)
    await town.create()
    group = await town.value("select id from rounds.groups")
    await town.rows("update rounds.group_prompts set is_active = false")
    other = await town.prompt(group, "another")
    await town.at("2026-06-02T12:30:00Z")

    await town.open()

    found = await town.rows("select source_prompt_id, resolved_title from rounds.daily_rounds")
    assert found == [(other, "another")]


async def test_the_prompt_is_frozen_as_it_was_at_opening(town: Town) -> None:
    _, round_id = await town.opened_round(prompts=1)
    await town.rows("update rounds.group_prompts set title = 'changed'")

    title = "select resolved_title from rounds.daily_rounds where id = %s"
    assert await town.value(title, round_id) == "prompt 0"


async def test_the_event_of_an_opening_names_those_who_want_to_be_told(town: Town) -> None:
    group = await town.group(members=("ana", "ben", "cleo", "dan"))
    await town.rows("update rounds.members set mute = true where user_id = 'ben'")
    await town.rows("update rounds.members set push = false where user_id = 'cleo'")
    await town.create()
    await town.at("2026-06-02T12:30:00Z")
    await town.open()

    (event,) = await town.events()
    assert event["recipients"] == ["ana", "dan"]
    assert event["group_id"] == group
    assert (event["open_at"], event["close_at"]) == ("2026-06-02T12:30:00Z", "2026-06-03T12:30:00Z")
    told = await town.rows("select ordering_key, tenant_id, correlation_id from ostinato_data.event")
    assert told == [(f"group-{group}", TENANT, f"round-{event['round_id']}")]


async def test_where_notifications_are_off_nobody_is_named(town: Town) -> None:
    await town.opened_round(notifications=False)
    assert [event["recipients"] for event in await town.events()] == [[]]


async def test_the_schedules_do_it_all(town: Town) -> None:
    """Three schedules on the engine, every five minutes, and what they note."""
    group = await town.group(drop_time="14:32")
    await town.at("2026-06-01T10:00:00Z")
    await town.engine.run_until_idle(APP, move_clock=False)
    for at in ("2026-06-01T10:05:00Z", "2026-06-02T12:30:00Z", "2026-06-02T12:32:00Z"):
        await town.at(at)
        await town.engine.run_until_idle(APP, move_clock=False)

    assert (await town.rounds(group))[DAY] == "open"
    opened = await town.value("select opened_at from rounds.daily_rounds where status = 'open'")
    assert opened == moment("2026-06-02T12:32:00Z")  # not at 12:35
    done = await town.rows("select job, sum(groups) from rounds.runs where groups > 0 group by job order by job")
    assert done == [("create", 2), ("open", 1)]


async def test_the_event_can_be_read_as_it_is_declared(town: Town) -> None:
    await town.opened_round()
    (kind,) = [event for event in APP.events if event.name == "rounds.opened"]
    told = await town.rows("select payload::text from ostinato_data.event where type = 'rounds.opened'")

    seen = [kind.load(f'{{"payload": {payload}}}') for (payload,) in told]

    assert [event.local_date for event in seen] == [DAY]
    assert seen[0].recipients == ["ana", "ben"]


def test_times_are_those_of_the_specification() -> None:
    assert [schedule.cron for schedule in APP.schedules] == ["*/5 * * * *"] * 3
    assert RoundsSettings().default_drop_time == time(14, 30)

"""The ticker in real workers: due schedules fire at once, once, and their jobs run."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from structlog.typing import EventDict

from ostinato import App, Context, InvalidInput
from ostinato._core.base.metrics import SCHEDULE_BROKEN, SCHEDULE_LATENESS_SECONDS, SCHEDULE_MISSED, Recorder
from ostinato._core.engine import clock, fires, schedules
from ostinato._core.engine.fires import Slot
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.services.ticker import SET, Ticker
from ostinato._core.runtime.worker.loop import FOREVER
from tests.runtime.lab import Lab, counted, listens
from tests.waiting import until_async

SOON = timedelta(seconds=5)


async def soon(lab: Lab) -> datetime:
    """A moment from now, by the database's clock."""
    return await clock.now(lab.engine.admin) + SOON


async def write(lab: Lab, *given: Schedule) -> None:
    async with lab.client.transaction() as conn:
        await schedules.upsert_many(conn, given)


async def overdue(lab: Lab) -> None:
    """Make all schedules due, as if their time had come a second ago."""
    await lab.rows(
        "update ostinato_data.schedule_due set next_at = x.at, slot_at = x.at,"
        " slot_local = x.at at time zone 'UTC'"
        " from (select date_trunc('second', clock_timestamp()) - interval '1 s' as at) x"
    )


async def test_a_schedule_fires_at_its_time_and_its_job_runs_with_the_slot(lab: Lab) -> None:
    served: list[tuple[int, Slot]] = []
    ran = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context, group: int, scheduled_for: Slot) -> None:
        served.append((group, scheduled_for))
        ran.set()

    # The poll is rare, so that what wakes the ticker is the ring and its own timer.
    async with lab.worker(poll_seconds=60.0) as worker:
        at = await soon(lab)
        await write(lab, Schedule("once", work.name, {"group": 7}, at=at, key="g7"))
        await ran.wait()

        assert counted(worker, SCHEDULE_LATENESS_SECONDS) == 1
    ((group, slot),) = served
    assert group == 7
    assert (slot.schedule, slot.key, slot.zone) == ("once", "g7", "UTC")
    assert slot.at == at
    assert slot.local == at.replace(tzinfo=None)
    assert slot.date == at.date()


async def test_a_handler_that_does_not_ask_for_its_slot_does_not_get_it(lab: Lab) -> None:
    ran = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context, text: str = "") -> None:
        assert text in ("", '"scheduled_for":')
        ran.set()

    async with lab.worker():
        for text in ({}, {"text": '"scheduled_for":'}):
            await write(lab, Schedule("once", work.name, text, at=await soon(lab)))
            await ran.wait()
            ran.clear()
            await schedules.delete(lab.engine.admin, "once")


async def test_a_poll_finds_what_nobody_rang_for(lab: Lab) -> None:
    ran = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> None:
        ran.set()

    async with lab.worker():
        # Plain SQL, from anywhere: no ring.
        await lab.rows("select ostinato.upsert_schedule('plain', 'lab.work', cron => '* * * * *')")
        await overdue(lab)
        await ran.wait()


async def test_what_was_rung_for_while_nobody_listened_is_found_by_who_listens_again(lab: Lab) -> None:
    ran = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> None:
        ran.set()

    async with lab.worker(poll_seconds=3600.0) as worker:
        await until_async(lambda: listens(worker))
        await write(lab, Schedule("once", work.name, at=await soon(lab)))
        await ran.wait()  # and now the ticker has nothing to wait for
        ran.clear()
        await lab.rows("select ostinato.upsert_schedule('plain', 'lab.work', cron => '* * * * *')")
        await overdue(lab)
        await lab.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name = 'ostinato/heart'"
        )
        await ran.wait()


async def test_workers_at_once_serve_each_slot_once(lab: Lab) -> None:
    runs: list[int] = []

    @lab.app.job()
    async def work(ctx: Context, n: int) -> None:
        runs.append(n)

    yearly = [Schedule(f"s{n}", work.name, {"n": n}, cron="0 0 1 1 *") for n in range(1200)]
    await write(lab, *yearly)
    async with lab.worker(), lab.worker(), lab.worker():
        await overdue(lab)
        await lab.until("select count(*) = 1200 from ostinato_data.outcome")

    assert sorted(runs) == list(range(1200))
    assert await lab.value("select count(*) from ostinato_data.schedule_fire") == 1200


async def test_declared_schedules_are_written_when_a_worker_starts_and_not_twice(
    lab: Lab, logs: list[EventDict]
) -> None:
    @lab.app.job(queue="mail", priority=5)
    async def digest(ctx: Context, team: str, scheduled_for: Slot) -> None: ...

    lab.app.schedule(digest, {"team": "blue"}, cron="0 8 * * MON-FRI", zone="Europe/Paris")
    lab.app.schedule(digest, {"team": "red"}, name="red", at_time=time(9), jitter=SOON)

    async def found() -> list[tuple[Any, ...]]:
        return await lab.rows(
            "select s.xmin::text, name, owner, kind, queue, priority, args::text"
            " from ostinato_data.schedule s order by name"
        )

    async with lab.worker():
        await lab.until("select count(*) = 2 from ostinato_data.schedule")
    first = await found()
    other = App("lab")
    other.job(name="lab.digest")(digest.handler)
    other.schedule(other["lab.digest"], {"team": "red"}, name="red", at_time=time(9), jitter=SOON)
    async with lab.worker(other):
        await lab.until("select true")

    assert [row[1:6] for row in first] == [
        ("lab.digest", "lab", "lab.digest", "mail", 5),
        ("red", "lab", "lab.digest", "mail", 5),
    ]
    assert [row[1] for row in await found()] == ["lab.digest", "red"]
    assert first[0] == (await found())[0]


async def test_a_schedule_that_is_no_longer_declared_is_named_and_not_deleted(lab: Lab, logs: list[EventDict]) -> None:
    kept = Schedule("kept", "lab.work", cron="0 8 * * *", owner="lab")
    await write(lab, kept, Schedule("gone", "lab.work", cron="0 8 * * *", owner="lab"))
    await write(lab, Schedule("by hand", "lab.work", cron="0 8 * * *"))

    async with lab.client.connection() as conn:
        await Ticker([kept], Recorder()).tick(conn)

    assert [line["schedule"] for line in logs if line["event"] == "schedule_not_declared"] == ["gone"]
    assert await lab.value("select count(*) from ostinato_data.schedule") == 3


async def test_a_declared_schedule_that_is_refused_does_not_stop_the_others(lab: Lab, logs: list[EventDict]) -> None:
    good = Schedule("good", "lab.work", cron="0 8 * * *", owner="lab")
    bad = Schedule("bad", "lab.work", cron="0 8 * * *", zone="Mars/Olympus", owner="lab")

    async with lab.client.connection() as conn:
        await Ticker([bad, good], Recorder()).tick(conn)

    (line,) = [line for line in logs if line["event"] == "schedule_refused"]
    assert (line["schedule"], "Mars/Olympus" in line["error"]) == ("bad", True)
    assert await lab.value("select string_agg(name, ',') from ostinato_data.schedule") == "good"


async def test_a_round_goes_on_until_nothing_is_due_and_says_when_the_next_is(lab: Lab) -> None:
    count = SET + 20
    recorder = Recorder()
    ticker = Ticker([], recorder)
    async with lab.client.connection() as conn:
        assert await ticker.tick(conn) == FOREVER
        yearly = "0 0 1 1 *"  # not again while the test runs
        await write(lab, *(Schedule(f"s{n}", "lab.work", cron=yearly) for n in range(count)))
        await overdue(lab)

        pause = await ticker.tick(conn)

    assert recorder.value(SCHEDULE_LATENESS_SECONDS) == count
    assert 0 < pause < FOREVER
    assert await lab.value("select count(*) from ostinato_data.schedule_fire") == count


async def test_missed_and_broken_schedules_are_counted_and_said(lab: Lab, logs: list[EventDict]) -> None:
    recorder = Recorder()
    far_off = f"0 0 1 {(datetime.now(UTC).month + 5) % 12 + 1} *"  # no other slot is near
    await write(
        lab, Schedule("late", "lab.work", cron=far_off, catch_up="none"), Schedule("lost", "lab.work", cron=far_off)
    )
    await lab.rows("update ostinato_data.schedule set recurrence.zone = 'X/Y' where name = 'lost'")
    await overdue(lab)
    await lab.rows(
        "update ostinato_data.schedule_due set next_at = next_at - interval '1 h', slot_at = slot_at - interval '1 h'"
    )

    async with lab.client.connection() as conn:
        await Ticker([], recorder).tick(conn)

    assert (recorder.value(SCHEDULE_MISSED), recorder.value(SCHEDULE_BROKEN)) == (1, 1)
    assert {"slots_missed", "schedules_broken"} <= {line["event"] for line in logs}


async def test_the_verbs_of_python_are_those_of_sql(lab: Lab) -> None:
    nine = Schedule("nine", "lab.work", {"x": 1.50}, at_time=time(9), weekdays=("mon", "fri"), zone="Asia/Tokyo")
    async with lab.client.connection() as conn:
        written = await schedules.upsert(conn, nine)
        assert (await schedules.upsert(conn, nine)).id == written.id
        (listed,) = await schedules.list_(conn, kind="lab.work")
        shown = await schedules.show(conn, "nine")
        assert (listed.rule, shown.gap, shown.overlap) == ("daily at 09:00:00 on mon, fri", "shift", "first")
        assert (shown.args, shown.catch_up, shown.next_at) == ({"x": 1.5}, "last", written.next_at)
        later = await fires.next_fires(conn, "nine", 2)
        assert [f.slot_local.weekday() for f in later] in ([0, 4], [4, 0])
        march = datetime(2026, 3, 27, tzinfo=UTC)
        paris = Schedule("x", "y", cron="30 2 * * *", zone="Europe/Paris")
        preview = await fires.preview(conn, paris, 3, after=march)
        assert [bool(f.note) for f in preview] == [False, False, True]
        await schedules.pause(conn, "nine")
        assert (await schedules.show(conn, "nine")).next_at is None
        resumed = await schedules.resume(conn, "nine")
        assert resumed is not None
        assert written.next_at is not None
        assert resumed >= written.next_at
        await overdue(lab)
        fired = await fires.fire(conn)
        assert (fired.fired, fired.queues) == (1, ["default"])
        (fire,) = await fires.list_fires(conn, "nine")
        assert fire.lateness > 0.5
        assert await fires.recompute(conn) == 0
        await schedules.delete(conn, "nine")
        assert await schedules.list_(conn) == []
        assert await schedules.upsert_many(conn, []) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cron": "every day"}, "every day"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC), "zone": "Asia/Tokyo"}, "instant and a zone"),
        ({"cron": "* * * * *", "starts_at": datetime.fromisoformat("2026-01-01")}, "no zone"),
        ({"at_time": time(9, tzinfo=UTC)}, "has a zone"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_is_written(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Schedule("s", "lab.work", **given)


def test_a_declared_schedule_must_fit_its_handler() -> None:
    app = App("lab")

    @app.job()
    async def work(ctx: Context, n: int) -> None: ...

    with pytest.raises(InvalidInput, match="bad arguments"):
        app.schedule(work, {"n": "many"}, cron="0 8 * * *")
    app.schedule(work, {"n": 1}, cron="0 8 * * *")
    with pytest.raises(InvalidInput, match="two schedules"):
        app.schedule(work, {"n": 2}, cron="0 9 * * *")
    assert [schedule.name for schedule in app.schedules] == ["lab.work"]

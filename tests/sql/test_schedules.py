"""Schedules: each slot fires once, whoever fires, whatever dies, however long nobody did."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, Value, refused, until_blocked

PARIS = "Europe/Paris"
HOUR = timedelta(hours=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(text: str) -> datetime:
    return datetime.fromisoformat(text)


def schedule(db: Session, name: str = "s", **given: Value) -> int:
    if not {"cron", "at_time", "at"} & given.keys():
        given["cron"] = "0 * * * *"
    return int(db.get("upsert_schedule", name=name, kind="app.task", **given))


def fire(db: Session, **given: Value) -> dict[str, Any]:
    (row,) = db.call("fire_schedules", **given)
    return row


def slots(db: Session, name: str = "s", **given: Value) -> list[datetime]:
    """The instants of the slots that were served, oldest first."""
    rows = db.call("list_fires", name=name, most=5000, **given)
    return [row["slot_at"] for row in reversed(rows)]


def jobs(db: Session) -> list[dict[str, Any]]:
    return db.rows("select * from ostinato_data.job order by id")


def shown(db: Session, name: str = "s", **given: Value) -> dict[str, Any]:
    (row,) = db.call("show_schedule", name=name, **given)
    return row


def test_a_due_slot_adds_a_job_that_knows_its_slot(db: Session, clock: Clock) -> None:
    given = {"at_time": time(14, 30), "zone": PARIS, "key": "g7", "queue": "mail", "priority": 3}
    schedule(db, "round-7", args={"group": 7}, tenant_id="t1", **given)
    clock.set(utc("2026-03-02T13:30:00.250"))

    fired = fire(db)

    (job,) = jobs(db)
    assert (job["kind"], job["queue"], job["priority"], job["tenant_id"]) == ("app.task", "mail", 3, "t1")
    assert job["args"] == {
        "group": 7,
        "scheduled_for": {
            "schedule": "round-7",
            "key": "g7",
            "local": "2026-03-02T14:30:00",
            "zone": PARIS,
            "at": "2026-03-02T13:30:00Z",
        },
    }
    assert job["correlation_id"].startswith("schedule-")
    assert (fired["looked"], fired["fired"], fired["missed"]) == (1, 1, 0)
    assert (fired["queues"], fired["lateness"]) == (["mail"], [pytest.approx(0.25)])
    assert fired["next_due"] == pytest.approx(24 * 3600 - 0.25)
    (row,) = db.call("list_fires", name="round-7", tenant_id="t1")
    assert (row["slot_local"], row["job_id"], row["missed"]) == (local("2026-03-02T14:30"), job["id"], 0)


@pytest.mark.parametrize("args", ["{}", " { } ", '{"a": {"b": {}}}', '{"a": "}"} \n', '{"n": 1.10e400, "é": [1, {}]}'])
def test_args_of_any_shape_get_their_slot(db: Session, clock: Clock, args: str) -> None:
    schedule(db, args=args)
    clock.advance(hours=1)
    assert fire(db)["fired"] == 1

    text = db.value("select args::text from ostinato_data.job")
    found = json.loads(text)
    assert found.pop("scheduled_for")["schedule"] == "s"
    assert found == json.loads(args)
    assert "1.10e400" in text or "1.10e400" not in args


def test_nothing_fires_before_its_time_nor_twice(db: Session, clock: Clock) -> None:
    schedule(db)
    assert fire(db)["looked"] == 0

    clock.advance(seconds=3599.999)
    assert fire(db)["looked"] == 0
    clock.advance(seconds=0.001)
    assert fire(db)["fired"] == 1
    assert fire(db)["looked"] == 0
    assert slots(db) == [START + HOUR]


def test_the_kind_says_queue_and_priority_when_the_schedule_does_not(db: Session, clock: Clock) -> None:
    db.call(
        "register_kinds",
        names=["app.task"],
        queues=["slow"],
        priorities=[7],
        timeouts=[None],
        retries=["{}"],
        schemas=["{}"],
    )
    schedule(db, args={})
    clock.advance(hours=1)

    assert fire(db)["queues"] == ["slow"]
    assert [(job["queue"], job["priority"]) for job in jobs(db)] == [("slow", 7)]


# Two at once, and what dies in the middle.


def test_of_two_tickers_at_once_one_fires_and_the_other_does_not_wait(
    db: Session, other: Session, clock: Clock
) -> None:
    schedule(db)
    clock.advance(hours=1)

    with db.transaction():
        assert fire(db)["fired"] == 1
        assert fire(other)["looked"] == 0
    assert fire(other)["looked"] == 0
    assert len(jobs(db)) == 1


def test_two_tickers_share_what_is_due(db: Session, other: Session, clock: Clock) -> None:
    many(db, 40)
    clock.advance(hours=1)

    with db.transaction():
        first = fire(db, most=25)
        second = fire(other, most=25)

    assert (first["fired"], second["fired"]) == (25, 15)
    assert len({job["args"]["n"] for job in jobs(db)}) == 40


def test_a_ticker_that_dies_before_its_commit_has_done_nothing(
    db: Session, sessions: Sessions, clock: Clock, admin: Session
) -> None:
    schedule(db)
    clock.advance(hours=1)
    dying = sessions.open()
    dying.rows("begin")
    assert fire(dying)["fired"] == 1
    admin.rows("select pg_terminate_backend(%s)", dying.conn.info.backend_pid)

    while not fire(db)["fired"]:
        pass  # the server needs a moment to end the session

    assert slots(db) == [START + HOUR]
    assert len(jobs(db)) == 1


def test_a_slot_that_has_its_fire_is_not_served_again(db: Session, clock: Clock) -> None:
    """Even if somebody moves the row back by hand."""
    schedule(db)
    clock.advance(hours=1)
    fire(db)
    db.rows("update ostinato_data.schedule_due set slot_at = %s, next_at = %s", clock.now, START)

    assert fire(db)["fired"] == 0
    assert slots(db) == [START + HOUR]
    with refused("23505"):
        db.rows("insert into ostinato_data.schedule_fire select * from ostinato_data.schedule_fire")


def test_a_clock_that_goes_back_fires_nothing_twice(db: Session, clock: Clock) -> None:
    schedule(db)
    for _ in range(3):
        clock.advance(hours=1)
        fire(db)
    clock.advance(hours=-2)
    for _ in range(4):
        clock.advance(minutes=30)
        fire(db)

    assert slots(db) == [START + n * HOUR for n in (1, 2, 3)]
    clock.advance(hours=1)
    assert fire(db)["fired"] == 1


def test_after_a_clock_that_was_wrong_the_next_slots_are_computed_again(db: Session, clock: Clock) -> None:
    schedule(db, catch_up="none")
    clock.set(START + timedelta(days=400))
    fire(db)
    clock.set(START + timedelta(minutes=30))
    assert shown(db)["next_at"] > START + timedelta(days=399)

    assert db.get("recompute_schedules", zones=["UTC"]) == 1
    assert shown(db)["next_at"] == START + HOUR
    assert db.get("recompute_schedules", zones=[PARIS]) == 0


# Outages.


@pytest.mark.parametrize(
    ("given", "served"),
    [
        ({"catch_up": "all"}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"catch_up": "all", "catch_up_most": 3}, [6, 7, 8]),
        ({"catch_up": "all", "catch_up_seconds": 4 * 3600}, [5, 6, 7, 8]),
        ({"catch_up": "last"}, [8]),
        ({"catch_up": "last", "catch_up_seconds": 600}, []),
        ({"catch_up": "none"}, []),
    ],
)
def test_after_an_outage_of_eight_hours_the_policy_says_which_slots_fire(
    db: Session, clock: Clock, given: dict[str, Any], served: list[int]
) -> None:
    schedule(db, **given)
    clock.advance(hours=8, minutes=15)

    fired = fire(db)

    assert slots(db) == [START + n * HOUR for n in served]
    assert (fired["fired"], fired["missed"]) == (len(served), 8 - len(served))
    assert [job["args"]["scheduled_for"]["at"] for job in jobs(db)] == [f"2026-03-02T{9 + n:02}:00:00Z" for n in served]
    assert shown(db)["next_at"] == START + 9 * HOUR
    assert fire(db)["looked"] == 0


def test_missed_slots_are_told_with_the_next_fire(db: Session, clock: Clock) -> None:
    schedule(db, catch_up="none")
    clock.advance(hours=3, minutes=15)
    fire(db)
    assert shown(db)["missed"] == 3

    clock.advance(minutes=45)
    fire(db)

    assert [row["missed"] for row in db.call("list_fires", name="s")] == [3]
    assert shown(db)["missed"] == 0


def test_a_timely_slot_takes_the_place_of_the_missed_ones(db: Session, clock: Clock) -> None:
    schedule(db, catch_up="last")
    clock.advance(hours=8, seconds=5)

    fired = fire(db)

    assert slots(db) == [START + 8 * HOUR]
    assert (fired["missed"], fired["lateness"]) == (7, [5.0])


def test_a_slot_within_its_grace_is_not_missed(db: Session, clock: Clock) -> None:
    schedule(db, catch_up="none", grace_seconds=120)
    clock.advance(hours=1, seconds=119)
    assert fire(db)["fired"] == 1

    clock.advance(hours=1, seconds=2)
    assert (fire(db)["fired"], shown(db)["missed"]) == (0, 1)


@pytest.mark.parametrize("catch_up", ["all", "last", "none"])
def test_an_outage_of_a_year_does_not_go_through_every_minute(db: Session, clock: Clock, catch_up: str) -> None:
    schedule(db, cron="* * * * *", catch_up=catch_up, catch_up_most=1000)
    clock.advance(days=366)

    fired = fire(db)

    # The minute that is on, and the one whose grace ends just now, are timely.
    wanted = {"all": 1002, "last": 2, "none": 2}[catch_up]
    assert (fired["fired"], fired["broken"]) == (wanted, 0)
    assert slots(db)[-1] == clock.now
    assert shown(db)["next_at"] == clock.now + timedelta(minutes=1)


def test_an_outage_over_a_moved_clock_serves_each_local_day_once(db: Session, clock: Clock) -> None:
    clock.set(utc("2026-10-23T12:00"))
    schedule(db, at_time=time(2, 30), zone=PARIS, catch_up="all")
    clock.set(utc("2026-10-27T12:00"))

    fire(db)

    assert slots(db) == [utc(f"2026-10-{at}") for at in ("24T00:30", "25T00:30", "26T01:30", "27T01:30")]


# Days on which the clock is moved, and other days.


@pytest.mark.parametrize(
    ("start", "given", "served"),
    [
        ("2026-03-28T12:00", {}, ["29T01:30", "30T00:30"]),
        ("2026-03-28T12:00", {"gap": "skip"}, ["30T00:30", "31T00:30"]),
        ("2026-10-24T12:00", {}, ["25T00:30", "26T01:30"]),
        ("2026-10-24T12:00", {"overlap": "last"}, ["25T01:30", "26T01:30"]),
        ("2026-10-24T12:00", {"overlap": "both"}, ["25T00:30", "25T01:30", "26T01:30"]),
    ],
)
@pytest.mark.parametrize("rule", [{"cron": "30 2 * * *"}, {"at_time": time(2, 30)}])
def test_days_on_which_the_clock_is_moved(  # noqa: PLR0917
    db: Session, clock: Clock, start: str, given: dict[str, str], served: list[str], rule: dict[str, Any]
) -> None:
    clock.set(utc(start))
    schedule(db, zone=PARIS, **rule, **given)

    while len(slots(db)) < len(served):
        clock.advance(minutes=15)
        fire(db)

    assert slots(db) == [utc(f"{start[:8]}{at}") for at in served]


def test_next_fires_are_told_in_both_times_and_moved_clocks_are_flagged(db: Session, clock: Clock) -> None:
    clock.set(utc("2026-03-27T12:00"))
    schedule(db, at_time=time(2, 30), zone=PARIS)

    rows = db.call("next_fires", name="s", n=3)

    assert [(row["slot_local"], row["slot_at"], row["utc_offset"]) for row in rows] == [
        (local("2026-03-28T02:30"), utc("2026-03-28T01:30"), "+01:00"),
        (local("2026-03-29T02:30"), utc("2026-03-29T01:30"), "+02:00"),
        (local("2026-03-30T02:30"), utc("2026-03-30T00:30"), "+02:00"),
    ]
    assert [row["note"] for row in rows] == [None, "gap: 02:30 does not exist, 03:30 instead", None]
    later = db.call("next_fires", name="s", n=2, after=utc("2026-10-24T12:00"))
    assert [row["note"] for row in later] == ["overlap: the first of two", None]
    noon = db.call("preview_fires", at_time="12:00", zone=PARIS, after=utc("2026-10-25T00:00"))
    assert noon[0]["note"] == "a day of 25 h"


@pytest.mark.parametrize(
    ("rule", "served"),
    [
        ({"cron": "0 12 29 2 *"}, ["2028-02-29", "2032-02-29"]),
        ({"cron": "0 12 L * *"}, ["2026-03-31", "2026-04-30", "2026-05-31"]),
        ({"cron": "0 12 31 * *"}, ["2026-03-31", "2026-05-31", "2026-07-31"]),
        ({"at_time": time(12), "weekdays": ["sun", "tue"]}, ["2026-03-03", "2026-03-08"]),
    ],
)
def test_leap_days_month_ends_and_weekdays(db: Session, rule: dict[str, Any], served: list[str]) -> None:
    schedule(db, zone="Asia/Tokyo", **rule)

    rows = db.call("next_fires", name="s", n=len(served))

    assert [row["slot_local"] for row in rows] == [local(f"{day}T12:00") for day in served]


def test_a_single_time_fires_once_and_is_over(db: Session, clock: Clock) -> None:
    schedule(db, at=local("2026-03-29T02:30"), zone=PARIS)
    clock.set(utc("2026-03-29T01:29:59"))
    assert fire(db)["fired"] == 0
    clock.advance(seconds=1)
    assert fire(db)["fired"] == 1

    clock.advance(days=400)
    assert fire(db)["looked"] == 0
    assert (shown(db)["next_at"], db.call("next_fires", name="s")) == (None, [])
    schedule(db, at=local("2026-03-29T02:30"), zone=PARIS)  # the same again: still over
    assert fire(db)["looked"] == 0


@pytest.mark.parametrize(
    "given",
    [
        {"at": local("2026-03-02T08:00")},
        {"at": local("2026-03-29T02:30"), "zone": PARIS, "gap": "skip"},
        {"at": local("2026-05-01T00:00"), "ends_at": utc("2026-04-01")},
        {"ends_at": START + timedelta(minutes=5)},
    ],
)
def test_a_schedule_that_would_never_fire_is_refused(db: Session, given: dict[str, Any]) -> None:
    with refused("OS400", "'s' would never fire"):
        schedule(db, **given)
    assert db.call("list_schedules") == []


def test_bounds_say_from_when_and_until_when(db: Session, clock: Clock) -> None:
    schedule(db, starts_at=START + 2 * HOUR, ends_at=START + 4 * HOUR, catch_up="all")
    clock.advance(hours=10)

    fire(db)

    assert slots(db) == [START + 2 * HOUR, START + 3 * HOUR]
    assert fire(db)["looked"] == 0


def test_jitter_is_the_same_for_everybody_and_below_its_bound(db: Session, other: Session, clock: Clock) -> None:
    for n in range(50):
        schedule(db, f"s{n}", jitter_seconds=600)
    dues = [row["next_at"] - (START + HOUR) for row in db.call("list_schedules")]

    assert len(set(dues)) == 50
    assert all(timedelta(0) <= due < timedelta(minutes=10) for due in dues)
    at = START + HOUR
    ours, theirs = ([s.get("jitter", schedule_id=n, slot_at=at, seconds=600.0) for n in range(9)] for s in (db, other))
    assert ours == theirs
    clock.set(at + sorted(dues)[24])
    assert fire(db)["fired"] == 25
    assert max(fire(db)["lateness"], default=0.0) == 0


# Writing.


def test_writing_the_same_again_changes_nothing(db: Session, clock: Clock) -> None:
    first = schedule(db, args={"a": 1})
    row = db.row("select xmin::text, * from ostinato_data.schedule")
    clock.advance(hours=2)  # overdue, and nobody fired

    assert schedule(db, args={"a": 1}) == first
    assert db.row("select xmin::text, * from ostinato_data.schedule") == row
    assert shown(db)["next_at"] == START + HOUR
    assert fire(db)["fired"] == 1


def test_other_args_keep_the_next_slot(db: Session, clock: Clock) -> None:
    schedule(db, args={"a": 1})
    clock.advance(hours=1)

    schedule(db, args={"a": 2}, priority=5)

    assert fire(db)["fired"] == 1
    assert jobs(db)[0]["args"]["a"] == 2


@pytest.mark.parametrize(
    "change", [{"cron": "30 * * * *"}, {"zone": "Asia/Kolkata"}, {"jitter_seconds": 60}, {"ends_at": None}]
)
def test_other_times_count_from_now_on(db: Session, clock: Clock, change: dict[str, Any]) -> None:
    schedule(db, ends_at=START + timedelta(days=9))
    clock.advance(hours=2, minutes=10)

    schedule(db, **({"ends_at": START + timedelta(days=9)} | change))

    assert shown(db)["next_at"] > clock.now
    assert fire(db)["looked"] == 0


def test_a_time_that_is_edited_while_it_fires_counts_from_its_commit(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    schedule(db, at_time=time(10, 0))
    clock.advance(hours=1)

    with db.transaction():
        fire(db)
        edit = other.later("upsert_schedule", name="s", kind="app.task", at_time=time(15, 0), zone=PARIS)
        until_blocked(admin, other, by=db)
    edit.result()

    assert slots(db) == [utc("2026-03-02T10:00")]
    assert shown(db)["next_at"] == utc("2026-03-02T14:00")


def test_many_are_written_in_one_call_and_in_order(db: Session) -> None:
    given = [
        {"name": f"g{n}", "kind": "app.task", "at_time": "14:30", "zone": PARIS, "key": f"k{n}"} for n in (3, 1, 2)
    ]

    rows = db.call("upsert_schedules", schedules=json.dumps(given))

    assert [row["name"] for row in rows] == ["g3", "g1", "g2"]
    assert {row["next_at"] for row in rows} == {utc("2026-03-02T13:30")}
    assert {row["slot_local"] for row in rows} == {local("2026-03-02T14:30")}
    (found,) = db.call("list_schedules", key="k2")
    assert (found["name"], found["rule"]) == ("g2", "daily at 14:30:00")
    assert db.call("upsert_schedules", schedules="[]") == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "schedule must be 1 to 200"),
        ({"name": None}, "schedule must be 1 to 200"),
        ({"kind": ""}, "kind must be"),
        ({"key": "k" * 201}, "key must be"),
        ({"queue": ""}, "queue must be"),
        ({"owner": ""}, "owner must be"),
        ({"tenant_id": ""}, "tenant_id must be"),
        ({"zone": "Mars/Olympus"}, "'Mars/Olympus'"),
        ({"cron": "* * * *"}, "4 fields"),
        ({"at_time": "25:00", "cron": None}, "'25:00'"),
        ({"catch_up": "some"}, "'some'"),
        ({"catch_up_most": 0}, "catch_up_most 0"),
        ({"catch_up_most": 1001}, "catch_up_most 1001"),
        ({"catch_up_seconds": 0}, "catch_up_seconds 0"),
        ({"grace_seconds": -1}, "grace_seconds -1"),
        ({"jitter_seconds": 90_000}, "jitter_seconds 90000"),
        ({"starts_at": "2026-05-01", "ends_at": "2026-04-01"}, "starts at"),
        ({"args": []}, "must be a JSON object"),
        ({"args": {"scheduled_for": 1}}, "scheduled_for"),
        ({"args": {"x": "y" * 261_000}}, "260,000"),
        ({"priority": "high"}, "cannot be read"),
        ({"priority": 40_000}, "cannot be read"),
        ({"starts_at": "soon"}, "cannot be read"),
        ({"crom": "* * * * *"}, "'crom'"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_as_a_whole_set(
    db: Session, given: dict[str, object], words: str
) -> None:
    good = {"name": "a", "kind": "app.task", "cron": "0 * * * *"}
    bad = {"name": "b", "kind": "app.task", "cron": "0 * * * *"} | given

    with refused("OS400", words):
        db.call("upsert_schedules", schedules=json.dumps([good, bad]))
    assert db.call("list_schedules") == []


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"name"', "null"])
def test_what_is_no_list_of_schedules_is_refused(db: Session, text: str) -> None:
    with pytest.raises(Exception, match=r"cannot be read|JSON|json"):
        db.call("upsert_schedules", schedules=text)


def test_a_name_given_twice_is_refused(db: Session) -> None:
    twice = [{"name": "a", "kind": "app.task", "cron": "0 * * * *"}] * 2

    with refused("OS400", "'a' is given twice"):
        db.call("upsert_schedules", schedules=json.dumps(twice))


def test_two_writers_of_the_same_name_leave_one(db: Session, other: Session, admin: Session) -> None:
    with db.transaction():
        first = schedule(db, cron="0 1 * * *")
        second = other.later("upsert_schedule", name="s", kind="app.task", cron="0 2 * * *")
        until_blocked(admin, other, by=db)

    assert second.result()[0]["upsert_schedule"] == first
    assert shown(db)["rule"] == "0 2 * * *"
    assert shown(db)["next_at"] == utc("2026-03-03T02:00")


# Pause, resume, delete.


def test_what_passes_while_a_schedule_is_paused_does_not_fire(db: Session, clock: Clock) -> None:
    schedule(db, catch_up="all")
    db.call("pause_schedule", name="s")
    clock.advance(hours=5, minutes=30)
    assert (fire(db)["looked"], shown(db)["paused"]) == (0, True)
    assert db.call("next_fires", name="s") == []

    assert db.get("resume_schedule", name="s") == START + 6 * HOUR
    assert fire(db)["looked"] == 0
    clock.advance(minutes=30)
    assert fire(db)["fired"] == 1
    assert db.get("resume_schedule", name="s") == START + 7 * HOUR  # not paused: as it was


def test_a_pause_outlives_another_writing(db: Session, clock: Clock) -> None:
    schedule(db)
    db.call("pause_schedule", name="s")

    schedule(db, cron="30 * * * *")

    assert (shown(db)["paused"], shown(db)["next_at"]) == (True, None)
    db.call("resume_schedule", name="s")
    assert shown(db)["next_at"] == START + timedelta(minutes=30)


def test_a_deleted_schedule_is_gone_and_its_jobs_stay(db: Session, clock: Clock) -> None:
    schedule(db)
    clock.advance(hours=1)
    fire(db)

    db.call("delete_schedule", name="s")

    clock.advance(hours=1)
    assert fire(db)["looked"] == 0
    assert len(jobs(db)) == 1
    for verb in ("pause_schedule", "resume_schedule", "delete_schedule", "next_fires"):
        with refused("OS404", "'s'"):
            db.call(verb, name="s")


def test_a_rule_that_can_no_longer_be_computed_pauses_its_schedule_only(db: Session, clock: Clock) -> None:
    """As when a zone is taken out of the database of zones."""
    many(db, 5)
    schedule(db, "lost")
    db.rows("update ostinato_data.schedule set recurrence.zone = 'Mars/Olympus' where name = 'lost'")
    clock.advance(hours=1)

    fired = fire(db)

    assert (fired["looked"], fired["fired"], fired["broken"]) == (6, 5, 1)
    lost = shown(db, "lost")
    assert (lost["paused"], lost["next_at"]) == (True, None)
    assert "Mars/Olympus" in lost["error"]
    schedule(db, "lost")
    assert (shown(db, "lost")["paused"], shown(db, "lost")["error"]) == (False, None)
    assert shown(db, "lost")["next_at"] == START + 2 * HOUR


@pytest.fixture
def slow_fires(admin: Session) -> Iterator[None]:
    """Every set of fires takes 0.6 s, by the clock in the table."""
    admin.rows(
        "create function public.take_time() returns trigger language plpgsql security definer as"
        " $$begin update ostinato_data.test_clock set shift = shift + '0.6 s'; return null; end$$"
    )
    admin.rows(
        "create trigger take_time after insert on ostinato_data.schedule_fire"
        " for each statement execute function public.take_time()"
    )
    yield
    admin.rows("drop function public.take_time() cascade")


@pytest.mark.usefixtures("slow_fires")
def test_after_a_long_outage_a_call_stops_after_a_second_and_the_next_goes_on(db: Session, clock: Clock) -> None:
    many(db, 45)
    clock.advance(days=2)

    rounds = [fire(db) for _ in range(3)]

    assert [(fired["looked"], fired["undone"]) for fired in rounds] == [(45, 5), (5, 0), (0, 0)]
    assert [fired["fired"] for fired in rounds] == [40, 5, 0]


def test_rules_of_zones_that_changed_are_taken_up(db: Session, clock: Clock) -> None:
    """As if the next slots had been computed with rules that are an hour off."""
    schedule(db, "changed", at_time=time(14, 30), zone=PARIS)
    schedule(db, "lost", at_time=time(14, 30), zone="Asia/Tokyo")
    schedule(db, "due", at_time=time(10, 0))
    clock.advance(hours=2)
    db.rows("update ostinato_data.schedule_due set slot_at = slot_at + interval '1 hour' where slot_at > %s", clock.now)
    db.rows("update ostinato_data.schedule set recurrence.zone = 'X/Y' where name = 'lost'")

    assert db.get("recompute_schedules") == 1
    assert shown(db, "changed")["next_at"] == utc("2026-03-02T13:30")
    assert fire(db)["fired"] == 1  # what was due stayed due


# Tenants.


def test_a_tenant_keeps_its_own_schedules_only(db: Session, sessions: Sessions, clock: Clock) -> None:
    mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
    schedule(mine, args={"of": 1})
    schedule(theirs, cron="30 * * * *")

    assert [row["tenant_id"] for row in mine.call("list_schedules")] == ["t1"]
    assert shown(mine)["rule"] == "0 * * * *"
    assert len(mine.call("next_fires", name="s")) == 5
    mine.call("preview_fires", cron="0 0 * * *", zone=PARIS)
    mine.call("pause_schedule", name="s")
    mine.call("resume_schedule", name="s")
    with refused("OS404", "'t2'"):
        mine.call("pause_schedule", name="s", tenant_id="t2")
    with refused("42501"):
        schedule(mine, "x", tenant_id="t2")
    clock.advance(hours=1)
    with refused("42501"):
        fire(mine)
    assert fire(db)["fired"] == 2
    assert [row["slot_at"] for row in mine.call("list_fires", name="s")] == [START + HOUR]
    assert mine.value("select count(*) from ostinato_data.schedule_fire") == 1
    mine.call("delete_schedule", name="s")
    assert [row["tenant_id"] for row in db.call("list_schedules")] == ["t2"]


def test_names_belong_to_their_tenants_and_lists_are_paged(db: Session) -> None:
    for tenant in ("t1", "t2"):
        for name in ("a", "b"):
            schedule(db, name, tenant_id=tenant, owner=f"app-{tenant}")

    page = db.call("list_schedules", most=3)
    rest = db.call("list_schedules", after_tenant="t2", after_name="a")

    assert [(row["tenant_id"], row["name"]) for row in [*page, *rest]] == [
        ("t1", "a"),
        ("t1", "b"),
        ("t2", "a"),
        ("t2", "b"),
    ]
    assert len(db.call("list_schedules", owner="app-t1", kind="app.task")) == 2
    assert db.call("list_schedules", tenant_id="t3") == []


# In sets.


def many(db: Session, count: int, **given: object) -> None:
    rows: Sequence[dict[str, object]] = [
        {"name": f"n{n}", "kind": "app.task", "cron": "0 * * * *", "args": {"n": n}, **given} for n in range(count)
    ]
    db.call("upsert_schedules", schedules=json.dumps(rows))


def test_ten_thousand_that_are_due_at_once_fire_in_sets(db: Session, clock: Clock) -> None:
    many(db, 10_000)
    clock.advance(hours=1)

    sets = []
    while (fired := fire(db, most=2500))["looked"]:
        sets.append(fired["fired"])

    assert sets == [2500] * 4
    assert db.value("select count(distinct args ->> 'n') from ostinato_data.job") == 10_000
    assert db.value("select count(*) from ostinato_data.schedule_fire") == 10_000


def test_the_chores_of_a_worker_name_the_ticker_and_when(db: Session, clock: Clock) -> None:
    def due() -> dict[str, float]:
        return {row["name"]: row["due"] for row in db.call("chores")}

    assert "ticker" not in due()
    schedule(db)
    assert due()["ticker"] == 3600
    clock.advance(hours=1, seconds=2)
    assert due()["ticker"] == -2
    worker = db.worker()
    (poll,) = db.call("poll_jobs", worker_id=worker, queues=["default"])
    assert "ticker" in poll["chores"]
    db.call("pause_schedule", name="s")
    assert "ticker" not in due()


def test_fires_are_kept_in_weeks_and_forgotten_after_the_retention(db: Session, admin: Session, clock: Clock) -> None:
    schedule(db, cron="0 12 * * *", catch_up="all", catch_up_most=1000)
    schedule(db, "once", at=local("2026-03-02T10:00"))
    db.call("upkeep_logs", retention_days=14)
    clock.advance(hours=3)
    fire(db)
    home = "select distinct tableoid::regclass::text from ostinato_data.schedule_fire"
    assert admin.value(home) == "ostinato_data.schedule_fire_20260226"

    clock.advance(days=60)
    db.call("upkeep_logs", retention_days=14)
    fire(db)  # old slots, too, and their weeks are gone

    assert len(slots(db)) == 60
    db.call("upkeep_logs", retention_days=14)
    assert min(slots(db)) > clock.now - timedelta(days=15)
    assert [row["name"] for row in db.call("list_schedules")] == ["s"]
    assert db.get("prune_schedules", cutoff=clock.now - timedelta(days=14)) == 0


def test_the_steps_of_a_fire_can_be_asked_one_by_one(db: Session, clock: Clock) -> None:
    schedule(db, args={"a": 1}, catch_up="all")
    row = "(select s from ostinato_data.schedule s)"
    first = (local("2026-03-02T10:00"), START + HOUR)
    clock.advance(hours=3)
    at = clock.now

    assert db.get("find_schedule", name="s") == shown(db)["id"]
    assert db.value(f"select (ostinato_internal.next_due({row}, %s)).next_at", START) == START + HOUR
    found = db.value(
        f"select array_agg(d.slot_at) from ostinato_internal.due_slots({row}, %s, %s, %s, 9) d",  # noqa: S608
        *first,
        at,
    )
    assert found == [START + n * HOUR for n in (1, 2, 3)]
    plan = db.row(
        f"select (p).* from (select ostinato_internal.plan_fires({row}, %s, %s, %s) p) x",  # noqa: S608
        *first,
        at,
    )
    assert (len(plan["ats"]), plan["missed"], plan["next_at"]) == (3, 0, START + 4 * HOUR)
    text = db.value(f"select ostinato_internal.with_slot({row}, %s, %s)", local("2026-03-02T10:00"), START)
    assert json.loads(text)["scheduled_for"]["local"] == "2026-03-02T10:00:00"
    assert db.value(f"select ostinato_internal.rule_text({row})") == "0 * * * *"
    assert db.value(f"select (ostinato_internal.check_schedule({row})).name") == "s"
    assert db.value("select cardinality(ostinato_internal.read_schedules('[]', %s))", at) == 0
    given = "select ostinato_internal.one_for_all(%s::text[])"
    assert [db.value(given, a) for a in (["x", "x"], ["x", "y"], [])] == [["x"], ["x", "y"], []]
    ids = [shown(db)["id"]]
    assert db.get("retime_schedules", ids=ids, after=at) == 1
    db.call("check_timed", ids=ids)
    (set_,) = db.call("fire_set", ids=ids, now=at + HOUR)
    assert (set_["fired"], set_["queues"]) == (1, ["default"])
    (set_,) = db.call("fire_safely", ids=ids, now=at + 2 * HOUR)
    assert (set_["fired"], set_["broken"]) == (1, 0)


def test_the_last_fires_are_those_of_schedules_that_have_fired(db: Session, clock: Clock) -> None:
    often, never = schedule(db, "often"), schedule(db, "never", at=local("2126-01-01T08:00"))
    for _ in range(2):
        clock.advance(seconds=3600)
        fire(db)

    (found,) = db.call("last_fires", schedule_ids=[often, never])

    assert (found["schedule_id"], found["slot_at"]) == (often, slots(db, "often")[-1])
    assert found["lateness"] >= 0

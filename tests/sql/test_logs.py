"""Logs: weekly partitions of append-only tables are made ahead and dropped behind."""

from typing import Any

import pytest

from tests.sql.engine import START, Clock, Session, Value, refused, until_blocked

NAME = "metric_sample"
THIS_WEEK = "metric_sample_20260226"


def upkeep(db: Session, **params: Value) -> list[tuple[Any, ...]]:
    rows = db.call("upkeep_logs", **({"retention_days": 14} | params))
    found = [tuple(row.values()) for row in rows]
    return [row for row in found if row[1].startswith(NAME) or row[1] == "logs"]


def home(admin: Session) -> set[str]:
    rows = admin.rows("select distinct tableoid::regclass::text as name from ostinato_data.metric_sample")
    return {row["name"].removeprefix("ostinato_data.") for row in rows}


def test_this_week_and_the_weeks_ahead_are_made_once(db: Session) -> None:
    made = upkeep(db, weeks_ahead=1)

    assert [row[:3] for row in made] == [("created", THIS_WEEK, "new"), ("created", "metric_sample_20260305", "new")]
    assert upkeep(db, weeks_ahead=1) == []
    assert [row["log_weeks"] for row in db.call("log_weeks", parent=NAME)] == [8, 9]


def test_what_came_before_its_partition_is_moved_into_it(db: Session, admin: Session) -> None:
    noted = db.get("sample_metrics")
    assert home(admin) == {"metric_sample_default"}

    (created, *_) = upkeep(db, weeks_ahead=0)

    assert created == ("created", THIS_WEEK, "its rows were moved from the default partition", noted)
    assert home(admin) == {THIS_WEEK}


def test_a_week_past_retention_is_dropped_as_a_whole(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db, weeks_ahead=0)
    db.get("sample_metrics")
    clock.advance(days=14 + 2)  # its last day is not past retention yet
    assert [row[0] for row in upkeep(db, weeks_ahead=0)] == ["created"]

    clock.advance(days=1)

    assert ("dropped", THIS_WEEK) in [row[:2] for row in upkeep(db, weeks_ahead=0)]
    assert home(admin) == set()


def test_a_week_that_is_still_needed_is_kept(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db, weeks_ahead=0)
    db.get("sample_metrics")
    first = admin.value("select min(id) from ostinato_data.metric_sample")
    clock.advance(days=30)

    kept = admin.rows(
        "select * from ostinato_internal.upkeep_log(%s, 'id', ostinato.now() - interval '14 days', %s, 0)", NAME, first
    )

    assert ("kept", THIS_WEEK) in [(row["action"], row["name"]) for row in kept]
    assert home(admin) == {THIS_WEEK}


def test_a_log_that_is_in_use_is_left_to_the_next_call(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    upkeep(db, weeks_ahead=5)
    clock.advance(days=30)

    with other.transaction():
        other.rows("select from ostinato_data.metric_sample")
        left = upkeep(db, weeks_ahead=0)

    assert ("skipped", THIS_WEEK) in [row[:2] for row in left]
    assert ("dropped", THIS_WEEK) in [row[:2] for row in upkeep(db, weeks_ahead=0)]


def test_who_reads_logs_in_another_order_is_not_ended_as_a_deadlock(
    db: Session, other: Session, admin: Session
) -> None:
    """It holds `event`, upkeep holds `event_log`: the wait of upkeep ends first."""
    with other.transaction():
        other.rows("select from ostinato_data.event limit 1")
        made = db.later("upkeep_logs", retention_days=14, weeks_ahead=10)
        until_blocked(admin, db, by=other, unless=made.done)  # a short wait: it may be over
        other.rows("select from ostinato_data.event_log limit 1")

    done = [(row["action"], row["name"].rsplit("_", 1)[0]) for row in made.result()]
    assert done.count(("created", "event_log")) == 11
    assert [pair for pair in done if pair[1] == "event"] == [("skipped", "event")]
    assert done.count(("created", "schedule_fire")) == 11


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("sample_metrics", {}),
        (
            "emit_event",
            {
                "type": "thing.happened",
                "payload": "{}",
                "ordering_key": "k",
                "tenant_id": "acme",
                "correlation_id": "c",
                "occurred_at": START,
                "producer": "billing",
            },
        ),
    ],
    ids=["sample_metrics", "emit_event"],
)
def test_what_is_written_while_its_week_is_made_waits_and_lands_in_it(
    db: Session, other: Session, admin: Session, verb: str, given: dict[str, Value]
) -> None:
    """It had chosen the default partition, which took its row no longer once the week was there."""
    with db.transaction():
        db.call("upkeep_logs", retention_days=14)
        written = other.later(verb, **given)
        until_blocked(admin, other, by=db, unless=written.done)

    assert written.result()
    assert admin.value("select count(*) from ostinato_data.event_default") == 0
    assert admin.value("select count(*) from ostinato_data.metric_sample_default") == 0


def test_two_upkeeps_at_once_do_not_meet(db: Session, other: Session) -> None:
    with db.transaction():
        upkeep(db)

        assert upkeep(other) == [("skipped", "logs", "another upkeep is at work", None)]


@pytest.mark.parametrize("params", [{"retention_days": 0}, {"weeks_ahead": 53}])
def test_absurd_times_are_refused(db: Session, params: dict[str, Value]) -> None:
    with refused("OS400", "days and"):
        upkeep(db, **params)


def test_a_week_can_be_made_and_dropped_by_hand(db: Session, admin: Session) -> None:
    made = admin.rows("select action, name from ostinato_internal.add_log_week(%s, 'id', 20)", NAME)
    gone = admin.rows("select action, name from ostinato_internal.drop_log_week(%s, 20)", NAME)

    name = "metric_sample_20260521"
    assert made == [{"action": "created", "name": name}]
    assert gone == [{"action": "dropped", "name": name}]

"""Upkeep: weeks are made ahead and dropped behind, what is needed stays, and nobody waits."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, Value, refused, until_blocked

WEEK = timedelta(days=7)
THIS_WEEK = "job_20260226"  # the ninth week from 2026-01-01 holds START


def upkeep(db: Session, retention_days: int = 14, **params: Value) -> list[tuple[Any, ...]]:
    rows = db.call("upkeep_partitions", retention_days=retention_days, **params)
    return [tuple(row.values()) for row in rows]


def actions(db: Session, **params: Value) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in upkeep(db, **params)]


def partitions(admin: Session, parent: str = "job") -> list[str]:
    rows = admin.rows(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = ('ostinato_data.' || %s)::regclass order by 1",
        parent,
    )
    return [row["relname"] for row in rows]


def home(admin: Session, job: int) -> list[str]:
    """Where the rows of a job are: its own, then its outcomes."""
    rows = admin.rows(
        "select tableoid::regclass::text as name from ostinato_data.job where id = %s"
        " union all select tableoid::regclass::text from ostinato_data.outcome where job_id = %s",
        job,
        job,
    )
    return [row["name"].removeprefix("ostinato_data.") for row in rows]


def finish(db: Session) -> int:
    job = db.enqueue()
    db.complete(db.claim_one(db.worker()))
    return job


def settle(db: Session) -> None:
    """Call upkeep until there is nothing left to do."""
    while {row[0] for row in upkeep(db)} & {"created", "dropped", "pruned"}:
        pass


def test_this_week_and_the_weeks_ahead_are_made_once(db: Session, admin: Session) -> None:
    made = actions(db, weeks_ahead=2)

    assert made == [
        ("created", THIS_WEEK),
        ("created", "outcome_20260226"),
        ("created", "step_20260226"),
        ("created", "job_20260305"),
        ("created", "outcome_20260305"),
        ("created", "step_20260305"),
        ("created", "job_20260312"),
        ("created", "outcome_20260312"),
        ("created", "step_20260312"),
    ]
    assert actions(db, weeks_ahead=2) == []
    assert partitions(admin) == [THIS_WEEK, "job_20260305", "job_20260312", "job_default"]
    assert partitions(admin, "outcome")[-1] == "outcome_default"


def test_a_month_ahead_is_the_default(db: Session) -> None:
    assert len(upkeep(db)) == 3 * 5
    assert [row["existing_weeks"] for row in db.call("existing_weeks")] == [8, 9, 10, 11, 12]


def test_new_jobs_go_to_their_week(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db)
    first = finish(db)
    clock.advance(days=7)
    second = finish(db)

    assert home(admin, first) == [THIS_WEEK, "outcome_20260226"]
    assert home(admin, second) == ["job_20260305", "outcome_20260305"]


def test_what_the_default_partition_holds_of_a_week_moves_there(db: Session, admin: Session) -> None:
    done, waiting = finish(db), db.enqueue()
    assert home(admin, done) == ["job_default", "outcome_default"]

    made = upkeep(db, weeks_ahead=0)

    assert [(row[0], row[1], row[3]) for row in made] == [
        ("created", THIS_WEEK, 2),
        ("created", "outcome_20260226", 1),
        ("created", "step_20260226", 0),
    ]
    assert home(admin, done) == [THIS_WEEK, "outcome_20260226"]
    assert (db.state(done), db.state(waiting)) == ("done", "ready")
    assert db.claimed_ids(db.worker()) == [waiting]


def test_a_partition_is_like_its_parent(db: Session, admin: Session) -> None:
    upkeep(db, weeks_ahead=0)

    indexes = admin.rows(
        "select c.relname, count(*) from pg_index i join pg_class c on c.oid = i.indrelid"
        " where c.relname in ('job_20260226', 'job_default', 'outcome_20260226', 'outcome_default')"
        " group by 1"
    )
    counted = {row["relname"]: row["count"] for row in indexes}
    assert counted["job_20260226"] == counted["job_default"]
    assert counted["outcome_20260226"] == counted["outcome_default"]
    grants = admin.rows(
        "select distinct grantee, string_agg(privilege_type, ' ' order by privilege_type) as may"
        " from information_schema.role_table_grants where table_name = 'job_20260226'"
        " and grantee <> 'ostinato_owner' group by grantee"
    )
    assert grants == [{"grantee": "ostinato_worker", "may": "DELETE INSERT SELECT UPDATE"}]


def test_a_week_past_retention_is_dropped_and_not_before(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db)
    job = finish(db)
    week_ends = datetime(2026, 3, 5, tzinfo=START.tzinfo)

    clock.set(week_ends + timedelta(days=14) - timedelta(seconds=1))
    settle(db)
    assert THIS_WEEK in partitions(admin)
    clock.set(week_ends + timedelta(days=15))
    settle(db)

    assert THIS_WEEK not in partitions(admin)
    assert "outcome_20260226" not in partitions(admin, "outcome")
    assert db.state(job) is None
    assert home(admin, job) == []


def test_one_week_is_dropped_a_call_and_none_right_after_weeks_were_made(
    db: Session, admin: Session, clock: Clock
) -> None:
    upkeep(db, weeks_ahead=1)
    clock.advance(days=60)

    made = actions(db, weeks_ahead=0)
    assert [row for row in made if row[0] == "kept"] == [("kept", THIS_WEEK), ("kept", "job_20260305")]
    assert actions(db, weeks_ahead=0) == [
        ("dropped", THIS_WEEK),
        ("dropped", "outcome_20260226"),
        ("dropped", "step_20260226"),
        ("kept", "job_20260305"),
    ]
    assert actions(db, weeks_ahead=0)[0] == ("dropped", "job_20260305")
    assert actions(db, weeks_ahead=0) == []


def test_what_is_still_needed_survives_its_week(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db)
    worker = db.worker()
    ready, moved, running, late, done, cancelled = (
        db.enqueue(f"app.{state}") for state in ("ready", "moved", "running", "late", "done", "cancelled")
    )
    scheduled = db.enqueue("app.scheduled", run_at=START + timedelta(days=400))
    dead = db.enqueue("app.dead", unique_key="k")
    db.fail(db.claim_one(worker, kinds=["app.moved"]), delay=0)
    db.call("promote_jobs")
    db.claim_one(worker, kinds=["app.running"])
    db.fail(db.claim_one(worker, kinds=["app.dead"]))
    db.complete(db.claim_one(worker, kinds=["app.done"]))
    db.call("cancel_job", job_id=cancelled)
    clock.advance(days=20)
    db.complete(db.claim_one(worker, kinds=["app.late"]))  # finished within retention
    clock.advance(days=1)

    settle(db)

    assert THIS_WEEK not in partitions(admin)
    assert [db.state(job) for job in (ready, moved, scheduled, running, dead, late)] == [
        "ready",
        "ready",
        "scheduled",
        "running",
        "dead",
        "done",
    ]
    assert home(admin, moved) == ["job_default", "outcome_default"]
    assert home(admin, late) == ["job_default", "outcome_default"]
    assert (db.state(done), db.state(cancelled)) == (None, None)
    assert db.get("retry_job", job_id=dead) == "dead"
    assert {held.id for held in db.claim(worker)} == {ready, moved, dead}
    assert db.outcomes(dead) == ["dead", "running"]


def test_survivors_leave_the_default_partition_once_they_are_past_retention(
    db: Session, admin: Session, clock: Clock
) -> None:
    upkeep(db)
    worker = db.worker()
    job, waiting = db.enqueue(), db.enqueue("app.other")
    clock.advance(days=30)
    settle(db)
    assert home(admin, job) == ["job_default"]

    db.complete(db.claim_one(worker, kinds=["app.task"]))
    clock.advance(days=14, seconds=-1)
    settle(db)
    assert db.state(job) == "done"
    clock.advance(seconds=1)
    assert ("pruned", "job_default") in actions(db)

    assert home(admin, job) == []
    assert db.state(waiting) == "ready"


def test_a_job_that_is_retried_right_now_is_not_pruned(db: Session, other: Session, clock: Clock) -> None:
    job = db.enqueue()
    db.call("cancel_job", job_id=job)
    clock.advance(days=30)

    with other.transaction():
        other.call("retry_job", job_id=job)
        assert ("pruned", "job_default") not in actions(db, weeks_ahead=0)

    assert db.state(job) == "ready"
    assert db.call("prune_default", cutoff=clock.now) == []
    assert db.claimed_ids(db.worker()) == [job]


def test_a_week_with_too_many_needed_jobs_is_kept(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db, weeks_ahead=0)
    for _ in range(3):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 3334)
    clock.advance(days=30)
    upkeep(db, weeks_ahead=0)

    ((action, name, reason, rows),) = upkeep(db, weeks_ahead=0)

    assert (action, name, rows) == ("kept", THIS_WEEK, 10_002)
    assert "too many" in reason
    assert actions(db, weeks_ahead=0, thorough=True)[0] == ("dropped", THIS_WEEK)
    assert len(db.call("list_jobs", state="ready", most=1000)) == 1000


def test_a_default_partition_that_holds_too_much_is_left_alone(db: Session, admin: Session) -> None:
    for _ in range(5):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 4001)

    rows = upkeep(db, weeks_ahead=1)

    assert rows[0][:2] == ("skipped", THIS_WEEK)
    assert "thorough" in rows[0][2]
    assert rows[1][:2] == ("created", "job_20260305")
    assert actions(db, weeks_ahead=1, thorough=True)[0] == ("created", THIS_WEEK)


@pytest.mark.parametrize("parent", ["job", "outcome"])
def test_a_new_week_is_skipped_while_its_locks_are_not_free(db: Session, sessions: Sessions, parent: str) -> None:
    reader = sessions.open()
    with reader.transaction():
        reader.rows(f"select from ostinato_data.{parent}_default")

        skipped = upkeep(db, weeks_ahead=0)
        assert [row[:2] for row in skipped] == [("skipped", THIS_WEEK)]
        assert "300 ms" in skipped[0][2]
        job = sessions.open().enqueue()  # work goes on meanwhile

    assert actions(db, weeks_ahead=0)[0] == ("created", THIS_WEEK)
    assert db.state(job) == "ready"


@pytest.mark.parametrize("held", ["job", "outcome", "job_20260226", "outcome_20260226", "job_default"])
def test_an_old_week_is_skipped_while_its_locks_are_not_free(
    db: Session, sessions: Sessions, admin: Session, clock: Clock, held: str
) -> None:
    upkeep(db, weeks_ahead=0)
    job = db.enqueue()
    clock.advance(days=60)
    upkeep(db, weeks_ahead=0)
    reader = sessions.open()

    with reader.transaction():
        reader.rows(f"select from ostinato_data.{held} limit 1")
        assert actions(db, weeks_ahead=0) == [("skipped", THIS_WEEK)]
        assert THIS_WEEK in partitions(admin)
        assert db.state(job) == "ready"

    assert actions(db, weeks_ahead=0)[0] == ("dropped", THIS_WEEK)


def test_a_job_that_is_added_while_its_week_is_made_waits_and_lands_in_it(
    db: Session, other: Session, admin: Session
) -> None:
    """It had chosen the default partition, which took its row no longer once the week was there."""
    other.enqueue()  # its plan is known, as that of any client that has enqueued before
    with db.transaction():
        db.call("upkeep_partitions", retention_days=14)
        added = other.later("enqueue_job", kind="app.task")
        until_blocked(admin, other, by=db, unless=added.done)

    assert added.result()
    assert admin.value("select count(*) from ostinato_data.job_default") == 0


def test_two_upkeeps_do_not_meet(db: Session, other: Session) -> None:
    with db.transaction():
        upkeep(db)
        assert upkeep(other) == [("skipped", "job", "another upkeep is at work", None)]


def test_what_nobody_asks_for_again_is_pruned(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db, weeks_ahead=0)
    worker = db.worker()
    states = ["scheduled", "ready", "running", "done"]
    db.call("configure_queue", name="default", rate_count=9, rate_seconds=60.0)
    db.call("configure_queue", name="slow", rate_count=9, rate_seconds=86_400.0 * 60)
    jobs = [db.enqueue(queue=queue, unique_key=queue, unique_states=states) for queue in ("default", "slow")]
    for queue in ("default", "slow"):
        db.complete(db.claim_one(worker, queue=queue))
    db.call("ring_doorbell", queue="default")
    admin.rows("insert into ostinato_data.cancel_request values (1, now(), 'x')")
    admin.rows("insert into ostinato_data.job_progress values (1, 1, 0, 0, '', now())")
    clock.advance(days=2)
    first = actions(db, weeks_ahead=0)
    clock.advance(days=50)
    actions(db, weeks_ahead=0)
    second, third = actions(db, weeks_ahead=0), actions(db, weeks_ahead=0)

    pruned = [name for action, name in first if action == "pruned"]
    assert sorted(pruned) == ["cancel_request", "doorbell", "job_progress", "rate_use"]
    assert admin.rows("select queue from ostinato_data.rate_use") == [{"queue": "slow"}]
    assert second[0] == ("dropped", THIS_WEEK)
    assert third == [("pruned", "job_unique")]
    assert [db.state(job) for job in jobs] == [None, None]
    assert db.enqueue(unique_key="default") not in jobs


@pytest.mark.parametrize(
    "given",
    [
        {"retention_days": 0},
        {"retention_days": None},
        {"retention_days": 14, "weeks_ahead": -1},
        {"retention_days": 14, "weeks_ahead": 53},
    ],
)
def test_numbers_that_make_no_sense_are_refused(db: Session, given: dict[str, Any]) -> None:
    with refused("OS400", "retention"):
        db.call("upkeep_partitions", **given)


def test_a_worker_cannot_do_the_steps_by_itself(db: Session, clock: Clock) -> None:
    for statement in (
        "select ostinato_internal.make_partition('job', 'job_20990101')",
        "select * from ostinato_internal.add_week(3800, false)",
        "select * from ostinato_internal.drop_week(8, ostinato.now(), false)",
    ):
        upkeep(db, weeks_ahead=0)
        with refused("42501"):
            db.rows(statement)


def test_weeks_are_counted_from_the_first_day_of_2026(db: Session, clock: Clock) -> None:
    assert db.get("week_of", at=START) == 8
    assert db.get("week_id", week=8) == 8 * 7 * 10_000_000_000
    assert db.get("week_name", parent="job", week=8) == THIS_WEEK
    job = db.enqueue()
    (needed,) = db.call("needed_jobs", first=0, behind=2**53, cutoff=clock.now)
    assert needed == {"needed_jobs": job}
    assert db.call("prune_leftovers", cutoff=clock.now) == []

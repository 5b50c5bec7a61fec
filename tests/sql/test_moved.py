"""Upkeep moves rows between partitions: whoever waited for it must not overlook them.

A session reads the list of partitions while it plans, waits for one of them, and looks with a snapshot from after the
wait. Each test asks in a session without plans, which is where the list is read.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import psycopg
import pytest

from ostinato._core.db.sqlstate import is_stale_plan
from tests.sql.engine import START, Clock, Held, Session, Sessions, Value, arrays, refused, until_blocked

VERBS: dict[str, dict[str, Any]] = {
    "fail_jobs": {"delays": [5.0], "errors": ["{}"], "signatures": ["late"]},
    "snooze_jobs": {"delays": [5.0]},
    "release_jobs": {},
}
WEEK_AHEAD = 11  # three weeks after that of START


def claimed_ahead(db: Session, clock: Clock) -> Held:
    """A job of a week ahead, as a clock leaves it that was wrong: upkeep moves it beside those who write."""
    db.call("upkeep_partitions", retention_days=14, weeks_ahead=1)
    clock.advance(weeks=3)
    db.enqueue()
    held = db.claim_one(db.worker())
    clock.set(START)
    return held


def move_with_the_parent_open(admin: Session, week: int) -> None:
    """Move rows as one must not: under a lock of the default partition only."""
    admin.rows("lock table ostinato_data.job_default in access exclusive mode")
    admin.rows(
        "select ostinato_internal.make_partition('job', n),"
        " ostinato_internal.fill_week('job', 'id', %s, true) from ostinato_internal.week_name('job', %s) n",
        week,
        week,
    )


Answer = Callable[[Session, int], Value]

ANSWERS: dict[str, tuple[Answer, Value]] = {
    "a query": (lambda s, job: s.value("select count(*) from ostinato_data.job where id = %s", job), 1),
    "job_state": (lambda s, job: s.state(job), "ready"),
    "show_job": (lambda s, job: s.call("show_job", job_id=job)[0]["state"], "ready"),
    "why": (lambda s, job: [row["code"] for row in s.call("why", job_id=job)], ["no_worker_for_queue", "waiting_turn"]),
    "watch_job": (lambda s, job: s.call("watch_job", job_id=job), []),
    "cancel_job": (lambda s, job: s.get("cancel_job", job_id=job), "ready"),
    "restart_job": (lambda s, job: caught(s, "restart_job", job_id=job), "OS412"),
}


def ask_as_a_client(ask: Answer, session: Session, job: int) -> Value:
    """Ask again when told to, as `ostinato._core.db.call` does."""
    try:
        return ask(session, job)
    except psycopg.errors.SerializationFailure as error:
        if not is_stale_plan(error):
            raise
        return ask(session, job)


def caught(session: Session, verb: str, **params: Value) -> str | None:
    try:
        session.call(verb, **params)
    except psycopg.Error as error:
        return error.sqlstate
    return None


@pytest.mark.parametrize("asked", ANSWERS)
@pytest.mark.parametrize("weeks", [0, 3], ids=["this week", "a week ahead"])
def test_who_asks_for_a_job_that_is_being_moved_waits_and_finds_it(
    db: Session, sessions: Sessions, clock: Clock, asked: str, weeks: int
) -> None:
    """A week ahead has jobs only where a clock was wrong; then it is not the week that closes its parent."""
    if weeks:
        db.call("upkeep_partitions", retention_days=14, weeks_ahead=1)
    clock.advance(weeks=weeks)
    job = db.enqueue()
    clock.set(START)
    ask, answer = ANSWERS[asked]
    newcomer = sessions.open()

    with db.transaction():
        db.call("upkeep_partitions", retention_days=14)
        found: Future[Value] = newcomer.threads.submit(ask_as_a_client, ask, newcomer, job)
        until_blocked(db, newcomer, by=db, unless=found.done)

    assert found.result() == answer


def test_an_event_that_is_being_moved_reaches_its_subscriber(db: Session, sessions: Sessions, admin: Session) -> None:
    """The log of events has its partition already: who missed the event itself would go on behind it."""
    db.call("subscribe", name="s", kind="app.task", types=["thing.happened"])
    given = {"tenant_id": "acme", "correlation_id": "c", "producer": "p", "occurred_at": START}
    db.call("emit_event", type="thing.happened", payload="{}", **given)
    db.call("sequence_events")
    reader = sessions.open()
    with reader.transaction():
        reader.rows("select from ostinato_data.event limit 1")
        db.call("upkeep_logs", retention_days=14)  # without the events, whose lock is not free
    newcomer = sessions.open()

    with db.transaction():
        db.call("upkeep_logs", retention_days=14)
        dispatched = newcomer.later("dispatch_events")
        until_blocked(admin, newcomer, by=db, unless=dispatched.done)

    assert [row["jobs"] for row in dispatched.result()] == [1]


def test_the_parents_stay_open_while_a_week_ahead_is_made_that_holds_nothing(
    db: Session, sessions: Sessions, clock: Clock
) -> None:
    """As nearly always: a long reader that does not look into the default partition keeps nobody waiting."""
    db.call("upkeep_partitions", retention_days=14, weeks_ahead=1)
    reader = sessions.open()

    with reader.transaction():
        reader.rows("lock table only ostinato_data.job, only ostinato_data.outcome in row exclusive mode")
        made = db.call("upkeep_partitions", retention_days=14, weeks_ahead=2)

    assert [row["action"] for row in made] == ["created"] * 3


def test_a_long_reader_is_left_alone_and_the_rows_stay_until_the_next_call(db: Session, sessions: Sessions) -> None:
    job, reader = db.enqueue(), sessions.open()

    with reader.transaction():
        reader.rows("lock table only ostinato_data.job in access share mode")
        (skipped,) = db.call("upkeep_partitions", retention_days=14, weeks_ahead=0)
        assert skipped["action"] == "skipped"
        assert sessions.open().state(job) == "ready"  # nobody waits behind it any more

    assert [row["rows"] for row in db.call("upkeep_partitions", retention_days=14, weeks_ahead=0)] == [1, 0, 0]


def test_rows_that_came_after_the_parent_was_left_open_are_not_moved(db: Session, admin: Session) -> None:
    db.enqueue()
    with refused("55P03", "open to readers"), admin.transaction():
        admin.rows("select ostinato_internal.make_partition('job', ostinato_internal.week_name('job', 8))")
        admin.rows("select ostinato_internal.fill_week('job', 'id', 8, false)")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_waited_for_the_week_that_is_written_finds_its_job_there(
    db: Session, other: Session, admin: Session, verb: str
) -> None:
    job = db.enqueue()
    held = db.claim_one(db.worker())

    with other.transaction():
        other.call("upkeep_partitions", retention_days=14)
        waiting = db.later(verb, **arrays([held]), **VERBS[verb])
        until_blocked(admin, db, other)

    assert waiting.result() == []
    assert db.state(job) == ("ready" if verb == "release_jobs" else "scheduled")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_waited_for_a_partition_refuses_to_go_on_without_the_job(
    db: Session, other: Session, admin: Session, clock: Clock, verb: str
) -> None:
    """`ostinato_internal.refuse_moved(job)`; without it the job would leave its claim and be nowhere."""
    held = claimed_ahead(db, clock)
    job = held.id

    with admin.transaction():
        move_with_the_parent_open(admin, WEEK_AHEAD)
        waiting = db.later(verb, **arrays([held]), **VERBS[verb])
        until_blocked(other, db, admin)
    with pytest.raises(psycopg.errors.SerializationFailure, match=f"job {job} was moved"):
        waiting.result()

    assert db.state(job) == "running"
    assert db.call(verb, **arrays([held]), **VERBS[verb]) == []
    assert db.state(job) == ("ready" if verb == "release_jobs" else "scheduled")


def test_a_rescue_that_waited_for_a_partition_leaves_the_claim_for_the_next_round(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    job = claimed_ahead(db, clock).id
    claim = admin.value("select id from ostinato_data.claim")

    with admin.transaction():
        move_with_the_parent_open(admin, WEEK_AHEAD)
        waiting = db.later("rescue_claims", claim_ids=[claim], max_crashes=3)
        until_blocked(other, db, admin)
    with pytest.raises(psycopg.errors.SerializationFailure):
        waiting.result()

    assert db.state(job) == "running"
    assert db.get("rescue_claims", claim_ids=[claim], max_crashes=3) == 1
    assert db.state(job) == "ready"

"""Upkeep moves rows between partitions: whoever waited for it must not overlook them."""

from typing import Any

import psycopg
import pytest

from tests.sql.engine import START, Clock, Held, Session, arrays, until_blocked

VERBS: dict[str, dict[str, Any]] = {
    "fail_jobs": {"delays": [5.0], "errors": ["{}"], "signatures": ["late"]},
    "snooze_jobs": {"delays": [5.0]},
    "release_jobs": {},
}


def claimed_ahead(db: Session, clock: Clock) -> Held:
    """A job of a week ahead, as a clock leaves it that was wrong: upkeep moves it beside those who write."""
    db.call("upkeep_partitions", retention_days=14, weeks_ahead=1)
    clock.advance(weeks=3)
    db.enqueue()
    held = db.claim_one(db.worker())
    clock.set(START)
    return held


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

    with other.transaction():
        other.call("upkeep_partitions", retention_days=14)
        waiting = db.later(verb, **arrays([held]), **VERBS[verb])
        until_blocked(admin, db, other)
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

    with other.transaction():
        other.call("upkeep_partitions", retention_days=14)
        waiting = db.later("rescue_claims", claim_ids=[claim], max_crashes=3)
        until_blocked(admin, db, other)
    with pytest.raises(psycopg.errors.SerializationFailure):
        waiting.result()

    assert db.state(job) == "running"
    assert db.get("rescue_claims", claim_ids=[claim], max_crashes=3) == 1
    assert db.state(job) == "ready"

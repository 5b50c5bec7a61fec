"""The database's trouble gives a job back without using up an attempt, within a bound."""

import json

from tests.sql.engine import Clock, Held, Session, Sessions, arrays, ids

ERROR = {"type": "DatabaseUnavailable", "message": "the server was away"}


def defer(db: Session, *jobs: Held) -> list[int]:
    """Defer attempts; each has no attempt left, so a failure would make it a dead letter."""
    return ids(
        db.call(
            "defer_jobs",
            **arrays(jobs),
            delays=[None for _ in jobs],
            errors=[json.dumps(ERROR) for _ in jobs],
            signatures=["unavailable" for _ in jobs],
            reasons=["attempts_used_up" for _ in jobs],
        )
    )


def run_again(db: Session, clock: Clock) -> Held:
    clock.advance(minutes=2)
    db.call("promote_jobs")
    return db.claim_one(db.worker())


def test_a_deferred_job_runs_again_soon_and_no_failure_is_counted(db: Session, clock: Clock) -> None:
    job = db.enqueue()

    assert defer(db, db.claim_one(db.worker())) == []

    waiting = db.row("select * from ostinato_data.scheduled")
    assert (waiting["job_id"], waiting["attempt"], waiting["failures"]) == (job, 2, 0)
    assert 0.5 <= (waiting["run_at"] - clock.now).total_seconds() <= 1
    assert db.outcomes(job) == []
    assert run_again(db, clock).attempt == 2


def test_why_names_the_trouble_the_count_and_the_bound(db: Session) -> None:
    job = db.enqueue()
    defer(db, db.claim_one(db.worker()))

    said = db.why(job)["deferred"]

    assert "1 of at most 20 times" in said["message"]
    assert "the server was away" in said["message"]
    assert (said["detail"]["deferrals"], said["detail"]["most"]) == (1, 20)
    assert "retrying" not in db.why(job)


def test_a_tenant_sees_why_its_own_job_was_deferred(db: Session, sessions: Sessions) -> None:
    job = db.enqueue(tenant_id="acme")
    defer(db, db.claim_one(db.worker()))

    assert "deferred" in sessions.tenant("acme").why(job)
    assert sessions.tenant("other").rows("select * from ostinato_data.deferral") == []


def test_after_twenty_deferrals_the_trouble_counts_as_the_jobs_own(db: Session, clock: Clock) -> None:
    job = db.enqueue()
    defer(db, db.claim_one(db.worker()))
    for _ in range(19):
        defer(db, run_again(db, clock))
    assert db.state(job) == "scheduled"

    defer(db, run_again(db, clock))

    assert db.state(job) == "dead"
    assert db.outcomes(job) == ["dead"]


def test_deferrals_before_an_hour_of_peace_are_forgotten(db: Session, clock: Clock) -> None:
    job = db.enqueue()
    defer(db, db.claim_one(db.worker()))
    defer(db, run_again(db, clock))
    clock.advance(hours=1)

    defer(db, run_again(db, clock))

    assert db.row("select times, first_at from ostinato_data.deferral") == {"times": 1, "first_at": clock.now}
    clock.advance(hours=2)
    db.call("upkeep_partitions", retention_days=14)
    assert db.rows("select * from ostinato_data.deferral") == []
    assert db.state(job) == "scheduled"


def test_the_end_of_the_job_forgets_its_deferrals(db: Session, clock: Clock) -> None:
    db.enqueue()
    defer(db, db.claim_one(db.worker()))

    db.complete(run_again(db, clock))

    assert db.rows("select * from ostinato_data.deferral") == []


def test_a_stale_attempt_is_refused_and_defers_nothing(db: Session, clock: Clock) -> None:
    job = db.enqueue()
    late = db.claim_one(db.worker())
    db.release(late)
    current = db.claim_one(db.worker())

    assert defer(db, late) == [job]

    assert db.rows("select * from ostinato_data.deferral") == []
    assert db.complete(current) == []


def test_a_deferred_job_that_was_to_be_cancelled_is_cancelled(db: Session) -> None:
    job = db.enqueue()
    held = db.claim_one(db.worker())
    db.call("cancel_job", job_id=job)

    assert defer(db, held) == []

    assert db.state(job) == "cancelled"
    assert db.rows("select * from ostinato_data.deferral") == []


def test_jobs_of_one_call_are_deferred_or_fail_each_by_its_own_count(db: Session, clock: Clock) -> None:
    often = db.enqueue()
    defer(db, db.claim_one(db.worker()))
    db.rows("update ostinato_data.deferral set times = 20")
    clock.advance(minutes=2)
    db.call("promote_jobs")
    first = db.enqueue()

    assert defer(db, *db.claim(db.worker())) == []

    assert (db.state(often), db.state(first)) == ("dead", "scheduled")

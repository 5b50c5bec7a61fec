"""Cancel in every state, whatever happens to the job at the same moment."""

from datetime import timedelta

import pytest

from tests.sql.engine import START, Held, Session, arrays, ids, refused, until_blocked


@pytest.mark.parametrize("run_at", [None, START + timedelta(hours=1)])
def test_a_waiting_job_is_cancelled_at_once(db: Session, run_at: object) -> None:
    job = db.enqueue(run_at=run_at, unique_key="k")

    was = db.get("cancel_job", job_id=job, reason="not needed")

    assert was == ("ready" if run_at is None else "scheduled")
    assert db.state(job) == "cancelled"
    assert db.call("show_job", job_id=job)[0]["reason"] == "not needed"
    assert db.claim(db.worker()) == []
    assert db.enqueue(unique_key="k") != job


def test_a_retry_that_is_ready_again_is_cancelled_at_once(db: Session) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker()), delay=0)
    db.call("promote_jobs")

    assert db.get("cancel_job", job_id=job) == "ready"
    assert db.outcomes(job) == ["failed", "cancelled"]


def test_a_running_job_is_asked_to_stop(db: Session) -> None:
    worker = db.worker()
    job = db.enqueue()
    held = db.claim_one(worker)

    assert db.get("cancel_job", job_id=job, reason="enough") == "running"
    assert db.get("cancel_job", job_id=job, reason="once more") == "running"

    assert db.state(job) == "running"
    assert db.call("poll_jobs", worker_id=worker, queues=["default"])[0]["cancels"] == [job]
    assert ids(db.call("cancel_jobs", **arrays([held]), reasons=["enough"], durations=[5])) == []
    assert db.state(job) == "cancelled"
    assert db.call("poll_jobs", worker_id=worker, queues=["default"])[0]["cancels"] == []


def test_only_the_worker_that_holds_a_job_is_told(db: Session) -> None:
    holder, idle = db.worker(), db.worker("w2")
    job = db.enqueue()
    db.claim_one(holder)
    db.call("cancel_job", job_id=job)

    assert db.call("poll_jobs", worker_id=idle, queues=["default"])[0]["cancels"] == []


@pytest.mark.parametrize(
    ("verb", "state"),
    [
        ("complete", "done"),
        ("fail", "cancelled"),
        ("retry", "cancelled"),
        ("snooze", "cancelled"),
        ("release", "cancelled"),
        ("rescue", "cancelled"),
    ],
)
def test_a_job_that_is_to_be_cancelled_ends_with_its_run(db: Session, verb: str, state: str) -> None:
    worker = db.worker()
    job = db.enqueue(unique_key="k")
    held = db.claim_one(worker)
    db.call("cancel_job", job_id=job)

    end(db, held, verb)

    assert db.state(job) == state
    assert db.value("select count(*) from ostinato_data.cancel_request") == 0
    assert db.enqueue(unique_key="k") != job


def end(db: Session, held: Held, verb: str) -> None:
    """End a run: `retry` fails with a delay, `rescue` is what happens when its worker is gone."""
    match verb:
        case "retry":
            db.fail(held, delay=1.0)
        case "rescue":
            db.rows("delete from ostinato_data.worker")
            assert db.get("rescue_jobs") == 1
        case _:
            getattr(db, verb)(held)


@pytest.mark.parametrize("verb", ["fail", "retry", "snooze", "release", "rescue"])
def test_a_request_that_comes_while_the_run_ends_is_not_lost(db: Session, other: Session, verb: str) -> None:
    worker = db.worker()
    job = db.enqueue(unique_key="k")
    held = db.claim_one(worker)

    with other.transaction():
        assert other.get("cancel_job", job_id=job) == "running"
        end(db, held, verb)  # it cannot see the request yet
        assert db.state(job) not in ("running", "cancelled")

    db.call("poll_jobs", worker_id=db.worker("w2"), queues=["default"])
    assert db.state(job) == "cancelled"
    assert db.value("select count(*) from ostinato_data.cancel_request") == 0


def test_a_request_that_comes_while_the_job_completes_is_dropped(db: Session, other: Session) -> None:
    job = db.enqueue()
    held = db.claim_one(db.worker())

    with other.transaction():
        other.call("cancel_job", job_id=job)
        db.complete(held)

    assert db.get("settle_cancels") == 1
    assert db.state(job) == "done"
    assert db.value("select count(*) from ostinato_data.cancel_request") == 0


def test_a_request_for_a_job_that_runs_stays(db: Session) -> None:
    job = db.enqueue()
    db.claim_one(db.worker())
    db.call("cancel_job", job_id=job)

    assert db.get("settle_cancels") == 0
    assert db.call("show_job", job_id=job)[0]["cancel_reason"] == "cancelled by request"


def test_a_dead_job_is_cancelled_at_once(db: Session) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker()))

    assert db.get("cancel_job", job_id=job) == "dead"

    assert db.state(job) == "cancelled"
    assert db.outcomes(job) == ["dead", "cancelled"]
    assert db.call("list_dead_letters") == []


def test_cancelling_what_has_ended_says_so_and_changes_nothing(db: Session) -> None:
    done, cancelled = db.enqueue(), db.enqueue()
    db.call("cancel_job", job_id=cancelled)
    db.complete(db.claim_one(db.worker()))

    assert db.get("cancel_job", job_id=done) == "done"
    assert db.get("cancel_job", job_id=cancelled) == "cancelled"
    assert db.outcomes(done) == ["done"]
    assert db.outcomes(cancelled) == ["cancelled"]


def test_there_is_nothing_to_cancel_for_an_unknown_id(db: Session) -> None:
    with refused("OS404", "there is no job 7"):
        db.call("cancel_job", job_id=7)


def test_a_cancel_that_meets_a_claim_asks_the_new_holder(db: Session, other: Session, admin: Session) -> None:
    worker = db.worker()
    job = db.enqueue()
    with db.transaction():
        db.claim_one(worker)
        waits = other.later("cancel_job", job_id=job)
        until_blocked(admin, other, by=db)

    assert waits.result()[0]["cancel_job"] == "running"
    assert db.call("poll_jobs", worker_id=worker, queues=["default"])[0]["cancels"] == [job]


def test_a_cancelled_job_can_be_dropped_by_hand(db: Session) -> None:
    job = db.enqueue()

    assert db.get("drop_waiting", job_id=job, reason="x") is True
    assert db.get("drop_waiting", job_id=job, reason="x") is False


def test_a_place_can_be_locked_only_while_the_job_is_in_it(db: Session) -> None:
    later = db.enqueue(run_at=START + timedelta(hours=1))
    missing = 1

    assert db.get("lock_place", job_id=later) is True
    assert db.get("lock_place", job_id=missing) is False

"""Waiting for an event: no event is missed, none counts twice, and patience ends on time."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.engine import START, Clock, Held, Session, Sessions, Value, arrays, ids, refused, until_blocked

EVENT = "order.paid"


def emit(db: Session, key: str = "7", event: str = EVENT, n: int = 1, **params: Value) -> int:
    envelope = {"tenant_id": "default", "correlation_id": "c", "producer": "test"}
    given = envelope | {"occurred_at": START} | params
    found = db.get("emit_event", type=event, payload={"n": n}, ordering_key=key, **given)
    return int(found)


def stamp(db: Session) -> list[str]:
    """Let the sequencer run; the queues that it says have work."""
    (row,) = db.call("sequence_events")
    queues: list[str] = row["queues"]
    return queues


def waiting_for(key: str = "7", timeout: float | None = None, position: int = 1) -> dict[str, Any]:
    return {"positions": [position], "events": [EVENT], "keys": [key], "timeouts": [timeout]}


def wait(db: Session, job: Held, **params: Value) -> list[int]:
    return ids(db.call("wait_jobs", **arrays([job]), **waiting_for(**params)))


def load(db: Session, job: int) -> list[tuple[Any, ...]]:
    rows = db.call("load_steps", job_ids=[job])
    return [(row["position"], row["type"], row["name"], row["result"]) for row in rows]


@pytest.fixture
def worker(db: Session) -> UUID:
    return db.worker()


@pytest.fixture
def job(db: Session, worker: UUID) -> Held:
    """A job that runs."""
    db.enqueue()
    return db.claim_one(worker)


def test_a_job_waits_outside_of_its_worker_until_its_event_comes(
    db: Session, clock: Clock, worker: UUID, job: Held
) -> None:
    assert wait(db, job) == []
    assert db.state(job.id) == "scheduled"
    clock.advance(days=1000)
    assert db.get("promote_jobs") == 0

    emit(db)
    assert stamp(db) == ["default"]

    assert db.state(job.id) == "ready"
    assert load(db, job.id) == [(1, "event", "order.paid/7", '{"n": 1}')]
    held = db.claim_one(worker)
    assert (held.attempt, held.row["failures"]) == (2, 0)
    assert db.value("select count(*) from ostinato_data.job_wait") == 0


def test_an_event_that_came_between_the_creation_and_the_wait_counts(db: Session, job: Held) -> None:
    emit(db)
    stamp(db)

    wait(db, job)

    assert db.state(job.id) == "ready"
    assert load(db, job.id)[0][1] == "event"


def test_an_event_that_is_committed_and_not_stamped_yet_is_found_by_the_sequencer(db: Session, job: Held) -> None:
    emit(db)
    wait(db, job)
    assert db.state(job.id) == "scheduled"

    stamp(db)

    assert db.state(job.id) == "ready"


def test_an_event_from_before_the_job_does_not_count(db: Session, clock: Clock, worker: UUID) -> None:
    emit(db)
    stamp(db)
    clock.advance(seconds=1)
    db.enqueue()
    job = db.claim_one(worker)

    wait(db, job)

    assert db.state(job.id) == "scheduled"


@pytest.mark.parametrize("other_event", [{"key": "8"}, {"event": "order.lost"}, {"tenant_id": "t2"}, {"key": None}])
def test_another_event_does_not_count(db: Session, job: Held, other_event: dict[str, Any]) -> None:
    emit(db, **other_event)
    stamp(db)
    wait(db, job)
    emit(db, **other_event)
    stamp(db)

    assert db.state(job.id) == "scheduled"
    assert load(db, job.id) == []


def test_a_registration_under_way_holds_up_the_sequencer_which_then_sees_it(
    db: Session, other: Session, admin: Session, job: Held
) -> None:
    """The race of a lost wake-up, from one side."""
    with db.transaction():
        wait(db, job)
        emit(admin)
        stamping = other.later("sequence_events")
        until_blocked(admin, other, by=db)

    assert stamping.result()[0]["queues"] == ["default"]
    assert db.state(job.id) == "ready"


def test_a_sequencer_under_way_holds_up_a_registration_which_then_sees_its_events(
    db: Session, other: Session, admin: Session, job: Held
) -> None:
    """The race of a lost wake-up, from the other side."""
    emit(db)
    with db.transaction():
        stamp(db)
        registering = other.later("wait_jobs", **arrays([job]), **waiting_for())
        until_blocked(admin, other, by=db)
    registering.result()

    assert db.state(job.id) == "ready"
    assert load(db, job.id)[0][1] == "event"


def test_a_sequencer_that_is_rolled_back_wakes_nobody(db: Session, other: Session, admin: Session, job: Held) -> None:
    wait(db, job)
    emit(db)
    db.rows("begin")
    stamp(db)
    db.rows("rollback")
    assert db.state(job.id) == "scheduled"

    stamp(other)

    assert db.state(job.id) == "ready"


def test_each_wait_takes_the_next_event(db: Session, worker: UUID, job: Held) -> None:
    emit(db, n=1)
    emit(db, n=2)
    stamp(db)

    wait(db, job)
    wait(db, db.claim_one(worker), position=2)
    wait(db, db.claim_one(worker), position=3)

    assert [row[3] for row in load(db, job.id)] == ['{"n": 1}', '{"n": 2}']
    assert db.state(job.id) == "scheduled"
    emit(db, n=3)
    stamp(db)
    assert [row[3] for row in load(db, job.id)][2:] == ['{"n": 3}']


def test_of_two_events_at_once_a_wait_takes_the_first_and_leaves_the_second(
    db: Session, worker: UUID, job: Held
) -> None:
    wait(db, job)
    emit(db, n=1)
    emit(db, n=2)
    stamp(db)
    assert [row[3] for row in load(db, job.id)] == ['{"n": 1}']

    wait(db, db.claim_one(worker), position=2)

    assert [row[3] for row in load(db, job.id)] == ['{"n": 1}', '{"n": 2}']


def test_one_event_wakes_all_who_wait_for_it(db: Session, worker: UUID) -> None:
    for _ in range(3):
        db.enqueue()
    for held in db.claim(worker):
        wait(db, held)
    emit(db)

    stamp(db)

    assert len(db.claim(worker)) == 3


def test_patience_ends_on_time_and_that_stays_so(db: Session, clock: Clock, worker: UUID, job: Held) -> None:
    wait(db, job, timeout=60)
    clock.advance(seconds=59)
    assert db.get("promote_jobs") == 0
    clock.advance(seconds=1)
    assert db.get("promote_jobs") == 1
    db.claim_one(worker)

    assert load(db, job.id) == [(1, "timeout", "order.paid/7", None)]

    emit(db)
    stamp(db)
    assert load(db, job.id) == [(1, "timeout", "order.paid/7", None)]
    assert db.value("select count(*) from ostinato_data.job_wait") == 0


def test_an_event_that_comes_before_the_late_one_looks_beats_the_timeout(
    db: Session, clock: Clock, worker: UUID, job: Held
) -> None:
    wait(db, job, timeout=60)
    clock.advance(seconds=61)
    db.call("promote_jobs")
    db.claim_one(worker)
    emit(db)
    stamp(db)

    assert load(db, job.id)[0][1] == "event"
    assert db.value("select count(*) from ostinato_data.job_wait") == 0
    assert db.value("select count(*) from ostinato_data.job_wake") == 0


def test_an_event_and_the_end_of_patience_at_once_have_one_winner(
    db: Session, other: Session, admin: Session, clock: Clock, job: Held
) -> None:
    worker = db.worker()
    wait(db, job, timeout=60)
    clock.advance(seconds=61)
    db.call("promote_jobs")
    db.claim_one(worker)
    emit(db)
    with db.transaction():
        stamp(db)
        loading = other.later("load_steps", job_ids=[job.id])
        until_blocked(admin, other, by=db)

    assert [row["type"] for row in loading.result()] == ["event"]
    assert load(db, job.id)[0][1] == "event"


def test_who_runs_early_waits_on_with_the_same_deadline(db: Session, clock: Clock, worker: UUID, job: Held) -> None:
    wait(db, job, timeout=60)
    clock.advance(seconds=20)
    db.call("retry_job", job_id=job.id)
    held = db.claim_one(worker)
    assert load(db, job.id) == []

    wait(db, held, timeout=60)

    assert db.value("select run_at from ostinato_data.scheduled") == START + timedelta(seconds=60)
    emit(db)
    stamp(db)
    assert db.state(job.id) == "ready"


def test_an_event_that_meets_an_early_run_is_there_when_it_waits_again(db: Session, worker: UUID, job: Held) -> None:
    wait(db, job)
    db.call("retry_job", job_id=job.id)
    held = db.claim_one(worker)
    assert load(db, job.id) == []
    emit(db)
    stamp(db)
    assert db.state(job.id) == "running"

    wait(db, held)

    assert db.state(job.id) == "ready"
    assert load(db, job.id)[0][1] == "event"


def test_a_late_wait_is_refused_and_registers_nothing(db: Session, job: Held) -> None:
    db.complete(job)

    assert wait(db, job) == [job.id]

    assert db.state(job.id) == "done"
    assert db.value("select count(*) from ostinato_data.job_wait") == 0


def test_a_job_in_other_hands_is_woken_by_the_next_poll(db: Session, other: Session, worker: UUID, job: Held) -> None:
    """Somebody cancels it, and thinks better of it, while its event comes."""
    wait(db, job)
    emit(db)
    other.rows("begin")
    other.call("cancel_job", job_id=job.id)
    assert stamp(db) == []  # waits for nobody
    other.rows("rollback")
    assert db.state(job.id) == "scheduled"

    (poll,) = db.call("poll_jobs", worker_id=worker, queues=["default"])

    assert poll["ready_queues"] == ["default"]
    assert db.state(job.id) == "ready"
    assert db.value("select count(*) from ostinato_data.job_wake") == 0


def test_a_cancelled_job_stays_cancelled_and_knows_the_event_when_it_is_retried(
    db: Session, worker: UUID, job: Held
) -> None:
    wait(db, job)
    db.call("cancel_job", job_id=job.id)
    emit(db)
    assert stamp(db) == []
    assert db.state(job.id) == "cancelled"

    db.call("retry_job", job_id=job.id)
    wait(db, db.claim_one(worker))

    assert db.state(job.id) == "ready"


def test_a_restart_before_the_wait_forgets_it(db: Session, clock: Clock, worker: UUID, job: Held) -> None:
    db.call("save_steps", **arrays([job]), positions=[1], names=["a"])
    wait(db, job, timeout=60, position=2)
    clock.advance(seconds=59)

    db.call("restart_job", job_id=job.id, from_step="a")
    wait(db, db.claim_one(worker), timeout=60)

    assert db.value("select run_at from ostinato_data.scheduled") == START + timedelta(seconds=119)


def test_a_wait_can_be_ended_by_hand(db: Session, worker: UUID, job: Held) -> None:
    with refused("OS412", "does not wait"):
        db.call("signal_job", job_id=job.id)
    wait(db, job)

    assert db.get("signal_job", job_id=job.id, payload={"by": "hand"}) == "default"

    assert load(db, job.id) == [(1, "event", "order.paid/7", '{"by": "hand"}')]
    assert db.claim_one(worker).attempt == 2
    with refused("OS404", "1"):
        db.call("signal_job", job_id=1)


def test_why_says_what_a_job_waits_for(db: Session, job: Held) -> None:
    wait(db, job, timeout=60)

    (code, reason), *_ = db.why(job.id).items()

    assert code == "waiting"
    assert "order.paid" in reason["message"]
    assert reason["detail"]["key"] == "7"
    assert db.call("why_waiting", job_id=job.id)[0]["code"] == "waiting"
    assert db.call("job_steps", job_id=job.id)[0]["type"] == "waiting"


def test_a_wait_without_a_deadline_has_no_time(db: Session, job: Held) -> None:
    wait(db, job)

    assert db.call("show_job", job_id=job.id)[0]["run_at"] is None
    assert db.call("next_time", kinds=["app.job"], timeouts=True) == [{"next_time": None}]
    assert db.get("real_time", at=START) == START
    assert db.get("wait_name", event="a", key="b") == "a/b"
    for function in ("hold_steps", "wake_jobs"):
        db.call(function)
    for function in ("expire_waits", "take_events"):
        db.call(function, job_ids=[job.id])
    assert db.state(job.id) == "scheduled"


@pytest.mark.parametrize("given", [{"events": [""]}, {"events": [None]}, {"keys": ["k" * 201]}, {"keys": [None]}])
def test_what_nothing_can_match_is_refused(db: Session, job: Held, given: dict[str, Any]) -> None:
    with refused("OS400"):
        db.call("wait_jobs", **arrays([job]), **(waiting_for() | given))

    assert db.state(job.id) == "running"


def test_what_is_left_of_waits_goes_with_the_jobs(
    db: Session, admin: Session, clock: Clock, sessions: Sessions, job: Held
) -> None:
    db.call("upkeep_partitions", retention_days=14)
    wait(db, job)
    db.call("cancel_job", job_id=job.id)
    clock.advance(days=30)
    for _ in range(3):
        db.call("upkeep_partitions", retention_days=14)

    assert db.state(job.id) is None
    assert admin.value("select count(*) from ostinato_data.job_wait") == 0

"""Promote and poll: what is due becomes ready, and a worker learns what there is to do."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.engine import START, Clock, Session, until_blocked


def poll(db: Session, worker: UUID, *queues: str) -> dict[str, Any]:
    (row,) = db.call("poll_jobs", worker_id=worker, queues=list(queues or ["default"]))
    return row


def test_what_is_due_first_is_ready_first(db: Session, clock: Clock) -> None:
    third, first, second = (db.enqueue(run_at=START + timedelta(seconds=seconds)) for seconds in (30, 10, 20))
    later = db.enqueue(run_at=START + timedelta(seconds=31))
    clock.advance(seconds=30)

    assert db.get("promote_jobs") == 3
    assert db.get("promote_jobs") == 0

    assert db.claimed_ids(db.worker()) == [first, second, third]
    assert db.state(later) == "scheduled"


def test_a_promotion_takes_the_oldest_of_a_set(db: Session, clock: Clock) -> None:
    jobs = [db.enqueue(run_at=START + timedelta(seconds=n + 1)) for n in range(5)]
    clock.advance(minutes=1)

    assert [db.get("promote_jobs", most=2) for _ in range(4)] == [2, 2, 1, 0]
    assert db.claimed_ids(db.worker()) == jobs


def test_a_promoted_job_keeps_all_it_had(db: Session, clock: Clock) -> None:
    db.enqueue(run_at=START + timedelta(seconds=1), queue="q", priority=5, tenant_id="t", limit_key="k", unique_key="u")
    before = db.row("select * from ostinato_data.scheduled")
    clock.advance(seconds=1)

    db.call("promote_jobs")

    after = db.row("select * from ostinato_data.ready")
    del before["run_at"], before["reason"], after["position"]
    assert after == before


def test_the_next_time_of_jobs_that_wait_for_theirs_is_known(db: Session) -> None:
    db.enqueue("app.now")
    for hours in (2, 1):
        db.enqueue("app.later", run_at=START + timedelta(hours=hours))

    assert db.get("next_time", kinds=["app.now", "app.later"]) == 3600
    assert db.get("next_time", kinds=["app.now"]) is None


def test_two_promotions_at_once_share_the_work(db: Session, other: Session, clock: Clock) -> None:
    for n in range(4):
        db.enqueue(run_at=START + timedelta(seconds=n + 1))
    clock.advance(minutes=1)

    with db.transaction():
        assert db.get("promote_jobs", most=3) == 3
        assert other.get("promote_jobs") == 1

    assert len(db.claim(db.worker())) == 4


def test_a_poll_rescues_promotes_and_names_the_queues_with_work(db: Session, clock: Clock) -> None:
    worker, gone = db.worker(), db.worker("gone")
    db.enqueue(queue="lost")
    db.claim_one(gone, queue="lost")
    db.call("unregister_worker", worker_id=gone)
    db.enqueue(queue="due", run_at=START + timedelta(seconds=1))
    db.enqueue(queue="full")
    db.enqueue(queue="paused")
    db.call("pause_queue", name="paused")
    db.enqueue(queue="foreign")
    clock.beat(1, worker)

    found = poll(db, worker, "lost", "due", "full", "paused", "empty")

    assert (found["rescued"], found["promoted"]) == (1, 1)
    assert set(found["ready_queues"]) == {"lost", "due", "full"}


def test_a_poll_says_when_the_next_job_is_due(db: Session, clock: Clock) -> None:
    worker = db.worker()
    assert poll(db, worker)["next_due"] is None

    db.enqueue(run_at=START + timedelta(seconds=90))
    db.enqueue(run_at=START + timedelta(seconds=40))

    assert poll(db, worker)["next_due"] == 40
    clock.beat(15, worker)
    assert poll(db, worker)["next_due"] == 25


def test_a_poll_says_when_the_next_silent_worker_expires(db: Session, clock: Clock) -> None:
    worker = db.worker()
    other = db.worker("other")
    assert poll(db, worker)["next_due"] == 15

    clock.beat(5, worker)
    assert poll(db, worker)["next_due"] == 10
    clock.beat(5, worker, other)
    assert poll(db, worker)["next_due"] == 15
    db.enqueue(run_at=clock.now + timedelta(seconds=3))
    assert poll(db, worker)["next_due"] == 3


def test_a_poll_in_the_grace_waits_for_its_end(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.worker("other")
    clock.advance(minutes=5)

    assert poll(db, worker)["next_due"] == 15


@pytest.mark.parametrize("softly", [False, True])
def test_the_doorbell_rings_for_each_of_a_hundred_commits_a_second(db: Session, clock: Clock, *, softly: bool) -> None:
    rings = []
    for _ in range(100):  # a call every 10 ms, for a second
        rings.append(db.get("ring_doorbell", queue="default", softly=softly))
        clock.advance(milliseconds=10)

    assert rings == [True] * 100


def test_a_ring_at_the_moment_of_another_is_not_dropped(db: Session, other: Session, clock: Clock) -> None:
    other.rows("listen ostinato")

    rings = [db.get("ring_doorbell", queue="mails") for _ in range(2)]

    assert rings == [True, True]
    assert len(list(other.conn.notifies(timeout=120, stop_after=2))) == 2


def test_a_ring_after_the_call_began_serves_it_as_well(db: Session, other: Session, admin: Session) -> None:
    admin.rows("update ostinato_data.test_clock set frozen = null")  # time goes on
    db.call("ring_doorbell", queue="default")
    with db.transaction():
        db.rows("select from ostinato_data.doorbell for update")
        waits = other.later("ring_doorbell", queue="default")
        until_blocked(admin, other, by=db)
        db.rows("update ostinato_data.doorbell set rung_at = ostinato.now()")

    assert waits.result() == [{"ring_doorbell": False}]


def test_the_doorbell_wakes_listeners_with_the_name_of_the_queue(db: Session, other: Session) -> None:
    other.rows("listen ostinato")

    db.call("ring_doorbell", queue="mails")
    db.call("ring_doorbell", queue="other")

    heard = [notice.payload for notice in other.conn.notifies(timeout=120, stop_after=2)]
    assert heard == ["mails", "other"]


def test_a_queue_with_any_limit_is_limited(db: Session) -> None:
    db.call("configure_queue", name="narrow", concurrency=1)
    db.call("configure_queue", name="slow", rate_count=1, rate_seconds=1.0)
    db.call("configure_queue", name="keyed", key_concurrency=1)
    db.call("configure_queue", name="paced", key_rate_count=1, key_rate_seconds=1.0)
    db.call("configure_queue", name="unasked", concurrency=1)
    db.call("configure_queue", name="free")

    asked = ["narrow", "slow", "keyed", "paced", "free", "unknown"]
    found = {row["limited_queues"] for row in db.call("limited_queues", queues=asked)}
    assert found == {"narrow", "slow", "keyed", "paced"}


def test_the_doorbell_rings_again_after_the_clock_went_back(db: Session, clock: Clock) -> None:
    db.call("ring_doorbell", queue="default")
    clock.advance(hours=-1)

    assert db.get("ring_doorbell", queue="default") is True


def test_a_transaction_that_rings_softly_does_not_wait_for_the_disk(db: Session) -> None:
    with db.transaction():
        db.call("ring_doorbell", queue="default", softly=True)
        assert db.value("show synchronous_commit") == "off"
    assert db.value("show synchronous_commit") == "on"

"""Who waits for a job to end is rung when it has, and only then: a row of `job_watch` that goes is a ring."""

import pytest

from tests.sql.engine import Session, arrays
from tests.sql.test_workers import die


def watched(db: Session) -> list[int]:
    return [row["job_id"] for row in db.rows("select job_id from ostinato_data.job_watch order by 1")]


def test_a_job_that_dies_with_its_workers_rings_once_it_is_dead(db: Session) -> None:
    poison, other = db.enqueue(), db.enqueue(queue="other")
    for job in (poison, other):
        assert db.call("watch_job", job_id=job) == []
    die(db)
    die(db)
    for _ in range(2):
        die(db, starts=1, alone=True)
        assert watched(db) == [poison, other]

    die(db, starts=1, alone=True)

    assert watched(db) == [other]
    (end,) = db.call("watch_job", job_id=poison)
    assert end["state"] == "dead"
    assert watched(db) == [other]


def test_a_snooze_a_retry_and_a_release_are_no_ends(db: Session) -> None:
    job = db.enqueue()
    db.call("watch_job", job_id=job)
    for verb, more in (
        ("snooze_jobs", {"delays": [0.0], "reason": "snooze"}),
        ("fail_jobs", {"delays": [0.0], "errors": ["{}"], "signatures": ["x"]}),
        ("release_jobs", {}),
    ):
        db.call(verb, **arrays([db.claim_one(db.worker())]), **more)

        assert watched(db) == [job]
        if db.state(job) == "scheduled":
            db.call("retry_job", job_id=job)  # rings for nothing: the caller asks, and waits on
            assert db.call("watch_job", job_id=job) == []


@pytest.mark.parametrize("most", [1, 60])
def test_the_row_of_a_caller_is_not_written_for_every_question(db: Session, most: int) -> None:
    job = db.enqueue()
    db.call("watch_job", job_id=job, seconds=most)
    before = db.rows("select xmin, until from ostinato_data.job_watch")

    db.call("watch_job", job_id=job, seconds=most)

    assert db.rows("select xmin, until from ostinato_data.job_watch") == before


def test_a_ring_is_part_of_the_commit(db: Session, other: Session) -> None:
    other.rows("listen ostinato")
    with db.transaction():
        db.call("ring_at_commit", queue="mail")
        other.rows("select 1")
        assert other.conn.pgconn.notifies() is None
    other.rows("select 1")
    notices = list(other.conn.notifies(timeout=0))

    assert [notice.payload for notice in notices] == ["mail"]

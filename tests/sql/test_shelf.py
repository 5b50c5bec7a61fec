"""Jobs of kinds that nobody runs stand aside, and come back with a worker that runs them."""

from typing import Any
from uuid import UUID

import pytest

from tests.sql.engine import Clock, Row, Session
from tests.sql.price import Meter, Place

MANY = 3_000
FILL = """
select count(*) from ostinato.enqueue_jobs(
    array(select %s from generate_series(1, %s)), array(select '{}' from generate_series(1, %s)))
"""
KNOWN: dict[str, Any] = {"kinds": ["app.task"]}


def poll(db: Session, worker: UUID) -> Row:
    (row,) = db.call("poll_jobs", worker_id=worker, queues=["default"])
    return row


def fill(db: Session, kind: str = "app.unknown", count: int = MANY) -> None:
    db.rows(FILL, kind, count, count)


COUNTS = {
    "ready": "select count(*) from ostinato_data.ready",
    "scheduled": "select count(*) from ostinato_data.scheduled",
}


def count(db: Session, place: str) -> int:
    return int(db.value(COUNTS[place]))


def test_a_poll_puts_aside_what_nobody_runs(db: Session) -> None:
    fill(db)
    known = db.enqueue()
    worker = db.worker()

    assert poll(db, worker)["ready_queues"] == ["default"]

    assert (count(db, "ready"), count(db, "scheduled")) == (1, MANY)
    assert db.claimed_ids(worker, **KNOWN) == [known]
    assert db.rows("select distinct reason from ostinato_data.scheduled") == [{"reason": "no_worker"}]


def test_an_empty_claim_reads_next_to_nothing_however_many_nobody_runs(place: Place) -> None:
    with place.session() as db:
        fill(db)
        worker = db.worker(expiry_seconds=3600)
        poll(db, worker)
        place.take_statistics()
        meter = Meter(db)

        meter.measure("empty claim", lambda: db.claim(worker, **KNOWN))
        meter.measure("poll", lambda: poll(db, worker))

    assert meter.read["empty claim"] < 20
    assert meter.read["poll"] < 100


def test_a_worker_that_runs_the_kind_brings_its_jobs_back_to_their_old_place(db: Session, clock: Clock) -> None:
    fill(db)
    first = db.value("select min(job_id) from ostinato_data.ready")
    poll(db, db.worker())
    late = db.enqueue("app.unknown")
    knows = db.worker("w2", kinds=["app.unknown"])

    back = poll(db, knows)

    assert (back["promoted"], back["ready_queues"]) == (MANY, ["default"])
    assert count(db, "scheduled") == 0
    found = db.claimed_ids(knows, MANY + 1, kinds=["app.unknown"])
    assert (found[0], found[-1], len(found)) == (first, late, MANY + 1)


@pytest.mark.parametrize("draining", [False, True])
def test_kinds_that_a_living_worker_runs_stay_in_line(db: Session, draining: bool) -> None:  # noqa: FBT001
    fill(db)
    runs = db.worker("w2", kinds=["app.unknown"])
    db.call("heartbeat_worker", worker_id=runs, draining=draining)

    poll(db, db.worker())

    assert (count(db, "ready"), count(db, "scheduled")) == (MANY, 0)


def test_a_few_jobs_that_nobody_runs_stay_in_line(db: Session) -> None:
    fill(db, count=99)

    poll(db, db.worker())

    assert count(db, "ready") == 99


def test_why_and_the_doctors_list_name_the_kinds_that_nobody_runs(db: Session) -> None:
    fill(db)
    poll(db, db.worker())
    aside = db.value("select min(job_id) from ostinato_data.scheduled")
    fill(db, "app.other", 2)

    said = db.why(aside)

    assert list(said) == ["shelved", "no_worker_for_kind"]
    assert "app.unknown" in said["shelved"]["message"]
    assert db.call("unrun_kinds") == [
        {"queue": "default", "kind": "app.other", "jobs": 2},
        {"queue": "default", "kind": "app.unknown", "jobs": MANY},
    ]


def test_a_job_that_stands_aside_can_be_cancelled(db: Session) -> None:
    fill(db)
    poll(db, db.worker())
    aside = db.value("select min(job_id) from ostinato_data.scheduled")

    db.call("cancel_job", job_id=aside)

    assert db.state(aside) == "cancelled"

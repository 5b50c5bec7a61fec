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
FILL_TENANT = """
select count(ostinato.enqueue_job(%s, tenant_id => %s)) from generate_series(1, %s)
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


def fill_tenant(db: Session, tenant: str, count: int, kind: str = "app.task") -> None:
    """Jobs of one tenant."""
    db.rows(FILL_TENANT, kind, tenant, count)


def test_what_nobody_runs_stands_aside_behind_the_backlog_of_another_tenant(place: Place) -> None:
    """An empty claim of a worker that runs neither reads what another one runs, and no more."""
    with place.session() as db:
        fill_tenant(db, "a", 300, "app.theirs")
        fill_tenant(db, "z", MANY, "app.unknown")
        db.worker("w2", kinds=["app.theirs"], expiry_seconds=3600)
        worker = db.worker(expiry_seconds=3600)
        poll(db, worker)
        place.take_statistics()
        meter = Meter(db)

        meter.measure("empty claim", lambda: db.claim(worker, **KNOWN))
        meter.measure("poll", lambda: poll(db, worker))

        assert (count(db, "ready"), count(db, "scheduled")) == (300, MANY)
    assert meter.read["empty claim"] < 700
    assert meter.read["poll"] < 100


def test_what_nobody_runs_stands_aside_behind_jobs_of_the_same_tenant_that_somebody_runs(db: Session) -> None:
    fill(db, "app.theirs", 1_000)
    fill(db)
    db.worker("w2", kinds=["app.theirs"])

    poll(db, db.worker())

    assert (count(db, "ready"), count(db, "scheduled")) == (1_000, MANY)


def test_a_lane_that_nobody_runs_is_found_beside_many_that_have_one_such_job(db: Session) -> None:
    for n in range(54):  # the worst case: so much is seen of each lane, and so few lanes there are
        fill_tenant(db, f"a{n}", 1, "app.unknown")
        fill_tenant(db, f"a{n}", 20)
    fill_tenant(db, "z", 101, "app.unknown")

    poll(db, db.worker())

    assert count(db, "scheduled") == 54 + 101


def test_each_poll_looks_at_other_lanes_of_a_queue_with_more_than_one_look_holds(db: Session) -> None:
    db.rows("select ostinato.enqueue_job('app.task', tenant_id => 't' || n) from generate_series(1, 600) n")
    fill_tenant(db, "z", 200, "app.unknown")
    worker = db.worker()

    for _ in range(3):
        poll(db, worker)

    assert (count(db, "ready"), count(db, "scheduled")) == (600, 200)


@pytest.mark.parametrize("tenant", ["a", "z"])
def test_the_doctors_list_and_the_alert_name_kinds_behind_jobs_that_somebody_runs(db: Session, tenant: str) -> None:
    fill_tenant(db, "a", 10_500)
    fill_tenant(db, tenant, 3, "app.unknown")
    db.worker()

    assert db.call("unrun_kinds") == [{"queue": "default", "kind": "app.unknown", "jobs": 3}]
    assert db.call("unrun_kind_jobs") == [{"label": "app.unknown", "value": 3.0}]

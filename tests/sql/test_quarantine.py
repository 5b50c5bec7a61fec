"""One row that is missing or damaged stops nothing: its place is set aside, the others go on."""

import json
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from tests.sql.engine import Clock, Session, Sessions, arrays, ids, refused, until_blocked
from tests.sql.test_moved import WEEK_AHEAD, claimed_ahead, move_with_the_parent_open

# A job's arguments as bytes that no client can decode; only a superuser can do this.
DAMAGE = """
update ostinato_data.job set args = '\\x7b22ff'::bytea::json where id = %s
"""

REPAIR = """
insert into ostinato_data.job
select * from json_populate_record(null::ostinato_data.job, %s)
"""

FILL = """
select count(*) from (select ostinato.enqueue_job('app.task', tenant_id => %s) from generate_series(1, %s)) j
"""
KEYED = """
select count(*) from (
    select ostinato.enqueue_job('app.task', tenant_id => %s, limit_key => %s) from generate_series(1, %s)) j
"""


@pytest.fixture
def _bytes_are_json(admin: Session) -> Iterator[None]:
    """Nothing checks a value that is cast without a function: it stands for a corrupt page."""
    admin.rows("create cast (bytea as json) without function")
    yield
    admin.rows("drop cast (bytea as json)")


def quarantined(db: Session) -> list[int]:
    return sorted(row["job_id"] for row in db.call("list_quarantine"))


def lose(admin: Session, job: int) -> None:
    admin.rows("delete from ostinato_data.job where id = %s", job)


def test_a_held_job_whose_row_is_gone_does_not_keep_its_neighbours_from_being_rescued(
    db: Session, admin: Session, clock: Clock
) -> None:
    gone, *others = [db.enqueue() for _ in range(3)]
    due = db.enqueue(run_at=clock.now.replace(second=30))
    dead, alive = db.worker("dead"), db.worker("alive")
    db.claim(dead)
    lose(admin, gone)
    clock.beat(31, alive)
    poll = {"worker_id": alive, "queues": ["default"]}

    first, second = db.call("poll_jobs", **poll)[0], db.call("poll_jobs", **poll)[0]

    assert (first["promoted"], second["rescued"]) == (1, 2)
    assert quarantined(db) == [gone]
    assert sorted(db.claimed_ids(alive)) == sorted([*others, due])
    (row,) = db.call("list_quarantine")
    assert (row["place"], row["damage"]) == ("claim", "its row is missing")


def test_a_ready_row_without_its_job_is_set_aside_and_those_behind_it_run(db: Session, admin: Session) -> None:
    gone, *others = [db.enqueue() for _ in range(5)]
    worker = db.worker()
    lose(admin, gone)
    with refused("40001"):
        db.claim(worker)

    found = db.call("set_aside_damaged", worker_id=worker, queues=["default"], held=[])

    assert ids(found) == quarantined(db) == [gone]
    assert db.claimed_ids(worker) == others


@pytest.mark.usefixtures("_bytes_are_json")
def test_a_job_that_cannot_be_read_is_set_aside_from_a_claim_that_never_arrived(db: Session, admin: Session) -> None:
    bad, good = db.enqueue(), db.enqueue()
    worker = db.worker()
    admin.rows(DAMAGE, bad)
    with pytest.raises(UnicodeDecodeError):
        db.claim(worker)

    found = db.call("set_aside_damaged", worker_id=worker, queues=["default"], held=[])

    assert ids(found) == [bad]
    assert "cannot be read" in db.call("list_quarantine")[0]["damage"]
    assert admin.value("select job_ids from ostinato_data.claim") == [good]
    admin.rows("update ostinato_data.job set args = '{}' where id = %s", bad)
    assert "cannot be read" in db.why(bad)["quarantined"]["message"]


def test_what_upkeep_is_moving_is_not_set_aside(db: Session, other: Session, admin: Session, clock: Clock) -> None:
    held = claimed_ahead(db, clock)
    job = held.id

    with admin.transaction():
        admin.rows("lock table only ostinato_data.job in share update exclusive mode")  # as upkeep does
        move_with_the_parent_open(admin, WEEK_AHEAD)
        assert db.call("set_aside_held", **arrays([held])) == []
        waiting = db.later("fail_jobs", **arrays([held]), delays=[1.0], errors=["{}"], signatures=["x"])
        until_blocked(other, db, admin)
    with refused("40001"):
        waiting.result()

    assert db.call("set_aside_held", **arrays([held])) == []
    assert quarantined(db) == []
    assert db.state(job) == "running"


def test_who_sets_jobs_aside_while_upkeep_moves_them_sets_none_aside(db: Session, other: Session, clock: Clock) -> None:
    held = claimed_ahead(db, clock)

    with other.transaction():
        other.call("upkeep_partitions", retention_days=14)
        assert db.call("set_aside_held", **arrays([held])) == []

    assert db.call("set_aside_held", **arrays([held])) == []
    assert (quarantined(db), db.state(held.id)) == ([], "running")


def test_a_repaired_job_is_restored_and_a_damaged_one_refused(db: Session, admin: Session) -> None:
    job = db.enqueue()
    held = db.claim_one(db.worker())
    row = admin.row("select row_to_json(j)::text as job from ostinato_data.job j")
    lose(admin, job)
    assert ids(db.call("set_aside_held", **arrays([held]))) == [job]

    with refused("OS412", "missing"):
        db.call("restore_job", job_id=job)
    admin.rows(REPAIR, row["job"])
    db.call("restore_job", job_id=job)

    assert db.claim_one(db.worker()).attempt == 2
    assert quarantined(db) == []
    with refused("OS404"):
        db.call("restore_job", job_id=job)


def test_a_damaged_job_can_be_given_up(db: Session, admin: Session) -> None:
    job = db.enqueue()
    held = db.claim_one(db.worker())
    lose(admin, job)
    db.call("set_aside_held", **arrays([held]))

    db.call("restore_job", job_id=job, discard=True)

    assert quarantined(db) == []


def test_a_worker_notes_that_something_outside_does_not_answer_and_a_tenant_may_not(
    db: Session, sessions: Sessions
) -> None:
    for message in ("refused", "no route"):
        db.call("note_fault", part="broker nats", message=message)
    with refused("42501"):
        sessions.tenant("acme").call("note_fault", part="broker nats", message="mine")

    (fault,) = db.call("list_faults")
    assert (fault["part"], fault["times"], fault["message"]) == ("broker nats", 2, "no route")


def test_a_part_of_the_poll_that_fails_is_noted_and_the_others_go_on(db: Session, admin: Session, clock: Clock) -> None:
    due = db.enqueue(run_at=clock.now.replace(second=5))
    worker = db.worker()
    clock.beat(6, worker)
    with admin.transaction():
        admin.rows("alter function ostinato_internal.chores() rename to chores_away")
    try:
        poll = db.call("poll_jobs", worker_id=worker, queues=["default"])[0]
    finally:
        admin.rows("alter function ostinato_internal.chores_away() rename to chores")

    assert (poll["promoted"], poll["ready_queues"], poll["chores"]) == (1, ["default"], [])
    assert [row["part"] for row in db.call("list_faults")] == ["chores"]
    assert {row["name"]: row["value"] for row in db.call("observe")}["faults"] == 1
    assert db.claimed_ids(worker) == [due]
    clock.advance(minutes=6)
    assert db.call("list_faults") == []


def test_a_worker_gives_back_what_it_never_heard_of_beside_a_missing_job(
    db: Session, admin: Session, clock: Clock
) -> None:
    gone, other_job = db.enqueue(), db.enqueue()
    worker = db.worker()
    db.claim(worker)
    lose(admin, gone)
    clock.beat(21, worker)
    reconcile = {"worker_id": worker, "held": [], "seconds": 20.0}

    assert db.get("reconcile_worker", **reconcile) == 1
    assert db.get("reconcile_worker", **reconcile) == 1

    assert quarantined(db) == [gone]
    assert db.state(other_job) == "ready"


def claim_fails_for(db: Session, worker: UUID) -> int:
    """The job that the error of a claim names."""
    with pytest.raises(psycopg.errors.SerializationFailure) as refusal:
        db.claim(worker)
    return int(json.loads(refusal.value.diag.message_detail or "{}")["job_id"])


def set_aside(db: Session, worker: UUID, **params: object) -> list[int]:
    return ids(db.call("set_aside_damaged", worker_id=worker, queues=["default"], held=[], **params))


def test_a_missing_row_of_one_tenant_is_found_behind_the_backlog_of_another(db: Session, admin: Session) -> None:
    db.rows(FILL, "a", 3_000)
    gone, other_job = db.enqueue(tenant_id="b"), db.enqueue(tenant_id="b")
    worker = db.worker()
    lose(admin, gone)

    named = claim_fails_for(db, worker)
    found = ids(db.call("set_aside_waiting", queue="default", job_ids=[named]))

    assert found == quarantined(db) == [gone]
    assert other_job in db.claimed_ids(worker)


@pytest.mark.parametrize("limit", [None, 1])
def test_a_damaged_row_that_no_error_names_is_found_where_a_claim_finds_it(
    db: Session, admin: Session, limit: int | None
) -> None:
    """Two tenants, and in one of them a key that is at its limit, with more jobs than are looked at."""
    if limit is not None:
        db.call("configure_queue", name="default", key_concurrency=limit)
    worker = db.worker()
    for _ in range(2):  # of a key that is at its limit while the first runs
        db.enqueue(tenant_id="a", limit_key="busy")
    db.claim_one(worker)
    db.rows(KEYED, "a", "busy", 100)
    db.rows(FILL, "a", 100)
    gone = db.enqueue(tenant_id="a", limit_key="free", priority=-1)
    last = db.enqueue(tenant_id="b")
    lose(admin, gone)
    lose(admin, last)

    found = ids(db.call("set_aside_next", worker_id=worker, queue="default", most=10))

    assert sorted(found) == quarantined(db) == [gone, last]
    assert db.claim(worker, 10)


def test_looking_for_damaged_rows_takes_nothing(db: Session, admin: Session) -> None:
    waiting = [db.enqueue(tenant_id=tenant) for tenant in ("a", "b", "a")]
    worker = db.worker()
    before = admin.rows("select * from ostinato_data.ready order by job_id")

    found = db.get("next_jobs", worker_id=worker, queue="default", most=2)

    assert len(found) == 2
    assert set(found) < set(waiting)
    assert admin.rows("select * from ostinato_data.ready order by job_id") == before
    assert set_aside(db, worker) == []


def test_a_job_that_is_not_found_again_and_again_is_a_fault_that_names_it_and_its_queue(
    db: Session, other: Session, admin: Session
) -> None:
    gone, waits = db.enqueue(), db.enqueue()
    worker = db.worker()
    lose(admin, gone)
    named = {"named": [claim_fails_for(db, worker)], "state": "40001", "message": f"job {gone} was moved"}

    with other.transaction():
        other.rows("lock table only ostinato_data.job in share update exclusive mode")  # as upkeep does
        assert set_aside(db, worker, **named) == []
        assert db.call("list_faults") == []
        assert list(db.why(waits)) == ["waiting_turn"]
        assert set_aside(db, worker, **named) == []

    (fault,) = db.call("list_faults")
    assert (fault["part"], fault["job_id"], fault["times"]) == (f"claim from default, job {gone}", gone, 2)
    said = db.why(waits)["claims_fail"]
    assert f"job {gone} was moved" in said["message"]
    assert {row["name"]: row["value"] for row in db.call("observe")}["faults"] == 1
    assert set_aside(db, worker, **named) == [gone]


def test_a_claim_that_fails_by_what_cannot_be_found_is_a_fault_at_once(db: Session) -> None:
    db.enqueue()

    assert set_aside(db, db.worker(), state="XX001", message="invalid page in block 7") == []

    (fault,) = db.call("list_faults")
    assert (fault["part"], fault["message"]) == ("claim from default", "invalid page in block 7")


def test_a_conflict_with_another_transaction_is_no_fault(db: Session) -> None:
    for state in ("40P01", "55P03", "40001"):
        db.rows("select ostinato_internal.note_fault('rescue', %s, 'could not serialize access', null, null)", state)

    assert db.call("list_faults") == []

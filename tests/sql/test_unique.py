"""Unique keys: one job at a time with a key, per tenant, over a chosen set of states."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.sql.engine import START, Clock, Session, refused, until_blocked

WAITING = ["scheduled", "ready"]


def finish(db: Session) -> None:
    db.complete(db.claim_one(db.worker()))


def bury(db: Session) -> None:
    db.fail(db.claim_one(db.worker()))


def start(db: Session) -> None:
    db.claim_one(db.worker())


def wait(db: Session) -> None:
    """Leave it ready."""


def cancel(db: Session) -> None:
    (row,) = db.call("list_jobs", state="ready")
    db.call("cancel_job", job_id=row["id"])


LIVES: dict[str, Callable[[Session], None]] = {
    "ready": wait,
    "running": start,
    "done": finish,
    "cancelled": cancel,
    "dead": bury,
}


@pytest.mark.parametrize("state", LIVES)
@pytest.mark.parametrize(
    "states", [["scheduled", "ready", "running"], ["ready"], ["ready", "running", "done"], ["dead"]]
)
def test_a_key_is_held_exactly_in_the_chosen_states(db: Session, state: str, states: list[str]) -> None:
    first = db.enqueue(unique_key="k", unique_states=[*states, "ready"])
    LIVES[state](db)
    assert db.state(first) == state

    second = db.enqueue(unique_key="k", unique_states=states)

    # A key that was given up on the way is not taken again: `running` lies before the end.
    passed = {"ready": ["ready"], "running": ["running"], "cancelled": ["cancelled"]}.get(state, ["running", state])
    held = set(passed) <= {*states, "ready"}
    assert (second == first) is held


def test_policy_return_gives_the_holder(db: Session) -> None:
    first = db.enqueue(unique_key="k")

    assert db.enqueue(unique_key="k", unique_policy="return") == first
    assert len(db.call("list_jobs")) == 1


def test_policy_refuse_names_the_holder(db: Session) -> None:
    first = db.enqueue(unique_key="k")

    with refused("OS411", "'k'", str(first)):
        db.enqueue(unique_key="k", unique_policy="refuse")


@pytest.mark.parametrize("run_at", [None, START + timedelta(hours=1)])
@pytest.mark.parametrize("states", [["scheduled", "ready", "running"], [*WAITING, "cancelled"]])
def test_policy_replace_takes_the_place_of_a_waiting_job(db: Session, run_at: object, states: list[str]) -> None:
    first = db.enqueue(unique_key="k", run_at=run_at, unique_states=states)

    second = db.enqueue(unique_key="k", unique_policy="replace", unique_states=states)

    assert (db.state(first), db.state(second)) == ("cancelled", "ready")
    assert db.call("show_job", job_id=first)[0]["reason"] == f"replaced by job {second}"
    assert db.enqueue(unique_key="k") == second


def test_policy_replace_returns_a_holder_that_runs(db: Session) -> None:
    first = db.enqueue(unique_key="k")
    start(db)

    assert db.enqueue(unique_key="k", unique_policy="replace") == first
    assert db.state(first) == "running"


def test_a_key_belongs_to_its_tenant(db: Session) -> None:
    mine = db.enqueue(unique_key="k", tenant_id="t1")

    assert db.enqueue(unique_key="k", tenant_id="t2") != mine
    assert db.enqueue(unique_key="k", tenant_id="t1") == mine


def test_a_key_stays_held_through_a_retry(db: Session, clock: Clock) -> None:
    first = db.enqueue(unique_key="k")
    db.fail(db.claim_one(db.worker()), delay=60)

    assert db.state(first) == "scheduled"
    assert db.enqueue(unique_key="k") == first
    clock.advance(seconds=61)
    db.call("promote_jobs")
    assert db.enqueue(unique_key="k") == first


def test_a_key_stays_held_through_release_snooze_and_rescue(db: Session, clock: Clock) -> None:
    worker = db.worker()
    first = db.enqueue(unique_key="k")

    db.release(db.claim_one(worker))
    assert db.enqueue(unique_key="k") == first
    db.snooze(db.claim_one(worker), delay=0)
    db.call("promote_jobs")
    assert db.enqueue(unique_key="k") == first
    db.claim_one(worker)
    db.call("unregister_worker", worker_id=worker)
    assert db.get("rescue_jobs") == 1
    assert db.enqueue(unique_key="k") == first


@pytest.mark.parametrize(
    "given",
    [
        {"unique_policy": "maybe"},
        {"unique_policy": None},
        {"unique_states": []},
        {"unique_states": None},
        {"unique_states": ["ready", "sleeping"]},
        {"unique_states": ["ready", None]},
    ],
)
def test_an_unknown_policy_or_state_is_refused(db: Session, given: dict[str, Any]) -> None:
    with refused("OS400", "unique"):
        db.enqueue(unique_key="k", **given)

    assert db.call("list_jobs") == []


@pytest.mark.parametrize("policy", ["return", "refuse", "replace"])
def test_the_second_of_two_at_once_waits_for_the_first(
    db: Session, other: Session, admin: Session, policy: str
) -> None:
    with db.transaction():
        first = db.enqueue(unique_key="k")
        second = other.later("enqueue_job", kind="app.task", unique_key="k", unique_policy=policy)
        until_blocked(admin, other, by=db)

    if policy == "refuse":
        with refused("OS411", str(first)):
            second.result()
    else:
        found = second.result()[0]["enqueue_job"]
        assert (found == first) is (policy == "return")
        assert db.state(found) == "ready"
    assert len(db.call("list_jobs", state="ready")) == 1


def test_the_second_of_two_at_once_gets_the_key_when_the_first_rolls_back(
    db: Session, other: Session, admin: Session
) -> None:
    db.rows("begin")
    first = db.enqueue(unique_key="k")
    second = other.later("enqueue_job", kind="app.task", unique_key="k")
    until_blocked(admin, other, by=db)
    db.rows("rollback")

    found = second.result()[0]["enqueue_job"]
    assert found != first
    assert db.state(found) == "ready"


def test_of_two_replacements_at_once_the_later_one_stays(db: Session, other: Session, admin: Session) -> None:
    old = db.enqueue(unique_key="k")
    with db.transaction():
        first = db.enqueue(unique_key="k", unique_policy="replace")
        waits = other.later("enqueue_job", kind="app.task", unique_key="k", unique_policy="replace")
        until_blocked(admin, other, by=db)
    second = waits.result()[0]["enqueue_job"]

    assert [db.state(job) for job in (old, first, second)] == ["cancelled", "cancelled", "ready"]
    assert db.enqueue(unique_key="k") == second


def test_a_replacement_that_meets_a_claim_returns_the_job_that_now_runs(
    db: Session, other: Session, admin: Session
) -> None:
    worker = db.worker()
    old = db.enqueue(unique_key="k")
    with db.transaction():
        db.claim_one(worker)
        waits = other.later("enqueue_job", kind="app.task", unique_key="k", unique_policy="replace")
        until_blocked(admin, other, by=db)

    assert waits.result()[0]["enqueue_job"] == old
    assert db.state(old) == "running"


def test_an_enqueue_that_meets_the_end_of_the_holder_adds_a_new_job(
    db: Session, other: Session, admin: Session
) -> None:
    old = db.enqueue(unique_key="k")
    held = db.claim_one(db.worker())
    with db.transaction():
        db.complete(held)
        waits = other.later("enqueue_job", kind="app.task", unique_key="k")
        until_blocked(admin, other, by=db)

    found = waits.result()[0]["enqueue_job"]
    assert found != old
    assert db.state(found) == "ready"


def test_keys_can_be_held_and_freed_by_hand(db: Session) -> None:
    job = db.enqueue()
    held = db.get("hold_unique_key", tenant_id="default", unique_key="k", job_id=job, policy="return", states=["ready"])
    assert held == job

    db.call("free_unique_keys", job_ids=[job], state="ready")
    assert db.enqueue(unique_key="k") == job
    db.call("free_unique_keys", job_ids=[job], state="running")

    assert db.enqueue(unique_key="k") != job

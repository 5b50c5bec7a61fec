"""Tenants take turns under limits too, and nobody waits behind those that may not start."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.sql.engine import Clock, Session

BACKLOG = 40


def served(db: Session, worker: Any, times: int, wanted: int = 10) -> list[str]:  # noqa: ANN401
    """The tenants of the jobs that a worker runs, one claim after the other.

    It asks once more while it is at the limit, and then knows nothing of its turns any more.
    """
    tenants: list[str] = []
    for _ in range(times):
        held = db.claim(worker, wanted)
        assert db.claim(worker, wanted) == []
        tenants += [job.row["tenant_id"] for job in held]
        for job in held:
            db.complete(job)
    return tenants


@pytest.mark.parametrize("key", [None, "own"], ids=["no key", "a key each"])
@pytest.mark.parametrize("limits", [{}, {"key_concurrency": 1}], ids=["queue", "queue and key"])
def test_a_backlog_of_one_tenant_does_not_hold_up_another(
    db: Session, limits: dict[str, object], key: str | None
) -> None:
    db.call("configure_queue", name="default", concurrency=1, **limits)
    keys = [key and f"a-{n}" for n in range(BACKLOG)]
    fill(db, "a", keys)
    fill(db, "b", [key and "b-1"])
    fill(db, "c", [key and "c-1"])

    assert sorted(served(db, db.worker(), 3)) == ["a", "b", "c"]


def fill(db: Session, tenant: str, keys: Sequence[str | None], priority: int = 0) -> None:
    db.call(
        "enqueue_jobs",
        kinds=["app.task"],
        args=["{}"] * len(keys),
        tenant_ids=[tenant],
        limit_keys=list(keys),
        limit_scopes=["installation"],  # so that tenants wait for each other
        priorities=[priority],
    )


def test_more_tenants_than_one_look_holds_are_all_served(db: Session) -> None:
    db.call("configure_queue", name="default", concurrency=1, key_concurrency=1)
    for n in range(260):
        fill(db, f"t{n:03}", [f"{n}-{m}" for m in range(2)])

    assert len(set(served(db, db.worker(), 260))) == 260


def test_keys_that_may_not_start_hold_up_no_other(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_rate_count=1, key_rate_seconds=3600.0)
    blocked = [f"k{n:04}" for n in range(1500)]
    fill(db, "default", blocked * 5)
    while db.claim(worker, 2000):
        pass
    fill(db, "default", ["z"])

    found = [job for _ in range(4) for job in db.claim(worker, 10)]

    assert len(found) == 1


def test_a_job_without_a_key_waits_for_no_key(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    fill(db, "default", ["k"] * 100)
    db.claim_one(worker)
    fill(db, "default", [None])

    assert len(db.claim(worker)) == 1


def test_behind_hundreds_of_tenants_that_may_not_start_one_that_may_is_found(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    for n in range(600):
        fill(db, f"t{n:03}", ["shared"] * 4)
    db.claim_one(worker)
    fill(db, "t599", [None])

    found = [job.row["tenant_id"] for _ in range(4) for job in db.claim(worker, 1)]

    assert found == ["t599"]


def test_urgent_jobs_that_may_not_start_leave_the_turns_to_the_others(db: Session) -> None:
    db.call("configure_queue", name="default", concurrency=2, key_concurrency=1)
    fill(db, "a", ["k"] * 2, priority=-1)
    held = db.claim_one(db.worker("w2"))
    for n in range(300):
        fill(db, f"t{n:03}", [None] * 2)

    assert len(set(served(db, db.worker(), 300))) == 300
    assert held.row["tenant_id"] == "a"


def test_a_job_that_somebody_holds_stalls_no_other(db: Session, other: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    first, second = db.enqueue(limit_key="k"), db.enqueue(limit_key="k")
    lone = db.enqueue()

    with other.transaction():
        other.call("cancel_job", job_id=first)
        assert [db.claim_one(worker).id for _ in range(2)] == [second, lone]

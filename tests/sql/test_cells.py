"""Cells: a tenant that is on its way, or has left, is neither served nor claimed; the others are."""

from uuid import uuid4

import pytest

from tests.sql.engine import Session, refused

MOVE, OTHER = str(uuid4()), str(uuid4())


def state(db: Session, tenant: str = "acme") -> str | None:
    rows = db.call("show_place", tenant_id=tenant)
    return rows[0]["state"] if rows else None


@pytest.mark.parametrize("where", ["closed", "leaving", "left", "coming"])
def test_nothing_begins_for_a_tenant_that_is_not_here(db: Session, where: str) -> None:
    db.call("set_place", tenant_id="acme", state=where, cell="two", move_id=MOVE)

    with refused("OS421"):
        db.enqueue(tenant_id="acme")
    with refused("OS421"):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}", "{}"], tenant_ids=["globex", "acme"])
    with refused("OS421"):
        db.call("enter_tenant", tenant_id="acme")
    db.enqueue(tenant_id="globex")


@pytest.mark.parametrize("where", ["draining", "here"])
def test_what_drains_or_has_come_may_be_added_to(db: Session, where: str) -> None:
    db.call("set_place", tenant_id="acme", state=where, cell="two", move_id=MOVE)

    assert db.enqueue(tenant_id="acme") > 0
    assert db.get("knows_tenant", tenant_id="acme") is True
    assert db.get("knows_tenant", tenant_id="globex") is False


def test_claims_pass_over_who_drains(db: Session) -> None:
    worker = db.worker()
    db.enqueue(tenant_id="acme")
    theirs = db.enqueue(tenant_id="globex")
    db.call("set_place", tenant_id="acme", state="draining", cell="two", move_id=MOVE)

    claimed = db.call("claim_jobs", worker_id=worker, queue="default", wanted=10)
    assert [row["job_id"] for row in claimed] == [theirs]
    assert db.get("count_held_jobs", tenant_id="globex") == 1
    assert db.get("count_held_jobs", tenant_id="acme") == 0


def test_one_move_at_a_time_and_only_its_own_tenant_arrives(db: Session) -> None:
    db.call("set_place", tenant_id="acme", state="coming", cell="one", move_id=MOVE)

    with refused("OS409"):
        db.call("set_place", tenant_id="acme", state="draining", cell="three", move_id=OTHER)
    with refused("OS409"):
        db.call("arrive", tenant_id="acme", move_id=OTHER)
    db.call("arrive", tenant_id="acme", move_id=MOVE)
    assert state(db) == "here"
    assert db.get("give_up_move", tenant_id="acme", move_id=MOVE) is False
    assert [row["tenant_id"] for row in db.call("list_places")] == ["acme"]


def test_a_move_that_was_given_up_leaves_nothing_and_nothing_arrives_by_it(db: Session) -> None:
    db.call("set_place", tenant_id="acme", state="coming", cell="one", move_id=MOVE)

    assert db.get("give_up_move", tenant_id="acme", move_id=MOVE) is True
    assert state(db) is None
    with refused("OS409"):
        db.call("arrive", tenant_id="acme", move_id=MOVE)


def test_older_transactions_are_those_of_others_and_gone_when_they_ended(db: Session, admin: Session) -> None:
    with admin.conn.transaction():
        admin.conn.execute("select 1")
        running = [next(iter(row.values())) for row in db.call("older_transactions")]
        assert running
        assert [next(iter(row.values())) for row in db.call("older_transactions", of=running)] == running
    assert db.call("older_transactions", of=running) == []


def test_a_database_that_is_no_cell_has_no_number(db: Session) -> None:
    assert db.get("show_cell_number") is None

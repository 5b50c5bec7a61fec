"""Children in SQL: groups, their counts, joins, ticks that nobody waits for, and the fence of a spawn."""

import psycopg
import pytest

from tests.sql.engine import Held, Session, Sessions, Value, arrays


def spawned(db: Session, parent: Held, count: int = 2, **params: Value) -> tuple[int, list[int]]:
    """A group with its step, as a worker commits it."""
    group = db.get("open_group", job_id=parent.id, position=1)
    rows = db.call(
        "enqueue_jobs", kinds=["app.task"], args=["{}"] * count, parent_id=parent.id, group_id=group, **params
    )
    db.call("seal_group", job_id=parent.id, group_id=group, total=count)
    db.call("save_step", job_id=parent.id, attempt=parent.attempt, position=1, name="spawn")
    return group, [int(value) for row in rows for value in row.values()]


def join(db: Session, parent: Held, policy: str = "collect") -> None:
    db.call("join_jobs", **arrays([parent]), positions=[2], spawns=["1"], policies=[policy], timeouts=[None])


def test_a_join_ends_with_the_last_child_and_without_a_poll(db: Session) -> None:
    worker = db.worker()
    db.enqueue()
    parent = db.claim_one(worker)
    group, children = spawned(db, parent)
    join(db, parent)
    first, second = db.claim(worker)

    db.complete(first)
    waits = db.state(parent.id)
    (counted,) = db.call("job_groups", job_id=parent.id)
    db.fail(second)
    db.call("poll_jobs", worker_id=worker, queues=["default"])

    assert (waits, counted["total"], counted["done"], counted["joining"]) == ("scheduled", 2, 1, True)
    assert db.state(parent.id) == "ready"
    found = db.call("list_children", parent_id=parent.id, group_id=group)
    assert [(row["job_id"], row["state"]) for row in found] == list(zip(children, ["done", "dead"], strict=True))
    assert [
        row["job_id"] for row in db.call("list_children", parent_id=parent.id, group_id=group, after=children[0])
    ] == [children[1]]


def test_two_who_finish_at_once_do_not_wait_for_each_other(db: Session, other: Session) -> None:
    worker = db.worker()
    db.enqueue()
    parent = db.claim_one(worker)
    spawned(db, parent)
    join(db, parent)
    first, second = db.claim_one(worker), db.claim_one(worker)

    with db.conn.transaction():
        db.complete(first)
        other.rows("set statement_timeout = '5s'")
        other.complete(second)
    states = [db.state(parent.id)]
    db.call("poll_jobs", worker_id=worker, queues=["default"])

    assert [*states, db.state(parent.id)] == ["scheduled", "ready"]


def test_a_plain_job_leaves_no_tick(db: Session) -> None:
    worker = db.worker()
    db.enqueue()
    parent = db.claim_one(worker)
    spawned(db, parent)
    db.enqueue("app.task", priority=-1)
    plain = db.claim_one(worker)

    db.complete(plain)

    assert db.rows("select * from ostinato_data.child_tick") == []


def test_a_step_has_one_group_and_another_tenant_sees_none(db: Session, sessions: Sessions) -> None:
    acme = sessions.tenant("acme")
    worker = db.worker()
    db.enqueue()
    parent = db.claim_one(worker)
    spawned(db, parent)

    with pytest.raises(psycopg.errors.UniqueViolation):
        db.get("open_group", job_id=parent.id, position=1)
    with pytest.raises(psycopg.Error, match="there is no job"):
        acme.call("job_groups", job_id=parent.id)
    assert acme.rows("select * from ostinato_data.job_group") == []
    assert db.call("follow_jobs", job_ids=[parent.id])[0]["state"] == "running"
    assert db.call("open_waits", kinds=["app.task"]) == []


def test_a_group_is_closed_once_all_of_its_children_have_ended(db: Session) -> None:
    """A parent that joins nothing leaves its groups as they are: they stood there as open for ever."""
    worker = db.worker()
    db.enqueue()
    parent = db.claim_one(worker)
    spawned(db, parent)
    first, second = db.claim(worker)

    states = [db.call("job_groups", job_id=parent.id)[0]["state"]]
    db.complete(parent, first)
    states += [db.call("job_groups", job_id=parent.id)[0]["state"]]
    db.fail(second)
    states += [db.call("job_groups", job_id=parent.id)[0]["state"]]
    db.call("retry_job", job_id=second.id)
    states += [db.call("job_groups", job_id=parent.id)[0]["state"]]

    assert states == ["open", "open", "closed", "open"]


def test_a_tree_has_the_children_of_children_and_their_states(db: Session) -> None:
    worker = db.worker()
    db.enqueue()
    parent = db.claim_one(worker)
    _, (first, second) = spawned(db, parent)
    (middle,) = [held for held in db.claim(worker) if held.id == first or db.complete(held) is None]
    _, (leaf,) = spawned(db, middle, 1)

    found = db.call("job_tree", job_id=parent.id)
    few = db.call("job_tree", job_id=parent.id, most=1)

    assert [(row["id"], row["parent_id"], row["level"], row["state"]) for row in found] == [
        (first, parent.id, 1, "running"),
        (second, parent.id, 1, "done"),
        (leaf, first, 2, "ready"),
    ]
    assert [row["id"] for row in few] == [first, leaf]
    assert db.call("show_job", job_id=leaf)[0]["parent_id"] == first


def test_a_tenant_sees_no_tree_of_another(db: Session, sessions: Sessions) -> None:
    db.enqueue(tenant_id="acme")
    parent = db.claim_one(db.worker())
    spawned(db, parent)

    with pytest.raises(psycopg.errors.DatabaseError, match="there is no job"):
        sessions.tenant("globex").call("job_tree", job_id=parent.id)

"""Kinds are renamed: what waits or lies dead gets the new name, and nothing else does."""

import psycopg
import pytest

from tests.sql.engine import Session, Sessions, refused


def declared(db: Session, *names: str, queue: str = "default", secrets: str = "") -> None:
    count = len(names)
    db.call(
        "register_kinds",
        names=list(names),
        queues=[queue] * count,
        priorities=[0] * count,
        timeouts=[None] * count,
        retries=["{}"] * count,
        schemas=["{}"] * count,
        secrets=[secrets] * count,
    )


def test_what_waits_or_lies_dead_gets_the_new_name_and_its_queue(db: Session) -> None:
    declared(db, "app.old")
    declared(db, "app.new", queue="mail")
    worker = db.worker()
    dead = db.enqueue("app.old")
    db.fail(*db.claim(worker))
    running = db.enqueue("app.old")
    db.claim(worker)
    waits, other = db.enqueue("app.old"), db.enqueue("app.other")

    assert db.get("rekind_jobs", old="app.old", new="app.new") == 2
    assert db.get("rekind_jobs", old="app.old", new="app.new") == 0

    kinds = {row["id"]: (row["kind"], row["queue"]) for row in db.rows("select id, kind, queue from ostinato_data.job")}
    assert kinds == {
        dead: ("app.new", "mail"),
        running: ("app.old", "default"),
        waits: ("app.new", "mail"),
        other: ("app.other", "default"),
    }
    assert db.get("job_state", job_id=waits) == "ready"
    assert db.claimed_ids(worker, queue="mail") == [waits]


def test_a_name_that_nobody_declared_and_sealed_arguments_are_refused(db: Session) -> None:
    declared(db, "app.old", "app.safe", secrets="token")

    for new, state, said in (("app.typo", "OS404", "app.typo"), ("app.safe", "OS400", "sealed")):
        with pytest.raises(psycopg.Error, match=said) as refused:
            db.get("rekind_jobs", old="app.old", new=new)
        assert refused.value.sqlstate == state


def test_a_kind_that_nobody_runs_is_the_source_of_an_alert(db: Session) -> None:
    db.enqueue("app.lost")

    assert db.call("unrun_kind_jobs") == [{"label": "app.lost", "value": 1}]


def test_a_tenant_renames_nothing(db: Session, sessions: Sessions) -> None:
    declared(db, "app.old", "app.new")
    job = db.enqueue("app.old", tenant_id="acme")

    with refused("OS403", "cannot rename"):
        sessions.tenant("acme").call("rekind_jobs", old="app.old", new="app.new")

    assert db.value("select kind from ostinato_data.job where id = %s", job) == "app.old"

"""What operators do to one job, one worker and one schedule, for all tenants or as one of them."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, Value, arrays, refused

LATER = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def acme(sessions: Sessions) -> Session:
    """An operator of the tenant acme."""
    return sessions.tenant("acme")


def test_a_job_that_waits_is_moved_to_another_time(db: Session, acme: Session) -> None:
    ready = db.enqueue(tenant_id="acme", unique_key="u")
    scheduled = db.enqueue(tenant_id="acme", run_at=LATER)

    assert acme.get("move_job", job_id=ready, run_at=LATER) == "ready"
    assert acme.get("move_job", job_id=scheduled, run_at=START - timedelta(days=1)) == "scheduled"

    assert [db.state(job) for job in (ready, scheduled)] == ["scheduled", "ready"]
    assert db.call("show_job", job_id=ready)[0]["run_at"] == LATER
    assert db.claimed_ids(db.worker()) == [scheduled]


def test_a_tenant_puts_off_no_job_of_a_closed_kind(db: Session, acme: Session) -> None:
    """One that worked for all tenants was put off to the year 2099, and everybody who waited for it waited on."""
    db.call(
        "register_kinds", names=["app.enrich"], queues=["default"], priorities=[0], timeouts=[None], retries=["{}"],
        schemas=["{}"], opens=[False],
    )  # fmt: skip
    job = db.enqueue("app.enrich", tenant_id="acme")

    with refused("OS412", "closed to tenants"):
        acme.call("move_job", job_id=job, run_at=LATER)

    assert db.state(job) == "ready"
    assert db.get("move_job", job_id=job, run_at=LATER) == "ready"


def test_what_does_not_wait_for_a_time_is_not_moved(db: Session) -> None:
    db.enqueue()
    done = db.claim_one(db.worker())
    with refused("OS412", "it is running"):
        db.call("move_job", job_id=done.id, run_at=LATER)
    db.complete(done)

    with refused("OS412", "it is done"):
        db.call("move_job", job_id=done.id, run_at=LATER)
    with refused("OS404", "no job"):
        db.call("move_job", job_id=7, run_at=LATER)


OF_ANOTHER: dict[str, dict[str, Value]] = {"move_job": {"run_at": LATER}, "restart_job": {}, "own_signal_job": {}}


@pytest.mark.parametrize("verb", OF_ANOTHER)
def test_a_tenant_acts_on_no_job_of_another(db: Session, acme: Session, verb: str) -> None:
    job = db.enqueue(tenant_id="other", run_at=LATER)

    with refused("OS404", "no job"):
        acme.call(verb, job_id=job, **OF_ANOTHER[verb])

    assert db.call("show_job", job_id=job)[0]["run_at"] == LATER


def test_a_tenant_restarts_its_job_from_a_step(db: Session, acme: Session) -> None:
    db.enqueue(tenant_id="acme")
    held = db.claim_one(db.worker())
    for n, name in enumerate(["load", "charge"], 1):
        db.call("save_steps", **arrays([held]), positions=[n], names=[name], results=["1"])
    db.complete(held)

    assert acme.get("restart_job", job_id=held.id, from_step="charge") == "done"

    assert db.state(held.id) == "ready"
    assert [row["name"] for row in db.call("job_steps", job_id=held.id)] == ["load"]


def test_a_tenant_signals_its_job(db: Session, acme: Session) -> None:
    db.enqueue(tenant_id="acme")
    held = db.claim_one(db.worker())
    db.call("wait_jobs", **arrays([held]), positions=[1], events=["paid"], keys=["k"], timeouts=[None])

    assert acme.get("own_signal_job", job_id=held.id, payload={"n": 1}) == "default"

    assert db.state(held.id) == "ready"
    with refused("OS412", "does not wait for an event"):
        acme.call("own_signal_job", job_id=held.id)


def test_a_worker_hears_that_it_is_to_end_with_its_poll(db: Session) -> None:
    tired, other = db.worker("tired"), db.worker("other")

    db.call("drain_worker", worker_id=tired)

    polled = {worker: db.call("poll_jobs", worker_id=worker, queues=[])[0]["chores"] for worker in (tired, other)}
    assert ("drain" in polled[tired], "drain" in polled[other]) == (True, False)
    with refused("OS404", "no worker"):
        db.call("drain_worker", worker_id="00000000-0000-0000-0000-000000000000")


def daily(db: Session, tenant: str = "acme") -> dict[str, Value]:
    db.call("upsert_schedule", name="digest", kind="app.task", cron="0 6 * * *", tenant_id=tenant, catch_up="none")
    return {"name": "digest", "tenant_id": tenant}


def test_a_schedule_runs_now_beside_its_slots(db: Session, acme: Session) -> None:
    daily(db)

    job = acme.get("run_schedule", name="digest")

    found = db.call("show_job", job_id=job)[0]
    assert (found["state"], found["kind"], found["tenant_id"]) == ("ready", "app.task", "acme")
    assert found["args"]["scheduled_for"]["schedule"] == "digest"
    (fire,) = db.call("list_fires", name="digest", tenant_id="acme")
    assert (fire["slot_at"], fire["job_id"]) == (START, job)
    assert db.call("next_fires", name="digest", tenant_id="acme", n=1)[0]["slot_at"] == datetime(
        2026, 3, 3, 6, tzinfo=UTC
    )


def test_catching_up_fires_what_did_not_fire_once(db: Session, acme: Session, clock: Clock) -> None:
    daily(db)
    clock.advance(days=3)
    day = datetime(2026, 3, 3, 6, tzinfo=UTC)
    slots = [day, day + timedelta(days=1), day + timedelta(days=2)]

    listed = acme.call("catch_up_schedule", name="digest", since=START, preview=True)
    first = acme.call("catch_up_schedule", name="digest", since=START, most=2)
    rest = acme.call("catch_up_schedule", name="digest", since=START)

    assert [(row["slot_at"], row["job_id"]) for row in listed] == [(slot, None) for slot in slots]
    assert [row["slot_at"] for row in first + rest] == slots
    assert {db.state(row["job_id"]) for row in first + rest} == {"ready"}
    assert acme.call("catch_up_schedule", name="digest", since=START) == []


def test_a_schedule_moves_and_keeps_the_rest(db: Session) -> None:
    db.call(
        "upsert_schedule",
        name="digest",
        kind="app.task",
        cron="0 6 * * *",
        args={"n": 7},
        catch_up="all",
        key="k",
        tenant_id="acme",
        jitter_seconds=3.0,
    )

    due = db.get("move_schedule", name="digest", cron="30 2 * * *", zone="Europe/Paris", tenant_id="acme")

    found = db.call("show_schedule", name="digest", tenant_id="acme")[0]
    assert due == found["next_at"]
    assert (found["rule"], found["zone"], found["args"], found["catch_up"], found["key"], found["jitter_seconds"]) == (
        *("30 2 * * *", "Europe/Paris", {"n": 7}, "all", "k", 3.0),
    )
    with refused("OS404", "no schedule"):
        db.call("move_schedule", name="nobody", cron="30 2 * * *")


def test_a_tenant_runs_no_schedule_of_another(db: Session, acme: Session) -> None:
    daily(db, "other")

    for verb, more in (("run_schedule", {}), ("catch_up_schedule", {"since": START})):
        with refused("OS404", "no schedule"):
            acme.call(verb, name="digest", tenant_id="other", **more)

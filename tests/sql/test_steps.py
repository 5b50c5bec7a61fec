"""Steps: saved once, under the fence; sleeps and waits that leave the worker; restarts."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.engine import START, Clock, Held, Session, Sessions, Value, arrays, ids, refused, until_blocked


def save(db: Session, *jobs: Held, position: int = 1, **params: Value) -> list[int]:
    """Save one step for each job; the places of those that were refused."""
    given = {"names": ["charge"] * len(jobs), "results": ['{"n": 1}'] * len(jobs)} | params
    return ids(db.call("save_steps", **arrays(jobs), positions=[position] * len(jobs), **given))


def load(db: Session, job: int) -> list[tuple[Any, ...]]:
    rows = db.call("load_steps", job_ids=[job])
    return [(row["position"], row["type"], row["name"], row["result"]) for row in rows]


def sleep(db: Session, job: Held, seconds: float = 60, position: int = 1) -> list[int]:
    return ids(db.call("sleep_jobs", **arrays([job]), positions=[position], seconds=[seconds]))


def wait(db: Session, *jobs: Held, timeout: float | None = None, position: int = 1, key: str = "7") -> list[int]:
    return ids(
        db.call(
            "wait_jobs",
            **arrays(jobs),
            positions=[position for _ in jobs],
            events=["order.paid" for _ in jobs],
            keys=[key for _ in jobs],
            timeouts=[timeout for _ in jobs],
        )
    )


def running(db: Session, **params: Value) -> Held:
    db.enqueue(**params)
    return db.claim_one(db.worker())


def steps(db: Session, job: int) -> list[tuple[Any, ...]]:
    rows = db.call("job_steps", job_id=job)
    return [(row["position"], row["name"], row["type"]) for row in rows]


# Saving


def test_a_step_is_there_for_the_next_attempt(db: Session) -> None:
    worker = db.worker()
    job = db.enqueue()

    assert save(db, db.claim_one(worker)) == []
    db.call("rescue_claims", claim_ids=[db.value("select id from ostinato_data.claim")], max_crashes=3)

    assert db.claim_one(worker).attempt == 2
    assert load(db, job) == [(1, "call", "charge", '{"n": 1}')]


def test_steps_of_many_jobs_are_saved_in_one_call(db: Session) -> None:
    worker = db.worker()
    for _ in range(20):
        db.enqueue()
    jobs = [*db.claim(worker, 7), *db.claim(worker, 13)]

    assert save(db, *jobs) == []

    assert db.value("select count(*) from ostinato_data.step") == 20


def test_a_step_without_result_is_kept_as_such(db: Session) -> None:
    job = running(db)

    save(db, job, results=None)
    save(db, job, position=2, results=["null"])

    assert [row[3] for row in load(db, job.id)] == [None, "null"]


def test_a_step_saved_twice_by_its_attempt_counts_once(db: Session) -> None:
    """As after an answer that got lost."""
    job = running(db)
    save(db, job)

    assert save(db, job, results=['{"n": 2}']) == []

    assert load(db, job.id) == [(1, "call", "charge", '{"n": 1}')]


def test_another_step_in_a_place_that_is_taken_is_refused(db: Session) -> None:
    job = running(db)
    save(db, job)

    assert save(db, job, names=["ship"]) == [1]

    assert load(db, job.id) == [(1, "call", "charge", '{"n": 1}')]


@pytest.mark.parametrize("end", ["complete_jobs", "release_jobs"])
def test_a_late_step_is_refused_and_the_others_pass(db: Session, end: str) -> None:
    worker = db.worker()
    db.enqueue()
    db.enqueue()
    late, good = db.claim(worker)
    db.call(end, **arrays([late]))

    assert save(db, late, good) == [1]

    assert (load(db, late.id), len(load(db, good.id))) == ([], 1)


def test_a_step_of_a_wrong_claim_or_attempt_is_refused(db: Session) -> None:
    job = running(db)

    assert save(db, Held(job.id, job.attempt + 1, job.claim_id, {})) == [1]
    assert save(db, Held(job.id, job.attempt, job.claim_id + 1, {})) == [1]
    assert save(db, Held(job.id + 1, job.attempt, job.claim_id, {})) == [1]
    assert db.value("select count(*) from ostinato_data.step") == 0


def test_a_step_that_meets_the_rescue_of_its_job_is_refused(db: Session, other: Session, admin: Session) -> None:
    job = running(db)
    with db.transaction():
        db.call("rescue_claims", claim_ids=[job.claim_id], max_crashes=3)
        late = other.later("save_steps", **arrays([job]), positions=[1], names=["charge"])
        until_blocked(admin, other, by=db)

    assert ids(late.result()) == [1]
    assert load(db, job.id) == []


def test_who_takes_a_job_waits_for_its_step_under_way(db: Session, other: Session, admin: Session) -> None:
    """So the next holder, who loads after the claim, sees it."""
    job = running(db)
    with db.transaction():
        save(db, job)
        taking = other.later("release_jobs", **arrays([job]))
        until_blocked(admin, other, by=db)
    taking.result()

    assert len(load(db, job.id)) == 1


def test_a_rescue_leaves_a_job_whose_step_is_being_saved_to_the_next_round(db: Session, other: Session) -> None:
    job = running(db)
    db.call("unregister_worker", worker_id=db.value("select id from ostinato_data.worker"))
    with db.transaction():
        save(db, job)
        assert other.get("rescue_jobs") == 0

    assert other.get("rescue_jobs") == 1
    assert len(load(db, job.id)) == 1


def test_two_savers_of_one_claim_do_not_wait_for_each_other(db: Session, other: Session) -> None:
    worker = db.worker()
    db.enqueue()
    db.enqueue()
    first, second = db.claim(worker)
    with db.transaction():
        save(db, first)
        assert save(other, second) == []


def test_one_step_is_saved_with_the_writes_of_its_transaction(db: Session) -> None:
    job = running(db)
    params = {"job_id": job.id, "attempt": job.attempt, "position": 1, "name": "charge"}
    db.rows("begin")
    db.call("save_step", **params)
    db.rows("rollback")
    assert load(db, job.id) == []

    db.call("save_step", **params, result={"ok": True}, duration_ms=5, claim_id=job.claim_id)

    assert load(db, job.id) == [(1, "call", "charge", '{"ok": true}')]
    db.complete(job)
    with refused("OS410", str(job.id)):
        db.call("save_step", **(params | {"position": 2}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"names": [""]}, "step name"),
        ({"names": ["x" * 201]}, "step name"),
        ({"names": [None]}, "step name"),
        ({"results": ['"' + "x" * 1_048_576 + '"']}, "1048576"),
    ],
)
def test_what_cannot_be_a_step_is_refused(db: Session, given: dict[str, Any], words: str) -> None:
    job = running(db)

    with refused("OS400", words):
        save(db, job, **given)

    assert load(db, job.id) == []


def test_a_result_that_is_no_json_is_refused(db: Session) -> None:
    with refused("22P02"):
        save(db, running(db), results=["{"])


def test_steps_move_with_their_week_and_a_load_that_waits_for_that_sees_them(
    db: Session, other: Session, admin: Session, sessions: Sessions
) -> None:
    job = running(db)
    save(db, job)
    moving = sessions.open()
    with moving.transaction():
        moving.call("upkeep_partitions", retention_days=14)
        waiting = other.later("load_steps", job_ids=[job.id])
        until_blocked(admin, other, by=moving)

    assert [row["name"] for row in waiting.result()] == ["charge"]
    assert save(db, job, position=2) == []
    homes = admin.rows("select distinct tableoid::regclass::text as name from ostinato_data.step")
    assert homes == [{"name": "ostinato_data.step_20260226"}]


def test_steps_leave_with_their_job_and_stay_with_one_that_is_needed(db: Session, admin: Session, clock: Clock) -> None:
    db.call("upkeep_partitions", retention_days=14)
    worker = db.worker()
    done, dead = db.enqueue("app.done"), db.enqueue("app.dead")
    for job in (first := db.claim_one(worker)), db.claim_one(worker):
        save(db, job)
        if job is first:
            db.complete(job)
        else:
            db.fail(job)
    clock.advance(days=30)
    for _ in range(4):
        db.call("upkeep_partitions", retention_days=14)

    assert (db.state(done), db.state(dead)) == (None, "dead")
    assert load(db, dead) == [(1, "call", "charge", '{"n": 1}')]
    assert admin.value("select count(*) from ostinato_data.step") == 1
    db.call("cancel_job", job_id=dead)
    clock.advance(days=30)
    db.call("upkeep_partitions", retention_days=14)
    assert admin.value("select count(*) from ostinato_data.step") == 0


# Sleeping


def test_a_job_that_sleeps_leaves_its_worker_and_is_ready_after_the_time(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()

    assert sleep(db, db.claim_one(worker), 60) == []

    assert db.state(job) == "scheduled"
    assert list(db.why(job)) == ["sleeping"]
    clock.advance(seconds=59)
    assert db.get("promote_jobs") == 0
    clock.advance(seconds=1)
    assert db.get("promote_jobs") == 1
    held = db.claim_one(worker)
    assert (held.attempt, held.row["failures"]) == (2, 0)
    (row,) = db.call("load_steps", job_ids=[job])
    assert (row["type"], row["seconds_left"]) == ("sleep", 0)


def test_a_sleeper_that_runs_early_sleeps_on_until_its_time(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()
    sleep(db, db.claim_one(worker), 60)
    clock.advance(seconds=20)
    db.call("retry_job", job_id=job)
    held = db.claim_one(worker)
    assert db.call("load_steps", job_ids=[job])[0]["seconds_left"] == 40

    sleep(db, held, 60)

    row = db.row("select run_at, reason from ostinato_data.scheduled")
    assert (row["run_at"], row["reason"]) == (START + timedelta(seconds=60), "sleep")


def test_a_late_sleep_is_refused_and_nothing_changes(db: Session) -> None:
    job = running(db)
    db.complete(job)

    assert sleep(db, job) == [job.id]

    assert db.state(job.id) == "done"
    assert load(db, job.id) == []


def test_a_job_that_is_to_be_cancelled_does_not_sleep(db: Session) -> None:
    job = running(db)
    db.call("cancel_job", job_id=job.id)

    sleep(db, job)

    assert db.state(job.id) == "cancelled"


# Restarting


def finished_with_three_steps(db: Session, end: str = "done") -> int:
    job = running(db)
    for position, name in enumerate(("fetch", "charge", "ship"), 1):
        save(db, job, position=position, names=[name])
    if end == "done":
        db.complete(job)
    elif end == "dead":
        db.fail(job)
    elif end == "scheduled":
        db.fail(job, delay=60)
    elif end == "cancelled":
        db.fail(job, delay=60)
        db.call("cancel_job", job_id=job.id)
    return job.id


@pytest.mark.parametrize("end", ["done", "dead", "scheduled", "cancelled"])
@pytest.mark.parametrize(("step", "left"), [("charge", ["fetch"]), ("3", ["fetch", "charge"]), (None, [])])
def test_a_restart_forgets_the_steps_from_one_on_and_runs_the_job_again(
    db: Session, end: str, step: str | None, left: list[str]
) -> None:
    job = finished_with_three_steps(db, end)

    assert db.get("restart_job", job_id=job, from_step=step) == end

    assert db.state(job) == "ready"
    assert [row[1] for row in steps(db, job)] == left
    assert db.call("list_jobs", state=end) == []
    held = db.claim_one(db.worker())
    assert held.attempt > 1
    db.complete(held)
    assert [row["id"] for row in db.call("list_jobs", state="done")] == [job]


def test_a_restart_names_the_steps_there_are(db: Session) -> None:
    job = finished_with_three_steps(db)

    with refused("OS404", "'pack'") as caught:
        db.call("restart_job", job_id=job, from_step="pack")
    with refused("OS404", str(job + 1)):
        db.call("restart_job", job_id=job + 1)

    assert caught is None
    assert db.get("step_position", job_id=job, step="ship") == 3
    assert db.state(job) == "done"


def test_a_job_that_runs_or_is_ready_cannot_be_restarted(db: Session) -> None:
    job = running(db)
    save(db, job)

    with refused("OS412", "running"):
        db.call("restart_job", job_id=job.id, from_step="charge")
    db.release(job)
    with refused("OS412", "ready"):
        db.call("restart_job", job_id=job.id, from_step="charge")

    assert len(load(db, job.id)) == 1


def test_of_two_restarts_at_once_one_is_refused(db: Session, other: Session, admin: Session) -> None:
    job = finished_with_three_steps(db)
    with db.transaction():
        db.call("restart_job", job_id=job, from_step="ship")
        second = other.later("restart_job", job_id=job, from_step="fetch")
        until_blocked(admin, other, by=db)

    with refused("OS412", "ready"):
        second.result()
    assert [row[1] for row in steps(db, job)] == ["fetch", "charge"]


def test_a_restart_takes_the_unique_key_again_or_is_refused(db: Session) -> None:
    job = running(db, unique_key="k")
    save(db, job)
    db.complete(job)
    db.call("restart_job", job_id=job.id)
    assert db.enqueue(unique_key="k") == job.id
    db.complete(db.claim_one(db.worker()))
    holder = db.enqueue(unique_key="k")

    with refused("OS411", str(holder)):
        db.call("restart_job", job_id=job.id)


def test_a_restart_that_is_rolled_back_forgets_nothing(db: Session) -> None:
    job = finished_with_three_steps(db)

    db.rows("begin")
    db.call("restart_job", job_id=job)
    db.rows("rollback")

    assert db.state(job) == "done"
    assert len(steps(db, job)) == 3


def test_the_steps_of_a_job_say_when_how_long_and_how_large(db: Session, clock: Clock) -> None:
    job = running(db)
    save(db, job, durations=[1500])
    clock.advance(seconds=5)
    sleep(db, job, 60, position=2)

    charge, nap = db.call("job_steps", job_id=job.id)

    assert charge["finished_at"] == START
    assert (charge["duration_ms"], charge["bytes"], charge["result"]) == (1500, 8, {"n": 1})
    assert (nap["name"], nap["type"], nap["duration_ms"]) == ("sleep", "sleep", 60_000)
    assert nap["until"] == START + timedelta(seconds=65)
    with refused("OS404"):
        db.call("job_steps", job_id=job.id + 1)


@pytest.mark.parametrize(
    "call",
    [
        "ostinato.save_steps(null, null, null, null, null)",
        "ostinato.load_steps(null)",
        "ostinato.signal_job(1)",
        "ostinato_internal.resolve_waits('{1}')",
    ],
)
def test_the_verbs_of_steps_are_closed_to_tenants(sessions: Sessions, call: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sessions.tenant("t1").rows(f"select {call}")


def test_a_week_is_filled_with_the_steps_that_belong_to_it(db: Session, admin: Session) -> None:
    job = running(db)
    save(db, job)
    admin.call("make_partition", parent="step", name="step_20260226")

    assert admin.get("fill_week", parent="step", id="job_id", week=8, closed=True) == 1

    assert len(load(db, job.id)) == 1


def test_a_result_that_is_too_large_is_named(db: Session) -> None:
    with refused("OS400", "'report'", "limit"):
        db.call("refuse_large_step", name="report", result="x")

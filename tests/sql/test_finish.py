"""Finishing a run: complete, fail, snooze, release, progress, and the fence before all of them."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.sql.engine import START, Clock, Held, Session, arrays, ids, refused, until_blocked


def stale(db: Session) -> Held:
    """An attempt that was rescued from its worker; the next one is under way elsewhere."""
    worker = db.worker()
    job = db.enqueue(unique_key="k")
    lost = db.claim_one(worker)
    db.call("unregister_worker", worker_id=worker)
    assert db.get("rescue_jobs") == 1
    current = db.claim_one(db.worker("w2"))
    assert (current.id, current.attempt) == (job, 2)
    return lost


def note(db: Session, *jobs: Held, done: float = 1) -> list[int]:
    count = len(jobs)
    return ids(
        db.call("note_progress", **arrays(jobs), done=[done] * count, totals=[10.0] * count, notes=["half way"] * count)
    )


def cancel(db: Session, *jobs: Held) -> list[int]:
    return ids(db.call("cancel_jobs", **arrays(jobs), reasons=["enough"] * len(jobs)))


def everything(admin: Session) -> dict[str, object]:
    """All rows of all tables that a verb could change."""
    tables = ["ready", "scheduled", "claim", "outcome", "dead_letter", "job_unique", "cancel_request", "job_progress"]
    return {
        name: admin.rows(f"select * from ostinato_data.{name} t order by t::text")  # noqa: S608
        for name in tables
    }


BATCH_VERBS: dict[str, Callable[..., list[int]]] = {
    "complete": lambda db, *jobs: db.complete(*jobs),
    "fail": lambda db, *jobs: db.fail(*jobs),
    "retry": lambda db, *jobs: db.fail(*jobs, delay=1.0),
    "snooze": lambda db, *jobs: db.snooze(*jobs),
    "release": lambda db, *jobs: db.release(*jobs),
    "cancel": cancel,
    "progress": note,
}


@pytest.mark.parametrize("verb", BATCH_VERBS)
def test_a_stale_attempt_is_refused_and_nothing_changes(db: Session, admin: Session, verb: str) -> None:
    lost = stale(db)
    before = everything(admin)

    assert BATCH_VERBS[verb](db, lost) == [lost.id]

    assert everything(admin) == before


def test_a_stale_attempt_raises_where_one_job_is_meant(db: Session, admin: Session) -> None:
    lost = stale(db)
    before = everything(admin)
    token = {"job_id": lost.id, "attempt": lost.attempt}

    for claim in ({}, {"claim_id": lost.claim_id}):
        for verb in ("complete_job", "fence_job"):
            with refused("OS410", f"attempt {lost.attempt} of job {lost.id}"):
                db.call(verb, **token, **claim)
        with refused("OS410", f"attempt {lost.attempt} of job {lost.id}"):
            db.call("fail_job", **token, **claim, error={"type": "Late"})
    with refused("OS410", "running"):
        db.call("refuse_stale", **token)

    assert everything(admin) == before


@pytest.mark.parametrize("verb", BATCH_VERBS)
def test_the_held_ones_of_a_set_go_through_beside_stale_ones(db: Session, verb: str) -> None:
    lost = stale(db)
    mine = db.enqueue()
    held = db.claim_one(db.worker("w3"))
    assert held.id == mine

    assert BATCH_VERBS[verb](db, lost, held) == [lost.id]

    after = {
        "complete": "done",
        "fail": "dead",
        "retry": "scheduled",
        "snooze": "scheduled",
        "release": "ready",
        "cancel": "cancelled",
        "progress": "running",
    }
    assert db.state(mine) == after[verb]


@pytest.mark.parametrize("verb", [verb for verb in BATCH_VERBS if verb != "progress"])
def test_a_verb_sent_twice_is_refused_the_second_time(db: Session, admin: Session, verb: str) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())
    assert BATCH_VERBS[verb](db, held) == []
    before = everything(admin)

    assert BATCH_VERBS[verb](db, held) == [held.id]

    assert everything(admin) == before


@pytest.mark.parametrize("first", [verb for verb in BATCH_VERBS if verb != "progress"])
def test_after_any_end_completing_is_refused(db: Session, first: str) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())
    BATCH_VERBS[first](db, held)
    state = db.state(held.id)

    assert db.complete(held) == [held.id]
    assert db.state(held.id) == state


def test_a_wrong_claim_or_attempt_is_refused(db: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())

    for wrong in (
        Held(held.id, held.attempt + 1, held.claim_id, {}),
        Held(held.id, held.attempt, held.claim_id + 1, {}),
        Held(held.id + 1, held.attempt, held.claim_id, {}),
    ):
        assert db.complete(wrong) == [wrong.id]
        assert note(db, wrong) == [wrong.id]
        with refused("OS410"):
            db.call("fence_job", job_id=wrong.id, attempt=wrong.attempt, claim_id=wrong.claim_id)
    assert db.state(held.id) == "running"


def test_completing_writes_the_outcome_and_leaves_the_rest_of_the_claim(db: Session, clock: Clock) -> None:
    worker = db.worker()
    for _ in range(3):
        db.enqueue()
    one, two, three = db.claim(worker)
    clock.advance(seconds=2)

    assert db.complete(one, three, durations=[1500, 7], results=['{"n": 1}', None]) == []

    assert [db.state(held.id) for held in (one, two, three)] == ["done", "running", "done"]
    (attempt,) = db.call("job_attempts", job_id=one.id)
    assert (attempt["outcome"], attempt["duration_ms"], attempt["result"]) == ("done", 1500, {"n": 1})
    assert attempt["finished_at"] == clock.now
    assert (attempt["worker_id"], attempt["worker_name"]) == (worker, "w1")
    assert db.get("claim_of", job_id=two.id, attempt=1) == two.claim_id
    assert db.get("claim_of", job_id=one.id, attempt=1) is None
    db.complete(two)
    assert db.value("select count(*) from ostinato_data.claim") == 0


def test_one_job_is_completed_with_the_writes_of_its_transaction(db: Session, other: Session) -> None:
    db.enqueue()
    db.enqueue()
    one, two = db.claim(db.worker())

    with db.transaction():
        db.call("complete_job", job_id=one.id, attempt=1, result={"ok": True}, duration_ms=3)
        assert other.state(one.id) == "running"
    db.rows("begin")
    db.call("complete_job", job_id=two.id, attempt=1, claim_id=two.claim_id)
    db.rows("rollback")

    assert db.call("show_job", job_id=one.id)[0]["result"] == {"ok": True}
    assert db.state(two.id) == "running"


def test_failing_with_a_delay_retries_and_without_one_buries(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()

    for attempt in (1, 2):
        held = db.claim_one(worker)
        assert (held.attempt, held.row["failures"]) == (attempt, attempt - 1)
        assert db.fail(held, delay=30.0) == []
        assert db.state(job) == "scheduled"
        (row,) = db.call("list_jobs", state="scheduled")
        assert row["run_at"] == clock.now + timedelta(seconds=30)
        assert (row["attempt"], row["failures"]) == (attempt + 1, attempt)
        clock.advance(seconds=30)
        assert db.get("promote_jobs") == 1
    last = db.claim_one(worker)
    db.call("fail_job", job_id=job, attempt=3, error={"type": "KeyError", "message": "'x'"})

    assert db.state(job) == "dead"
    assert db.outcomes(job) == ["failed", "failed", "dead"]
    (letter,) = db.call("list_dead_letters")
    assert (letter["reason"], letter["signature"], letter["attempt"]) == ("failed", "KeyError", 3)
    assert letter["error"] == "KeyError: 'x'"
    assert last.attempt == 3


def test_failing_one_with_a_delay_and_a_reason(db: Session) -> None:
    one, two = db.enqueue(), db.enqueue()
    db.claim(db.worker())

    db.call("fail_job", job_id=one, attempt=1, error={"type": "E"}, delay_seconds=5.0)
    held = Held(two, 1, db.get("claim_of", job_id=two, attempt=1), {})
    refused_ids = db.call(
        "fail_jobs",
        **arrays([held]),
        delays=[None],
        errors=['{"type": "E"}'],
        signatures=["E at line 1"],
        reasons=["attempts_used_up"],
        durations=[12],
    )

    assert refused_ids == []
    assert db.state(one) == "scheduled"
    shown = db.call("show_job", job_id=two)[0]
    assert (shown["state"], shown["reason"], shown["duration_ms"]) == ("dead", "attempts_used_up", 12)


def test_snoozing_waits_without_a_failure(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()

    db.snooze(db.claim_one(worker), delay=90)

    assert db.state(job) == "scheduled"
    assert db.call("show_job", job_id=job)[0]["reason"] == "snooze"
    clock.advance(seconds=90)
    db.call("promote_jobs")
    held = db.claim_one(worker)
    assert (held.attempt, held.row["failures"]) == (2, 0)


def test_releasing_keeps_the_place_in_line_and_uses_no_attempt_up(db: Session) -> None:
    worker = db.worker()
    jobs = [db.enqueue() for _ in range(4)]
    taken = db.claim(worker, 2)

    assert db.release(*taken) == []

    again = db.claim(worker)
    assert [held.id for held in again] == jobs
    assert [held.attempt for held in again] == [2, 2, 1, 1]
    assert {held.row["failures"] for held in again} == {0}
    assert db.outcomes(jobs[0]) == ["running"]


def test_a_released_retry_keeps_its_place_too(db: Session) -> None:
    worker = db.worker()
    retried = db.enqueue()
    db.fail(db.claim_one(worker), delay=0)
    first = db.enqueue()
    db.call("promote_jobs")
    last = db.enqueue()

    db.release(*db.claim(worker, 2))

    assert db.claimed_ids(worker) == [first, retried, last]


def test_progress_is_kept_for_the_run_and_forgotten_with_it(db: Session) -> None:
    worker = db.worker()
    db.enqueue()
    held = db.claim_one(worker)

    assert note(db, held, done=3) == []
    assert note(db, held, done=5) == []

    shown = db.call("show_job", job_id=held.id)[0]
    assert (shown["progress_done"], shown["progress_total"]) == (5, 10)
    assert (shown["progress_note"], shown["progress_at"]) == ("half way", START)
    db.fail(held, delay=0)
    assert db.call("show_job", job_id=held.id)[0]["progress_done"] is None


def test_the_last_of_two_notes_in_one_call_counts(db: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())

    refused_ids = db.call(
        "note_progress", **arrays([held, held]), done=[1.0, 2.0], totals=[None, None], notes=[None, None]
    )

    assert refused_ids == []
    assert db.call("show_job", job_id=held.id)[0]["progress_done"] == 2


def test_a_fence_holds_a_job_until_the_transaction_ends(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    worker = db.worker()
    db.enqueue()
    held = db.claim_one(worker)

    with db.transaction():
        db.call("fence_job", job_id=held.id, attempt=1, claim_id=held.claim_id)
        db.call("fence_job", job_id=held.id, attempt=1)
        other.call("unregister_worker", worker_id=worker)
        assert other.get("rescue_jobs") == 0  # it steps around what is held
    assert other.get("rescue_jobs") == 1

    with refused("OS410"):
        db.call("fence_job", job_id=held.id, attempt=1)


def test_a_fence_of_several_holds_those_that_are_held_and_names_the_others(db: Session, other: Session) -> None:
    worker = db.worker()
    for _ in range(3):
        db.enqueue()
    held = db.claim(worker)
    sets = {
        "claim_ids": [each.claim_id for each in held],
        "job_ids": [each.id for each in held],
        "attempts": [each.attempt for each in held],
    }
    assert ids(db.call("fence_jobs", **sets)) == []
    assert ids(db.call("fence_jobs", **sets | {"attempts": [1, 2, 1]})) == [held[1].id]
    db.call("complete_job", job_id=held[2].id, attempt=1)

    with db.transaction():
        assert ids(db.call("fence_jobs", **sets)) == [held[2].id]
        other.call("unregister_worker", worker_id=worker)
        assert other.get("rescue_jobs") == 0  # it steps around what is held
    assert other.get("rescue_jobs") == 2


def test_a_fence_that_waited_for_the_end_of_the_job_is_refused(db: Session, other: Session, admin: Session) -> None:
    db.enqueue()
    db.enqueue()
    one, _ = db.claim(db.worker())

    with db.transaction():
        db.complete(one)
        waits = other.later("fence_job", job_id=one.id, attempt=1, claim_id=one.claim_id)
        until_blocked(admin, other, by=db)

    with refused("OS410"):
        waits.result()


def test_of_two_completions_at_once_one_is_refused(db: Session, other: Session, admin: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())

    with db.transaction():
        assert db.complete(held) == []
        waits = other.later("complete_jobs", **arrays([held]))
        until_blocked(admin, other, by=db)

    assert ids(waits.result()) == [held.id]
    assert db.outcomes(held.id) == ["done"]


def test_settling_returns_what_was_held(db: Session) -> None:
    db.enqueue(unique_key="k")
    held = db.claim_one(db.worker())

    (row,) = db.call("settle", **arrays([held]))

    assert (row["n"], row["job_id"], row["attempt"], row["keyed"]) == (1, held.id, 1, True)
    assert db.call("settle", **arrays([held])) == []


def test_what_belongs_to_a_run_is_forgotten(db: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())
    note(db, held)
    db.call("cancel_job", job_id=held.id)

    db.call("forget_run", job_ids=[held.id], ended=[held.id])

    shown = db.call("show_job", job_id=held.id)[0]
    assert (shown["progress_done"], shown["cancel_reason"]) == (None, None)


def test_an_error_that_is_no_object_is_kept(db: Session) -> None:
    db.enqueue()
    db.claim(db.worker())
    (row,) = db.call("list_jobs")

    db.call("fail_job", job_id=row["id"], attempt=1, error=json.dumps("plain words"))

    assert db.call("list_dead_letters")[0]["error"] == "plain words"
    assert db.call("list_dead_letters")[0]["signature"] == "failed"


@pytest.mark.parametrize("verb", ["complete_jobs", "rescue_jobs"])
def test_what_the_end_of_a_job_costs_does_not_grow_with_its_claim(db: Session, verb: str) -> None:
    """An array of a claim that is looked at once per job is unpacked once per job."""
    few, many = (blocks_per_job(db, verb, count) for count in (1_000, 16_000))

    assert many < 1.2 * few


def blocks_per_job(db: Session, verb: str, count: int) -> float:
    """How many blocks of tables a verb reads for each of the jobs of one claim."""
    db.rows("select count(ostinato.enqueue_job('app.task')) from generate_series(1, %s)", count)
    worker = db.worker()
    taken = db.claim(worker, count)
    assert len({held.claim_id for held in taken}) == 1
    if verb == "complete_jobs":
        held = arrays(taken)
        values = [held["claim_ids"], held["job_ids"], held["attempts"], [1] * count]
        statement = "select count(*) from ostinato.complete_jobs(%s, %s, %s, %s)"
    else:
        db.call("unregister_worker", worker_id=worker)
        values, statement = [], "select ostinato.rescue_jobs()"
    with db.transaction():
        (row,) = db.rows(f"explain (analyze, buffers, format json) {statement}", *values)
    plan = row["QUERY PLAN"][0]["Plan"]
    return float(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]) / count


LOOKS = "select coalesce(max(calls), 0) as n from pg_stat_xact_user_functions where funcname = 'lock_claims'"


def looks(db: Session, job: Held) -> int:
    """Complete a job, and return how often claims were locked one by one for it."""
    with db.transaction():
        before = db.value(LOOKS)
        assert db.complete(job) == []
        return int(db.value(LOOKS)) - int(before)


def test_the_last_job_of_its_claim_takes_the_claim_along_in_one_step(db: Session, admin: Session) -> None:
    worker = db.worker()
    db.enqueue()
    db.enqueue()
    first, last = db.claim(worker)

    assert (looks(db, first), looks(db, last)) == (1, 0)
    assert admin.rows("select * from ostinato_data.claim") == []
    assert [db.outcomes(job.id) for job in (first, last)] == [["done"], ["done"]]

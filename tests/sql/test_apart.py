"""Jobs with a claim of their own: a transaction that holds one of them holds up no other."""

from typing import Any

import pytest

from tests.sql.engine import Held, Session, arrays, ids, refused
from tests.waiting import until

NOTHING: list[int] = []


def claimed(db: Session, count: int = 3, *, apart: list[str] | None = None) -> list[Held]:
    for _ in range(count):
        db.enqueue()
    return db.claim(db.worker(), apart=apart)


def split(db: Session, *jobs: Held) -> list[int]:
    return ids(db.call("split_claims", **arrays(jobs)))


@pytest.mark.parametrize("how", ["claimed apart", "split"])
def test_an_open_transaction_that_holds_a_job_holds_up_no_other(db: Session, other: Session, how: str) -> None:
    apart = ["app.task"] if how == "claimed apart" else None
    long, *quick = claimed(db, apart=apart)
    if how == "split":
        assert split(db, long) == NOTHING

    with db.transaction():
        db.call("fence_job", job_id=long.id, attempt=1, claim_id=long.claim_id)
        assert other.complete(*quick) == NOTHING
    with db.transaction():
        db.call("complete_job", job_id=long.id, attempt=1, claim_id=long.claim_id)
        assert other.rows("select * from ostinato_data.claim for update skip locked") == []

    assert [db.state(job.id) for job in (long, *quick)] == ["done"] * 3


def test_a_rescue_of_the_others_does_not_wait_for_it(db: Session, other: Session) -> None:
    worker = db.worker()
    jobs = [db.enqueue() for _ in range(3)]
    long, *_ = db.claim(worker)
    split(db, long)

    with db.transaction():
        db.call("complete_job", job_id=long.id, attempt=1, claim_id=long.claim_id)
        other.call("unregister_worker", worker_id=worker)
        assert other.get("rescue_jobs") == 2

    assert [db.state(job) for job in jobs] == ["done", "ready", "ready"]


@pytest.mark.parametrize("verb", ["complete", "fail", "snooze", "release", "cancel"])
def test_the_holder_of_a_split_job_goes_on_to_name_the_claim_that_it_knows(db: Session, verb: str) -> None:
    long, *quick = claimed(db)
    split(db, long)
    steps = {"positions": [1, 1, 1], "names": ["s", "s", "s"]}
    notes = {"done": [0.5] * 3, "totals": [None] * 3, "notes": [None] * 3}

    assert db.call("save_steps", **arrays([long, *quick]), **steps) == []
    assert db.call("note_progress", **arrays([long, *quick]), **notes) == []
    if verb == "cancel":
        assert db.call("cancel_jobs", **arrays([long, *quick]), reasons=["x"] * 3) == []
    else:
        assert getattr(db, verb)(long, *quick) == NOTHING
    assert db.rows("select * from ostinato_data.claim") == []


@pytest.mark.parametrize("function", ["sleep_jobs", "wait_jobs"])
def test_a_split_job_can_sleep_and_wait(db: Session, function: str) -> None:
    long, *quick = claimed(db)
    split(db, long)
    more: dict[str, list[Any]] = {"seconds": [5.0] * 3}
    if function == "wait_jobs":
        more = {"events": ["e"] * 3, "keys": ["k"] * 3, "timeouts": [5.0] * 3}

    assert db.call(function, **arrays([long, *quick]), positions=[1] * 3, **more) == []
    assert db.value("select count(*) from ostinato_data.scheduled") == 3


def test_a_split_keeps_all_that_is_known_of_a_job(db: Session) -> None:
    held = claimed(db)
    before = db.rows(
        "select worker_id, claimed_at, queue, keyed from ostinato_data.claim cross join generate_series(1, 3)"
    )

    assert split(db, *held) == NOTHING

    after = db.rows("select worker_id, claimed_at, queue, keyed from ostinato_data.claim")
    assert after == before
    assert db.value("select array_agg(job_ids[1] order by id) from ostinato_data.claim") == [job.id for job in held]


@pytest.mark.parametrize("first", [1, 3])
def test_a_second_split_changes_nothing(db: Session, first: int) -> None:
    held = claimed(db)[:first]
    split(db, *held)
    before = db.rows("select * from ostinato_data.claim order by id")

    assert split(db, *held) == NOTHING
    assert db.rows("select * from ostinato_data.claim order by id") == before


def test_a_split_waits_for_nobody(db: Session, other: Session) -> None:
    long, *quick = claimed(db)

    with db.transaction():
        db.call("fence_job", job_id=long.id, attempt=1, claim_id=long.claim_id)
        assert sorted(split(other, long, *quick)) == [job.id for job in (long, *quick)]


def test_a_stale_attempt_is_not_split(db: Session) -> None:
    held = claimed(db, 1)[0]
    db.complete(held)

    assert split(db, held) == [held.id]
    assert db.rows("select * from ostinato_data.claim") == []


def test_a_verdict_that_meets_a_split_finds_the_job(db: Session, other: Session) -> None:
    """It waits for the claim that it was told, and the job is in another one by then."""
    held = claimed(db)

    with db.transaction():
        split(db, *held)
        verdict = other.later("complete_jobs", **arrays(held))
        waits(db, other)

    assert verdict.result() == []
    assert [db.state(job.id) for job in held] == ["done"] * 3


def test_a_fence_that_meets_a_split_finds_the_job(db: Session, other: Session) -> None:
    held = claimed(db)

    with db.transaction():
        split(db, *held)
        fenced = other.later("fence_job", job_id=held[0].id, attempt=1, claim_id=held[0].claim_id)
        waits(db, other)

    fenced.result()


def waits(db: Session, other: Session) -> None:
    """Wait until another session waits for a lock of ours, and not anybody for something."""
    pid = other.conn.info.backend_pid
    until(lambda: db.value("select pg_backend_pid() = any (pg_blocking_pids(%s))", pid))


def test_a_suspect_has_a_claim_of_its_own(db: Session) -> None:
    jobs = [db.enqueue() for _ in range(3)]
    db.rows("update ostinato_data.ready set crashes = 2 where job_id = %s", jobs[1])

    held = db.claim(db.worker(), starts=10)

    assert len({job.claim_id for job in held}) == 2
    rows = db.rows("select job_id, waiting from ostinato_data.claim order by job_id")
    assert [tuple(row.values()) for row in rows] == [(jobs[1], 1), (None, 0)]


def test_only_the_kinds_that_were_named_are_claimed_apart(db: Session) -> None:
    plain, written = db.enqueue("app.plain"), db.enqueue("app.written")
    db.enqueue("app.plain")

    held = db.claim(db.worker(kinds=["app.plain", "app.written"]), apart=["app.written"])

    rows = db.rows("select job_ids from ostinato_data.claim where job_id is not null")
    assert [row["job_ids"] for row in rows] == [[written]]
    by_id = {job.id: job.claim_id for job in held}
    assert by_id[plain] != by_id[written]
    assert db.complete(*held) == NOTHING


def test_the_token_of_a_job_apart_is_stale_after_it_left(db: Session) -> None:
    held = claimed(db, 1, apart=["app.task"])[0]
    db.release(held)
    again = db.claim_one(db.worker(), apart=["app.task"])

    assert db.complete(held) == [held.id]
    with refused("OS410"):
        db.call("complete_job", job_id=held.id, attempt=held.attempt, claim_id=again.claim_id)
    assert db.state(held.id) == "running"

"""Sessions that cross each other's way end, all of them, and nothing is done twice."""

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from random import Random

import psycopg
import pytest

from tests.slow import first_only
from tests.sql.engine import START, Clock, Held, Row, Session, Sessions, arrays, ids, until_blocked


def test_cancel_and_complete_in_opposite_order_do_not_deadlock(db: Session, other: Session, admin: Session) -> None:
    """A cancel takes no lock on a claim, so it does not matter which claim is the older one."""
    worker = db.worker()
    db.enqueue()
    db.enqueue()
    first, second = db.claim_one(worker), db.claim_one(worker)

    with db.transaction():
        assert db.get("cancel_job", job_id=second.id) == "running"
        waits = other.later("complete_jobs", **arrays([first, second]))
        assert db.get("cancel_job", job_id=first.id) in ("running", "done")

    assert ids(waits.result()) == []
    db.call("settle_cancels")
    assert db.state(first.id) == db.state(second.id) == "done"
    assert db.value("select count(*) from ostinato_data.cancel_request") == 0


def test_completions_of_the_same_claims_in_opposite_order_do_not_deadlock(
    db: Session, other: Session, admin: Session
) -> None:
    worker = db.worker()
    for _ in range(4):
        db.enqueue()
    (one, two), (three, four) = db.claim(worker, 2), db.claim(worker, 2)

    with db.transaction():
        assert db.complete(three, one) == []
        waits = other.later("complete_jobs", **arrays([four, two]))
        until_blocked(admin, other, by=db)

    assert ids(waits.result()) == []
    assert {db.state(held.id) for held in (one, two, three, four)} == {"done"}


def test_an_enqueue_with_a_key_and_the_end_of_its_holder_do_not_deadlock(
    db: Session, other: Session, admin: Session
) -> None:
    worker = db.worker()
    holder, mate = db.enqueue(unique_key="k1"), db.enqueue(unique_key="k2")
    held = db.claim(worker)

    with db.transaction():
        db.enqueue(unique_key="k3")
        waits = other.later("complete_jobs", **arrays(held))
        assert db.get("cancel_job", job_id=holder) in ("running", "done")
        assert db.get("cancel_job", job_id=mate) in ("running", "done")

    assert ids(waits.result()) == []


def test_a_held_fence_does_not_keep_anybody_from_cancelling(db: Session, other: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())

    with db.transaction():
        db.call("fence_job", job_id=held.id, attempt=1)
        assert other.get("cancel_job", job_id=held.id) == "running"


@pytest.mark.parametrize("seed", first_only(range(5)))
def test_all_verbs_at_once_never_deadlock_and_keep_every_job_in_one_place(
    db: Session, sessions: Sessions, clock: Clock, seed: int
) -> None:
    jobs = [
        db.enqueue(
            unique_key=f"k{n}" if n % 3 == 0 else None, run_at=START + timedelta(seconds=1) if n % 5 == 0 else None
        )
        for n in range(60)
    ]
    clock.advance(seconds=1)
    actors = [sessions.open() for _ in range(5)]

    with ThreadPoolExecutor(len(actors)) as threads:
        runs = [threads.submit(play, actor, jobs, Random(f"{seed}/{n}")) for n, actor in enumerate(actors)]
    results: list[Future[list[str]]] = runs

    assert [error for run in results for error in run.result()] == []
    assert misplaced(db) == []


def play(actor: Session, jobs: list[int], random: Random) -> list[str]:
    """One session that does whatever comes to its mind; returns the errors it should not get."""
    worker = actor.worker(f"w{random.random()}")
    held: list[Held] = []
    errors = []
    for _ in range(120):
        try:
            act(actor, worker_id=worker, held=held, jobs=jobs, random=random)
        except psycopg.Error as error:
            if error.sqlstate not in ("OS409", "OS411", "OS412"):
                errors.append(f"{error.sqlstate} {error}")
    return errors


def act(actor: Session, *, worker_id: object, held: list[Held], jobs: list[int], random: Random) -> None:
    taken = random.sample(held, k=min(len(held), random.randint(1, 4)))
    left = [job for job in held if job not in taken]
    match random.randrange(11):
        case 0 | 1 | 2:
            found = actor.call("claim_jobs", worker_id=worker_id, queue="default", wanted=random.randint(1, 8))
            held += [Held(r["job_id"], r["attempt"], r["claim_id"], r) for r in found]
            return
        case 3:
            actor.complete(*taken)
        case 4:
            actor.fail(*taken, delay=random.choice([None, 0.0]))
        case 5:
            actor.snooze(*taken, delay=0.0)
        case 6:
            actor.release(*taken)
        case 7:
            actor.call("cancel_job", job_id=random.choice(jobs))
            return
        case 8:
            actor.call("retry_job", job_id=random.choice(jobs))
            return
        case 9:
            jobs.append(
                actor.enqueue(unique_key=f"k{random.randrange(20)}", unique_policy=random.choice(["return", "replace"]))
            )
            return
        case _:
            actor.call("poll_jobs", worker_id=worker_id, queues=["default"])
            if random.random() < 0.3:
                actor.call("redrive_jobs", most=3)
            return
    held[:] = left


def misplaced(db: Session) -> list[Row]:
    """Jobs that are in no place or in two, and keys of jobs that should not have one."""
    return db.rows("""
        with place as (
            select job_id from ostinato_data.ready
            union all select job_id from ostinato_data.scheduled
            union all select unnest(job_ids) from ostinato_data.claim
            union all select job_id from ostinato_data.dead_letter
        ), counted as (select job_id, count(*) as n from place group by 1)
        select j.id, coalesce(c.n, 0) as places, ostinato.job_state(j.id) as state
        from ostinato_data.job j left join counted c on c.job_id = j.id
        where c.n > 1 or (c.n is null and ostinato.job_state(j.id) not in ('done', 'cancelled'))
           or (c.n is null and not exists (
               select from ostinato_data.outcome o where o.job_id = j.id))
        union all
        select u.job_id, -1, ostinato.job_state(u.job_id) from ostinato_data.job_unique u
        where ostinato.job_state(u.job_id) not in ('ready', 'scheduled', 'running')
        union all
        select j.id, -2, j.unique_key from ostinato_data.job j
        where j.unique_key is not null
          and ostinato.job_state(j.id) in ('ready', 'scheduled', 'running')
          and not exists (select from ostinato_data.job_unique u where u.job_id = j.id)
    """)

"""Retry and redrive: running again what waits, lies dead, or was cancelled."""

from datetime import timedelta

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, Value, refused, until_blocked


def bury(db: Session, count: int = 1, type_: str = "ValueError", **params: Value) -> list[int]:
    """Jobs that failed for good."""
    jobs = [db.enqueue(**params) for _ in range(count)]
    worker = db.worker()
    queue = str(params.get("queue", "default"))
    db.fail(*db.claim(worker, queue=queue), type_=type_)
    db.call("unregister_worker", worker_id=worker)
    assert {db.state(job) for job in jobs} == {"dead"}
    return jobs


def test_a_scheduled_job_runs_now(db: Session) -> None:
    job = db.enqueue(run_at=START + timedelta(hours=1))

    assert db.get("retry_job", job_id=job) == "scheduled"

    held = db.claim_one(db.worker())
    assert (held.id, held.attempt) == (job, 1)


def test_jobs_that_wait_for_their_time_are_hastened_and_others_left_alone(db: Session) -> None:
    later = db.enqueue(run_at=START + timedelta(hours=2))
    sooner = db.enqueue(run_at=START + timedelta(hours=1), queue="mail")
    snoozed = db.enqueue(queue="slow")
    db.snooze(db.claim_one(db.worker(), queue="slow"), delay=3600)
    failed = db.enqueue(queue="slow")
    db.fail(db.claim_one(db.worker(), queue="slow"), delay=3600)
    (dead,) = bury(db)
    running = db.enqueue(queue="busy")
    db.claim_one(db.worker(), queue="busy")
    ready = db.enqueue(queue="full")
    others = [dead, running, ready, 4711]
    before = [db.state(job) for job in others[:3]]

    moved = db.call("hasten_jobs", job_ids=[snoozed, later, sooner, failed, *others])

    assert [(row["job_id"], row["queue"]) for row in moved] == sorted(
        [(later, "default"), (sooner, "mail"), (snoozed, "slow"), (failed, "slow")]
    )
    assert [db.state(job) for job in others[:3]] == before
    assert db.call("hasten_jobs", job_ids=[later, sooner]) == []
    held = {job.id: job for job in db.claim(db.worker(), 10, queue="slow")}
    assert (held[snoozed].attempt, held[snoozed].row["failures"]) == (2, 0)
    assert (held[failed].attempt, held[failed].row["failures"]) == (2, 1)


def test_hastened_jobs_run_in_the_order_of_their_time(db: Session) -> None:
    jobs = [db.enqueue(run_at=START + timedelta(hours=hours)) for hours in (3, 1, 2)]

    db.call("hasten_jobs", job_ids=jobs)

    assert [held.id for held in db.claim(db.worker(), 3)] == [jobs[1], jobs[2], jobs[0]]


def test_haste_waits_for_nobody_who_is_moving_a_job(db: Session, sessions: Sessions) -> None:
    other = sessions.open()
    job = db.enqueue(run_at=START + timedelta(hours=1))
    with other.transaction():
        assert other.get("retry_job", job_id=job) == "scheduled"

        assert db.call("hasten_jobs", job_ids=[job]) == []

    assert db.state(job) == "ready"


def test_a_retry_that_waits_keeps_its_failures(db: Session) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker()), delay=3600)

    db.call("retry_job", job_id=job)

    held = db.claim_one(db.worker())
    assert (held.attempt, held.row["failures"]) == (2, 1)


def test_a_dead_job_starts_over_with_all_its_attempts(db: Session) -> None:
    (job,) = bury(db)

    assert db.get("retry_job", job_id=job) == "dead"

    assert db.call("list_dead_letters") == []
    held = db.claim_one(db.worker())
    assert (held.attempt, held.row["failures"], held.row["crashes"]) == (2, 0, 0)
    db.complete(held)
    assert db.outcomes(job) == ["dead", "done"]


def test_a_cancelled_job_can_be_run_after_all(db: Session) -> None:
    job = db.enqueue()
    db.call("cancel_job", job_id=job)

    assert db.get("retry_job", job_id=job) == "cancelled"

    held = db.claim_one(db.worker())
    assert (held.id, held.attempt) == (job, 2)


def test_a_job_can_be_cancelled_and_retried_again_and_again(db: Session) -> None:
    job = db.enqueue()
    for _ in range(3):
        db.call("cancel_job", job_id=job)
        db.call("retry_job", job_id=job)
    bury(db)
    db.call("cancel_job", job_id=job)
    db.call("retry_job", job_id=job)

    assert db.state(job) == "ready"


def test_jobs_that_run_by_themselves_or_are_done_are_refused(db: Session) -> None:
    ready = db.enqueue()
    with refused("OS412", "is ready"):
        db.call("retry_job", job_id=ready)
    held = db.claim_one(db.worker())
    with refused("OS412", "is running"):
        db.call("retry_job", job_id=ready)
    db.complete(held)
    with refused("OS412", "is done", "Enqueue a new job"):
        db.call("retry_job", job_id=ready)
    with refused("OS404", "there is no job 7"):
        db.call("retry_job", job_id=7)


@pytest.mark.parametrize("how", ["dead", "cancelled"])
def test_a_retry_takes_the_unique_key_again(db: Session, how: str) -> None:
    job = db.enqueue(unique_key="k")
    if how == "dead":
        db.fail(db.claim_one(db.worker()))
    else:
        db.call("cancel_job", job_id=job)

    db.call("retry_job", job_id=job)

    assert db.enqueue(unique_key="k") == job


@pytest.mark.parametrize("how", ["dead", "cancelled"])
def test_a_retry_is_refused_while_another_job_has_the_key(db: Session, how: str) -> None:
    job = db.enqueue(unique_key="k")
    if how == "dead":
        db.fail(db.claim_one(db.worker()))
    else:
        db.call("cancel_job", job_id=job)
    holder = db.enqueue(unique_key="k")

    with refused("OS411", "'k'", str(holder)):
        db.call("retry_job", job_id=job)

    assert db.state(job) == how
    db.call("cancel_job", job_id=holder)
    assert db.get("retry_job", job_id=job) == how


def test_a_dead_job_that_kept_its_key_keeps_it(db: Session) -> None:
    states = ["scheduled", "ready", "running", "dead"]
    job = db.enqueue(unique_key="k", unique_states=states)
    db.fail(db.claim_one(db.worker()))
    assert db.enqueue(unique_key="k") == job

    db.call("retry_job", job_id=job)

    assert db.value("select states from ostinato_data.job_unique") == states
    db.call("rehold_unique_key", job_id=job)
    assert db.value("select count(*) from ostinato_data.job_unique") == 1


def test_a_job_that_comes_back_holds_its_key_in_the_states_it_was_added_with(db: Session) -> None:
    job = db.enqueue(unique_key="k", unique_states=["scheduled", "ready", "running", "done"])
    db.fail(db.claim_one(db.worker()))
    assert db.value("select count(*) from ostinato_data.job_unique") == 0  # dead: the key is free

    db.call("retry_job", job_id=job)
    db.complete(db.claim_one(db.worker()))

    assert db.enqueue(unique_key="k") == job


def test_of_two_retries_at_once_one_is_refused(db: Session, other: Session, admin: Session) -> None:
    (job,) = bury(db)

    with db.transaction():
        db.call("retry_job", job_id=job)
        waits = other.later("retry_job", job_id=job)
        until_blocked(admin, other, by=db)

    with refused("OS412", "is ready"):
        waits.result()
    assert len(db.claim(db.worker())) == 1


def test_a_preview_counts_and_does_nothing(db: Session) -> None:
    bury(db, 3)

    (seen,) = db.call("redrive_jobs", preview=True)

    assert seen == {"matching": 3, "redriven": 0, "conflicts": 0}
    assert len(db.call("list_dead_letters")) == 3


def test_a_canary_is_the_oldest_and_the_rest_stays(db: Session) -> None:
    jobs = bury(db, 5)

    (done,) = db.call("redrive_jobs", most=2)

    assert done == {"matching": 5, "redriven": 2, "conflicts": 0}
    assert [db.state(job) for job in jobs] == ["ready", "ready", "dead", "dead", "dead"]
    assert db.claimed_ids(db.worker()) == jobs[:2]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({"queue": "mails"}, [1]),
        ({"kind": "app.other"}, [2]),
        ({"tenant_id": "t2"}, [3]),
        ({"signature": "KeyError"}, [1, 2]),
        ({"signature": "KeyError", "kind": "app.other"}, [2]),
        ({"ids": [3, 0]}, [0, 3]),
        ({"ids": []}, []),
        ({"queue": "nothing"}, []),
    ],
)
def test_a_filter_chooses(db: Session, given: dict[str, object], expected: list[int]) -> None:
    jobs = [
        *bury(db),
        *bury(db, queue="mails", type_="KeyError"),
        *bury(db, kind="app.other", type_="KeyError"),
        *bury(db, tenant_id="t2"),
    ]
    if "ids" in given:
        given = {"ids": [jobs[n] for n in expected]}

    assert len(db.call("find_dead_letters", **given)) == len(expected)
    (done,) = db.call("redrive_jobs", **given)

    assert done["matching"] == done["redriven"] == len(expected)
    assert [n for n, job in enumerate(jobs) if db.state(job) == "ready"] == expected


def test_a_redriven_job_starts_over_behind_those_that_wait(db: Session) -> None:
    jobs = bury(db, 2)
    waiting = db.enqueue()

    db.call("redrive_jobs")

    taken = db.claim(db.worker())
    assert [held.id for held in taken] == [waiting, *jobs]
    assert [(held.attempt, held.row["failures"]) for held in taken] == [(1, 0), (2, 0), (2, 0)]


def test_jobs_whose_key_another_one_has_stay_dead_and_are_counted(db: Session) -> None:
    keyed, free = db.enqueue(unique_key="k"), db.enqueue(unique_key="free")
    plain = db.enqueue()
    db.fail(*db.claim(db.worker()))
    holder = db.enqueue(unique_key="k")

    (done,) = db.call("redrive_jobs")

    assert done == {"matching": 3, "redriven": 2, "conflicts": 1}
    states = [db.state(job) for job in (keyed, free, plain, holder)]
    assert states == ["dead", "ready", "ready", "ready"]


def test_of_two_jobs_with_one_key_the_older_is_redriven(db: Session) -> None:
    first = db.enqueue(unique_key="k")
    db.fail(db.claim_one(db.worker()))
    second = db.enqueue(unique_key="k")
    db.fail(db.claim_one(db.worker()))

    (done,) = db.call("redrive_jobs")

    assert (done["redriven"], done["conflicts"]) == (1, 1)
    assert (db.state(first), db.state(second)) == ("ready", "dead")


def test_two_redrives_at_once_run_each_job_once(db: Session, other: Session, admin: Session) -> None:
    jobs = bury(db, 3)

    with db.transaction():
        db.call("redrive_jobs")
        waits = other.later("redrive_jobs")
        until_blocked(admin, other, by=db)

    assert waits.result()[0]["redriven"] == 0
    assert db.claimed_ids(db.worker()) == jobs


def test_a_redrive_that_meets_a_retry_leaves_the_job_to_it(db: Session, other: Session, admin: Session) -> None:
    job = db.enqueue(unique_key="k")
    db.fail(db.claim_one(db.worker()))

    with db.transaction():
        db.call("retry_job", job_id=job)
        waits = other.later("redrive_jobs")
        until_blocked(admin, other, by=db)

    assert waits.result()[0]["redriven"] == 0
    assert db.state(job) == "ready"


def test_a_retry_that_meets_a_redrive_leaves_the_job_to_it(db: Session, other: Session, admin: Session) -> None:
    (job,) = bury(db)

    with db.transaction():
        db.call("redrive_jobs")
        waits = other.later("retry_job", job_id=job)
        until_blocked(admin, other, by=db)

    with refused("OS409", "moved"):
        waits.result()
    assert db.claimed_ids(db.worker()) == [job]


def test_one_session_retries_jobs_in_all_states(db: Session) -> None:
    (dead,) = bury(db)
    waiting = db.enqueue(run_at=START + timedelta(hours=1))
    cancelled = db.enqueue()
    db.call("cancel_job", job_id=cancelled)

    states = [db.get("retry_job", job_id=job) for job in (dead, waiting, cancelled)]

    assert states == ["dead", "scheduled", "cancelled"]
    assert db.claimed_ids(db.worker()) == [dead, waiting, cancelled]


def test_a_retry_that_meets_a_promotion_runs_once(db: Session, other: Session, admin: Session, clock: Clock) -> None:
    job = db.enqueue(run_at=START + timedelta(seconds=1))
    clock.advance(seconds=1)

    with db.transaction():
        db.call("promote_jobs")
        waits = other.later("retry_job", job_id=job)
        until_blocked(admin, other, by=db)

    with refused("OS409", "moved"):
        waits.result()
    assert db.claimed_ids(db.worker()) == [job]

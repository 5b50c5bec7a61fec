"""Limits are exact, also for two workers at once, and nothing leaks."""

from collections import Counter
from datetime import timedelta

import pytest

from tests.sql.engine import Clock, Session, refused, until_blocked


def fill(db: Session, count: int = 10, **columns: object) -> list[int]:
    given = {name: value if isinstance(value, list) else [value] for name, value in columns.items()}
    rows = db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * count, **given)
    return [row["enqueue_jobs"] for row in rows]


def test_a_queue_runs_no_more_than_its_concurrency(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", concurrency=3)
    jobs = fill(db)

    taken = db.claim(worker, 2)
    taken += db.claim(worker, 10)
    assert [held.id for held in taken] == jobs[:3]
    assert db.claim(worker) == []
    db.complete(taken[1])

    assert db.claimed_ids(worker) == [jobs[3]]


@pytest.mark.parametrize("how", ["complete", "fail", "snooze", "release", "rescue"])
def test_every_way_a_run_ends_frees_its_slot(db: Session, how: str) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", concurrency=1)
    db.enqueue()
    held = db.claim_one(worker)

    if how == "rescue":
        db.call("unregister_worker", worker_id=worker)
        db.call("rescue_jobs")
    else:
        getattr(db, how)(held)

    assert db.get("queue_running", queue="default") == 0
    db.enqueue()
    assert len(db.claim(db.worker("w2"), 1)) == 1


def test_the_last_slot_goes_to_one_of_two_workers(db: Session, other: Session, admin: Session) -> None:
    db.call("configure_queue", name="default", concurrency=3)
    fill(db)
    mine, theirs = db.worker(), db.worker("w2")

    with db.transaction():
        first = db.claim(mine, 2)
        waits = other.later("claim_jobs", worker_id=theirs, queue="default", wanted=10)
        until_blocked(admin, other, by=db)

    assert len(first) == 2
    assert len(waits.result()) == 1


@pytest.mark.parametrize("limits", [{"concurrency": 2}, {"rate_count": 2, "rate_seconds": 60.0}, {"paused": True}])
def test_a_claim_that_waited_for_new_limits_keeps_them(
    db: Session, other: Session, admin: Session, limits: dict[str, object]
) -> None:
    db.call("configure_queue", name="default", concurrency=5)
    fill(db)
    theirs = db.worker("w2")

    with db.transaction():
        if "paused" in limits:
            db.call("pause_queue", name="default")
        else:
            db.call("configure_queue", name="default", **limits)
        waits = other.later("claim_jobs", worker_id=theirs, queue="default", wanted=10)
        until_blocked(admin, other, by=db)

    assert len(waits.result()) == (0 if "paused" in limits else 2)


def test_each_key_runs_no_more_than_its_concurrency(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=2)
    fill(db, 5, limit_keys="a")
    fill(db, 1, limit_keys="b")
    free = fill(db, 3)

    taken = db.claim(worker)

    keys = Counter(db.call("show_job", job_id=held.id)[0]["limit_key"] for held in taken)
    assert keys == {"a": 2, "b": 1, None: 3}
    assert set(free) <= {held.id for held in taken}
    assert db.claim(worker) == []
    db.complete(next(held for held in taken if held.id not in free))
    assert len(db.claim(worker)) == 1


def test_the_slots_of_a_key_are_exact_for_two_workers_at_once(db: Session, other: Session, admin: Session) -> None:
    db.call("configure_queue", name="default", key_concurrency=3)
    fill(db, limit_keys="a")
    mine, theirs = db.worker(), db.worker("w2")

    with db.transaction():
        assert len(db.claim(mine, 2)) == 2
        waits = other.later("claim_jobs", worker_id=theirs, queue="default", wanted=10)
        until_blocked(admin, other, by=db)

    assert len(waits.result()) == 1


def test_jobs_of_a_key_run_by_priority_then_time(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    second, first = db.enqueue(limit_key="a"), db.enqueue(limit_key="a", priority=-1)

    one = db.claim_one(worker)
    db.complete(one)
    two = db.claim_one(worker)

    assert [one.id, two.id] == [first, second]


def test_more_keys_than_one_look_holds_are_all_served(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    fill(db, 1100, limit_keys=[f"k{n:04}" for n in range(1100)])

    served = 0
    while taken := db.claim(worker, 300):
        served += len(taken)

    assert served == 1100


def test_a_queue_starts_no_more_than_its_rate(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", rate_count=3, rate_seconds=60.0)
    fill(db)

    assert len(db.claim(worker, 2)) == 2
    clock.advance(seconds=30)
    assert len(db.claim(worker)) == 1
    clock.advance(seconds=29.999)
    assert db.claim(worker) == []
    clock.advance(seconds=0.001)
    assert len(db.claim(worker)) == 2  # the first two have left the window
    clock.advance(seconds=30)
    assert len(db.claim(worker)) == 1


def test_a_rate_does_not_stop_a_queue_when_the_clock_goes_back(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", rate_count=1, rate_seconds=60.0)
    fill(db, 3)
    db.claim(worker)

    clock.advance(hours=-1)

    assert len(db.claim(worker)) == 1
    assert db.claim(worker) == []


def test_a_rate_counts_starts_not_runs(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", rate_count=1, rate_seconds=60.0)
    fill(db, 2)

    db.complete(db.claim_one(worker))

    assert db.claim(worker) == []


def test_each_key_starts_no_more_than_its_rate(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_rate_count=2, key_rate_seconds=10.0)
    fill(db, 5, limit_keys="a")
    fill(db, 3, limit_keys="b")

    assert len(db.claim(worker)) == 4
    assert db.claim(worker) == []
    clock.advance(seconds=10)
    assert len(db.claim(worker)) == 3


def test_the_rate_is_exact_for_two_workers_at_once(db: Session, other: Session, admin: Session) -> None:
    db.call("configure_queue", name="default", rate_count=3, rate_seconds=60.0)
    fill(db)
    mine, theirs = db.worker(), db.worker("w2")

    with db.transaction():
        assert len(db.claim(mine, 2)) == 2
        waits = other.later("claim_jobs", worker_id=theirs, queue="default", wanted=10)
        until_blocked(admin, other, by=db)

    assert len(waits.result()) == 1


def test_all_limits_hold_together(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.call(
        "configure_queue",
        name="default",
        concurrency=5,
        rate_count=4,
        rate_seconds=60.0,
        key_concurrency=2,
        key_rate_count=3,
        key_rate_seconds=60.0,
    )
    fill(db, 10, limit_keys="a")
    fill(db, 10, limit_keys="b")

    first = db.claim(worker)
    assert len(first) == 4  # the queue's rate; two of each key
    db.complete(*first)
    clock.advance(seconds=30)
    assert db.claim(worker) == []
    clock.advance(seconds=30)
    assert len(db.claim(worker)) == 4


def test_limits_of_one_queue_do_not_touch_another(db: Session) -> None:
    worker = db.worker(queues=["a", "b"])
    db.call("configure_queue", name="a", concurrency=1)
    fill(db, 3, queues="a")
    fill(db, 3, queues="b")

    assert len(db.claim(worker, queue="a")) == 1
    assert len(db.claim(worker, queue="b")) == 3


def test_limits_taken_away_are_gone(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", concurrency=1, key_concurrency=1)
    fill(db, 4, limit_keys="a")
    assert len(db.claim(worker)) == 1

    db.call("configure_queue", name="default")

    assert len(db.claim(worker)) == 3


def test_a_new_limit_counts_what_already_runs(db: Session) -> None:
    worker = db.worker()
    fill(db, 4, limit_keys="a")
    fill(db, 4, limit_keys="b")
    taken = db.claim(worker, 2)

    db.call("configure_queue", name="default", key_concurrency=2, concurrency=5)

    assert len(db.call("running_keys", queue="default")) == 2
    assert len(db.claim(worker)) == 2
    db.complete(*taken)
    assert len(db.claim(worker)) == 2


def test_pausing_keeps_the_limits_and_limits_keep_the_pause(db: Session) -> None:
    db.call("configure_queue", name="default", concurrency=1)
    db.call("pause_queue", name="default")
    db.call("configure_queue", name="default", concurrency=2)

    (queue,) = db.call("list_queues")

    assert (queue["paused"], queue["concurrency"]) == (True, 2)


@pytest.mark.parametrize(
    "limits",
    [
        {"concurrency": 0},
        {"concurrency": -1},
        {"rate_count": 5},
        {"rate_seconds": 5.0},
        {"rate_count": 0, "rate_seconds": 1.0},
        {"rate_count": 1, "rate_seconds": 0.0},
        {"rate_count": 1, "rate_seconds": float("nan")},
        {"rate_count": 1, "rate_seconds": float("inf")},
        {"key_rate_count": 1},
        {"key_rate_count": 1, "key_rate_seconds": 1e300},
    ],
)
def test_limits_that_make_no_sense_are_refused(db: Session, limits: dict[str, object]) -> None:
    with refused("OS400", "do not fit together"):
        db.call("configure_queue", name="default", **limits)


def test_a_queue_needs_a_name(db: Session) -> None:
    for verb in ("configure_queue", "pause_queue"):
        with refused("OS400", "queue"):
            db.call(verb, name="")


def test_suspects_of_a_limited_queue_run_one_at_a_time(db: Session) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=5)
    fill(db, 3, limit_keys=["a", "b", None])
    for _ in range(2):
        db.claim(worker)
        db.call("unregister_worker", worker_id=worker)
        db.call("rescue_jobs")
        worker = db.worker()
    healthy = db.enqueue(limit_key="c")

    assert db.claimed_ids(worker, suspects=False) == [healthy]
    assert [len(db.claim(worker)) for _ in range(4)] == [1, 1, 1, 0]


def test_what_limits_count(db: Session, clock: Clock) -> None:
    """The helpers, called one by one."""
    worker = db.worker()
    db.call("configure_queue", name="default", concurrency=5, rate_count=9, rate_seconds=60.0, key_concurrency=2)
    fill(db, 3, limit_keys=["a", "a", "b"])
    db.claim(worker, 2)

    queue = "(select q from ostinato_data.queue q)"
    assert db.get("recent_starts", queue="default", limit_key="", seconds=60.0) == 2
    clock.advance(seconds=60)
    assert db.get("recent_starts", queue="default", limit_key="", seconds=60.0) == 0
    assert db.value(f"select ostinato_internal.queue_allowance({queue}, 100)") == 3
    (waiting,) = db.call("ready_keys", queue="default", after="")
    free = db.rows(f"select * from ostinato_internal.free_keys({queue}, array['7:default:b'])")  # noqa: S608
    assert [row["limit_key"] for row in free] == list(waiting.values())
    taken = db.row(f"select job_ids from ostinato_internal.take_limited({queue}, 9, null, true)")  # noqa: S608
    assert len(taken["job_ids"]) == 1
    hint = "row('default', '{}', null, null, null, null, null)::ostinato_data.claim_hint"
    db.rows(f"select ostinato_internal.go_on_from({hint}, '{{}}', 3::smallint, 'b', 'k')")
    kept = db.row("select (lanes).last_tenant, last_priority, seen_key from ostinato_data.claim_hint")
    assert kept == {"last_tenant": "b", "last_priority": 3, "seen_key": "k"}
    assert db.rows(f"select * from ostinato_internal.limited_lanes({hint})") == []  # noqa: S608
    at = clock.now - timedelta(seconds=1)
    batch = "row('{1}', '{1}', '{1}', '{0}', '{0}', null, false, null)::ostinato_data.batch"
    db.rows(f"select ostinato_internal.note_starts({queue}, {batch}, %s)", at)
    assert db.get("recent_starts", queue="default", limit_key="", seconds=60.0) == 1

"""Claim: who gets what, in which order."""

from collections import Counter
from concurrent.futures import Future
from datetime import timedelta
from uuid import uuid4

import pytest

from tests.sql.engine import START, Clock, Row, Session
from tests.waiting import until


def test_a_claimed_job_is_running_and_carries_what_the_handler_needs(db: Session, clock: Clock) -> None:
    job = db.enqueue(args='{"x": 1}', correlation_id="c", tenant_id="t", max_attempts=5)
    clock.advance(seconds=90)

    held = db.claim_one(db.worker())

    assert db.state(job) == "running"
    assert (held.id, held.attempt) == (job, 1)
    row = held.row
    assert (row["kind"], row["args"], row["tenant_id"]) == ("app.task", '{"x": 1}', "t")
    assert (row["correlation_id"], row["max_attempts"], row["waited"]) == ("c", 5, 90)
    assert (row["failures"], row["crashes"]) == (0, 0)


def test_nobody_claims_a_job_twice(db: Session, other: Session) -> None:
    jobs = [db.enqueue() for _ in range(10)]

    first = db.claimed_ids(db.worker(), 6)
    second = other.claimed_ids(other.worker("w2"), 10)

    assert sorted(first + second) == jobs
    assert len(first) == 6
    assert db.claimed_ids(db.worker("w3")) == []


def test_a_claim_skips_what_another_one_is_taking(db: Session, other: Session) -> None:
    jobs = [db.enqueue() for _ in range(10)]

    with db.transaction():
        first = db.claimed_ids(db.worker(), 4)
        second = other.claimed_ids(other.worker("w2"), 10)

    assert first == jobs[:4]
    assert second == jobs[4:]


def test_the_lowest_priority_number_comes_first_then_time(db: Session) -> None:
    late, early, urgent, also = (db.enqueue(priority=p) for p in (9, 5, -3, -3))

    assert db.claimed_ids(db.worker()) == [urgent, also, early, late]


def test_a_claim_takes_no_more_than_wanted(db: Session) -> None:
    jobs = [db.enqueue() for _ in range(5)]

    assert db.claimed_ids(db.worker(), 2) == jobs[:2]
    assert db.claim(db.worker(), 0) == []


def test_a_claim_takes_from_its_queue_only(db: Session) -> None:
    db.enqueue(queue="other")
    mine = db.enqueue(queue="mine")

    assert db.claimed_ids(db.worker(), queue="mine") == [mine]


def test_a_claim_takes_only_kinds_that_the_worker_knows(db: Session) -> None:
    db.enqueue("app.unknown")
    known = db.enqueue("app.known")

    assert db.claimed_ids(db.worker(), kinds=["app.known", "app.third"]) == [known]
    assert db.claimed_ids(db.worker(), kinds=["app.third"]) == []


def test_a_paused_queue_gives_nothing_until_it_is_resumed(db: Session) -> None:
    job = db.enqueue()
    worker = db.worker()

    db.call("pause_queue", name="default")
    assert db.claim(worker) == []
    db.call("resume_queue", name="default")
    assert db.claimed_ids(worker) == [job]


def test_tenants_take_turns(db: Session) -> None:
    worker = db.worker()
    for _ in range(30):
        db.enqueue(tenant_id="big")
    small = [db.enqueue(tenant_id=tenant) for tenant in ("s1", "s2", "s3")]

    taken = db.claim(worker, 8)

    assert set(small) <= {held.id for held in taken}
    counted = Counter(held.row["tenant_id"] for held in taken)
    assert counted == {"big": 5, "s1": 1, "s2": 1, "s3": 1}


def test_a_tenant_with_a_backlog_delays_nobody_claim_after_claim(db: Session) -> None:
    worker = db.worker()
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 200, tenant_ids=["big"])
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 3, tenant_ids=["small"])

    cursor, served = None, []
    for _ in range(6):
        (held,) = db.claim(worker, 1, cursor=cursor)
        cursor = held.row["next_cursor"]
        served.append(held.row["tenant_id"])

    assert Counter(served) == {"big": 3, "small": 3}


def test_turns_are_taken_within_a_priority_only(db: Session) -> None:
    urgent = [db.enqueue(tenant_id="a", priority=0) for _ in range(3)]
    db.enqueue(tenant_id="b", priority=1)

    assert db.claimed_ids(db.worker(), 3) == urgent


def test_many_lanes_are_all_served_in_the_end(db: Session) -> None:
    worker = db.worker()
    tenants = [f"t{n:04}" for n in range(700)]
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 700, tenant_ids=tenants)

    cursor, served = None, set()
    while taken := db.claim(worker, 100, cursor=cursor):
        cursor = taken[0].row["next_cursor"]
        served |= {held.row["tenant_id"] for held in taken}

    assert served == set(tenants)


def test_a_claim_is_full_even_where_the_ring_of_lanes_ends(db: Session) -> None:
    worker = db.worker()
    tenants = [f"t{n:04}" for n in range(700)]
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 700, tenant_ids=tenants)
    taken = db.claim(worker, 512)
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 600, tenant_ids=tenants[:600])

    again = db.claim(worker, 600, cursor=taken[0].row["next_cursor"])

    assert len(taken) == 512
    assert len(again) == 600


def test_a_cursor_hides_no_job_that_came_later(db: Session, clock: Clock) -> None:
    worker = db.worker()
    for _ in range(4):
        db.enqueue()
    (held,) = db.claim(worker, 1)
    clock.advance(seconds=1)
    urgent = db.enqueue(priority=-1)
    new_tenant = db.enqueue(tenant_id="new")

    taken = db.claimed_ids(worker, 10, cursor=held.row["next_cursor"])

    assert taken[0] == urgent
    assert new_tenant in taken
    assert len(taken) == 5


@pytest.mark.parametrize("limits", [{}, {"key_concurrency": 50}])
def test_a_cursor_survives_a_change_of_limits(db: Session, limits: dict[str, int]) -> None:
    worker = db.worker()
    jobs = [db.enqueue(limit_key=f"key {n}") for n in range(4)]
    db.call("configure_queue", name="default", **limits)
    (held,) = db.claim(worker, 1)
    cursor = held.row["next_cursor"] or "key:of an older version"
    db.call("configure_queue", name="default", **({} if limits else {"key_concurrency": 50}))

    rest = db.claimed_ids(worker, 10, cursor=cursor)
    assert sorted([held.id, *rest]) == jobs


def test_a_suspect_runs_alone_and_only_where_suspects_are_wanted(db: Session) -> None:
    worker = db.worker()
    suspects = [db.enqueue() for _ in range(2)]
    for _ in range(2):  # two processes die with both
        db.claim(worker)
        db.call("unregister_worker", worker_id=worker)
        db.call("rescue_jobs")
        worker = db.worker()
    healthy = db.enqueue()

    assert db.claimed_ids(worker, suspects=False) == [healthy]
    (one,) = db.claim(worker)
    (two,) = db.claim(worker)

    assert [one.id, two.id] == suspects
    assert (one.row["crashes"], one.attempt) == (2, 3)


def test_a_worker_that_was_declared_dead_claims_nothing(db: Session) -> None:
    """What it took would be rescued at once, and start a second time while its handler runs."""
    worker = db.worker()
    job = db.enqueue()
    db.call("unregister_worker", worker_id=worker)

    assert db.claimed_ids(worker) == []
    assert db.claimed_ids(uuid4()) == []
    assert db.claimed_ids(db.worker()) == [job]


def test_a_job_for_later_is_not_claimed_before_it_is_promoted(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue(run_at=START + timedelta(seconds=10))

    assert db.claim(worker) == []
    clock.advance(seconds=10)
    assert db.claim(worker) == []
    assert db.get("promote_jobs") == 1
    assert db.claimed_ids(worker) == [job]


def test_lanes_come_by_priority_then_tenant_with_their_first_position(db: Session) -> None:
    first, *_ = [db.enqueue(tenant_id="b") for _ in range(2)]
    other = db.enqueue(tenant_id="a", priority=1)

    lanes = db.call("ready_lanes", queue="default")

    assert [tuple(lane.values()) for lane in lanes] == [(0, "b", first), (1, "a", other)]
    (behind,) = db.call("ready_lanes", queue="default", after_priority=0, after_tenant="b")
    assert behind["first"] == other
    found = db.call("look_up_lanes", queue="default", last_tenant=None)[0]
    assert (found["tenants"], found["positions"]) == (["b", "a"], [first - 1, other - 1])


def test_the_parts_of_a_claim_fit_together(db: Session) -> None:
    """The helpers that a claim is made of, called one by one."""
    jobs = [db.enqueue() for _ in range(4)]
    empty = "('{}', '{}', '{}', '{}', '{}', null, false, null)::ostinato_data.batch"

    turn = db.row(
        f"select (t.batch).job_ids from ostinato_internal.take_turns('default', 1, null, {empty},"  # noqa: S608
        " ostinato_internal.look_up_lanes('default', null), 1) t"
    )
    lanes = db.row("select job_ids from ostinato_internal.take_lanes('default', 1, null, null, true, false)")
    rest = db.row("select job_ids from ostinato_internal.take_all('default', 9, null)")
    suspect = db.row(f"select job_ids from ostinato_internal.take_suspect('default', null, {empty})")  # noqa: S608
    both = db.row(
        f"select job_ids from ostinato_internal.add_batch({empty},"  # noqa: S608
        " row('{1}', '{1}', '{1}', '{0}', '{0}', null, true, null)::ostinato_data.batch)"
    )

    assert turn["job_ids"] == [jobs[0]]
    assert lanes["job_ids"] == [jobs[1]]
    assert rest["job_ids"] == jobs[2:]
    assert suspect["job_ids"] == []
    assert both["job_ids"] == [1]
    served = db.row(
        "select tenants, positions from ostinato_internal.served_lanes('{a,b,c}', '{a,a,b}', '{1,2,3}', 2, false)"
    )
    assert served == {"tenants": ["a"], "positions": [2]}


def test_a_queue_with_fewer_jobs_than_wanted_gives_all_of_them_in_order(db: Session) -> None:
    late, zoe, ann, urgent = (
        db.enqueue(priority=priority, tenant_id=tenant)
        for priority, tenant in ((9, "a"), (5, "z"), (5, "a"), (-3, "b"))
    )
    elsewhere = db.enqueue(queue="elsewhere")
    foreign = db.enqueue(kind="app.other")

    assert db.claimed_ids(db.worker(), 10, kinds=["app.task"]) == [urgent, zoe, ann, late]
    assert (db.state(elsewhere), db.state(foreign)) == ("ready", "ready")


def test_tenants_take_turns_as_soon_as_not_all_can_be_served(db: Session) -> None:
    many = [db.enqueue(tenant_id="a") for _ in range(6)]
    few = db.enqueue(tenant_id="b")

    assert few in db.claimed_ids(db.worker(), 4)
    assert db.state(many[-1]) == "ready"


def test_of_few_jobs_the_one_that_crashed_processes_goes_alone(db: Session) -> None:
    jobs = [db.enqueue() for _ in range(3)]
    db.rows("update ostinato_data.ready set crashes = 2 where job_id <> %s returning 1", jobs[0])

    held = db.claimed_ids(db.worker(), 10)

    assert sorted(held) == jobs[:2]
    assert db.claimed_ids(db.worker("w2"), 10, suspects=False) == []


def test_a_small_claim_starts_from_the_lanes_that_a_large_one_handed_on(db: Session) -> None:
    jobs = [db.enqueue() for _ in range(50)]
    assert db.value("select ostinato_internal.handed_on('default', null)") is None
    db.claimed_ids(db.worker(), 40)

    lanes = db.row("select (ostinato_internal.handed_on('default', null)::ostinato_data.lanes).positions as positions")

    assert lanes["positions"] == [jobs[39]]
    assert db.value("select ostinato_internal.handed_on('default', '{app.other}')") is None
    assert db.claimed_ids(db.worker("w2"), 5) == jobs[40:45]


def test_lanes_that_were_handed_on_long_ago_are_not_trusted(db: Session, clock: Clock) -> None:
    jobs = [db.enqueue() for _ in range(50)]
    held = db.claim(db.worker(), 40)
    clock.advance(seconds=1)
    db.release(held[0])

    assert db.value("select ostinato_internal.handed_on('default', null)") is None
    assert db.claimed_ids(db.worker("w2"), 5) == [jobs[0], *jobs[40:44]]


def test_however_much_lanes_cost_they_are_trusted_for_seconds_only(db: Session, admin: Session, clock: Clock) -> None:
    for _ in range(50):
        db.enqueue()
    db.claim(db.worker(), 40)
    admin.rows("update ostinato_data.claim_hint set lanes.cost = '1 hour' returning 1")

    clock.advance(seconds=5)
    assert db.value("select ostinato_internal.handed_on('default', null)") is not None
    clock.advance(seconds=0.1)
    assert db.value("select ostinato_internal.handed_on('default', null)") is None


def test_a_claim_with_patience_waits_for_the_first_job(db: Session, other: Session, admin: Session) -> None:
    worker = other.worker("w2")
    asked = {"worker_id": worker, "queue": "default", "wanted": 5, "patience": 1.0}
    job, found = 0, list[Row]()
    while not found:  # its second may be over before a busy machine has enqueued
        waiting = other.later("await_jobs", **asked)
        until_asleep(admin, other, waiting)
        job = db.enqueue()
        found = waiting.result()
        if not found:
            db.call("cancel_job", job_id=job)

    assert [row["job_id"] for row in found] == [job]
    assert db.state(job) == "running"


def until_asleep(admin: Session, other: Session, waiting: Future[list[Row]]) -> None:
    """Wait until the other session sleeps, or has done so while nobody looked."""
    pid = other.conn.info.backend_pid
    asleep = "select wait_event = 'PgSleep' from pg_stat_activity where pid = %s"
    until(lambda: waiting.done() or admin.value(asleep, pid))


def test_a_claim_without_patience_left_comes_back_empty(db: Session) -> None:
    asked = {"worker_id": db.worker(), "queue": "default", "wanted": 5}

    assert db.call("await_jobs", **asked, patience=0.0) == []
    assert db.call("await_jobs", **asked, patience=0.01) == []


def test_while_a_claim_waits_it_locks_nothing(db: Session, other: Session) -> None:
    db.call("configure_queue", name="default", concurrency=1)
    worker = other.worker("w2")
    waiting = other.later("await_jobs", worker_id=worker, queue="default", wanted=5, patience=1.0)

    db.call("pause_queue", name="default")
    job = db.enqueue()

    assert waiting.result() == []
    assert db.state(job) == "ready"

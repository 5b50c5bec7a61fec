"""Workers: who is alive, and what becomes of the jobs of those who are not."""

from datetime import timedelta
from uuid import uuid4

import pytest

from tests.sql.engine import START, Clock, Held, Session, Sessions, arrays, ids, refused


def test_a_worker_has_a_new_id_at_every_start(db: Session) -> None:
    one, two = db.worker("host-1"), db.worker("host-1")

    assert one != two
    listed = db.call("list_workers")
    assert {row["id"] for row in listed} == {one, two}
    assert {row["name"] for row in listed} == {"host-1"}


def test_a_worker_of_another_contract_is_told_what_to_upgrade(db: Session) -> None:
    (served,) = db.call("contract")

    with refused("OS426", "contract", "db migrate"):
        db.worker(contract=served["current"] + 1)
    with refused("OS426", "contract", "Upgrade the worker"):
        db.worker(contract=served["oldest"] - 1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_a_worker_needs_an_expiry_that_can_pass(db: Session, seconds: float) -> None:
    with refused("OS400", "expiry"):
        db.worker(expiry_seconds=seconds)


def test_a_beat_renews_the_worker(db: Session, clock: Clock) -> None:
    worker = db.worker()
    clock.advance(seconds=9)

    assert db.get("heartbeat_worker", worker_id=worker, draining=True) is True

    (row,) = db.call("list_workers")
    assert (row["beat_at"], row["beat_age"], row["draining"]) == (clock.now, 0, True)


def test_a_worker_that_is_not_known_any_more_learns_it_from_its_beat(db: Session) -> None:
    worker = db.worker()
    db.call("unregister_worker", worker_id=worker)

    assert db.get("heartbeat_worker", worker_id=worker) is False
    assert db.get("heartbeat_worker", worker_id=uuid4()) is False


@pytest.mark.parametrize(("age", "expired"), [(0, False), (15, False), (15.001, True), (-15, False), (-15.001, True)])
def test_expired_is_who_is_silent_for_too_long_or_beat_in_the_far_future(
    db: Session, *, age: float, expired: bool
) -> None:
    beat = START - timedelta(seconds=age)

    found = db.get("is_expired", beat_at=beat, expiry_seconds=15.0, at=START)

    assert found is expired


def test_the_jobs_of_a_silent_worker_are_rescued(db: Session, clock: Clock) -> None:
    silent, alive = db.worker("silent"), db.worker("alive")
    job = db.enqueue()
    held = db.claim_one(silent)

    clock.beat(15, alive)
    assert db.get("rescue_jobs") == 0
    clock.beat(0.1, alive)
    assert db.get("rescue_jobs") == 1

    assert db.state(job) == "ready"
    assert db.outcomes(job) == ["lost"]
    assert [row["name"] for row in db.call("list_workers")] == ["alive"]
    again = db.claim_one(alive)
    assert (again.attempt, again.row["failures"], again.row["crashes"]) == (2, 0, 1)
    assert db.complete(held) == [job]


def test_a_long_job_of_a_living_worker_is_never_rescued(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()
    db.claim_one(worker)

    clock.beat(3600, worker)

    assert db.get("rescue_jobs") == 0
    assert db.state(job) == "running"


def test_what_a_stopped_worker_left_is_rescued_at_once(db: Session) -> None:
    worker = db.worker()
    db.enqueue()
    db.claim(worker)

    db.call("unregister_worker", worker_id=worker)

    assert db.get("rescue_jobs") == 1


def test_only_what_is_still_held_is_rescued(db: Session) -> None:
    worker = db.worker()
    for _ in range(3):
        db.enqueue()
    one, two, three = db.claim(worker)
    db.complete(one)
    db.call("unregister_worker", worker_id=worker)

    assert db.get("rescue_jobs") == 2
    assert [db.state(held.id) for held in (one, two, three)] == ["done", "ready", "ready"]


def test_rescued_jobs_keep_their_order(db: Session, admin: Session) -> None:
    worker = db.worker()
    jobs = [row["enqueue_jobs"] for row in db.call("enqueue_jobs", kinds=["a"], args=["{}"] * 300)]
    db.claim(worker, 300)
    db.call("unregister_worker", worker_id=worker)
    admin.rows("analyze ostinato_data.job")  # with statistics, the planner may join otherwise

    assert db.get("rescue_jobs") == 300
    assert db.claimed_ids(db.worker("w2"), 300) == jobs


def test_a_claim_that_is_being_finished_is_left_alone(db: Session, other: Session) -> None:
    worker = db.worker()
    db.enqueue()
    held = db.claim_one(worker)
    db.call("unregister_worker", worker_id=worker)

    with db.transaction():
        db.complete(held)
        assert other.get("rescue_jobs") == 0

    assert other.get("rescue_jobs") == 0
    assert db.outcomes(held.id) == ["done"]


def test_a_rescue_takes_a_bounded_number_of_claims(db: Session) -> None:
    gone = db.worker()
    for _ in range(4):
        db.enqueue()
        db.claim_one(gone)
    db.call("unregister_worker", worker_id=gone)

    assert [db.get("rescue_jobs", most=3) for _ in range(3)] == [3, 1, 0]


def die(db: Session, *, starts: int | None = None, alone: bool = False) -> list[Held]:
    """A worker claims what there is, may begin something alone, and dies."""
    worker = db.worker()
    taken = db.claim(worker, starts=starts)
    if alone:
        assert db.call("begin_jobs", **arrays(taken), alone=True) == []
    db.call("unregister_worker", worker_id=worker)
    db.call("rescue_jobs")
    return taken


def crashes(db: Session) -> dict[int, int]:
    rows = db.rows("select job_id, crashes from ostinato_data.ready order by 1")
    return {row["job_id"]: row["crashes"] for row in rows}


def test_a_job_that_killed_three_processes_that_ran_it_alone_becomes_a_dead_letter(db: Session) -> None:
    poison = db.enqueue(unique_key="k")
    die(db)
    die(db)
    for counted in (2, 3, 4):
        (taken,) = die(db, starts=1, alone=True)
        assert (taken.id, taken.row["crashes"]) == (poison, counted)

    assert db.state(poison) == "dead"
    assert db.outcomes(poison) == ["lost"] * 4 + ["dead"]
    (letter,) = db.call("list_dead_letters")
    assert (letter["reason"], letter["signature"]) == ("worker_lost", "worker_lost")
    assert db.enqueue(unique_key="k") != poison


def test_while_other_processes_die_too_a_job_is_buried_after_three_times_as_many(db: Session) -> None:
    """Something kills workers at random: three hits while a job runs alone are bad luck."""
    job = db.enqueue()
    die(db)
    die(db)
    another_dies(db)
    for counted in range(2, 10):
        (taken,) = die(db, starts=1, alone=True)
        assert (taken.id, taken.row["crashes"], db.state(job)) == (job, counted, "ready")
    die(db, starts=1, alone=True)

    assert db.state(job) == "dead"


def test_a_death_of_an_hour_ago_says_nothing_about_a_job(db: Session, clock: Clock) -> None:
    another_dies(db)
    clock.advance(seconds=3601)
    job = db.enqueue()
    for alone in (False, False, True, True, True):
        die(db, starts=1, alone=alone)

    assert db.state(job) == "dead"
    assert db.value("select count(*) from ostinato_data.death") == 5


def test_two_jobs_that_kill_their_processes_do_not_excuse_each_other(db: Session) -> None:
    jobs = {db.enqueue(), db.enqueue()}
    die(db)
    die(db)
    for _ in range(6):
        die(db, starts=1, alone=True)

    assert {db.state(job) for job in jobs} == {"dead"}


def another_dies(db: Session) -> None:
    """A worker dies with a job of another queue, which is cancelled then."""
    worker = db.worker(queues=["elsewhere"])
    job = db.enqueue(queue="elsewhere")
    db.claim_one(worker, "elsewhere")
    db.call("unregister_worker", worker_id=worker)
    db.call("rescue_jobs")
    db.call("cancel_job", job_id=job)


def test_a_job_that_never_ran_alone_is_never_buried(db: Session) -> None:
    job = db.enqueue()
    for _ in range(10):
        die(db)

    assert crashes(db) == {job: 2}
    assert db.outcomes(job) == ["lost"] * 10


def test_a_job_that_had_not_begun_is_no_cause_of_a_crash(db: Session) -> None:
    begun, ahead, last = db.enqueue(), db.enqueue(), db.enqueue()

    die(db, starts=1)

    assert crashes(db) == {begun: 1, ahead: 0, last: 0}
    assert [db.outcomes(job) for job in (begun, ahead, last)] == [["lost"], [], []]
    assert db.claimed_ids(db.worker()) == [ahead, last, begun]  # to its old place in line


def test_a_job_that_was_marked_before_it_began_is_a_cause(db: Session) -> None:
    worker = db.worker()
    jobs = [db.enqueue() for _ in range(4)]
    held = db.claim(worker, starts=1)
    db.call("begin_jobs", **arrays(held[1:2]))
    db.complete(held[0])
    db.release(held[3])
    db.call("unregister_worker", worker_id=worker)
    db.call("rescue_jobs")

    assert crashes(db) == {jobs[1]: 1, jobs[2]: 0, jobs[3]: 0}


def test_what_is_not_held_cannot_begin(db: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker(), starts=0)
    db.complete(held)

    assert ids(db.call("begin_jobs", **arrays([held]))) == [held.id]


def test_the_number_of_crashes_can_be_chosen(db: Session) -> None:
    job = db.enqueue()
    die(db)
    die(db)
    worker = db.worker()
    db.call("begin_jobs", **arrays(db.claim(worker, starts=1)), alone=True)
    db.call("unregister_worker", worker_id=worker)

    assert db.get("rescue_jobs", max_crashes=1) == 1
    assert db.state(job) == "dead"


def test_a_rescue_takes_what_many_claims_hold(db: Session) -> None:
    worker = db.worker()
    jobs = [db.enqueue() for _ in range(40)]
    db.claim(worker, apart=["app.task"])
    db.call("unregister_worker", worker_id=worker)

    assert db.get("rescue_jobs") == len(jobs)
    assert db.rows("select * from ostinato_data.claim") == []


def test_failures_and_crashes_are_counted_apart(db: Session) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker()), delay=0)
    db.call("promote_jobs")
    worker = db.worker()
    db.claim(worker)
    db.call("unregister_worker", worker_id=worker)
    db.call("rescue_jobs")

    (held,) = db.claim(db.worker())

    assert (held.id, held.row["failures"], held.row["crashes"]) == (job, 1, 1)


def test_a_job_that_comes_again_is_no_suspect_for_the_deaths_of_its_workers(db: Session) -> None:
    job = db.enqueue()
    for _ in range(6):
        gone = db.worker()
        db.claim(gone)
        db.call("unregister_worker", worker_id=gone)
        db.call("rescue_jobs")
        (held,) = db.claim(db.worker())
        assert (held.id, held.row["crashes"]) == (job, 1)
        db.snooze(held, delay=0)
        db.call("promote_jobs")

    (held,) = db.claim(db.worker())
    assert (held.row["failures"], held.row["crashes"]) == (0, 0)


def test_one_claim_can_be_rescued_by_hand(db: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())

    assert db.get("rescue_claims", claim_ids=[held.claim_id], max_crashes=3) == 1
    assert db.get("rescue_claims", claim_ids=[held.claim_id], max_crashes=3) == 0


def test_a_worker_gives_back_what_it_never_heard_of(db: Session, clock: Clock) -> None:
    worker, other = db.worker(), db.worker("w2")
    for _ in range(4):
        db.enqueue()
    known, lost = db.claim(worker, 2)
    db.claim(other, 1)
    clock.advance(seconds=10)
    (on_its_way,) = db.claim(worker, 1)

    given_back = db.get("reconcile_worker", worker_id=worker, held=[known.id], seconds=10.0)
    assert given_back == 0
    clock.advance(seconds=1)
    given_back = db.get("reconcile_worker", worker_id=worker, held=[known.id], seconds=10.0)

    assert given_back == 1
    assert [db.state(held.id) for held in (known, lost, on_its_way)] == ["running", "ready", "running"]
    assert db.complete(lost) == [lost.id]


def test_after_an_outage_the_living_get_time_to_beat_again(db: Session, clock: Clock) -> None:
    living, dead = db.worker("living"), db.worker("dead")
    for worker in (living, dead):
        db.enqueue()
        db.claim_one(worker)
    clock.beat(5, living, dead)
    clock.advance(minutes=10)  # nobody could reach the database

    assert db.get("rescue_jobs") == 0
    clock.beat(5, living)
    assert db.get("rescue_jobs") == 0
    clock.beat(10, living)
    assert db.get("rescue_jobs") == 1

    assert [row["name"] for row in db.call("list_workers")] == ["living"]


def test_a_jump_of_the_clock_forward_is_no_death(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()
    db.claim_one(worker)
    clock.advance(hours=1)

    assert db.get("tick") is True
    assert db.get("rescue_jobs") == 0
    clock.beat(20, worker)
    assert db.get("rescue_jobs") == 0
    assert db.state(job) == "running"


def test_a_jump_of_the_clock_backward_is_no_death_and_no_eternal_life(db: Session, clock: Clock) -> None:
    living, dead = db.worker("living"), db.worker("dead")
    for worker in (living, dead):
        db.enqueue()
        db.claim_one(worker)
    clock.advance(hours=-1)  # every beat now lies an hour ahead

    assert db.get("tick") is True
    assert db.get("rescue_jobs") == 0
    clock.beat(16, living)
    assert db.get("rescue_jobs") == 1

    assert [row["name"] for row in db.call("list_workers")] == ["living"]


def test_the_grace_is_as_long_as_the_longest_expiry(db: Session, clock: Clock) -> None:
    db.worker("patient", expiry_seconds=60.0)
    clock.advance(minutes=5)
    db.call("tick")

    assert db.value("select grace_until from ostinato_data.tick") == clock.now + timedelta(seconds=60)


def test_what_was_unregistered_is_rescued_during_the_grace(db: Session, clock: Clock) -> None:
    gone, silent = db.worker("gone"), db.worker("silent")
    first, second = db.enqueue(), db.enqueue()
    db.claim_one(gone)
    db.claim_one(silent)
    db.call("unregister_worker", worker_id=gone)
    clock.advance(seconds=60)

    assert db.get("rescue_jobs") == 1
    assert [db.get("job_state", job_id=job) for job in (first, second)] == ["ready", "running"]


def test_a_regular_tick_gives_no_grace(db: Session, clock: Clock) -> None:
    for seconds in (0.5, 1, 1.5, 5, 7):
        clock.advance(seconds=seconds)
        assert db.get("tick") is False


def test_of_two_ticks_at_once_one_does_not_wait_and_takes_nobody_for_dead(
    db: Session, other: Session, clock: Clock
) -> None:
    clock.advance(seconds=2)

    with db.transaction():
        assert db.get("tick") is False
        assert other.get("tick") is True

    assert other.get("tick") is False
    assert db.value("select grace_until::text from ostinato_data.tick") == "-infinity"


def test_kinds_are_declared_and_declared_anew(db: Session) -> None:
    declared = {
        "names": ["app.b", "app.a"],
        "queues": ["q1", "q2"],
        "priorities": [1, 2],
        "timeouts": [None, 3.5],
        "retries": ['{"max_attempts": 5}', "{}"],
        "schemas": [None, '{"type": "object"}'],
    }

    db.call("register_kinds", **declared)
    db.call("register_kinds", **(declared | {"queues": ["q3", "q3"]}))

    assert [row["name"] for row in db.call("list_queues")] == ["default", "q3"]
    assert db.value("select count(*) from ostinato_data.kind where name in ('app.a', 'app.b')") == 2


def test_the_connections_of_a_server_leave_some_to_superusers(db: Session) -> None:
    most = int(db.value("show max_connections"))

    assert 0 < db.get("server_connections") < most


def test_a_worker_says_its_release_and_its_places_and_what_it_holds(db: Session) -> None:
    worker, other = db.worker(release="1.2.3", places=7), db.worker("an older one")
    db.enqueue(tenant_id="acme")
    held = db.claim_one(worker)

    listed = {row["id"]: (row["release"], row["places"]) for row in db.call("list_workers")}

    assert listed == {worker: ("1.2.3", 7), other: (None, None)}
    (found,) = db.call("worker_jobs", worker_id=worker)
    assert (found["job_id"], found["tenant_id"], found["attempt"]) == (held.id, "acme", 1)
    assert db.call("worker_jobs", worker_id=other) == []


def test_a_tenant_sees_of_what_a_worker_holds_its_own(db: Session, sessions: Sessions) -> None:
    db.enqueue(tenant_id="acme")
    worker = db.worker()
    db.claim(worker)

    assert len(sessions.tenant("acme").call("worker_jobs", worker_id=worker)) == 1
    assert sessions.tenant("globex").call("worker_jobs", worker_id=worker) == []

"""Leases: one holder at a time, tokens that only grow, and a fence for those who come late."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.engine import START, Clock, Held, Row, Session, Sessions, refused, until_blocked


def acquire(db: Session, name: str = "n", holder: str = "a", **params: Any) -> Row:  # noqa: ANN401
    if "job_id" not in params:
        params.setdefault("ttl_seconds", 30)
    (row,) = db.call("acquire_lease", name=name, holder=holder, **params)
    return row


def running(db: Session, **params: Any) -> Held:  # noqa: ANN401 - as enqueue takes them
    """A job in a worker's hands."""
    job = db.enqueue(**params)
    worker = db.worker(expiry_seconds=15)
    return next(held for held in db.claim(worker) if held.id == job)


def of(job: Held) -> dict[str, Any]:
    return {"job_id": job.id, "job_attempt": job.attempt}


def states(db: Session) -> dict[str, str]:
    return {row["name"]: row["state"] for row in db.call("list_leases")}


# Holding


def test_one_gets_it_and_the_next_is_told_who_has_it(db: Session, other: Session) -> None:
    first = acquire(db, holder="a", ttl_seconds=30)
    second = acquire(other, holder="b")

    assert (first["acquired"], first["attempt"], first["lifetime"]) == (True, 1, "time")
    assert first["until"] == START + timedelta(seconds=30)
    assert (second["acquired"], second["token"], second["held_by"]) == (False, None, "a")
    assert (second["since"], second["until"]) == (START, START + timedelta(seconds=30))


def test_what_is_given_back_is_free(db: Session) -> None:
    first = acquire(db)

    assert db.get("release_lease", name="n", token=first["token"]) is True

    second = acquire(db, holder="b")
    assert (second["acquired"], second["attempt"]) == (True, 1)
    assert second["token"] > first["token"]
    assert db.get("release_lease", name="n", token=first["token"]) is False
    assert acquire(db)["held_by"] == "b"


def test_renewing_keeps_it_and_may_change_its_time(db: Session, clock: Clock) -> None:
    first = acquire(db)
    for _ in range(4):
        clock.beat(25)
        until = db.get("renew_lease", name="n", token=first["token"])
        assert until == clock.now + timedelta(seconds=30)
    until = db.get("renew_lease", name="n", token=first["token"], ttl_seconds=60)
    assert until == clock.now + timedelta(seconds=60)
    clock.beat(59)

    assert acquire(db, holder="b")["acquired"] is False


def test_an_expired_one_is_taken_over_with_attempt_2_and_a_greater_token(
    db: Session, other: Session, clock: Clock
) -> None:
    first = acquire(db)
    db.conn.close()
    clock.beat(30)
    assert acquire(other, holder="b")["acquired"] is False
    clock.beat(1, every=1)

    second = acquire(other, holder="b")

    assert (second["acquired"], second["attempt"]) == (True, 2)
    assert second["token"] > first["token"]


def test_who_comes_late_renews_releases_and_guards_nothing(db: Session, clock: Clock) -> None:
    late = {"name": "n", "token": acquire(db)["token"]}
    clock.beat(31)
    second = acquire(db, holder="b")

    with refused("OS410", "'n'", str(late["token"])):
        db.call("renew_lease", **late)
    with refused("OS410", "'n'"):
        db.call("guard_lease", **late)
    assert db.get("release_lease", **late) is False

    db.call("guard_lease", name="n", token=second["token"])


def test_who_is_late_and_was_not_missed_keeps_it(db: Session, clock: Clock) -> None:
    first = acquire(db)
    clock.beat(300)

    db.call("guard_lease", name="n", token=first["token"])
    db.call("renew_lease", name="n", token=first["token"])

    assert acquire(db, holder="b")["acquired"] is False


@pytest.mark.parametrize("token", [0, -1, None, 10**15])
def test_a_token_that_nobody_was_given_opens_nothing(db: Session, token: int | None) -> None:
    acquire(db)

    for verb in ("guard_lease", "renew_lease"):
        with refused("OS410"):
            db.call(verb, name="n", token=token)
        with refused("OS410"):
            db.call(verb, name="never", token=token)


def test_tokens_grow_through_release_takeover_force_and_pruning(db: Session, clock: Clock) -> None:
    tokens = [acquire(db)["token"]]
    db.call("release_lease", name="n", token=tokens[-1])
    tokens.append(acquire(db)["token"])
    db.call("release_lease", name="n", force=True)
    tokens.append(acquire(db)["token"])
    clock.beat(31)
    tokens.append(acquire(db)["token"])
    clock.beat(31)
    db.call("prune_leases", keep_seconds=0)
    tokens.append(acquire(db)["token"])

    assert tokens == sorted(set(tokens))


# Two at once


def test_of_two_at_once_the_second_waits_for_the_first_and_is_told(db: Session, other: Session, admin: Session) -> None:
    with db.transaction():
        acquire(db, holder="a")
        waiting = other.later("acquire_lease", name="n", holder="b", ttl_seconds=30)
        until_blocked(admin, other, db)

    (row,) = waiting.result()
    assert (row["acquired"], row["held_by"]) == (False, "a")


def test_when_the_first_rolls_back_the_second_has_it(db: Session, other: Session, admin: Session) -> None:
    db.rows("begin")
    acquire(db, holder="a")
    waiting = other.later("acquire_lease", name="n", holder="b", ttl_seconds=30)
    until_blocked(admin, other, db)
    db.rows("rollback")

    (row,) = waiting.result()
    assert (row["acquired"], row["held_by"]) == (True, "b")


def test_of_two_who_take_over_at_once_one_does_and_the_other_does_not_wait(
    db: Session, other: Session, clock: Clock
) -> None:
    acquire(db)
    clock.beat(31)
    with db.transaction():
        assert acquire(db, holder="b")["attempt"] == 2
        assert acquire(other, holder="c")["acquired"] is False

    assert acquire(other, holder="c")["held_by"] == "b"


def test_a_token_drawn_early_is_not_held_late(db: Session, other: Session, admin: Session) -> None:
    """The one who waited for the row has the greater token, however long the wait was."""
    with db.transaction():
        first = acquire(db, holder="a")
        waiting = other.later("acquire_lease", name="n", holder="b", ttl_seconds=30)
        until_blocked(admin, other, db)
        db.call("release_lease", name="n", token=first["token"])
        between = acquire(db, holder="a")
        db.call("release_lease", name="n", token=between["token"])

    (row,) = waiting.result()
    assert row["acquired"] is True
    assert row["token"] > between["token"] > first["token"]


def test_asking_for_a_held_one_does_not_hold_up_its_renewal(db: Session, other: Session) -> None:
    first = acquire(db)
    with other.transaction():
        assert acquire(other, holder="b")["acquired"] is False

        db.rows("set lock_timeout = '2s'")
        db.call("renew_lease", name="n", token=first["token"])


def test_under_load_and_expiry_the_tokens_of_guarded_writes_never_go_back(
    sessions: Sessions, admin: Session, clock: Clock
) -> None:
    admin.rows("create table if not exists public.written (n serial primary key, token bigint)")
    admin.rows("grant all on public.written, public.written_n_seq to ostinato_worker")
    admin.rows("delete from public.written")
    opened = [sessions.open() for _ in range(6)]

    def hold(number: int) -> int:
        db, rng, refusals = opened[number], random.Random(number), 0
        for _ in range(30):
            mine = acquire(db, holder=f"h{number}")
            if not mine["acquired"]:
                continue
            held = {"name": "n", "token": mine["token"]}
            try:
                for _ in range(rng.randint(1, 4)):
                    with db.transaction():
                        db.call("guard_lease", **held)
                        db.rows("insert into public.written (token) values (%s)", held["token"])
                    if rng.random() < 0.3:
                        db.call("renew_lease", **held)
            except psycopg.Error as error:
                assert error.sqlstate == "OS410"  # noqa: PT017 - any other is a failure
                refusals += 1
            if rng.random() < 0.5:
                db.call("release_lease", **held)
        return refusals

    with ThreadPoolExecutor(6) as threads:
        running = [threads.submit(hold, number) for number in range(6)]
        while not all(each.done() for each in running):
            clock.beat(31)
        for each in running:
            each.result()

    tokens = [row["token"] for row in admin.rows("select token from public.written order by n")]
    assert len(set(tokens)) > 1
    assert tokens == sorted(tokens)
    admin.rows("drop table public.written")


# Guarding


def test_nobody_takes_over_while_a_guarded_transaction_runs(db: Session, other: Session, clock: Clock) -> None:
    first = acquire(db)
    clock.beat(31)
    with db.transaction():
        db.call("guard_lease", name="n", token=first["token"])
        assert acquire(other, holder="b")["acquired"] is False

    assert acquire(other, holder="b")["attempt"] == 2


def test_renewals_go_on_beside_a_guarded_transaction(db: Session, other: Session) -> None:
    first = acquire(db)
    other.rows("set lock_timeout = '2s'")
    with db.transaction():
        db.call("guard_lease", name="n", token=first["token"])

        other.call("renew_lease", name="n", token=first["token"])


def test_a_guard_that_waited_for_a_takeover_is_refused(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    first = acquire(db)
    clock.beat(31)
    with other.transaction():
        acquire(other, holder="b")
        late = db.later("guard_lease", name="n", token=first["token"])
        until_blocked(admin, db, other)

    with refused("OS410"):
        late.result()


def test_taking_it_away_waits_for_the_guarded_transaction(db: Session, other: Session, admin: Session) -> None:
    first = acquire(db)
    with db.transaction():
        db.call("guard_lease", name="n", token=first["token"])
        waiting = other.later("release_lease", name="n", force=True)
        until_blocked(admin, other, db)

    assert waiting.result() == [{"release_lease": True}]
    with refused("OS410"):
        db.call("guard_lease", name="n", token=first["token"])


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_old_eyes_guard_nothing_that_was_taken_over(db: Session, other: Session, clock: Clock, level: str) -> None:
    first = acquire(db)
    clock.beat(31)
    with refused("40001"), db.transaction():
        db.rows(f"set transaction isolation level {level}")
        db.rows("select 1 from ostinato_data.lease")
        acquire(other, holder="b")
        db.call("guard_lease", name="n", token=first["token"])


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_old_eyes_acquire_nothing_that_another_has(db: Session, other: Session, level: str) -> None:
    with refused("40001"), db.transaction():
        db.rows(f"set transaction isolation level {level}")
        db.rows("select 1 from ostinato_data.lease")
        acquire(other, holder="b")
        acquire(db, holder="a")


# Clocks


def test_after_an_outage_a_living_holder_keeps_its_lease(db: Session, clock: Clock) -> None:
    first = acquire(db)
    clock.advance(hours=1)
    assert acquire(db, holder="b")["acquired"] is False

    db.call("tick")
    assert states(db) == {"n": "late"}
    clock.beat(20)
    assert acquire(db, holder="b")["acquired"] is False
    db.call("renew_lease", name="n", token=first["token"])
    clock.beat(29)
    assert acquire(db, holder="b")["acquired"] is False


def test_after_an_outage_a_dead_holder_is_followed_after_one_more_time_to_live(db: Session, clock: Clock) -> None:
    acquire(db)
    clock.advance(hours=1)
    db.call("tick")
    clock.beat(46)

    assert acquire(db, holder="b")["attempt"] == 2


def test_a_lease_in_the_far_future_counts_as_expired_when_the_clock_went_back(db: Session, clock: Clock) -> None:
    acquire(db)
    clock.advance(hours=-1)
    assert acquire(db, holder="b")["acquired"] is False
    db.call("tick")
    clock.beat(46)

    assert acquire(db, holder="b")["attempt"] == 2


def test_a_living_holder_keeps_its_lease_when_the_clock_goes_back(db: Session, clock: Clock) -> None:
    first = acquire(db)
    clock.advance(hours=-1)
    db.call("tick")
    clock.beat(10)
    db.call("renew_lease", name="n", token=first["token"])
    clock.beat(29)

    assert acquire(db, holder="b")["acquired"] is False


def test_where_nobody_ticks_a_dead_holder_is_followed_by_who_asks_again(db: Session, clock: Clock) -> None:
    acquire(db)
    clock.advance(hours=1)
    assert acquire(db, holder="b")["acquired"] is False
    clock.advance(seconds=29)
    assert acquire(db, holder="b")["acquired"] is False
    clock.advance(seconds=2)
    second = acquire(db, holder="b")
    assert second["attempt"] == 2

    clock.advance(hours=1)
    assert acquire(db, holder="c")["acquired"] is False
    db.call("renew_lease", name="n", token=second["token"])
    clock.advance(seconds=31)
    assert acquire(db, holder="c")["acquired"] is False, "a renewal ends the doubt"


def test_a_doubt_from_a_clock_that_was_ahead_starts_again(db: Session, clock: Clock) -> None:
    acquire(db)
    clock.advance(hours=1)
    acquire(db, holder="b")
    clock.advance(minutes=-30)
    assert acquire(db, holder="b")["acquired"] is False
    clock.advance(seconds=31)

    assert acquire(db, holder="b")["acquired"] is True


def test_grace_is_as_long_as_the_lease_and_needs_a_tick(db: Session, clock: Clock) -> None:
    assert db.get("in_grace", seconds=30) is False
    clock.advance(seconds=8)
    assert db.get("in_grace", seconds=30) is True
    assert db.get("in_grace", seconds=0.001) is True
    db.call("tick")
    assert db.get("in_grace", seconds=30) is True
    clock.beat(20)
    assert db.get("in_grace", seconds=30) is True
    assert db.get("in_grace", seconds=1) is False
    clock.beat(26)
    assert db.get("in_grace", seconds=30) is False


# Jobs


def test_a_lease_of_an_attempt_lives_as_long_as_the_attempt_is_held(db: Session, clock: Clock) -> None:
    job = running(db)
    mine = acquire(db, holder="job", **of(job))
    assert (mine["acquired"], mine["until"], mine["lifetime"]) == (True, None, "attempt")
    clock.beat(3600, job.row.get("worker_id") or db.call("list_workers")[0]["id"])

    told = acquire(db, holder="b")
    assert (told["acquired"], told["held_job_id"], told["held_job_attempt"]) == (False, job.id, job.attempt)
    db.call("guard_lease", name="n", token=mine["token"])
    assert db.get("renew_lease", name="n", token=mine["token"]) is None

    db.complete(job)
    assert states(db) == {"n": "over"}
    with refused("OS410"):
        db.call("guard_lease", name="n", token=mine["token"])
    with refused("OS410"):
        db.call("renew_lease", name="n", token=mine["token"])
    assert acquire(db, holder="b")["attempt"] == 2


def test_the_lease_of_a_rescued_attempt_is_free_and_its_writes_are_refused(db: Session, clock: Clock) -> None:
    job = running(db)
    mine = acquire(db, holder="job", **of(job))
    clock.beat(16)
    assert db.get("rescue_jobs") == 1

    with refused("OS410"):
        db.call("guard_lease", name="n", token=mine["token"])
    assert acquire(db, holder="b")["acquired"] is True


def test_an_attempt_that_is_not_held_gets_nothing(db: Session) -> None:
    job = running(db)
    db.complete(job)

    with refused("OS410", str(job.id)):
        acquire(db, **of(job))
    with refused("OS410"):
        acquire(db, job_id=job.id, job_attempt=job.attempt + 1)
    assert states(db) == {}


def test_an_attempt_does_not_get_the_same_lease_twice(db: Session) -> None:
    job = running(db)
    acquire(db, **of(job))

    assert acquire(db, **of(job))["acquired"] is False


def test_a_lease_with_a_time_to_live_may_say_which_job_it_is_about(db: Session) -> None:
    acquire(db, job_id=77, ttl_seconds=30)

    assert acquire(db, holder="b")["held_job_id"] == 77
    found = db.call("enqueue_or_attach", name="n", kind="app.task")
    assert found == [{"job_id": 77, "attached": True}]


# Attach


def attach(db: Session, name: str = "n", **params: Any) -> tuple[int, bool]:  # noqa: ANN401
    (row,) = db.call("enqueue_or_attach", name=name, kind="app.task", **params)
    return row["job_id"], row["attached"]


def test_a_second_request_joins_the_job_of_the_first_until_it_ends(db: Session) -> None:
    first, attached = attach(db, args={"x": 1})
    assert (attached, db.state(first)) == (False, "ready")
    assert attach(db) == (first, True)
    job = db.claim_one(db.worker())
    assert attach(db) == (first, True)
    db.fail(job, delay=60)
    assert db.state(first) == "scheduled"
    assert attach(db) == (first, True)
    db.call("retry_job", job_id=first)
    db.complete(db.claim_one(db.worker()))

    second, attached = attach(db)

    assert (second != first, attached) == (True, False)
    assert len(db.call("list_jobs")) == 2


def test_a_dead_job_that_is_run_again_meets_the_one_in_its_place(db: Session) -> None:
    first, _ = attach(db)
    db.fail(db.claim_one(db.worker()))
    second, _ = attach(db)

    with refused("OS411", str(second)):
        db.call("retry_job", job_id=first)
    (row,) = db.call("redrive_jobs")
    assert row["conflicts"] == 1


def test_a_job_whose_lease_was_taken_away_by_force_is_joined_all_the_same(db: Session) -> None:
    first, _ = attach(db)
    db.call("release_lease", name="n", force=True)

    assert attach(db) == (first, True)
    assert states(db) == {"n": "held"}


@pytest.mark.parametrize("end", ["cancelled", "dead"])
def test_a_job_that_was_cancelled_or_died_holds_nothing(db: Session, end: str) -> None:
    first, _ = attach(db)
    if end == "cancelled":
        db.call("cancel_job", job_id=first)
    else:
        db.fail(db.claim_one(db.worker()))
    assert db.state(first) == end

    assert attach(db)[1] is False


def test_of_two_requests_at_once_the_second_joins_what_the_first_committed(
    db: Session, other: Session, admin: Session
) -> None:
    with db.transaction():
        first, _ = attach(db)
        waiting = other.later("enqueue_or_attach", name="n", kind="app.task")
        until_blocked(admin, other, db)

    assert waiting.result() == [{"job_id": first, "attached": True}]
    assert len(db.call("list_jobs")) == 1


def test_a_request_that_rolls_back_leaves_neither_job_nor_lease(db: Session, other: Session, admin: Session) -> None:
    db.rows("begin")
    first, _ = attach(db)
    waiting = other.later("enqueue_or_attach", name="n", kind="app.task")
    until_blocked(admin, other, db)
    db.rows("rollback")

    (row,) = waiting.result()
    assert (row["attached"], row["job_id"] != first) == (False, True)
    assert [job["id"] for job in db.call("list_jobs")] == [row["job_id"]]


def test_the_attempts_of_a_job_get_what_their_job_holds_one_after_the_other(db: Session, clock: Clock) -> None:
    first, _ = attach(db)
    one = db.claim_one(db.worker(expiry_seconds=15))
    mine = acquire(db, holder="one", **of(one))
    assert (mine["acquired"], mine["lifetime"]) == (True, "job")
    db.call("guard_lease", name="n", token=mine["token"])
    clock.beat(16)
    db.call("rescue_jobs")

    with refused("OS410"):
        db.call("guard_lease", name="n", token=mine["token"])
    assert attach(db) == (first, True), "the job goes on, and still has it"
    two = db.claim_one(db.worker())
    again = acquire(db, holder="two", **of(two))
    assert (again["acquired"], again["token"] > mine["token"]) == (True, True)
    with refused("OS410"):
        db.call("renew_lease", name="n", token=mine["token"])
    db.complete(two)
    assert states(db) == {"n": "over"}


def test_a_job_joins_another_that_took_the_lease_by_itself(db: Session) -> None:
    job = running(db)
    acquire(db, holder="job", **of(job))

    assert attach(db) == (job.id, True)


def test_a_lease_that_no_job_holds_cannot_be_joined(db: Session) -> None:
    acquire(db, holder="a script")

    with refused("OS423", "'n'", "a script"):
        attach(db)
    assert db.call("list_jobs") == []


def test_the_options_of_the_job_are_kept(db: Session) -> None:
    job, _ = attach(
        db,
        args={"x": 1},
        queue="q",
        priority=3,
        run_at=START + timedelta(hours=1),
        tenant_id="t1",
        correlation_id="c",
        limit_key="l",
        max_attempts=2,
    )

    (row,) = db.call("show_job", job_id=job)
    kept = [row[n] for n in ("args", "queue", "priority", "tenant_id", "correlation_id")]
    assert kept == [{"x": 1}, "q", 3, "t1", "c"]
    assert (row["state"], row["limit_key"], row["max_attempts"]) == ("scheduled", "l", 2)
    (line,) = db.call("list_leases", tenant_id="t1")
    assert (line["job_id"], line["job_state"], line["holder"]) == (job, "scheduled", f"app.task {job}")


# Looking, taking away, forgetting


def test_leases_are_listed_by_name_with_their_state(db: Session, clock: Clock) -> None:
    acquire(db, "a:2", ttl_seconds=10)
    acquire(db, "b:1", holder="x")
    acquire(db, "a:1", tenant_id="t2")
    clock.beat(11, every=4)

    found = [(row["tenant"], row["name"], row["state"]) for row in db.call("list_leases")]
    assert found == [("default", "a:2", "expired"), ("default", "b:1", "held"), ("t2", "a:1", "held")]
    assert [row["name"] for row in db.call("list_leases", prefix="a:", tenant_id="t2")] == ["a:1"]
    assert len(db.call("list_leases", most=1)) == 1
    with refused("OS400"):
        db.call("list_leases", most=0)


def test_one_lease_is_shown_by_its_name(db: Session) -> None:
    acquire(db, "a:1", holder="x")
    acquire(db, "a")

    (row,) = db.call("show_lease", lease="a:1")

    assert (row["name"], row["holder"], row["state"], row["ttl_seconds"]) == ("a:1", "x", "held", 30)
    assert db.call("show_lease", lease="a:") == []
    assert db.call("show_lease", lease="a:1", tenant_id="t2") == []


def test_a_person_takes_a_living_lease_away_by_force_only(db: Session, clock: Clock) -> None:
    first = acquire(db, holder="x")

    with refused("OS423", "'n'", "x"):
        db.call("release_lease", name="n")
    assert db.get("release_lease", name="n", force=True) is True
    assert db.get("release_lease", name="n", force=True) is False
    with refused("OS410"):
        db.call("renew_lease", name="n", token=first["token"])


def test_a_dead_lease_is_taken_away_without_force(db: Session, clock: Clock) -> None:
    acquire(db)
    clock.beat(31)

    assert db.get("release_lease", name="n") is True


def test_pruning_forgets_what_ended_and_nothing_that_lives(db: Session, clock: Clock) -> None:
    acquire(db, "old")
    ended = running(db)
    acquire(db, "over", **of(ended))
    db.complete(ended)
    alive = running(db)
    acquire(db, "attempt", **of(alive))
    attach(db, "job")
    clock.beat(3600, db.call("list_workers")[0]["id"], db.call("list_workers")[1]["id"])
    kept = acquire(db, "long", ttl_seconds=86_400)
    acquire(db, "new")

    assert db.get("prune_leases", most=1) == 1
    assert db.get("prune_leases") == 0
    assert states(db) == {"attempt": "held", "job": "held", "long": "held", "new": "held", "old": "expired"}
    assert db.get("prune_leases", keep_seconds=60) == 1
    db.call("guard_lease", name="long", token=kept["token"])


def test_pruning_does_not_wait_for_a_lease_in_use(db: Session, other: Session, clock: Clock) -> None:
    first = acquire(db)
    clock.beat(31)
    with db.transaction():
        db.call("guard_lease", name="n", token=first["token"])
        assert other.get("prune_leases", keep_seconds=0) == 0


# Tenants and bad input


def test_the_same_name_of_two_tenants_is_two_leases(db: Session, clock: Clock) -> None:
    mine = acquire(db, tenant_id="t1")
    theirs = acquire(db, tenant_id="t2")

    assert (mine["acquired"], theirs["acquired"]) == (True, True)
    for verb in ("guard_lease", "renew_lease"):
        with refused("OS410"):
            db.call(verb, name="n", token=mine["token"], tenant_id="t2")
    assert db.get("release_lease", name="n", token=mine["token"], tenant_id="t2") is False
    assert attach(db, "job", tenant_id="t1")[0] != attach(db, "job", tenant_id="t2")[0]
    with db.transaction():
        db.rows("select set_config('app.tenant_id', 't2', true)")
        db.call("guard_lease", name="n", token=theirs["token"])


def test_a_tenant_holds_its_own_leases_and_sees_no_others(db: Session, sessions: Sessions, clock: Clock) -> None:
    theirs = acquire(db, tenant_id="t1")
    mine = sessions.tenant("t2")
    guess = {"name": "n", "token": theirs["token"], "tenant_id": "t1"}

    first = acquire(mine)
    mine.call("renew_lease", name="n", token=first["token"])
    mine.call("guard_lease", name="n", token=first["token"])
    assert acquire(mine, holder="b")["acquired"] is False
    clock.beat(31)
    assert acquire(mine, holder="b")["attempt"] == 2

    assert [row["tenant_id"] for row in mine.rows("select * from ostinato_data.lease")] == ["t2"]
    assert sessions.open("tenant").rows("select * from ostinato_data.lease") == []
    for name in ("n", "unused"):
        with refused("42501"):
            acquire(mine, name, tenant_id="t1")
    with refused("OS410"):
        mine.call("guard_lease", **guess)
    assert mine.get("release_lease", **guess) is False
    assert mine.get("release_lease", name="n", force=True, tenant_id="t1") is False
    assert {row["tenant"] for row in mine.call("list_leases")} == {"t2"}
    mine.call("prune_leases", keep_seconds=0.0)
    assert {row["tenant"] for row in db.call("list_leases")} >= {"t1"}


def test_a_tenant_joins_its_own_jobs(db: Session, sessions: Sessions) -> None:
    mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
    first, attached = attach(mine)
    assert attached is False
    assert attach(theirs)[0] != first
    worker = db.worker()
    job = next(held for held in db.claim(worker) if held.id == first)
    assert attach(mine) == (first, True)
    acquire(db, holder="attempt", tenant_id="t1", **of(job))
    assert attach(mine) == (first, True)
    db.complete(job)

    assert attach(mine)[1] is False


def test_to_a_tenant_a_lease_of_an_attempt_ends_with_the_outcome(db: Session, sessions: Sessions) -> None:
    mine = sessions.tenant("t1")
    job = running(db, tenant_id="t1")
    acquire(db, tenant_id="t1", **of(job))
    assert attach(mine) == (job.id, True)
    db.fail(job, delay=60)

    assert attach(mine)[1] is False


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"name": ""}, "lease must be 1 to 200"),
        ({"name": None}, "lease must be 1 to 200"),
        ({"name": "n" * 201}, "lease must be 1 to 200"),
        ({"holder": None}, "holder must be 1 to 200"),
        ({"ttl_seconds": 0}, "ttl_seconds 0"),
        ({"ttl_seconds": float("nan")}, "NaN"),
        ({"ttl_seconds": 2_592_001}, "2592001"),
        ({"ttl_seconds": None}, "nothing to live by"),
        ({"job_attempt": 1}, "attempt 1"),
        ({"ttl_seconds": None, "job_id": 1}, "nothing to live by"),
    ],
)
def test_what_makes_no_lease_is_refused(db: Session, bad: dict[str, object], said: str) -> None:
    with refused("OS400", said):
        db.call("acquire_lease", **({"name": "n", "holder": "a", "ttl_seconds": 30} | bad))
    assert states(db) == {}


def test_bad_arguments_of_a_job_leave_no_lease(db: Session) -> None:
    with refused("OS400"):
        db.call("enqueue_or_attach", name="n", kind="app.task", args="[]")
    assert states(db) == {}


# The parts, called by hand: tests of the whole are above.


def test_the_parts_do_what_they_say(db: Session) -> None:
    late = {"renewed_at": START - timedelta(seconds=31), "seconds": 30, "at": START}
    doubted = START - timedelta(seconds=31)
    assert db.get("is_lapsed", **late, doubted_at=None) is True
    assert db.get("is_new_doubt", **late, doubted_at=None) is True
    assert db.get("is_new_doubt", **late, doubted_at=doubted) is False
    acquire(db)
    row = "(select l from ostinato_data.lease l)"
    assert db.value(f"select ostinato_internal.lease_state({row})") == "held"
    assert db.value(f"select ostinato_internal.is_own_lease({row}, {row})") is False
    assert db.value(f"select (ostinato_internal.take_lease({row})).token") is None
    with refused("OS423"):
        db.rows(f"select ostinato_internal.refuse_held({row}, 'wait')")
    with refused("OS410"):
        db.call("refuse_lease", tenant_id="default", name="n", token=1)
    db.rows("select ostinato_internal.check_lease('t', 'n', 'h', 1, null, null)")

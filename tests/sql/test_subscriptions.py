"""Subscriptions: who gets which events, one key at a time, and what becomes of those that fail."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from tests.sql.engine import START, Clock, Row, Session, refused, until_blocked
from tests.sql.test_outbox import emit, sequence, upkeep

NAME = "receipts"


@dataclass(frozen=True, slots=True)
class Given:
    """An event in a worker's hands."""

    position: int
    attempt: int
    row: Row


def tell(db: Session, *keys: str | None, **params: Any) -> list[int]:  # noqa: ANN401
    told = [emit(db, key=key, **params) for key in keys]
    sequence(db)
    return told


def subscribe(db: Session, name: str = NAME, **params: Any) -> None:  # noqa: ANN401
    db.call("subscribe", name=name, **params)


def take(db: Session, worker: UUID, most: int = 100, name: str = NAME) -> list[Given]:
    rows = db.call("take_deliveries", subscription=name, worker_id=worker, most=most)
    return [Given(row["position"], row["attempt"], row) for row in rows]


def settle(
    db: Session,
    given: Sequence[Given],
    outcome: str = "done",
    delay: float | None = None,
    name: str = NAME,
) -> list[int]:
    rows = db.call(
        "settle_deliveries",
        subscription=name,
        positions=[one.position for one in given],
        attempts=[one.attempt for one in given],
        outcomes=[outcome for _ in given],
        delays=[delay for _ in given],
        errors=[json.dumps({"type": "ValueError", "message": "it broke"}) for _ in given],
        signatures=["ValueError" for _ in given],
        reasons=["attempts_used_up" if delay is None else None for _ in given],
    )
    return [row["settle_deliveries"] for row in rows]


def at(given: Sequence[Given]) -> list[int]:
    return [one.position for one in given]


def lanes_are_right(admin: Session) -> None:
    """A lane that has something to deliver is in hands, has one turn, or is blocked."""
    odd = admin.rows(
        "select d.subscription, d.lane from ostinato_data.delivery d"
        " join ostinato_data.subscription s on s.name = d.subscription"
        " where d.lane is not null and d.state <> 'buried' group by s.on_poison, 1, 2 having case"
        "  when count(*) filter (where d.state in ('held', 'done')) > 0"
        "  then count(*) filter (where d.state = 'waiting' and d.due_at < 'infinity') > 0"
        "  when s.on_poison = 'block' and exists (select from ostinato_data.delivery b"
        "   where b.subscription = d.subscription and b.lane = d.lane and b.state = 'buried')"
        "  then count(*) filter (where d.state = 'waiting' and d.due_at < 'infinity') > 1"
        "  else count(*) filter (where d.state = 'waiting' and d.due_at < 'infinity') <> 1 end"
    )
    assert odd == []


@pytest.fixture
def worker(db: Session) -> UUID:
    return db.worker()


def test_events_come_in_order_with_everything_they_carry(db: Session, worker: UUID) -> None:
    subscribe(db)
    told = tell(db, "a", "b", "a", None, payload={"n": 1})

    given = take(db, worker)

    assert at(given) == [1, 2, 3, 4]
    assert [one.row["event_id"] for one in given] == told
    assert {one.attempt for one in given} == {1}
    assert given[0].row["payload"] == '{"n": 1}'
    assert given[0].row["tenant_id"] == "acme"
    assert given[3].row["ordering_key"] is None
    assert take(db, worker) == []
    assert settle(db, given) == []
    assert db.call("list_subscriptions")[0]["behind"] == 0


def test_a_subscription_gets_its_types_and_its_tenant_only(db: Session, worker: UUID) -> None:
    subscribe(db, "paid", types=["invoice.paid"])
    subscribe(db, "acme", tenant_id="acme")
    tell(db, "a")
    tell(db, "a", type="invoice.void")
    tell(db, "a", tenant_id="globex")

    assert at(take(db, worker, name="paid")) == [1, 3]
    assert at(take(db, worker, name="acme")) == [1, 2]


def test_most_of_the_log_may_be_for_others(db: Session, worker: UUID) -> None:
    subscribe(db, types=["rare"])
    for _ in range(3):
        db.call(
            "emit_events",
            types=["common"],
            payloads=["{}"] * 900,
            tenant_ids=["acme"],
            correlation_ids=["c"],
            occurred_ats=[START],
            producers=["p"],
        )
        emit(db, None, type="rare")
    sequence(db)

    assert at(take(db, worker, most=2)) == [901, 1802]
    assert at(take(db, worker)) == [2703]
    assert db.call("list_subscriptions")[0]["behind"] == 0


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ({}, 4),
        ({"start": "now"}, 4),
        ({"start": "beginning"}, 1),
        ({"start_position": 2}, 3),
        ({"start_position": 99}, 4),
        ({"start_time": START.replace(minute=1)}, 2),
    ],
)
def test_a_subscription_starts_where_it_is_told_to(
    db: Session, clock: Clock, worker: UUID, given: dict[str, Any], first: int
) -> None:
    for _ in range(3):
        tell(db, None)
        clock.advance(minutes=1)
    subscribe(db, **given)
    tell(db, None)

    assert at(take(db, worker)) == list(range(first, 5))


def test_declaring_again_changes_what_is_new_and_keeps_the_position(
    db: Session, worker: UUID
) -> None:
    subscribe(db, types=["a"])
    tell(db, None)
    subscribe(db, types=["invoice.paid"], on_poison="block", start="beginning")
    (row,) = db.call("list_subscriptions")

    assert (row["types"], row["on_poison"], row["position"]) == (["invoice.paid"], "block", 0)
    assert at(take(db, worker)) == [1]


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"mode": "magic"},
        {"mode": "job"},
        {"kind": "app.task"},
        {"on_poison": "explode"},
        {"start": "yesterday"},
        {"types": ["a", None]},
    ],
)
def test_a_subscription_that_makes_no_sense_is_refused(db: Session, given: dict[str, Any]) -> None:
    with refused("OS400"):
        subscribe(db, **({"name": NAME} | given))


def test_there_is_no_subscription_that_nobody_declared(db: Session, worker: UUID) -> None:
    with refused("OS404", "'nothing'"):
        take(db, worker, name="nothing")
    for verb in ("pause_subscription", "resume_subscription", "drop_subscription"):
        with refused("OS404", "'nothing'"):
            db.call(verb, name="nothing")
    with refused("OS404"):
        db.call("lock_subscription", name="nothing")


def test_a_key_is_in_one_pair_of_hands_at_a_time(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "b", "a")
    first = take(db, worker, most=1)
    second = take(db, db.worker("w2"))

    assert at(first) == [1]
    assert at(second) == [2]
    lanes_are_right(admin)
    tell(db, "a", "b", "c")
    assert at(take(db, worker)) == [6]
    settle(db, first)
    lanes_are_right(admin)
    assert at(take(db, worker)) == [3, 4]  # together, in order
    settle(db, second)
    assert at(take(db, worker)) == [5]
    lanes_are_right(admin)


def test_a_failing_event_waits_for_its_retry_and_blocks_its_own_key_only(
    db: Session, admin: Session, clock: Clock, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "b")
    given = take(db, worker)
    settle(db, given[:1], "failed", delay=60)
    settle(db, given[1:2], "released")
    settle(db, given[2:])
    lanes_are_right(admin)
    tell(db, "a", "b")

    assert at(take(db, worker)) == [5]
    clock.advance(seconds=59)
    assert take(db, worker) == []
    clock.advance(seconds=1)
    again = take(db, worker)
    assert at(again) == [1, 2, 4]
    assert [one.attempt for one in again] == [2, 2, 1]
    assert [one.row["failures"] for one in again] == [1, 0, 0]
    lanes_are_right(admin)


def test_a_poison_event_is_buried_with_its_reason_and_its_key_goes_on(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    told = tell(db, "a", "a")
    given = take(db, worker)
    settle(db, given[:1], "failed")
    settle(db, given[1:], "released")
    lanes_are_right(admin)

    (buried,) = db.call("list_buried", subscription=NAME)
    assert (buried["position"], buried["event_id"]) == (1, told[0])
    assert (buried["reason"], buried["signature"]) == ("attempts_used_up", "ValueError")
    assert buried["error"]["message"] == "it broke"
    assert at(take(db, worker)) == [2]
    (state,) = db.call("event_deliveries", event_id=told[0])
    assert (state["subscription"], state["state"]) == (NAME, "buried")


def test_a_poison_event_blocks_its_key_when_the_subscription_says_so(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db, on_poison="block")
    tell(db, "a", "a", "b")
    given = take(db, worker)
    settle(db, given[:1], "failed")
    settle(db, given[1:2], "released")
    settle(db, given[2:])
    tell(db, "a", "b")
    lanes_are_right(admin)

    assert at(take(db, worker)) == [5]
    assert db.get("redeliver", subscription=NAME, preview=True) == 1
    assert take(db, worker) == []
    assert db.get("redeliver", subscription=NAME, positions=[1]) == 1
    again = take(db, worker)
    assert at(again) == [1, 2, 4]
    assert [one.row["failures"] for one in again] == [0, 0, 0]
    lanes_are_right(admin)


def test_a_discarded_event_lets_its_key_go_on(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db, on_poison="block")
    tell(db, "a", "a")
    given = take(db, worker)
    settle(db, given[1:], "released")
    settle(db, given[:1], "failed")
    assert take(db, worker) == []

    assert db.get("discard", subscription=NAME, positions=[1, 2, 99]) == 1
    assert at(take(db, worker)) == [2]
    assert db.call("list_buried") == []
    lanes_are_right(admin)


def test_a_redelivered_event_waits_until_its_key_is_free(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a")
    given = take(db, worker)
    settle(db, given[:1], "failed")
    db.call("redeliver", subscription=NAME)
    lanes_are_right(admin)

    assert take(db, worker) == []
    settle(db, given[1:])
    assert at(take(db, worker)) == [1]
    lanes_are_right(admin)


def test_a_late_holder_is_refused_and_changes_nothing(
    db: Session, admin: Session, worker: UUID
) -> None:
    """The zombie: its worker was declared dead, another one has the events."""
    subscribe(db)
    tell(db, "a", "b")
    old = take(db, worker)
    db.call("unregister_worker", worker_id=worker)
    assert db.get("free_deliveries") == 2
    new = take(db, db.worker("w2"))

    assert at(new) == [1, 2]
    for outcome in ("done", "failed", "released"):
        assert sorted(settle(db, old, outcome)) == [1, 2]
    for verb in ("finish_delivery", "fence_delivery"):
        with refused("OS410", NAME):
            db.call(verb, subscription=NAME, position=1, attempt=old[0].attempt)
    with refused("OS410"):
        take(db, worker)
    with refused("OS410"):
        db.call("refuse_delivery", subscription=NAME, position=1, attempt=1)
    assert settle(db, new) == []
    assert settle(db, new) == [1, 2]  # twice is once
    lanes_are_right(admin)


def test_a_silent_worker_keeps_its_events_until_it_counts_as_dead(
    db: Session, clock: Clock, worker: UUID
) -> None:
    """With the grace that an outage gives: the same rule as for jobs."""
    subscribe(db)
    tell(db, "a")
    take(db, worker)

    clock.advance(seconds=3600)  # nobody ticked: the database was away
    db.call("rescue_jobs")
    assert db.get("free_deliveries") == 0
    other = db.worker("w2")
    clock.beat(60, other)
    db.call("rescue_jobs")
    assert db.call("lost_holders") == [{"lost_holders": worker}]
    assert db.get("free_deliveries") == 1
    assert at(take(db, other)) == [1]


def test_an_event_that_kills_its_worker_three_times_is_buried_and_its_neighbours_are_not(
    db: Session, admin: Session
) -> None:
    subscribe(db)
    tell(db, "a", "a", "b")
    for crashes in range(3):
        worker = db.worker()
        given = take(db, worker)
        if crashes == 0:
            assert at(given) == [1, 2, 3]
            settle(db, given[2:])
        elif crashes == 2:
            assert at(given) == [1]  # a suspect goes alone
        db.call("unregister_worker", worker_id=worker)
        db.call("free_deliveries")
        lanes_are_right(admin)

    (buried,) = db.call("list_buried")
    assert (buried["position"], buried["reason"], buried["crashes"]) == (1, "worker_lost", 3)
    assert at(take(db, db.worker())) == [2]


def test_a_delivery_ends_with_the_writes_of_its_handler(
    db: Session, other: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a")
    (one, two) = take(db, worker)

    db.rows("begin")
    db.call("finish_delivery", subscription=NAME, position=1, attempt=1)
    db.rows("rollback")
    with db.transaction():
        db.call("fence_delivery", subscription=NAME, position=1, attempt=1)
        db.call("finish_delivery", subscription=NAME, position=1, attempt=1)
        assert take(other, worker) == []  # nobody waits for a handler's transaction

    assert settle(db, [one], "failed") == []  # done is done
    assert db.call("list_buried") == []
    assert settle(db, [two]) == []
    assert db.value("select count(*) from ostinato_data.delivery") == 0


def test_what_a_dead_worker_had_done_is_not_delivered_again(db: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "a")
    take(db, worker)
    db.call("finish_delivery", subscription=NAME, position=1, attempt=1)
    db.call("unregister_worker", worker_id=worker)

    assert db.get("free_deliveries") == 2
    assert at(take(db, db.worker())) == [2]


def test_freeing_leaves_what_a_transaction_ends_just_now(
    db: Session, other: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "b")
    take(db, worker)
    with db.transaction():
        db.call("finish_delivery", subscription=NAME, position=1, attempt=1)
        other.call("unregister_worker", worker_id=worker)
        assert other.get("free_deliveries") == 1

    assert other.get("free_deliveries") == 1
    assert at(take(other, other.worker())) == [2]


def test_a_worker_that_stops_gives_back_without_a_crash(db: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", None)
    take(db, worker)

    assert db.get("release_deliveries", worker_id=worker) == 2
    again = take(db, worker)
    assert [(one.attempt, one.row["crashes"]) for one in again] == [(2, 0), (2, 0)]


def test_what_a_worker_never_heard_of_is_given_back(
    db: Session, clock: Clock, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "b")
    take(db, worker)

    def reconcile() -> int:
        found: int = db.get(
            "reconcile_deliveries", worker_id=worker, subscription=NAME, held=[1], seconds=60.0
        )
        return found

    assert reconcile() == 0
    clock.advance(seconds=61)
    assert reconcile() == 1
    assert at(take(db, worker)) == [2]


def test_take_and_settle_of_the_same_key_never_leave_it_behind(
    db: Session, other: Session, admin: Session, worker: UUID
) -> None:
    """The event that arrives while the one before it is being settled."""
    subscribe(db)
    tell(db, "a")
    given = take(db, worker)
    tell(db, "a")
    with db.transaction():
        settle(db, given)
        waits = other.later("take_deliveries", subscription=NAME, worker_id=worker, most=10)
        until_blocked(admin, other, by=db)

    assert [row["position"] for row in waits.result()] == [2]
    lanes_are_right(admin)


def test_a_paused_subscription_gives_nothing_and_goes_on_where_it_was(
    db: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a")
    db.call("pause_subscription", name=NAME)

    assert take(db, worker) == []
    assert [row["name"] for row in db.call("event_chores")] == []
    db.call("resume_subscription", name=NAME)
    assert at(take(db, worker)) == [1]


def test_a_dropped_subscription_is_gone_with_what_it_had(db: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a")
    given = take(db, worker)
    db.call("drop_subscription", name=NAME)

    with refused("OS404"):
        settle(db, given)
    assert db.value("select count(*) from ostinato_data.delivery") == 0


def test_replay_counts_first_and_then_delivers_everything_again(
    db: Session, admin: Session, clock: Clock, worker: UUID
) -> None:
    subscribe(db, types=["invoice.paid"])
    for n in range(6):
        tell(db, f"k{n % 2}", type="invoice.paid" if n % 3 else "other")
        clock.advance(minutes=1)
    given = take(db, worker)
    assert at(given) == [2, 3, 5, 6]
    settle(db, given[:3])
    settle(db, given[3:], "failed")

    assert db.get("replay", subscription=NAME, from_position=3, preview=True) == 3
    assert take(db, worker) == []
    since = START.replace(minute=4)
    assert db.get("replay", subscription=NAME, from_time=since, preview=True) == 2
    assert db.get("replay", subscription=NAME, from_position=3) == 3
    assert db.call("list_buried") == []
    assert at(take(db, worker)) == [3, 5, 6]
    lanes_are_right(admin)


def test_replay_while_the_key_is_in_hands_waits_for_it(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "a")
    settle(db, take(db, worker, most=2))
    held = take(db, worker)
    assert at(held) == [3]

    db.call("replay", subscription=NAME, from_position=1)
    assert take(db, worker) == []
    lanes_are_right(admin)
    settle(db, held)
    assert at(take(db, worker)) == [1, 2, 3]
    lanes_are_right(admin)


def test_what_waits_at_a_replay_comes_in_its_turn(
    db: Session, admin: Session, worker: UUID
) -> None:
    """Whoever rebuilds a state from the events must end with the last of them."""
    subscribe(db)
    tell(db, "a", "a", "a", "a")
    given = take(db, worker)
    settle(db, given[:3])
    settle(db, given[3:], "failed", delay=60)

    db.call("replay", subscription=NAME, from_position=1)

    assert at(take(db, worker)) == [1, 2, 3, 4]
    lanes_are_right(admin)


def test_what_is_held_at_a_replay_and_settled_before_its_turn_is_noted_anew(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a")
    held = take(db, worker)

    db.call("replay", subscription=NAME, from_position=1)
    assert settle(db, held) == []

    assert at(take(db, worker)) == [1, 2]
    lanes_are_right(admin)


def test_a_holder_of_before_a_replay_does_not_pass_for_one_of_after(
    db: Session, admin: Session, clock: Clock, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a")
    (late,) = take(db, worker)
    clock.advance(seconds=60)
    db.call("reconcile_deliveries", worker_id=worker, subscription=NAME, held=[], seconds=1)
    (once,) = take(db, db.worker("w2"))
    settle(db, [once])
    db.call("replay", subscription=NAME, from_position=1)
    (again,) = take(db, db.worker("w3"))

    assert again.attempt not in (late.attempt, once.attempt)
    assert settle(db, [late]) == [1]
    assert settle(db, [once]) == [1]
    assert settle(db, [again]) == []
    lanes_are_right(admin)


@pytest.mark.parametrize("given", [{}, {"from_position": 1, "from_time": START}])
def test_a_replay_needs_one_place_to_start(db: Session, given: dict[str, Any]) -> None:
    subscribe(db)

    with refused("OS400", "replay"):
        db.call("replay", subscription=NAME, **given)


def test_the_lag_is_told_in_events_and_seconds(db: Session, clock: Clock, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "b")
    clock.advance(seconds=30)
    tell(db, "b")
    (row,) = db.call("list_subscriptions")
    assert (row["behind"], row["lag_seconds"]) == (3, 30)

    given = take(db, worker)
    (row,) = db.call("list_subscriptions")
    assert (row["behind"], row["held"], row["lag_seconds"]) == (0, 3, 30)
    settle(db, given)
    assert db.call("list_subscriptions")[0]["lag_seconds"] == 0


def test_chores_name_who_has_something_to_do(db: Session, clock: Clock, worker: UUID) -> None:
    def chores() -> dict[str, float]:
        return {row["name"]: row["due"] for row in db.call("event_chores")}

    subscribe(db)
    subscribe(db, "as_jobs", mode="job", kind="app.task")
    assert chores() == {}
    emit(db)
    assert chores() == {"relay": 0}
    sequence(db)
    assert chores() == {"relay": 0, f"deliver:{NAME}": 0}
    db.call("dispatch_events")
    given = take(db, worker)
    assert chores() == {}
    settle(db, given, "failed", delay=60)
    assert chores() == {f"deliver:{NAME}": 60}
    assert ("relay", 0) not in {(row["name"], row["due"]) for row in db.call("chores")}
    clock.advance(seconds=60)
    take(db, worker)
    db.call("unregister_worker", worker_id=worker)
    assert chores() == {"relay": 0}


def test_in_mode_job_the_first_event_of_each_key_becomes_a_job(
    db: Session, admin: Session, worker: UUID
) -> None:
    db.call(
        "register_kinds",
        names=["app.task"],
        queues=["mail"],
        priorities=[0],
        timeouts=[None],
        retries=["{}"],
        schemas=["{}"],
    )
    subscribe(db, mode="job", kind="app.task")
    tell(db, "a", "a", "b", None, None)

    assert db.call("dispatch_events") == [{"queue": "mail", "jobs": 4}]
    lanes_are_right(admin)
    jobs = db.claim(worker, queue="mail")
    args = [json.loads(job.row["args"]) for job in jobs]
    assert [(one["position"], one["delivery"]) for one in args] == [(1, 1), (3, 1), (4, 1), (5, 1)]
    assert {job.row["tenant_id"] for job in jobs} == {"acme"}
    assert {job.row["correlation_id"] for job in jobs} == {"request-1"}
    assert take(db, worker) == []  # its events are for jobs
    (loaded,) = db.call("load_delivery", subscription=NAME, position=1, attempt=1)
    assert loaded["type"] == "invoice.paid"
    assert db.call("load_delivery", subscription=NAME, position=1, attempt=2) == []

    settle(db, [Given(1, 1, loaded)])
    assert db.get("dispatch_deliveries", subscription=NAME) == 1
    assert db.get("dispatch_deliveries", subscription=NAME) == 0
    lanes_are_right(admin)


@pytest.mark.parametrize("end", ["cancelled", "worker_lost"])
def test_an_event_whose_job_ended_without_it_is_buried(
    db: Session, admin: Session, worker: UUID, end: str
) -> None:
    subscribe(db, mode="job", kind="app.task")
    told = tell(db, "a", "a")
    db.call("dispatch_events")
    assert db.get("heal_deliveries") == 0  # ready
    job = db.claim_one(worker)
    assert db.get("heal_deliveries") == 0  # running
    if end == "cancelled":
        db.release(job)
        db.call("cancel_job", job_id=job.id)
    else:
        db.call("unregister_worker", worker_id=worker)
        db.call("rescue_jobs", max_crashes=1)

    assert db.get("heal_deliveries") == 1
    (buried,) = db.call("list_buried")
    assert (buried["event_id"], buried["reason"]) == (told[0], end)
    assert db.get("dispatch_deliveries", subscription=NAME) == 1
    lanes_are_right(admin)


def test_an_event_whose_job_is_done_is_cleared_away_by_the_janitor(
    db: Session, worker: UUID
) -> None:
    subscribe(db, mode="job", kind="app.task")
    tell(db, "a", "a")
    db.call("dispatch_events")
    with db.transaction():
        db.call("finish_delivery", subscription=NAME, position=1, attempt=1)
        db.complete(db.claim_one(worker))

    assert db.get("heal_deliveries") == 1
    assert db.get("dispatch_deliveries", subscription=NAME) == 1


def test_a_week_is_kept_until_every_active_subscription_has_settled_it(
    db: Session, admin: Session, clock: Clock
) -> None:
    upkeep(db, clock.now)
    subscribe(db)
    tell(db, "a")
    clock.advance(days=30)
    worker = db.worker()

    assert ("kept", "event_20260226") in upkeep(db, clock.now)
    given = take(db, worker)
    assert ("kept", "event_20260226") in upkeep(db, clock.now)
    settle(db, given)
    assert ("dropped", "event_20260226") in upkeep(db, clock.now)


def test_a_paused_subscription_keeps_no_week_and_goes_on_behind_it(
    db: Session, clock: Clock
) -> None:
    upkeep(db, clock.now)
    subscribe(db)
    tell(db, "a", "b", "b")
    worker = db.worker()
    settle(db, take(db, worker, most=2), "failed", delay=0)
    db.call("pause_subscription", name=NAME)
    clock.advance(days=30)

    assert ("dropped", "event_20260226") in upkeep(db, clock.now)
    db.call("resume_subscription", name=NAME)
    tell(db, "a")
    assert at(take(db, db.worker())) == [4]


def test_a_buried_event_outlives_its_week(db: Session, clock: Clock) -> None:
    upkeep(db, clock.now)
    subscribe(db)
    tell(db, "a")
    settle(db, take(db, db.worker()), "failed")
    clock.advance(days=30)

    assert ("dropped", "event_20260226") in upkeep(db, clock.now)
    assert len(db.call("list_buried")) == 1
    db.call("redeliver", subscription=NAME)
    given = take(db, db.worker())
    assert given[0].row["ordering_key"] == "a"
    settle(db, given)
    upkeep(db, clock.now)
    assert db.value("select count(*) from ostinato_data.event_kept") == 0


def test_where_to_look_from_rises_with_what_is_settled_and_falls_with_what_comes_back(
    db: Session, admin: Session, worker: UUID
) -> None:
    def low() -> int:
        found: int = admin.value("select low from ostinato_data.subscription")
        return found

    subscribe(db, on_poison="block")
    tell(db, "a", "slow")
    first, slow = take(db, worker)
    settle(db, [first], "failed")
    for _ in range(4):
        db.call(
            "emit_events",
            types=["x"],
            payloads=["{}"] * 500,
            ordering_keys=["b"],
            tenant_ids=["acme"],
            correlation_ids=["c"],
            occurred_ats=[START],
            producers=["p"],
        )
    sequence(db)
    for _ in range(3):
        settle(db, take(db, worker, most=500))
    assert low() == 0  # the slow one is below
    settle(db, [slow])
    settle(db, take(db, worker, most=500))
    settle(db, take(db, worker, most=500))
    db.rows("select ostinato.raise_low(s) from ostinato_data.subscription s")
    assert low() > 1000
    tell(db, "a", "a")
    assert take(db, worker) == []
    db.call("redeliver", subscription=NAME)
    assert low() == 1
    again = take(db, worker)
    assert at(again) == [1, 2003, 2004]
    settle(db, again)
    db.call("replay", subscription=NAME, from_position=2002)
    assert at(take(db, worker)) == [2002, 2003, 2004]
    lanes_are_right(admin)


def test_outcomes_that_are_none_are_refused(db: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a")

    with refused("OS400", "outcomes"):
        settle(db, take(db, worker), "maybe")


def test_parts_can_be_called_by_themselves(db: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "a")
    given = take(db, worker, most=1)

    assert db.get("give_back", subscription=NAME, positions=[1]) == 1
    row = "(select s from ostinato_data.subscription s)"
    assert db.value(f"select ostinato.due_deliveries({row}, 10)") == [1]
    assert db.value(f"select ostinato.read_log({row}, 10, null)") == []
    db.rows(f"select ostinato.open_lanes({row}, array['nothing'])")
    db.call("keep_events", event_ids=[given[0].row["event_id"]])
    db.rows("select ostinato.put_back(%s, '{}', '{}', '{}', '{}', '{}', '{}', '{}')", NAME)
    assert at(take(db, worker)) == [1, 2]

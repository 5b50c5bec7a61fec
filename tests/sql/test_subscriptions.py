"""Subscriptions: every event is a job, and of a key one at a time."""

from typing import Any
from uuid import UUID

import pytest

from ostinato._core.engine.subscriptions import MOST_COUNTED
from tests.sql.deliveries import NAME, at, event_of, lanes_are_right, subscribe, take, take_heads, tell
from tests.sql.engine import START, Clock, Session, arrays, refused, until_blocked
from tests.sql.test_outbox import emit, sequence, upkeep


@pytest.fixture
def worker(db: Session) -> UUID:
    return db.worker(kinds=[NAME])


def test_an_event_is_a_job_with_everything_that_the_event_carries(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    told = tell(db, "a", "b", "a", None, payload={"n": 1})
    lanes_are_right(admin)

    jobs = take(db, worker)

    assert sorted(at(jobs)) == [1, 2, 3, 4]
    first = event_of(jobs[0])
    assert (first["event_id"], first["type"], first["version"]) == (told[0], "invoice.paid", 1)
    assert (first["subscription"], first["ordering_key"]) == (NAME, "a")
    assert first["payload"] == {"n": 1}
    assert {job.row["kind"] for job in jobs} == {NAME}
    assert {job.row["tenant_id"] for job in jobs} == {"acme"}
    assert {job.row["correlation_id"] for job in jobs} == {"request-1"}
    assert db.complete(*jobs) == []
    assert db.value("select count(*) from ostinato_data.delivery") == 0
    assert db.call("list_subscriptions")[0]["behind"] == 0


def test_the_jobs_of_a_subscription_go_to_the_queue_of_its_kind(db: Session, worker: UUID) -> None:
    db.call(
        "register_kinds",
        names=["app.task"],
        queues=["mail"],
        priorities=[7],
        timeouts=[None],
        retries=["{}"],
        schemas=["{}"],
    )
    subscribe(db, kind="app.task")
    emit(db, key="a")
    emit(db, key="a")
    sequence(db)

    assert db.call("dispatch_events") == [{"queue": "mail", "jobs": 2}]
    assert at(db.claim(worker, queue="mail")) == [1, 2]
    assert db.call("dispatch_events") == []


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

    assert db.get("dispatch_deliveries", subscription=NAME, most=2) == 2
    assert at(take(db, worker)) == [901, 1802]
    assert db.get("dispatch_deliveries", subscription=NAME, most=2) == 1
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
    db: Session, clock: Clock, given: dict[str, Any], first: int
) -> None:
    for _ in range(3):
        tell(db, None)
        clock.advance(minutes=1)
    subscribe(db, **given)
    tell(db, None)

    assert at(take(db, db.worker())) == list(range(first, 5))


def test_declaring_again_changes_what_is_new_and_keeps_the_position(db: Session, worker: UUID) -> None:
    subscribe(db, types=["a"])
    emit(db)
    sequence(db)
    subscribe(db, types=["invoice.paid"], on_poison="block", start="beginning")
    (row,) = db.call("list_subscriptions")

    assert (row["types"], row["on_poison"], row["position"]) == (["invoice.paid"], "block", 0)
    db.call("dispatch_events")
    assert at(take(db, worker)) == [1]


@pytest.mark.parametrize(
    "given", [{"name": ""}, {"kind": ""}, {"on_poison": "explode"}, {"start": "yesterday"}, {"types": ["a", None]}]
)
def test_a_subscription_that_makes_no_sense_is_refused(db: Session, given: dict[str, Any]) -> None:
    with refused("OS400"):
        subscribe(db, **({"name": NAME} | given))


def test_there_is_no_subscription_that_nobody_declared(db: Session) -> None:
    for verb in ("pause_subscription", "resume_subscription", "drop_subscription"):
        with refused("OS404", "'nothing'"):
            db.call(verb, name="nothing")
    with refused("OS404"):
        db.call("lock_subscription", name="nothing")


def test_the_first_of_a_key_is_ready_and_the_others_wait_behind_it(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "b", "a", None)
    first, behind = admin.rows("select job_id from ostinato_data.delivery where lane like '%%a' order by position")

    assert db.state(first["job_id"]) == "ready"
    shown = db.call("show_job", job_id=behind["job_id"])[0]
    assert (shown["state"], shown["reason"], shown["run_at"]) == ("scheduled", "behind", None)
    why = db.why(behind["job_id"])["behind"]
    assert why["detail"]["behind"] == first["job_id"]
    assert f"behind job {first['job_id']}" in why["message"]
    assert db.call("poll_jobs", worker_id=worker, queues=["default"])[0]["next_due"] is None
    db.call("promote_jobs")
    lanes_are_right(admin)


def test_a_key_is_in_one_pair_of_hands_at_a_time(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "b", "a")
    (first,) = take(db, worker, most=1)
    second = take_heads(db, db.worker("w2"))

    assert (at([first]), at(second)) == ([1], [2])
    lanes_are_right(admin)
    tell(db, "a", "b", "c")
    assert at(take(db, worker)) == [6]
    db.complete(first)
    lanes_are_right(admin)
    assert at(take(db, worker)) == [3, 4]  # together, in order
    db.complete(*second)
    assert at(take(db, worker)) == [5]
    lanes_are_right(admin)


def test_a_claim_with_room_takes_along_those_behind_in_order(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, *"abaab", None)

    jobs = take(db, worker, most=5)

    assert sorted(at(jobs)) == [1, 2, 3, 5, 6]
    by_id = {job.id: at([job])[0] for job in jobs}
    behind = {at([job])[0]: by_id.get(job.row["behind"]) for job in jobs}
    assert behind == {1: None, 2: None, 6: None, 3: 1, 5: 2}
    lanes_are_right(admin)
    assert take(db, db.worker("w2")) == []  # the rest of the key waits for what is held
    db.complete(*jobs)
    lanes_are_right(admin)
    assert at(take(db, worker)) == [4]


def test_followers_that_are_given_back_wait_behind_the_first_again(
    db: Session, admin: Session, clock: Clock, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "a")
    first, *others = take(db, worker)
    db.fail(first, delay=60)
    db.release(*others)
    lanes_are_right(admin)

    assert take(db, worker) == []
    clock.advance(seconds=60)
    db.call("promote_jobs")
    again = take(db, worker)
    assert at(again) == [1, 2, 3]
    assert [job.row["failures"] for job in again] == [1, 0, 0]
    lanes_are_right(admin)


def test_a_first_that_comes_back_takes_no_others_while_its_followers_are_held_elsewhere(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "a")
    first, second = take(db, worker, most=2)
    db.fail(first, delay=0)
    db.call("promote_jobs")

    other = db.worker("w2")
    (again,) = take(db, other)
    assert at([again]) == [1]
    db.complete(again)
    assert take(db, other) == []
    db.release(second)
    lanes_are_right(admin)
    assert at(take(db, other)) == [2, 3]


def test_a_queue_with_limits_takes_no_followers(db: Session, admin: Session, worker: UUID) -> None:
    db.call("configure_queue", name="default", concurrency=5)
    subscribe(db)
    tell(db, "a", "a")

    assert at(take(db, worker)) == [1]
    lanes_are_right(admin)


def test_a_failing_event_waits_for_its_retry_and_blocks_its_own_key_only(
    db: Session, admin: Session, clock: Clock, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "b")
    first, other = take_heads(db, worker)
    db.fail(first, delay=60)
    db.complete(other)
    lanes_are_right(admin)
    tell(db, "a", "b")

    assert at(take(db, worker)) == [5]
    clock.advance(seconds=59)
    db.call("promote_jobs")
    assert take(db, worker) == []
    clock.advance(seconds=1)
    db.call("promote_jobs")
    assert at(take(db, worker)) == [1, 2, 4]
    lanes_are_right(admin)


def test_a_poison_event_is_a_dead_letter_and_its_key_goes_on(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    told = tell(db, "a", "a")
    (first,) = take_heads(db, worker)
    db.fail(first)
    lanes_are_right(admin)

    (buried,) = db.call("list_buried", subscription=NAME)
    assert (buried["position"], buried["event_id"]) == (1, told[0])
    assert (buried["job_id"], buried["ordering_key"]) == (first.id, "a")
    assert buried["error"]["message"] == "it broke"
    assert [row["job_id"] for row in db.call("list_dead_letters", kind=NAME)] == [first.id]
    assert at(take(db, worker)) == [2]
    (line,) = db.call("event_deliveries", event_id=told[0])
    assert (line["subscription"], line["state"]) == (NAME, "dead")


def test_a_poison_event_blocks_its_key_when_the_subscription_says_so(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db, on_poison="block")
    tell(db, "a", "a", "b")
    first, other = take_heads(db, worker)
    db.fail(first)
    db.complete(other)
    tell(db, "a", "b")
    lanes_are_right(admin)

    assert at(take(db, worker)) == [5]
    assert db.get("redeliver", subscription=NAME, preview=True) == 1
    assert take(db, worker) == []
    assert db.get("redeliver", subscription=NAME, positions=[1]) == 1
    again = take(db, worker)
    assert at(again) == [1, 2, 4]
    assert [job.row["failures"] for job in again] == [0, 0, 0]
    lanes_are_right(admin)


def test_a_block_that_is_lifted_lets_its_keys_go_on(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db, on_poison="block")
    tell(db, "a", "a")
    db.fail(*take_heads(db, worker))
    subscribe(db, on_poison="skip")

    assert db.get("heal_lanes") == 1
    assert at(take(db, worker)) == [2]
    lanes_are_right(admin)


def test_a_discarded_event_lets_its_key_go_on(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db, on_poison="block")
    tell(db, "a", "a")
    db.fail(*take_heads(db, worker))
    assert take(db, worker) == []

    assert db.get("discard", subscription=NAME, positions=[1, 2, 99]) == 1
    assert at(take(db, worker)) == [2]
    assert db.call("list_buried") == []
    lanes_are_right(admin)


@pytest.mark.parametrize("verb", ["redeliver", "retry", "redrive"])
def test_an_event_that_comes_back_waits_until_its_key_is_free(
    db: Session, admin: Session, worker: UUID, verb: str
) -> None:
    subscribe(db)
    tell(db, "a", "a", "a")
    (first,) = take_heads(db, worker)
    db.fail(first)
    (second,) = take_heads(db, worker)
    match verb:
        case "redeliver":
            assert db.get("redeliver", subscription=NAME) == 1
        case "retry":
            assert db.get("retry_job", job_id=first.id) == "dead"
        case _:
            assert db.call("redrive_jobs", kind=NAME)[0]["redriven"] == 1
    lanes_are_right(admin)

    assert take(db, worker) == []
    db.complete(second)
    assert at(take(db, worker)) == [1, 3]
    lanes_are_right(admin)


def test_a_cancelled_event_lets_its_key_go_on_and_comes_back_in_its_turn(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "a")
    (first,) = take_heads(db, worker)
    (behind,) = admin.rows("select job_id from ostinato_data.delivery where position = 2")
    assert db.get("cancel_job", job_id=behind["job_id"]) == "scheduled"
    lanes_are_right(admin)
    assert db.get("retry_job", job_id=behind["job_id"]) == "cancelled"
    lanes_are_right(admin)

    db.call("cancel_job", job_id=first.id)
    assert db.release(first) == []
    lanes_are_right(admin)
    assert at(take(db, worker)) == [2, 3]


def test_an_event_behind_another_cannot_be_pulled_out_of_its_turn(db: Session, admin: Session) -> None:
    subscribe(db)
    tell(db, "a", "a")
    (behind,) = admin.rows("select job_id from ostinato_data.delivery where not open")

    with refused("OS412", "behind another of its key"):
        db.call("retry_job", job_id=behind["job_id"])
    assert db.call("hasten_jobs", job_ids=[behind["job_id"]]) == []
    lanes_are_right(admin)


def test_a_late_holder_is_refused_and_changes_nothing(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "a")
    held = take(db, worker)
    db.call("unregister_worker", worker_id=worker)
    assert db.get("rescue_jobs") == 1
    lanes_are_right(admin)
    again = take(db, db.worker("w2"))

    assert at(again) == [1, 2]
    assert sorted(db.complete(*held)) == sorted(job.id for job in held)
    lanes_are_right(admin)
    assert db.complete(*again) == []
    lanes_are_right(admin)


def test_an_event_that_kills_its_worker_is_buried_and_those_behind_it_are_not_blamed(
    db: Session, admin: Session
) -> None:
    subscribe(db)
    tell(db, "a", "a", "a")
    for _ in range(2 + 3):  # a suspect after two, and three times alone
        worker = db.worker()
        jobs = take(db, worker)
        assert at(jobs)[0] == 1
        db.call("begin_jobs", **arrays(jobs[:1]), alone=True)
        db.call("unregister_worker", worker_id=worker)
        db.call("rescue_jobs")
        lanes_are_right(admin)

    (buried,) = db.call("list_buried")
    assert (buried["position"], buried["reason"]) == (1, "worker_lost")
    again = take(db, db.worker())
    assert at(again) == [2, 3]
    assert [job.row["crashes"] for job in again] == [0, 0]


def test_a_job_that_ends_in_its_handlers_transaction_holds_up_nobody(
    db: Session, other: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "b")
    (first,) = take(db, worker, most=1)
    (second,) = take(db, worker, most=1)
    with db.transaction():
        db.call("complete_job", job_id=first.id, attempt=first.attempt)
        assert other.complete(second) == []  # of the same subscription, and at once
        other.call("leave_lanes", job_ids=[first.id])  # too early: it is not over
    assert take(db, worker) == []

    db.call("leave_lanes", job_ids=[first.id])
    db.call("leave_lanes", job_ids=[first.id])
    lanes_are_right(admin)
    assert at(take(db, worker)) == [2]


def test_what_died_between_a_handlers_commit_and_the_next_of_its_key_is_healed(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a")
    assert db.get("heal_lanes") == 0  # ready
    (first,) = take_heads(db, worker)
    assert db.get("heal_lanes") == 0  # running
    db.call("complete_job", job_id=first.id, attempt=first.attempt)

    assert db.get("heal_lanes") == 1
    lanes_are_right(admin)
    assert at(take(db, worker)) == [2]


def test_a_lane_in_which_nobody_has_the_turn_is_healed(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    tell(db, "a", "a")
    (first,) = take_heads(db, worker)
    admin.rows("delete from ostinato_data.delivery where open")
    db.complete(first)
    assert take(db, worker) == []

    assert db.get("heal_lanes") == 0
    assert at(take(db, worker)) == [2]
    lanes_are_right(admin)


def test_dispatch_and_complete_of_the_same_key_never_leave_it_behind(
    db: Session, other: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a")
    (first,) = take(db, worker)
    emit(db, key="a")
    sequence(db)
    with db.transaction():
        assert db.complete(first) == []
        waits = other.later("dispatch_deliveries", subscription=NAME)
        until_blocked(admin, other, by=db)
    assert waits.result() == [{"dispatch_deliveries": 1}]

    lanes_are_right(admin)
    assert at(take(db, worker)) == [2]


def test_a_claim_does_not_wait_for_a_subscription_that_is_locked(
    db: Session, other: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a")
    with other.transaction():
        other.call("lock_subscription", name=NAME)
        assert at(take(db, worker)) == [1]
    lanes_are_right(admin)


def test_a_paused_subscription_gives_nothing_and_goes_on_where_it_was(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", None)
    db.call("pause_subscription", name=NAME)
    emit(db, key="b")
    sequence(db)

    assert db.call("dispatch_events") == []
    assert take(db, worker) == []
    assert db.call("event_chores") == []
    lanes_are_right(admin)
    (behind, *_) = admin.rows("select job_id from ostinato_data.delivery")
    assert "paused" in db.why(behind["job_id"])["behind"]["message"]
    db.call("resume_subscription", name=NAME)
    db.call("dispatch_events")
    lanes_are_right(admin)
    assert sorted(at(take(db, worker))) == [1, 2, 3, 4]


def test_what_runs_while_its_subscription_is_paused_ends_and_the_next_one_waits(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a")
    (first,) = take_heads(db, worker)
    db.call("pause_subscription", name=NAME)
    assert db.complete(first) == []

    assert take(db, worker) == []
    db.call("resume_subscription", name=NAME)
    assert at(take(db, worker)) == [2]
    lanes_are_right(admin)


def test_a_dropped_subscription_is_gone_and_what_has_not_begun_is_cancelled(
    db: Session, admin: Session, worker: UUID
) -> None:
    subscribe(db)
    tell(db, "a", "a", "b")
    (first,) = take(db, worker, most=1)
    waiting = [row["job_id"] for row in admin.rows("select job_id from ostinato_data.delivery")]
    waiting.remove(first.id)
    db.call("drop_subscription", name=NAME)

    assert {db.state(job) for job in waiting} == {"cancelled"}
    assert db.value("select count(*) from ostinato_data.delivery") == 0
    assert db.complete(first) == []


LOG_MORE = """
    insert into ostinato_data.event_log (event_id, position, sequenced_at, type, tenant_id)
    select l.event_id + n, l.position + n, l.sequenced_at, l.type, l.tenant_id
    from (select * from ostinato_data.event_log order by position desc limit 1) l, generate_series(1, %s) n
"""


def test_replay_counts_no_further_than_is_quick(db: Session, admin: Session) -> None:
    """A log of millions would be read before anybody is asked whether to go on."""
    subscribe(db)
    emit(db)
    sequence(db)
    admin.rows(LOG_MORE, MOST_COUNTED - 2)
    whole = db.get("replay", subscription=NAME, from_position=1, preview=True)
    admin.rows(LOG_MORE, 3)

    assert whole == MOST_COUNTED - 1
    assert db.get("replay", subscription=NAME, from_position=1, preview=True) == MOST_COUNTED
    assert db.get("replay", subscription=NAME, from_position=1) == MOST_COUNTED
    assert db.get("delivery_cap") == MOST_COUNTED


def test_replay_counts_first_and_then_delivers_everything_again(db: Session, admin: Session, clock: Clock) -> None:
    subscribe(db, types=["invoice.paid"])
    for n in range(6):
        tell(db, f"k{n % 2}", type="invoice.paid" if n % 3 else "other")
        clock.advance(minutes=1)
    worker = db.worker(kinds=[NAME])
    jobs = {at([job])[0]: job for job in take(db, worker)}
    assert sorted(jobs) == [2, 3, 5, 6]
    db.complete(jobs[2], jobs[3], jobs[5])
    db.fail(jobs[6])

    assert db.get("replay", subscription=NAME, from_position=3, preview=True) == 3
    db.call("dispatch_events")
    assert take(db, worker) == []
    since = START.replace(minute=4)
    assert db.get("replay", subscription=NAME, from_time=since, preview=True) == 2
    assert db.get("replay", subscription=NAME, from_position=3) == 3
    assert db.call("list_buried") == []
    assert db.state(jobs[6].id) == "cancelled"
    db.call("dispatch_events")
    assert sorted(at(take(db, worker))) == [3, 5, 6]
    lanes_are_right(admin)


def test_what_runs_at_a_replay_stays_and_comes_once_more_in_its_turn(db: Session, admin: Session, worker: UUID) -> None:
    """Whoever rebuilds a state from the events must end with the last of them."""
    subscribe(db)
    tell(db, "a", "a", "a", "a")
    held = take(db, worker, most=2)
    assert at(held) == [1, 2]

    db.call("replay", subscription=NAME, from_position=1)
    db.call("dispatch_events")
    lanes_are_right(admin)
    assert take(db, worker) == []
    db.complete(held[0])
    assert take(db, worker) == []
    db.complete(held[1])
    lanes_are_right(admin)
    assert at(take(db, worker)) == [1, 2, 3, 4]
    lanes_are_right(admin)


@pytest.mark.parametrize("given", [{}, {"from_position": 1, "from_time": START}])
def test_a_replay_needs_one_place_to_start(db: Session, given: dict[str, Any]) -> None:
    subscribe(db)

    with refused("OS400", "replay"):
        db.call("replay", subscription=NAME, **given)


def test_the_lag_is_told_in_events_and_seconds(db: Session, clock: Clock) -> None:
    subscribe(db)
    emit(db, key="a")
    emit(db, key="b")
    clock.advance(seconds=30)
    emit(db, key="b")
    sequence(db)
    (row,) = db.call("list_subscriptions")
    assert (row["behind"], row["lag_seconds"]) == (3, 30)

    db.call("dispatch_events")
    (row,) = db.call("list_subscriptions")
    assert (row["behind"], row["held"], row["waiting"]) == (0, 2, 1)
    assert row["lag_seconds"] == 30
    db.complete(*take(db, db.worker()))
    assert db.call("list_subscriptions")[0]["lag_seconds"] == 0


def test_chores_say_whether_the_relay_has_something_to_do(db: Session) -> None:
    def chores() -> dict[str, float]:
        return {row["name"]: row["due"] for row in db.call("event_chores")}

    subscribe(db)
    assert chores() == {}
    emit(db)
    assert chores() == {"relay": 0}
    sequence(db)
    assert chores() == {"relay": 0}
    db.call("dispatch_events")
    assert chores() == {}


def test_a_week_is_kept_until_every_active_subscription_was_given_it(db: Session, clock: Clock) -> None:
    upkeep(db, clock.now)
    subscribe(db)
    emit(db, key="a")
    sequence(db)
    clock.advance(days=30)

    assert ("kept", "event_20260226") in upkeep(db, clock.now)
    db.call("dispatch_events")
    assert ("dropped", "event_20260226") in upkeep(db, clock.now)
    (job,) = take(db, db.worker())
    assert event_of(job)["ordering_key"] == "a"  # the job holds its event itself


def test_a_paused_subscription_keeps_no_week_and_goes_on_behind_it(db: Session, clock: Clock) -> None:
    upkeep(db, clock.now)
    subscribe(db)
    db.call("pause_subscription", name=NAME)
    tell(db, "a", "b", "b")
    clock.advance(days=30)

    assert ("dropped", "event_20260226") in upkeep(db, clock.now)
    db.call("resume_subscription", name=NAME)
    tell(db, "a")
    assert at(take(db, db.worker())) == [4]


def test_a_buried_event_outlives_its_week(db: Session, clock: Clock) -> None:
    upkeep(db, clock.now)
    subscribe(db)
    tell(db, "a")
    db.fail(*take(db, db.worker()))
    clock.advance(days=30)

    assert ("dropped", "event_20260226") in upkeep(db, clock.now)
    assert len(db.call("list_buried")) == 1
    assert db.get("redeliver", subscription=NAME) == 1
    (again,) = take(db, db.worker())
    assert event_of(again)["ordering_key"] == "a"


def test_where_to_look_from_rises_with_what_is_over_and_falls_with_what_comes_back(
    db: Session, admin: Session, worker: UUID
) -> None:
    def low() -> int:
        found: int = admin.value("select low from ostinato_data.subscription")
        return found

    subscribe(db)
    tell(db, "a")
    db.fail(*take(db, worker))
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
    while db.call("dispatch_events"):
        pass
    while jobs := take(db, worker, most=500):
        db.complete(*jobs)
    assert low() > 1000
    lanes_are_right(admin)

    db.call("redeliver", subscription=NAME)
    assert low() == 1
    lanes_are_right(admin)
    assert at(take(db, worker)) == [1]


def test_parts_can_be_called_by_themselves(db: Session, admin: Session, worker: UUID) -> None:
    subscribe(db)
    (told,) = tell(db, "a")
    row = "(select s from ostinato_data.subscription s)"

    db.rows(f"select ostinato_internal.open_lanes({row}, array['nothing'])")
    db.call("put_behind", job_ids=[])
    db.call("open_deliveries", job_ids=[])
    db.call("keep_order", job_ids=None)
    db.call("end_deliveries", over=None)
    db.call("release_followers", claim_ids=[0])
    db.call("rejoin_lanes", job_ids=[])
    db.call("lock_lanes", job_ids=[])
    with refused("OS412"):
        db.call("refuse_behind", job_id=1)
    args = db.value("select ostinato_internal.event_args('x', 1, e) from ostinato_data.event e where e.id = %s", told)
    assert args["event_id"] == told
    assert at(take(db, worker)) == [1]
    lanes_are_right(admin)

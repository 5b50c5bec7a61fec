"""Idempotency: one effect and one answer, a conflict that names its fields, and keys that end."""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.sql.engine import START, Clock, Row, Session, Sessions, refused, until_blocked


def hashed(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def asked(key: str = "k", scope: str = "pay", **fields: object) -> dict[str, Any]:
    """What `begin_idempotent` takes for a request with these fields."""
    payload = fields or {"amount": 7}
    return {
        "scope": scope,
        "key": key,
        "fingerprint": hashed(payload),
        "fields": {name: hashed(value) for name, value in payload.items()},
    }


def begin(db: Session, key: str = "k", **params: Any) -> Row:  # noqa: ANN401 - fields or options
    options = {n: params.pop(n) for n in OPTIONS if n in params}
    (row,) = db.call("begin_idempotent", **asked(key, **params), **options)
    return row


OPTIONS = ("holder", "lease_seconds", "ttl_seconds", "tenant_id", "wait", "declaration")


def finish(db: Session, row: Row, key: str = "k", **params: Any) -> None:  # noqa: ANN401 - options
    db.call("finish_idempotent", scope="pay", key=key, token=row["token"], **params)


# Deciding


def test_the_first_is_new_and_the_next_gets_its_answer(db: Session) -> None:
    first = begin(db, holder="api-1")
    assert (first["decision"], first["attempt"], first["held_by"]) == ("new", 1, "api-1")

    finish(db, first, answer={"id": 9}, resource="payment/9")
    again = begin(db, holder="api-2")

    assert (again["decision"], again["answer"], again["resource"]) == ("replay", {"id": 9}, "payment/9")
    assert (again["token"], again["held_by"], again["finished_at"]) == (None, "api-1", START)


def test_an_answer_comes_back_as_it_was_written(db: Session) -> None:
    text = '{"b" :1,  "a": [1.50, "é\\u0000"]}'
    db.rows("select ostinato.finish_idempotent('pay', 'k', %s, answer => %s::json)", begin(db)["token"], text)

    found = db.value("select answer::text from ostinato.begin_idempotent('pay', 'k', %s)", hashed({"amount": 7}))

    assert found == text


def test_a_key_without_an_answer_is_a_replay_too(db: Session) -> None:
    finish(db, begin(db))

    again = begin(db)

    assert (again["decision"], again["answer"], again["resource"]) == ("replay", None, None)


def test_meanwhile_it_is_said_who_is_at_it_since_when_and_until_when(db: Session, clock: Clock) -> None:
    begin(db, holder="api-1", lease_seconds=30)
    clock.advance(seconds=10)

    again = begin(db)

    assert (again["decision"], again["held_by"], again["token"]) == ("in_flight", "api-1", None)
    assert again["since"] == START
    assert again["until"] == START + timedelta(seconds=30)


@pytest.mark.parametrize("then", ["replay", "in_flight"])
def test_another_request_under_the_key_is_a_conflict_that_names_the_fields(db: Session, then: str) -> None:
    first = begin(db, amount=7, to="a", note="x")
    if then == "replay":
        finish(db, first, answer={"id": 9})

    other = begin(db, amount=8, to="a", memo="x")

    assert (other["decision"], other["differing"]) == ("conflict", ["amount", "memo", "note"])
    assert (other["answer"], other["token"], other["declaration_changed"]) == (None, None, False)
    assert begin(db, amount=7, to="a", note="x")["decision"] == then


def test_a_conflict_without_hashes_of_fields_names_none(db: Session) -> None:
    db.call("begin_idempotent", scope="pay", key="k", fingerprint=hashed(1))

    (row,) = db.call("begin_idempotent", scope="pay", key="k", fingerprint=hashed(2))

    assert (row["decision"], row["differing"]) == ("conflict", [])


def test_scope_and_key_are_kept_apart(db: Session) -> None:
    tokens = {
        begin(db, key, scope=scope)["token"]
        for scope, key in [("a", "b/c"), ("a/b", "c"), ("a", "b"), ("b", "a"), ("a\x1fb", "c")]
    }

    assert len(tokens) == 5


# Declarations


def test_under_another_declaration_the_fields_that_both_know_decide(db: Session) -> None:
    finish(db, begin(db, declaration="v1", amount=7, to="a"), answer={"id": 9})

    same = begin(db, declaration="v2", amount=7, note="new field")
    other = begin(db, declaration="v2", amount=8, note="new field")

    assert (same["decision"], same["answer"], same["declaration_changed"]) == ("replay", {"id": 9}, True)
    assert (other["decision"], other["differing"]) == ("conflict", ["amount"])
    assert other["declaration_changed"] is True


def test_declarations_with_nothing_in_common_are_a_conflict_that_says_so(db: Session) -> None:
    begin(db, declaration="v1", amount=7)

    other = begin(db, declaration="v2", sum=7)

    assert (other["decision"], other["differing"]) == ("conflict", [])
    assert other["declaration_changed"] is True


def test_whoever_takes_over_under_a_new_declaration_leaves_its_own(db: Session, clock: Clock) -> None:
    first = begin(db, declaration="v1", amount=7, to="a")
    db.call("abandon_idempotent", scope="pay", key="k", token=first["token"], forget=False)

    second = begin(db, declaration="v2", amount=7, note="n")

    assert (second["decision"], second["attempt"]) == ("new", 2)
    assert begin(db, declaration="v2", amount=7, note="m")["differing"] == ["note"]


def test_nothing_of_a_request_is_stored_and_equal_requests_do_not_look_equal(db: Session, admin: Session) -> None:
    begin(db, "k1", phone="+33612345678")
    begin(db, "k2", phone="+33612345678")

    rows = admin.rows(
        "select i::text as line, i.fingerprint, i.fields::text as fields from ostinato_data.idempotency i"
    )

    plain = hashed({"phone": "+33612345678"}), hashed("+33612345678")
    assert not any(word in row["line"] for row in rows for word in ("33612345678", *plain))
    assert len({row["fingerprint"] for row in rows}) == len({row["fields"] for row in rows}) == 2


# Two at once


def test_the_second_waits_for_the_transaction_of_the_first_and_gets_its_answer(
    db: Session, other: Session, admin: Session
) -> None:
    with db.transaction():
        first = begin(db)
        waiting = other.later("begin_idempotent", **asked())
        until_blocked(admin, other, db)
        finish(db, first, answer={"id": 9})

    (row,) = waiting.result()
    assert (row["decision"], row["answer"]) == ("replay", {"id": 9})


def test_when_the_first_rolls_back_the_second_that_waited_is_new(db: Session, other: Session, admin: Session) -> None:
    db.rows("begin")
    begin(db)
    waiting = other.later("begin_idempotent", **asked())
    until_blocked(admin, other, db)
    db.rows("rollback")

    (row,) = waiting.result()
    assert (row["decision"], row["attempt"]) == ("new", 1)


def test_the_second_that_waited_with_another_request_gets_the_conflict(
    db: Session, other: Session, admin: Session
) -> None:
    with db.transaction():
        first = begin(db, amount=7)
        waiting = other.later("begin_idempotent", **asked(amount=8))
        until_blocked(admin, other, db)
        finish(db, first)

    (row,) = waiting.result()
    assert (row["decision"], row["differing"]) == ("conflict", ["amount"])


def test_who_does_not_want_to_wait_is_told_that_somebody_is_at_it(db: Session, other: Session) -> None:
    with db.transaction():
        begin(db)

        row = begin(other, wait=False)

        assert (row["decision"], row["held_by"], row["until"]) == ("in_flight", None, None)


def test_a_wait_has_an_end(db: Session, other: Session) -> None:
    other.rows("set lock_timeout = '20ms'")
    with db.transaction():
        first = begin(db)
        with refused("55P03"):
            begin(other)
        finish(db, first)

    assert begin(other)["decision"] == "replay"


def test_answers_are_read_without_waiting_for_others_who_read(db: Session, other: Session) -> None:
    finish(db, begin(db), answer={"id": 9})
    with db.transaction():
        assert begin(db)["decision"] == "replay"
        assert begin(other, wait=False)["decision"] == "replay"


def test_a_key_that_came_past_the_lock_is_met_at_the_constraint(db: Session, other: Session, admin: Session) -> None:
    """Trap of the protocol: whoever writes without the lock is still seen, by the unique key."""
    first = begin(db)
    finish(db, first, answer={"id": 9})
    admin.rows("create temporary table kept as select * from ostinato_data.idempotency")
    admin.rows("delete from ostinato_data.idempotency")
    with admin.transaction():
        admin.rows("insert into ostinato_data.idempotency select * from kept")
        waiting = other.later("begin_idempotent", **asked())
        until_blocked(db, other, admin)

    (row,) = waiting.result()
    assert (row["decision"], row["answer"]) == ("replay", {"id": 9})
    admin.rows("drop table kept")


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_isolation_in_which_the_wait_ends_in_not_seeing_is_refused(db: Session, level: str) -> None:
    with refused("OS400", level), db.transaction():
        db.rows(f"set transaction isolation level {level}")
        begin(db)


def test_of_many_at_once_one_is_new_and_all_the_others_get_its_answer(sessions: Sessions, admin: Session) -> None:
    admin.rows("create table if not exists public.effect (id serial primary key)")
    admin.rows("grant all on public.effect, public.effect_id_seq to ostinato_worker")
    admin.rows("delete from public.effect")
    opened = [sessions.open() for _ in range(16)]

    def call(number: int) -> Row:
        db = opened[number % 16]
        with db.transaction():
            row = begin(db)
            if row["decision"] == "new":
                made = db.value("insert into public.effect default values returning id")
                finish(db, row, answer={"id": made})
                row["answer"] = {"id": made}
            return row

    # One thread per connection, four calls each: 64 callers of one key.
    with ThreadPoolExecutor(16) as threads:
        rounds = list(threads.map(lambda n: [call(n + 16 * m) for m in range(4)], range(16)))

    rows = [row for each in rounds for row in each]
    assert sorted(row["decision"] for row in rows) == ["new"] + 63 * ["replay"]
    assert admin.value("select count(*) from public.effect") == 1
    assert len({str(row["answer"]) for row in rows}) == 1
    admin.rows("drop table public.effect")


def test_an_application_that_takes_the_lock_of_a_key_keeps_a_request_waiting(
    db: Session, sessions: Sessions, admin: Session
) -> None:
    other = sessions.open()
    begin(db)  # a key that is there: the next one has to wait for the lock
    lock = db.get("key_lock", tenant_id="default", scope="pay", key="k")

    with db.transaction():
        db.rows("select pg_advisory_xact_lock(%s)", lock)
        waiting = other.later("begin_idempotent", **asked(), wait=True)
        until_blocked(admin, other, db)

    (row,) = waiting.result()
    assert row["decision"] != "new"


# Crashes, takeover, lateness


@pytest.mark.parametrize("line", range(5))
def test_a_crash_between_any_two_lines_of_one_transaction_leaves_one_effect(
    sessions: Sessions, admin: Session, line: int
) -> None:
    admin.rows("create table if not exists public.effect (id serial primary key)")
    admin.rows("grant all on public.effect, public.effect_id_seq to ostinato_worker")
    admin.rows("delete from public.effect")

    def run(db: Session, last: int) -> Row:
        row: Row = {}

        def ask() -> None:
            row.update(begin(db))

        lines: list[Callable[[], object]] = [
            lambda: db.rows("begin"),
            ask,
            lambda: db.rows("insert into public.effect default values"),
            lambda: finish(db, row, answer={"id": 9}),
            lambda: db.rows("commit"),
        ]
        for execute in lines[:last]:
            if row.get("decision") != "replay":
                execute()
        db.conn.close()  # as the end of its process does
        return row

    run(sessions.open(), line)

    again = run(sessions.open(), 5)

    assert (again["decision"], again["attempt"]) == ("new", 1)
    assert admin.value("select count(*) from public.effect") == 1
    assert run(sessions.open(), 5)["decision"] == "replay"
    assert admin.value("select count(*) from public.effect") == 1
    admin.rows("drop table public.effect")


def test_who_crashed_between_begin_and_finish_is_followed_by_the_next_with_attempt_2(
    db: Session, other: Session, clock: Clock
) -> None:
    first = begin(db, lease_seconds=30)
    db.conn.close()

    clock.beat(29)
    session = other
    assert begin(session)["decision"] == "in_flight"
    clock.beat(2, every=1)
    second = begin(session, holder="next")

    assert (second["decision"], second["attempt"], second["held_by"]) == ("new", 2, "next")
    assert second["token"] > first["token"]


def test_the_late_first_one_finishes_renews_and_abandons_nothing(db: Session, clock: Clock) -> None:
    first = begin(db, lease_seconds=30)
    clock.beat(31)
    second = begin(db, lease_seconds=30, holder="next")
    late = {"scope": "pay", "key": "k", "token": first["token"]}

    with refused("OS410", "'k'", str(first["token"])):
        db.call("finish_idempotent", **late, answer={"id": 1})
    with refused("OS410"):
        db.call("renew_idempotent", **late)
    assert db.get("abandon_idempotent", **late) is False
    assert db.get("abandon_idempotent", **late, forget=False) is False

    finish(db, second, answer={"id": 2})
    with refused("OS410"):
        db.call("finish_idempotent", **late, answer={"id": 1})
    assert begin(db)["answer"] == {"id": 2}


def test_a_finish_that_waits_for_the_takeover_is_refused_after_it(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    first = begin(db, lease_seconds=30)
    clock.beat(31)
    with other.transaction():
        begin(other)
        late = db.later("finish_idempotent", scope="pay", key="k", token=first["token"])
        until_blocked(admin, db, other)

    with refused("OS410"):
        late.result()


def test_a_takeover_that_waits_for_the_finish_is_a_replay_after_it(
    db: Session, other: Session, admin: Session, clock: Clock
) -> None:
    first = begin(db, lease_seconds=30)
    clock.beat(31)
    with db.transaction():
        finish(db, first, answer={"id": 1})
        waiting = other.later("begin_idempotent", **asked())
        until_blocked(admin, other, db)

    (row,) = waiting.result()
    assert (row["decision"], row["answer"]) == ("replay", {"id": 1})


def test_who_is_late_and_was_not_missed_may_still_finish(db: Session, clock: Clock) -> None:
    first = begin(db, lease_seconds=30)
    clock.beat(300)

    finish(db, first, answer={"id": 1})

    assert begin(db)["answer"] == {"id": 1}


def test_finishing_again_with_the_same_token_changes_nothing(db: Session) -> None:
    """After a commit in doubt the same finish is sent again."""
    first = begin(db)
    finish(db, first, answer={"id": 1})

    finish(db, first, answer={"id": 2})

    assert begin(db)["answer"] == {"id": 1}


def test_renewing_keeps_a_long_work(db: Session, clock: Clock) -> None:
    first = begin(db, lease_seconds=30, ttl_seconds=60)
    for _ in range(5):
        clock.beat(25)
        until = db.get("renew_idempotent", scope="pay", key="k", token=first["token"])
        assert until == clock.now + timedelta(seconds=30)

    assert begin(db)["decision"] == "in_flight"
    assert db.get("prune_idempotency") == 0


def test_a_forgotten_key_is_free_for_any_request(db: Session) -> None:
    first = begin(db, amount=7)

    assert db.get("abandon_idempotent", scope="pay", key="k", token=first["token"]) is True

    second = begin(db, amount=8)
    assert (second["decision"], second["attempt"]) == ("new", 1)
    assert second["token"] > first["token"]


def test_a_key_left_half_way_is_for_the_same_request_only_and_at_once(db: Session) -> None:
    first = begin(db, amount=7)
    db.call("abandon_idempotent", scope="pay", key="k", token=first["token"], forget=False)

    assert begin(db, amount=8)["differing"] == ["amount"]
    second = begin(db, amount=7)
    assert (second["decision"], second["attempt"]) == ("new", 2)
    with refused("OS410"):
        finish(db, first)


def test_an_answered_key_cannot_be_abandoned(db: Session) -> None:
    first = begin(db)
    finish(db, first, answer={"id": 1})

    assert db.get("abandon_idempotent", scope="pay", key="k", token=first["token"]) is False
    assert begin(db)["decision"] == "replay"


def test_of_two_who_take_over_at_once_one_does(db: Session, other: Session, admin: Session, clock: Clock) -> None:
    begin(db, lease_seconds=30)
    clock.beat(31)
    with db.transaction():
        assert begin(db)["attempt"] == 2
        waiting = other.later("begin_idempotent", **asked())
        until_blocked(admin, other, db)

    (row,) = waiting.result()
    assert (row["decision"], row["attempt"]) == ("in_flight", 2)


# Clocks


def test_after_an_outage_a_living_holder_keeps_its_key(db: Session, clock: Clock) -> None:
    first = begin(db, lease_seconds=30)
    clock.advance(hours=1)

    assert begin(db)["decision"] == "in_flight"
    db.call("tick")
    clock.beat(20)
    assert begin(db)["decision"] == "in_flight"
    db.call("renew_idempotent", scope="pay", key="k", token=first["token"])
    clock.beat(29)
    assert begin(db)["decision"] == "in_flight"


def test_after_an_outage_a_dead_holder_is_followed_after_one_more_lease(db: Session, clock: Clock) -> None:
    begin(db, lease_seconds=30)
    clock.advance(hours=1)
    db.call("tick")
    clock.beat(46)

    assert begin(db)["attempt"] == 2


def test_a_lease_far_in_the_future_counts_as_expired_when_the_clock_went_back(db: Session, clock: Clock) -> None:
    begin(db, lease_seconds=30)
    clock.advance(hours=-1)
    assert begin(db)["decision"] == "in_flight"
    db.call("tick")
    clock.beat(46)

    assert begin(db)["attempt"] == 2


def test_where_nobody_ticks_a_dead_holder_is_followed_by_who_asks_again_after_a_lease(
    db: Session, clock: Clock
) -> None:
    first = begin(db, lease_seconds=30)
    clock.advance(hours=1)
    assert begin(db)["decision"] == "in_flight"
    clock.advance(seconds=29)
    assert begin(db)["decision"] == "in_flight"
    clock.advance(seconds=2)
    second = begin(db)
    assert (second["decision"], second["attempt"]) == ("new", 2)

    clock.advance(hours=1)
    assert begin(db)["decision"] == "in_flight"
    db.call("renew_idempotent", scope="pay", key="k", token=second["token"])
    clock.advance(seconds=31)
    assert begin(db)["decision"] == "in_flight", "a renewal ends the doubt"
    assert first["token"] < second["token"]


def test_a_clock_that_jumps_past_the_time_to_live_lets_no_key_take_effect_twice(
    db: Session, sessions: Sessions, clock: Clock
) -> None:
    finish(db, begin(db), answer={"id": 1})
    finish(db, begin(db, "kept by pruning"), "kept by pruning", answer={"id": 2})
    tenant = sessions.tenant("acme")
    finish(tenant, begin(tenant), answer={"id": 3})
    clock.advance(days=2)

    assert begin(db)["answer"] == {"id": 1}
    assert begin(tenant)["answer"] == {"id": 3}
    db.call("tick")
    assert db.get("prune_idempotency") == 0
    clock.beat(3600, every=6)
    assert begin(db, "kept by pruning")["answer"] == {"id": 2}
    clock.advance(days=-2)
    assert begin(db)["answer"] == {"id": 1}


def test_an_answer_that_was_kept_because_of_the_clock_ends_after_one_more_time_to_live(
    db: Session, clock: Clock
) -> None:
    finish(db, begin(db, ttl_seconds=60))
    clock.advance(days=2)
    assert begin(db)["decision"] == "replay"
    clock.advance(seconds=61)

    assert begin(db)["decision"] == "new"


# The end of keys


def test_after_its_time_to_live_a_key_is_new_again_pruned_or_not(db: Session, clock: Clock) -> None:
    first = begin(db, ttl_seconds=3600)
    clock.beat(60)
    finish(db, first, answer={"id": 1})
    clock.beat(3599)
    assert begin(db)["decision"] == "replay"
    clock.beat(2)

    second = begin(db, amount=8)

    assert (second["decision"], second["attempt"]) == ("new", 1)
    assert second["token"] > first["token"]


def test_pruning_forgets_what_expired_and_nothing_else(db: Session, clock: Clock) -> None:
    for key in ("old-1", "old-2"):
        finish(db, begin(db, key, ttl_seconds=60), key)
    finish(db, begin(db, "young", ttl_seconds=3600), "young")
    begin(db, "crashed", ttl_seconds=60, lease_seconds=60)
    working = begin(db, "working", ttl_seconds=60, lease_seconds=60)
    left = begin(db, "left", ttl_seconds=60)
    db.call("abandon_idempotent", scope="pay", key="left", token=left["token"], forget=False)
    clock.beat(59)
    db.call("renew_idempotent", scope="pay", key="working", token=working["token"])
    assert db.get("prune_idempotency") == 0
    clock.beat(2)

    assert db.get("prune_idempotency", most=1) == 1
    assert db.get("prune_idempotency") == 3
    assert begin(db, "young")["decision"] == "replay"
    assert begin(db, "working")["decision"] == "in_flight"


def test_pruning_does_not_wait_for_a_key_in_use(db: Session, other: Session, clock: Clock) -> None:
    finish(db, begin(db, ttl_seconds=60))
    clock.beat(61)
    with db.transaction():
        begin(db)
        assert other.get("prune_idempotency") == 0


# Tenants


def test_the_same_key_of_two_tenants_is_two_keys(sessions: Sessions) -> None:
    mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
    finish(mine, begin(mine, amount=7), answer={"id": 1})

    row = begin(theirs, amount=8)

    assert (row["decision"], row["attempt"]) == ("new", 1)
    finish(theirs, row, answer={"id": 2})
    assert begin(mine, amount=7)["answer"] == {"id": 1}
    assert begin(theirs, amount=8)["answer"] == {"id": 2}


def test_a_tenant_sees_and_guesses_nothing_of_another(db: Session, sessions: Sessions) -> None:
    first = begin(db, tenant_id="t1")
    mine = sessions.tenant("t2")
    guess = {"scope": "pay", "key": "k", "token": first["token"], "tenant_id": "t1"}

    assert mine.rows("select * from ostinato_data.idempotency") == []
    for key in ("k", "unused"):
        with refused("42501"):
            begin(mine, key, tenant_id="t1")
    with refused("OS410") as _:
        mine.call("finish_idempotent", **guess)
    assert mine.get("abandon_idempotent", **guess) is False
    mine.call("prune_idempotency")
    assert begin(db, tenant_id="t1")["decision"] == "in_flight"


def test_a_tenant_takes_its_own_keys_over(sessions: Sessions, clock: Clock) -> None:
    mine = sessions.tenant("t1")
    first = begin(mine, lease_seconds=30)
    clock.beat(20)
    mine.call("renew_idempotent", scope="pay", key="k", token=first["token"])
    assert begin(mine)["decision"] == "in_flight"
    clock.beat(31)

    assert begin(mine)["attempt"] == 2


def test_a_session_without_a_tenant_begins_nothing(sessions: Sessions) -> None:
    with refused("42501"):
        begin(sessions.open("tenant"))


# Bad input


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"key": ""}, "key must be 1 to 200"),
        ({"key": "k" * 201}, "key must be 1 to 200"),
        ({"scope": None}, "scope must be 1 to 200"),
        ({"fingerprint": "abc"}, "'abc'"),
        ({"fingerprint": "A" * 64}, "no fingerprint"),
        ({"fingerprint": None}, "no fingerprint"),
        ({"declaration": "d" * 201}, "declaration"),
        ({"declaration": None}, "declaration"),
        ({"fields": "[1]"}, "JSON object"),
        ({"fields": json.dumps({"x": "y" * 70_000})}, "65536"),
        ({"lease_seconds": 0}, "a lease of 0 s"),
        ({"lease_seconds": float("nan")}, "NaN"),
        ({"lease_seconds": None}, "null"),
        ({"ttl_seconds": float("inf")}, "Infinity"),
        ({"ttl_seconds": -1}, "-1"),
    ],
)
def test_what_makes_no_key_is_refused(db: Session, bad: dict[str, object], said: str) -> None:
    with refused("OS400", said):
        db.call("begin_idempotent", **(asked() | bad))


@pytest.mark.parametrize("size", [262_144, 262_145])
def test_an_answer_is_bounded(db: Session, size: int) -> None:
    first = begin(db)
    answer = json.dumps("x" * (size - 2))

    if size > 262_144:
        with refused("OS400", "262145 bytes"):
            finish(db, first, answer=answer)
        assert begin(db)["decision"] == "in_flight"
    else:
        finish(db, first, answer=answer)
        assert len(begin(db)["answer"]) == size - 2


def test_the_holder_is_named_by_the_session_if_nobody_says(db: Session) -> None:
    db.rows("set application_name = 'till 4'")

    assert begin(db)["held_by"] == "till 4"
    assert begin(db, "other", holder="x" * 500)["held_by"] == "x" * 200


# The parts, called by hand: tests of the whole are above.


def test_the_parts_do_what_they_say(db: Session) -> None:
    assert len(db.get("seal", tenant_id="t", scope="s", key="k", value="v")) == 64
    made = "ostinato_internal.sealed_request('t', 's', 'k', %s, '{}', '', 'me', 60, 60)"
    assert db.value(f"select ({made}).state", hashed(1)) == "in_flight"
    found = f"ostinato_internal.differing_fields({made}, {made})"
    assert db.value(f"select {found}", hashed(1), hashed(1)) is None
    assert db.value(f"select {found}", hashed(1), hashed(2)) == []
    taken = f"ostinato_internal.take_key(null, {made})"
    assert db.value(f"select ({taken}).attempt", hashed(1)) == 1
    row = "(select i from ostinato_data.idempotency i)"
    assert db.value(f"select ostinato_internal.may_take_over({row})") is False
    with refused("OS410"):
        db.call("refuse_key", tenant_id="t", scope="s", key="k", token=1)
    good = asked() | {"tenant_id": "t", "declaration": "", "lease_seconds": 1, "ttl_seconds": 1}
    db.call("check_idempotent", **good)

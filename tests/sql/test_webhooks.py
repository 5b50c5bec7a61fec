"""Webhooks in SQL: who is told of what, in which order, and what becomes of a delivery."""

import dataclasses
import json
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from ostinato._core.base.events import Event, to_cloudevent
from tests.sql.engine import Clock, Session, Sessions, refused, until_blocked
from tests.sql.webhooks import URL, Hooks, sealed

CLOSED = [
    "select * from ostinato_data.webhook_secret",
    "select headers from ostinato_data.webhook_endpoint",
    "select header_values from ostinato_data.webhook_endpoint",
    "select * from ostinato_data.webhook_endpoint",
    "select body from ostinato_data.webhook_message",
    "select * from ostinato_data.webhook_receipt",
    "select ostinato_internal.webhook_secrets(1)",
    "select ostinato.rotate_webhook_secret('orders')",
    "select ostinato.probe_webhook_endpoint('orders')",
    "select * from ostinato.list_webhook_endpoints()",
    "update ostinato_data.webhook_endpoint set url = 'x'",
    "delete from ostinato_data.webhook_delivery",
    "insert into ostinato_data.webhook_attempt (id) values (1)",
]


@pytest.fixture
def hooks(db: Session) -> Hooks:
    return Hooks(db)


def job_states(db: Session, hooks: Hooks) -> list[str | None]:
    return [row["job_id"] and db.state(row["job_id"]) for row in hooks.deliveries()]


# Endpoints and secrets.


def test_an_endpoint_has_a_secret_that_nothing_shows_again(hooks: Hooks, db: Session) -> None:
    endpoint_id, secret = hooks.endpoint(headers={"authorization": ""}, header_values=sealed())

    shown = hooks.show()
    assert db.get("webhook_secrets", endpoint_id=endpoint_id) == [secret]
    assert shown["secret_hints"] == ["abcd"]
    assert shown["header_names"] == ["authorization"]
    assert "ost1:" not in str(shown)
    assert (shown["state"], shown["ordered"], shown["timeout_seconds"]) == ("active", True, 5)
    assert shown["retry"] == db.get("webhook_retry")
    assert shown["disable_after_seconds"] == 5 * 86_400


@pytest.mark.parametrize("secret", [None, "", "whsec_" + "A" * 44, "ost1:0badcafe:", f"ost1:0badcafe:{'A' * 1000}"])
def test_a_secret_that_is_not_sealed_is_refused_and_not_said(hooks: Hooks, secret: str | None) -> None:
    with refused("OS400", "sealed"):
        hooks.endpoint(secret=secret)
    with refused("OS400", "hint"):
        hooks.endpoint(secret_hint=None)
    with pytest.raises(psycopg.Error) as caught:
        hooks.db.call("check_webhook_secret", secret="whsec_hunter2", hint="ter2")
    assert "hunter2" not in f"{caught.value} {caught.value.diag.message_detail}"


def test_a_tenant_has_a_name_once_and_another_has_it_too(hooks: Hooks) -> None:
    hooks.endpoint(tenant_id="t1")
    hooks.endpoint(tenant_id="t2")

    with refused("OS409", "orders", "t1"):
        hooks.endpoint(tenant_id="t1")


@pytest.mark.parametrize(
    "bad",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"url": "ftp://example.com"},
        {"url": "https://me:secret@example.com/"},
        {"url": "https://example.com/ x"},
        {"url": "https://example.com/#x"},
        {"url": "https://example.com\\@x/"},
        {"url": "https://example.com/" + "x" * 2000},
        {"event_types": []},
        {"event_types": [""]},
        {"event_types": ["a b"]},
        {"event_types": ["*.paid"]},
        {"event_types": ["x"] * 101},
        {"timeout_seconds": 0},
        {"timeout_seconds": 61},
        {"timeout_seconds": float("nan")},
        {"disable_after_seconds": 1},
        {"description": "x" * 1001},
        {"retry": {"delays": [1]}},
        {"retry": {"max_attempts": 0}},
        {"retry": {"max_attempts": "many"}},
    ],
)
def test_an_endpoint_that_could_not_work_is_refused(hooks: Hooks, bad: dict[str, Any]) -> None:
    with refused("OS400"):
        hooks.endpoint(**({"name": "orders", "url": URL} | bad))
    hooks.endpoint()
    with refused("OS400" if bad.get("name") is None else "OS404"):
        hooks.db.call("change_webhook_endpoint", **({"name": "orders"} | bad))


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": ""},
        {"connection": ""},
        {"Transfer-Encoding": ""},
        {"content-length": ""},
        {"Webhook-Signature": ""},
        {"proxy-authorization": ""},
        {"x a": ""},
        {"": ""},
        {"x-a": 1},
        {"x-a": "", "X-A": ""},
        {f"x-{n}": "" for n in range(21)},
    ],
)
def test_headers_that_are_not_the_users_business_are_refused(hooks: Hooks, headers: dict[str, object]) -> None:
    with refused("OS400"):
        hooks.db.call("check_webhook_headers", headers=headers)
    with refused("OS400"):
        hooks.endpoint(headers=headers, header_values=sealed())


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"x-key": "hunter2"}},
        {"headers": {"x-key": "hunter2"}, "header_values": "ost1:0badcafe:0001"},
        {"headers": {"x-key": ""}},
        {"headers": {"x-key": ""}, "header_values": '{"x-key": "hunter2"}'},
        {"header_values": "ost1:0badcafe:0001"},
    ],
)
def test_a_header_whose_value_is_not_sealed_is_refused_and_not_told(hooks: Hooks, given: dict[str, Any]) -> None:
    """Plain SQL cannot seal, and a value in the clear is nearly always a password."""
    with pytest.raises(psycopg.Error) as made:
        hooks.endpoint(**given)
    hooks.endpoint()
    with pytest.raises(psycopg.Error) as changed:
        hooks.db.call("change_webhook_endpoint", name="orders", **given)

    for error in (made.value, changed.value):
        assert error.sqlstate == "OS400"
        assert "hunter2" not in f"{error} {error.diag.message_detail}"


def test_headers_of_before_they_were_sealed_are_sent_until_a_rotation(hooks: Hooks, db: Session) -> None:
    """What the migration leaves: the names, and beside them the object as it was."""
    hooks.endpoint(headers={"x-a": ""}, header_values=sealed())
    db.rows('update ostinato_data.webhook_endpoint set header_values = \'{"x-a": "b"}\' returning id')
    hooks.told()
    (delivery,) = hooks.deliveries()

    assert hooks.start(delivery)["headers"] == {"x-a": "b"}


def test_what_is_not_given_stays_as_it_is(hooks: Hooks) -> None:
    hooks.endpoint(description="first", event_types=["order.*"])

    hooks.db.call("change_webhook_endpoint", name="orders", url="https://new.example.com/x")

    shown = hooks.show()
    assert shown["url"] == "https://new.example.com/x"
    assert (shown["description"], shown["event_types"]) == ("first", ["order.*"])


def test_a_name_that_is_not_there_is_said(hooks: Hooks, db: Session) -> None:
    hooks.endpoint(tenant_id="t1")

    for function in ("pause_webhook_endpoint", "resume_webhook_endpoint", "rotate_webhook_secret"):
        with refused("OS404", "orders"):
            db.call(function, name="orders", tenant_id="t2")
    for function in ("lock_webhook_endpoint", "webhook_endpoint_id"):
        with refused("OS404", "orders"):
            db.call(function, name="orders")


def test_a_new_secret_signs_first_and_the_old_one_for_the_overlap(hooks: Hooks, db: Session, clock: Clock) -> None:
    endpoint_id, old = hooks.endpoint()

    new = hooks.rotate(overlap_seconds=3600)

    assert db.get("webhook_secrets", endpoint_id=endpoint_id) == [new, old]
    clock.advance(seconds=3599)
    assert db.get("webhook_secrets", endpoint_id=endpoint_id) == [new, old]
    clock.advance(seconds=1)
    assert db.get("webhook_secrets", endpoint_id=endpoint_id) == [new]
    assert hooks.show()["secret_hints"] == [new[-4:]]
    assert {"name": "webhook_secret", "rows": 1} in db.call("prune_webhooks", retention_days=14)
    assert db.value("select count(*) from ostinato_data.webhook_secret") == 1


def test_an_overlap_is_never_made_longer_and_five_secrets_are_the_most(hooks: Hooks, db: Session, clock: Clock) -> None:
    endpoint_id, first = hooks.endpoint()
    hooks.rotate(overlap_seconds=60)
    rotated = [hooks.rotate(overlap_seconds=86_400) for _ in range(2)]

    assert first in db.get("webhook_secrets", endpoint_id=endpoint_id)
    clock.advance(seconds=60)
    assert first not in db.get("webhook_secrets", endpoint_id=endpoint_id)
    rotated += [hooks.rotate() for _ in range(6)]
    assert db.get("webhook_secrets", endpoint_id=endpoint_id) == rotated[:-6:-1]
    last = hooks.rotate(overlap_seconds=0)
    assert db.get("webhook_secrets", endpoint_id=endpoint_id) == [last]
    with refused("OS400"):
        hooks.rotate(overlap_seconds=-1)


# Fan-out.


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (["*"], ["order.paid", "order.line.added", "user.new"]),
        (["order.*"], ["order.paid", "order.line.added"]),
        (["order.line.*", "user.new"], ["order.line.added", "user.new"]),
        (["order"], []),
        (["ORDER.*"], []),
    ],
)
def test_an_endpoint_is_told_of_the_types_that_it_wants(hooks: Hooks, wanted: list[str], told: list[str]) -> None:
    hooks.endpoint(event_types=wanted)
    for type_ in ("order.paid", "order.line.added", "user.new"):
        hooks.emit(type_)
    hooks.fan_out()

    assert [row["event_type"] for row in hooks.deliveries()] == told
    assert hooks.db.get("wants_event", wanted=wanted, event_type="user.new") == ("user.new" in told)


def test_an_endpoint_is_told_of_its_own_tenants_events_only(hooks: Hooks) -> None:
    hooks.endpoint(tenant_id="t1")
    hooks.endpoint(tenant_id="t2")
    mine = hooks.emit(tenant="t1")
    hooks.emit(tenant="t3")
    hooks.fan_out()

    assert [row["event_id"] for row in hooks.deliveries(tenant_id="t1")] == [mine]
    assert hooks.deliveries(tenant_id="t2") == []
    assert hooks.db.value("select count(*) from ostinato_data.webhook_message") == 1


def test_the_message_is_the_cloudevent_with_the_payload_as_it_was_told(hooks: Hooks) -> None:
    """The same as `to_cloudevent` makes of it, but with every digit of the payload."""
    hooks.endpoint()
    payload = '{"b": 1.10, "a": 12345678901234567890, "é": "\\u00e9\\"", "n": null}'
    keys = ['k"1', None]
    for key in keys:
        hooks.emit(payload=payload, key=key, producer="a shop/é?x=100%")
    hooks.fan_out()

    for row in hooks.db.rows(
        "select m.body, ostinato_internal.cloudevent_of(e, l.position) as again, e.*, l.position"
        " from ostinato_data.webhook_message m"
        " join ostinato_data.event e on e.id::text = m.event_id"
        " join ostinato_data.event_log l on l.event_id = e.id"
    ):
        names = {field.name for field in dataclasses.fields(Event)}
        event = Event(**{name: value for name, value in row.items() if name in names})
        sent, known = json.loads(row["body"]), to_cloudevent(event)
        assert payload in row["body"]
        assert row["again"] == row["body"]
        assert datetime.fromisoformat(sent.pop("time")) == datetime.fromisoformat(known.pop("time"))
        assert sent == known
    assert hooks.db.get("uri_of", text="é ü") == "%C3%A9%20%C3%BC"
    assert hooks.db.get("uri_of", text="") == ""


def test_a_delivery_is_a_job_with_the_policy_the_limit_key_and_the_correlation_id(hooks: Hooks, db: Session) -> None:
    endpoint_id, _ = hooks.endpoint(retry={"delays": [1, 2], "max_attempts": 3})
    hooks.told()

    (delivery,) = hooks.deliveries()
    job = db.row("select * from ostinato_data.job where id = %s", delivery["job_id"])
    assert (job["kind"], job["queue"], job["max_attempts"]) == ("webhooks.deliver", "webhooks", 3)
    assert (job["limit_key"], job["tenant_id"]) == (f"endpoint-{endpoint_id}", "default")
    assert job["correlation_id"] == "request-1"
    assert job["args"] == {"delivery": delivery["delivery_id"]}
    assert db.value("select key_concurrency from ostinato_data.queue where name = 'webhooks'") == 10


def test_the_limits_that_a_person_set_stay(hooks: Hooks, db: Session) -> None:
    db.call("configure_queue", name="webhooks", key_concurrency=2)

    hooks.endpoint()

    assert db.value("select key_concurrency from ostinato_data.queue where name = 'webhooks'") == 2


def test_an_endpoint_is_not_told_of_what_was_before_it(hooks: Hooks) -> None:
    hooks.endpoint("first")
    hooks.told()
    hooks.endpoint("second")
    later = hooks.told()

    assert [row["event_id"] for row in hooks.deliveries("second")] == later
    assert len(hooks.deliveries("first")) == 2


def test_a_clock_that_goes_back_hides_nothing_from_an_endpoint(hooks: Hooks, clock: Clock) -> None:
    hooks.endpoint()
    clock.advance(days=-3)
    first = hooks.told("k")
    clock.advance(days=-3)
    second = hooks.told("k")

    deliveries = {row["event_id"]: row["state"] for row in hooks.deliveries()}
    assert deliveries == {first[0]: "pending", second[0]: "waiting"}


def test_every_event_is_fanned_out_once_in_batches_of_any_size(hooks: Hooks) -> None:
    hooks.endpoint("a")
    hooks.endpoint("b")
    ids = [hooks.emit() for _ in range(7)]

    passed = [hooks.fan_out(most=3) for _ in range(4)]

    assert [row["events"] for row in passed] == [3, 3, 1, 0]
    assert [row["deliveries"] for row in passed] == [6, 6, 2, 0]
    for name in ("a", "b"):
        assert [row["event_id"] for row in hooks.deliveries(name)] == ids


def test_a_tenant_with_very_many_endpoints_takes_the_fan_out_for_a_moment_only(hooks: Hooks, db: Session) -> None:
    """All events and endpoints of a round were one transaction, however many these were."""
    hooks.endpoint("ours", tenant_id="t2")
    db.rows(
        "insert into ostinato_data.webhook_endpoint"
        " select (jsonb_populate_record(e, jsonb_build_object('id', n, 'name', 'many-' || n, 'tenant_id', 't1',"
        " 'event_types', array['none']))).* from ostinato_data.webhook_endpoint e, generate_series(1, 8000) n"
    )
    for tenant in ("t1", "t1", "t1", "t2", "t1"):
        hooks.emit(tenant=tenant)

    passed = [hooks.fan_out(most=100) for _ in range(4)]

    assert [row["events"] for row in passed] == [100, 3, 0, 0]
    assert [row["deliveries"] for row in passed] == [0, 1, 0, 0]


def test_a_replay_of_the_log_delivers_nothing_twice(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told(None, None)
    before = hooks.deliveries()

    db.rows("update ostinato_data.subscription set position = 0")
    hooks.endpoint("late", event_types=["order.*"])
    assert db.call("add_webhook_deliveries", after=0, upto=99) == []
    hooks.fan_out()

    assert hooks.deliveries() == before
    assert hooks.deliveries("late") == []


def test_of_two_who_fan_out_at_once_one_goes_away(hooks: Hooks, db: Session, other: Session) -> None:
    hooks.endpoint()
    hooks.emit()
    db.call("sequence_events")

    with db.transaction():
        (mine,) = db.call("fan_out_webhooks")
        (theirs,) = other.call("fan_out_webhooks")

    assert (mine["events"], theirs["events"]) == (1, None)
    assert len(hooks.deliveries()) == 1


def test_a_fan_out_that_is_rolled_back_never_was(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.emit()
    with db.conn.transaction(force_rollback=True):
        assert hooks.fan_out()["deliveries"] == 1

    assert hooks.deliveries() == []
    assert hooks.fan_out()["deliveries"] == 1


def test_without_endpoints_nobody_listens(hooks: Hooks, db: Session) -> None:
    hooks.emit()

    assert hooks.fan_out()["events"] is None
    assert db.rows("select from ostinato_data.webhook_message") == []


# Order.


def test_of_a_key_one_after_the_other_is_started(hooks: Hooks) -> None:
    hooks.endpoint()
    hooks.told("a", "a", "b", None, None, "a")

    assert hooks.states() == ["pending", "waiting", "pending", "pending", "pending", "waiting"]
    first, second, *_ = hooks.deliveries()
    assert hooks.settle(first) == "delivered"
    assert hooks.states()[:2] == ["delivered", "pending"]
    assert hooks.states()[-1] == "waiting"
    assert hooks.fail(hooks.deliveries()[1]) == "retry"
    assert hooks.states()[-1] == "waiting"
    assert second["job_id"] is None


def test_a_dead_one_lets_its_key_go_on(hooks: Hooks) -> None:
    hooks.endpoint()
    hooks.told("a", "a")

    assert hooks.fail(hooks.deliveries()[0], retry=None) == "dead"

    assert hooks.states() == ["dead", "pending"]


def test_without_order_all_start_at_once(hooks: Hooks) -> None:
    hooks.endpoint(ordered=False)
    hooks.told("a", "a", "a")

    assert hooks.states() == ["pending"] * 3


def test_an_event_that_comes_while_its_predecessor_is_settled_is_not_forgotten(
    hooks: Hooks, db: Session, other: Session, admin: Session
) -> None:
    """The next of a key is started by whoever comes second, the settling or the fan-out."""
    hooks.endpoint()
    hooks.told("a")
    hooks.emit(key="a")
    db.call("sequence_events")
    (first,) = hooks.deliveries()

    with db.transaction():
        hooks.settle(first)
        late = other.later("fan_out_webhooks")
        until_blocked(admin, other, db)
    late.result()

    assert hooks.states() == ["delivered", "pending"]


# Attempts.


def test_what_is_sent_is_the_same_at_every_attempt(hooks: Hooks, clock: Clock) -> None:
    values = sealed()
    _, secret = hooks.endpoint(headers={"x-a": ""}, header_values=values, timeout_seconds=9)
    (event_id,) = hooks.told()
    (delivery,) = hooks.deliveries()

    first = hooks.start(delivery)
    assert hooks.fail(delivery, retry=5) == "retry"
    clock.advance(seconds=5)
    second = hooks.start(delivery)

    assert (first["verdict"], first["event_id"], first["url"]) == ("send", event_id, URL)
    assert (first["secrets"], first["headers"], first["timeout_seconds"]) == ([secret], values, 9)
    assert second["sent_at"] - first["sent_at"] == timedelta(seconds=5)
    assert first | {"sent_at": None} == second | {"sent_at": None}


def test_attempts_are_written_down(hooks: Hooks, db: Session, clock: Clock) -> None:
    hooks.endpoint()
    (event_id,) = hooks.told()
    (delivery,) = hooks.deliveries()
    failed_at = clock.now
    hooks.fail(delivery, retry=300)
    clock.advance(seconds=300)
    hooks.settle(delivery)

    second, first = db.call("list_webhook_attempts", name="orders")
    assert (first["attempt"], first["outcome"], first["status"]) == (1, "failed", 500)
    assert (first["event_id"], first["duration_ms"]) == (event_id, 7)
    assert (first["answer"], first["error"]) == ("an answer", "answered 500")
    assert first["next_at"] == failed_at + timedelta(seconds=300)
    assert (second["attempt"], second["outcome"], second["next_at"]) == (2, "delivered", None)
    one = {"name": "orders", "delivery_id": delivery["delivery_id"]}
    assert db.call("list_webhook_attempts", **one) == [second, first]
    assert db.call("list_webhook_attempts", **one, before=second["attempt_id"]) == [first]
    (delivery,) = hooks.deliveries()
    assert (delivery["attempts"], delivery["last_status"]) == (2, 200)
    assert delivery["settled_at"] == clock.now
    assert hooks.show()["last_delivered_at"] == clock.now


def test_a_message_that_was_taken_is_settled_with_its_job_in_one_statement(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told("k", "k")
    first, second = hooks.deliveries()
    job = db.claim_one(
        db.worker(queues=["webhooks"], kinds=["webhooks.deliver"]), "webhooks", kinds=["webhooks.deliver"]
    )
    given = {
        "delivery_id": first["delivery_id"],
        "job_id": job.id,
        "attempt": job.attempt,
        "claim_id": job.claim_id,
        "status": 200,
        "duration_ms": 7,
    }

    assert db.get("complete_webhook_deliveries", deliveries=json.dumps([given])) == ["delivered"]

    assert hooks.states() == ["delivered", "pending"]  # the next of its key has its job
    assert db.get("job_state", job_id=job.id) == "done"
    with refused("OS410", str(job.id)):  # a late worker changes nothing
        db.get("complete_webhook_deliveries", deliveries=json.dumps([given | {"status": 204}]))
    assert hooks.deliveries()[0]["last_status"] == 200
    assert second["job_id"] is None


def test_several_messages_that_were_taken_are_settled_in_one_statement_or_none_is(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told("a", "b", "a")
    worker = db.worker(queues=["webhooks"], kinds=["webhooks.deliver"])
    jobs = [db.claim_one(worker, "webhooks", kinds=["webhooks.deliver"]) for _ in range(2)]
    whose = {row["job_id"]: row["delivery_id"] for row in hooks.deliveries()}
    taken = [
        {
            "delivery_id": whose[job.id],
            "job_id": job.id,
            "attempt": job.attempt,
            "claim_id": job.claim_id,
            "status": 200,
            "duration_ms": 7,
        }
        for job in reversed(jobs)
    ]

    with refused("OS410", str(jobs[0].id)):
        db.get("complete_webhook_deliveries", deliveries=json.dumps([taken[0], taken[1] | {"attempt": 9}]))
    assert hooks.states() == ["pending", "pending", "waiting"]
    assert db.get("complete_webhook_deliveries", deliveries=json.dumps(taken)) == ["delivered", "delivered"]

    assert hooks.states() == ["delivered", "delivered", "pending"]
    assert [db.get("job_state", job_id=job.id) for job in jobs] == ["done", "done"]


def test_what_is_written_down_is_bounded(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told()
    (delivery,) = hooks.deliveries()

    db.get(
        "settle_webhook_delivery",
        delivery_id=delivery["delivery_id"],
        job_id=delivery["job_id"],
        outcome="failed",
        status=500,
        duration_ms=1,
        answer="x" * 9999,
        error="y" * 9999,
    )

    (attempt,) = db.call("list_webhook_attempts", name="orders")
    assert (len(attempt["answer"]), len(attempt["error"])) == (1000, 500)
    assert len(hooks.deliveries()[0]["last_error"]) == 500


def test_another_job_of_a_delivery_starts_and_settles_nothing(hooks: Hooks) -> None:
    hooks.endpoint()
    hooks.told()
    (delivery,) = hooks.deliveries()
    stranger = delivery | {"job_id": 1}
    gone = delivery | {"delivery_id": 1}

    for wrong in (stranger, gone):
        assert hooks.start(wrong)["verdict"] == "stale"
        assert hooks.settle(wrong) == "stale"
    assert hooks.states() == ["pending"]
    hooks.settle(delivery)
    assert hooks.start(delivery)["verdict"] == "stale"


def test_deliveries_that_begin_together_come_back_in_their_order_each_with_its_own_verdict(hooks: Hooks) -> None:
    hooks.endpoint()
    events = hooks.told("a", "b", "c")
    first, second, third = hooks.deliveries()
    hooks.settle(second)
    asked = [third, second, first | {"job_id": 1}, first]

    began = hooks.db.call(
        "start_webhook_deliveries",
        delivery_ids=[each["delivery_id"] for each in asked],
        job_ids=[each["job_id"] for each in asked],
    )

    assert [row["verdict"] for row in began] == ["send", "stale", "stale", "send"]
    assert [row["event_id"] for row in began] == [events[2], None, None, events[0]]
    assert began[3] | {"sent_at": None} == hooks.start(first) | {"sent_at": None}


def test_a_redriven_job_tries_a_dead_delivery_again(hooks: Hooks) -> None:
    hooks.endpoint()
    hooks.told()
    (delivery,) = hooks.deliveries()
    hooks.fail(delivery, retry=None)

    assert hooks.start(delivery)["verdict"] == "send"
    assert hooks.states() == ["pending"]
    assert hooks.settle(delivery) == "delivered"


# Health, pause, resume.


def test_a_receiver_that_is_gone_disables_its_endpoint(hooks: Hooks) -> None:
    hooks.endpoint()
    hooks.told("a", "b")
    first, second = hooks.deliveries()

    assert hooks.settle(first, "gone", 410, retry=5) == "dead"

    shown = hooks.show()
    assert (shown["state"], shown["reason"]) == ("disabled", "the receiver answered 410 Gone")
    assert hooks.start(second)["verdict"] == "held"
    hooks.told("c")
    assert hooks.states() == ["dead", "held", "held"]


def test_an_endpoint_that_fails_for_long_is_disabled_with_the_reason(hooks: Hooks, clock: Clock) -> None:
    hooks.endpoint(disable_after_seconds=3600)
    hooks.told("a", "b")
    first, second = hooks.deliveries()

    assert hooks.fail(first) == "retry"
    clock.advance(seconds=3599)
    assert hooks.fail(second) == "retry"
    assert hooks.show()["failing_since"] == clock.now - timedelta(seconds=3599)
    clock.advance(seconds=1)
    assert hooks.fail(first) == "held"

    shown = hooks.show()
    assert (shown["state"], shown["held"]) == ("disabled", 1)
    assert shown["reason"] == "nothing was delivered since 2026-03-02 09:00:00 UTC"
    assert hooks.start(second)["verdict"] == "held"


def test_one_delivery_ends_the_count_of_failures(hooks: Hooks, db: Session, clock: Clock) -> None:
    hooks.endpoint(disable_after_seconds=3600)
    hooks.told("a", "b")
    first, second = hooks.deliveries()
    hooks.fail(first)
    clock.advance(seconds=3000)
    hooks.settle(second)
    clock.advance(seconds=3000)

    assert hooks.fail(first) == "retry"
    assert hooks.show()["failing_since"] == clock.now
    healthy = db.row(
        "select (ostinato_internal.note_webhook_health(e, 'delivered', ostinato.now())).*"
        " from ostinato_data.webhook_endpoint e"
    )
    assert (healthy["failing_since"], healthy["state"]) == (None, "active")


def test_a_paused_endpoint_gets_what_it_missed_in_order(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told("a")
    db.call("pause_webhook_endpoint", name="orders", reason="maintenance")
    hooks.told("a", "a", "b")
    (first, *_) = hooks.deliveries()

    assert (hooks.show()["state"], hooks.show()["reason"]) == ("paused", "maintenance")
    assert hooks.states() == ["pending", "held", "held", "held"]
    assert hooks.start(first)["verdict"] == "held"
    assert db.get("resume_webhook_endpoint", name="orders") == 4

    assert hooks.states() == ["pending", "waiting", "waiting", "pending"]
    assert hooks.show()["state"] == "active"
    assert hooks.start(first)["verdict"] == "stale"  # its first job
    assert hooks.start(hooks.deliveries()[0])["verdict"] == "send"


def test_what_fails_while_it_is_paused_is_held(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told("a", "b")
    first, second = hooks.deliveries()
    db.call("pause_webhook_endpoint", name="orders")

    assert hooks.fail(first) == "held"
    assert hooks.settle(second) == "delivered"

    assert hooks.states() == ["held", "delivered"]


def test_a_long_line_is_released_in_parts(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    db.call("pause_webhook_endpoint", name="orders")
    hooks.told(*["a", None] * 5)

    assert db.get("resume_webhook_endpoint", name="orders", most=3) == 3
    assert hooks.states().count("held") == 7
    endpoint_id = hooks.show()["endpoint_id"]
    assert db.get("release_held_webhooks", endpoint_id=endpoint_id, most=2) == 2
    db.get("heal_webhooks")

    assert hooks.states() == ["pending", "pending", *["waiting", "pending"] * 4]


def test_a_resume_and_a_start_that_meet_leave_nothing_held(
    hooks: Hooks, db: Session, other: Session, admin: Session
) -> None:
    hooks.endpoint()
    hooks.told()
    (delivery,) = hooks.deliveries()
    db.call("pause_webhook_endpoint", name="orders")

    with db.transaction():
        db.get("resume_webhook_endpoint", name="orders")
        started = other.later("start_webhook_delivery", delivery_id=delivery["delivery_id"], job_id=delivery["job_id"])
        until_blocked(admin, other, db)

    assert started.result()[0]["verdict"] == "send"
    assert hooks.states() == ["pending"]


def test_an_endpoint_is_removed_with_all_that_is_its_own(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.endpoint("other")
    hooks.told("a", "a")
    (first, *_) = hooks.deliveries()

    db.call("remove_webhook_endpoint", name="orders")

    assert hooks.start(first)["verdict"] == "stale"
    assert hooks.settle(first) == "stale"
    assert db.value("select count(*) from ostinato_data.webhook_secret") == 1
    assert len(hooks.deliveries("other")) == 2


# Redelivery.


def dead(hooks: Hooks, *keys: str | None) -> list[int]:
    """Deliveries that gave up, with their jobs."""
    worker = hooks.db.worker(queues=["webhooks"], kinds=["webhooks.deliver"])
    hooks.told(*keys)
    while held := hooks.db.claim(worker, queue="webhooks"):
        for delivery in hooks.deliveries():
            if delivery["state"] == "pending":
                hooks.fail(delivery, retry=None)
        hooks.db.fail(*held, delay=None, type_="DeliveryFailed")
    return [row["delivery_id"] for row in hooks.deliveries() if row["state"] == "dead"]


def test_a_dead_one_is_sent_again_and_is_no_dead_letter_any_more(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    ids = dead(hooks, "a", None)
    assert [row["job_id"] for row in db.rows("select job_id from ostinato_data.dead_letter")] != []

    assert db.get("redeliver_webhooks", name="orders", ids=ids) == 2

    assert hooks.states() == ["pending", "pending"]
    assert job_states(db, hooks) == ["ready", "ready"]
    assert db.rows("select from ostinato_data.dead_letter") == []
    assert db.get("redeliver_webhooks", name="orders", ids=ids) == 0  # under way


def test_deliveries_are_found_by_state_time_event_and_id(hooks: Hooks, db: Session, clock: Clock) -> None:
    hooks.endpoint()
    (early,) = dead(hooks, None)
    clock.advance(hours=1)
    late = dead(hooks, None, None)[1:]
    hooks.told(None)
    event_id = hooks.deliveries()[1]["event_id"]

    def find(**params: object) -> list[int]:
        rows = db.call("find_webhook_deliveries", name="orders", **params)
        return [row["find_webhook_deliveries"] for row in rows]

    assert find(states=["dead"]) == [early, *late]
    assert find(states=["dead"], since=clock.now) == late
    assert find(states=["dead"], event_ids=[event_id]) == late[:1]
    assert find(ids=[early]) == [early]
    assert find(states=["dead"], most=2) == [early, late[0]]
    assert len(find()) == 4
    assert find(states=["dead"], tenant_id="t2") == []


def test_what_was_delivered_can_be_sent_again(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    (event_id,) = hooks.told()
    (delivery,) = hooks.deliveries()
    hooks.settle(delivery)

    assert db.get("redeliver_webhooks", name="orders", ids=[delivery["delivery_id"]]) == 1

    (again,) = hooks.deliveries()
    assert hooks.start(again)["event_id"] == event_id
    assert again["job_id"] != delivery["job_id"]


def test_what_is_sent_again_to_a_paused_endpoint_is_held(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    ids = dead(hooks, "a")
    db.call("pause_webhook_endpoint", name="orders")

    assert db.get("redeliver_webhooks", name="orders", ids=ids) == 1

    assert hooks.states() == ["held"]


def test_nobody_sends_another_tenants_deliveries_again(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.endpoint(tenant_id="t2")
    ids = dead(hooks, "a")

    assert db.get("redeliver_webhooks", name="orders", ids=ids, tenant_id="t2") == 0


# Mending and forgetting.


def test_a_delivery_whose_job_ended_without_it_is_buried_and_its_key_goes_on(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told("a", "a", "b")
    cancelled, _, running = hooks.deliveries()
    db.call("cancel_job", job_id=cancelled["job_id"])

    assert db.get("heal_webhooks") == 2

    assert hooks.states() == ["dead", "pending", "pending"]
    assert hooks.deliveries()[0]["last_error"] == "its job ended without it"
    assert hooks.deliveries()[2]["job_id"] == running["job_id"]
    assert db.get("heal_webhooks") == 0
    assert db.get("mend_webhooks") == 0  # its name in 0.1.0


def test_of_a_long_line_the_dead_letters_are_found_and_of_the_rest_a_part(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    worker = db.worker(queues=["webhooks"], kinds=["webhooks.deliver"])
    hooks.told(*[None] * 20)
    db.fail(*db.claim(worker, 3, queue="webhooks"), delay=None)  # a worker died with them
    for delivery in hooks.deliveries()[3:9]:
        db.call("cancel_job", job_id=delivery["job_id"])
    endpoint_id = hooks.show()["endpoint_id"]

    first = db.get("bury_webhooks", endpoint_id=endpoint_id, most=1)

    assert 3 <= first <= 5
    assert hooks.states()[:3] == ["dead"] * 3
    assert first + db.get("bury_webhooks", endpoint_id=endpoint_id, most=100) == 9
    assert hooks.states() == ["dead"] * 9 + ["pending"] * 11


def test_a_subscription_that_somebody_dropped_is_made_again(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    db.call("drop_subscription", name="ostinato.webhooks")
    assert hooks.fan_out()["events"] is None

    db.get("heal_webhooks")
    hooks.told()

    assert hooks.states() == ["pending"]


def test_a_key_whose_first_delivery_waits_goes_on(hooks: Hooks, db: Session) -> None:
    hooks.endpoint()
    hooks.told("a", "a")
    db.rows("update ostinato_data.webhook_delivery set state = 'delivered' where state = 'pending'")

    assert db.get("heal_webhooks") == 1

    assert hooks.states() == ["delivered", "pending"]
    endpoint_id = hooks.show()["endpoint_id"]
    db.call("start_next_webhook", endpoint_id=endpoint_id, ordering_key="a")  # already under way
    (first, second) = hooks.deliveries()
    assert db.call("startable_webhooks", ids=[first["delivery_id"], second["delivery_id"]]) == []
    db.call("start_webhook_jobs", ids=[])
    assert hooks.deliveries() == [first, second]


def test_what_was_delivered_long_ago_is_forgotten_and_what_died_is_not(hooks: Hooks, db: Session, clock: Clock) -> None:
    hooks.endpoint()
    dead(hooks, None)
    hooks.told(None, None)
    delivered, pending = hooks.deliveries()[1:]
    hooks.settle(delivered)
    clock.advance(days=13)
    assert db.call("prune_webhooks", retention_days=14) == []
    clock.advance(days=2)

    first = db.call("prune_webhooks", retention_days=14)
    second = db.call("prune_webhooks", retention_days=14)

    assert first == [{"name": "webhook_delivery", "rows": 1}]
    assert second == [{"name": "webhook_message", "rows": 1}]
    assert hooks.states() == ["dead", "pending"]
    assert hooks.start(pending)["body"]


def test_what_a_disabled_endpoint_missed_is_kept_for_retention_only(hooks: Hooks, db: Session, clock: Clock) -> None:
    hooks.endpoint()
    hooks.endpoint("paused")
    db.call("pause_webhook_endpoint", name="paused")
    hooks.told(None, None)
    hooks.settle(hooks.deliveries()[0], "gone", 410)
    assert hooks.start(hooks.deliveries()[1])["verdict"] == "held"
    clock.advance(days=16)

    db.call("prune_webhooks", retention_days=14)

    assert hooks.states() == ["dead"]
    assert hooks.states("paused") == ["held", "held"]


def test_the_log_of_attempts_goes_by_weeks(hooks: Hooks, db: Session, clock: Clock) -> None:
    db.call("upkeep_logs", retention_days=14)
    hooks.endpoint()
    hooks.told()
    (delivery,) = hooks.deliveries()
    hooks.fail(delivery)
    clock.advance(days=30)

    done = db.call("upkeep_logs", retention_days=14)

    assert any(row["action"] == "dropped" and "webhook_attempt" in row["name"] for row in done)
    assert db.call("list_webhook_attempts", name="orders") == []
    assert hooks.states() == ["pending"]


# Receiving.


def test_a_message_that_came_before_is_not_accepted(db: Session, other: Session, admin: Session, clock: Clock) -> None:
    def accept(message_id: str = "m1", **params: object) -> bool:
        return bool(db.get("accept_webhook", source="bank", message_id=message_id, **params))

    assert accept()
    assert not accept()
    assert accept("m2")
    assert accept(tenant_id="t2")
    assert db.get("accept_webhook", source="shop", message_id="m1")
    clock.advance(seconds=901)
    assert {"name": "webhook_receipt", "rows": 4} in db.call("prune_webhooks", retention_days=14)
    with refused("OS400"):
        accept("")
    with refused("OS400"):
        accept("x" * 257)


def test_of_two_copies_at_once_one_is_accepted(db: Session, other: Session, admin: Session) -> None:
    with db.transaction():
        assert db.get("accept_webhook", source="bank", message_id="m1")
        second = other.later("accept_webhook", source="bank", message_id="m1")
        until_blocked(admin, other, db)

    assert second.result() == [{"accept_webhook": False}]


# Who sees what.


def test_a_tenant_sees_what_became_of_its_own(hooks: Hooks, sessions: Sessions) -> None:
    hooks.endpoint(tenant_id="t1")
    hooks.endpoint(tenant_id="t2")
    hooks.told(None, tenant="t1")
    hooks.told(None, tenant="t2")
    for tenant in ("t1", "t2"):
        hooks.fail(hooks.deliveries(tenant_id=tenant)[0])
    mine = sessions.tenant("t1")

    for statement in (
        "select tenant_id, name, url, state from ostinato_data.webhook_endpoint",
        "select tenant_id, event_type from ostinato_data.webhook_message",
        "select * from ostinato_data.webhook_delivery",
        "select * from ostinato_data.webhook_attempt",
    ):
        assert [row["tenant_id"] for row in mine.rows(statement)] == ["t1"]
        assert sessions.open("tenant").rows(statement) == []


@pytest.mark.parametrize("statement", CLOSED)
def test_a_tenant_sees_no_secret_and_changes_nothing(hooks: Hooks, sessions: Sessions, statement: str) -> None:
    hooks.endpoint(tenant_id="t1", headers={"authorization": ""}, header_values=sealed())

    with refused("42501"):
        sessions.tenant("t1").rows(statement)


def test_a_probe_is_signed_like_any_message_and_leaves_no_trace(hooks: Hooks, db: Session) -> None:
    _, secret = hooks.endpoint()
    db.call("pause_webhook_endpoint", name="orders")

    (probe,) = db.call("probe_webhook_endpoint", name="orders")

    assert (probe["verdict"], probe["url"], probe["secrets"]) == ("send", URL, [secret])
    assert json.loads(probe["body"])["type"] == "ostinato.webhooks.test"
    assert json.loads(probe["body"])["id"] == probe["event_id"]
    assert hooks.deliveries() == []
    with refused("OS404"):
        db.call("probe_webhook_endpoint", name="nobody")


def test_every_check_of_an_endpoint_is_one_function(db: Session, hooks: Hooks) -> None:
    hooks.endpoint()

    db.rows("select ostinato_internal.check_webhook_endpoint(e) from ostinato_data.webhook_endpoint e")

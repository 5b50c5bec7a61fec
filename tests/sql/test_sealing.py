"""Sealed values in SQL: they are counted, found and replaced; the database opens none."""

import json
from collections.abc import Callable

import pytest

from tests.sql.engine import Clock, Session, Sessions, refused
from tests.sql.webhooks import Hooks

SECRETS = {"entity": "ostinato_data.webhook_secret", "column": "secret"}
OLD, NEW = "ost1:0badcafe:abcd", "ost1:feedbeef:abcd"


def test_a_value_is_sealed_by_its_form(db: Session) -> None:
    assert db.get("is_sealed", value=OLD) is True
    assert db.get("is_sealed", value="whsec_plain") is False


def test_a_sealed_value_is_replaced_only_if_it_still_is_what_was_read(db: Session) -> None:
    Hooks(db).endpoint(secret=OLD)
    (found,) = db.call("list_to_seal", **SECRETS, bound_to=["endpoint_id"], newest="feedbeef", most=10)
    change = {"places": [found["place"]], "olds": [found["value"]], "news": [NEW]}

    assert db.call("count_sealed", **SECRETS) == [{"key_id": "0badcafe", "values_": 1}]
    assert db.get("reseal", **SECRETS, **change) == 1
    assert db.get("reseal", **SECRETS, **change) == 0
    assert db.call("list_to_seal", **SECRETS, bound_to=["endpoint_id"], newest="feedbeef", most=10) == []


def declare_pin(db: Session) -> None:
    """Declare the kind app.pay, whose argument `pin` is secret."""
    kinds = {"names": ["app.pay"], "queues": ["default"], "priorities": [0], "timeouts": [None], "retries": ["{}"]}
    db.call("register_kinds", **kinds, schemas=["{}"], secrets=["pin"], opens=[True])


CLEAR = {"pin": "4711"}
PLACE = {"queue": "default", "priority": 1}
MANY = {"kinds": ["app.pay"], "args": [json.dumps(CLEAR)]}
# Each way to add a job, with all that the kind would say given by the caller, and without.
WAYS: dict[str, Callable[[Session], object]] = {
    "one": lambda db: db.enqueue("app.pay", args=CLEAR),
    "one with its place": lambda db: db.enqueue("app.pay", args=CLEAR, **PLACE),
    "one as jsonb": lambda db: db.rows(
        "select ostinato.enqueue_job('app.pay', jsonb_build_object('pin', '4711'), 'default', 1)"
    ),
    "one with a unique key": lambda db: db.enqueue("app.pay", args=CLEAR, **PLACE, unique_key="u"),
    "one for later": lambda db: db.enqueue("app.pay", args=CLEAR, **PLACE, run_at="2030-01-01T00:00:00Z"),
    "one under a lease": lambda db: db.call("enqueue_or_attach", name="l", kind="app.pay", args=CLEAR, **PLACE),
    "a set": lambda db: db.call("enqueue_jobs", **MANY, queues=["default"], priorities=[1]),
    "a set with unique keys": lambda db: db.call(
        "enqueue_jobs", **MANY, queues=["default"], priorities=[1], unique_keys=["u"]
    ),
    "a schedule": lambda db: db.call(
        "upsert_schedule", name="s", kind="app.pay", args=CLEAR, cron="0 9 * * *", **PLACE
    ),
}


@pytest.mark.parametrize("role", ["worker", "tenant"])
@pytest.mark.parametrize("way", WAYS)
def test_a_secret_argument_in_the_clear_is_refused_whichever_way_it_comes(
    db: Session, sessions: Sessions, way: str, role: str
) -> None:
    declare_pin(db)
    caller = db if role == "worker" else sessions.tenant("acme")

    with refused("OS400", "secret arguments"):
        WAYS[way](caller)

    assert db.value("select count(*) from ostinato_data.job") == 0


def test_args_that_are_no_object_are_refused_as_such_also_where_some_are_secret(db: Session) -> None:
    declare_pin(db)

    with refused("OS400", "must be a JSON object"):
        db.enqueue("app.pay", args="[1]", **PLACE)


def test_a_schedule_from_before_its_kind_had_secrets_stops_with_the_reason(db: Session, clock: Clock) -> None:
    db.call("upsert_schedule", name="s", kind="app.pay", args=CLEAR, cron="0 9 * * *", **PLACE)
    declare_pin(db)

    clock.advance(days=1)
    db.call("fire_schedules")

    (schedule,) = db.call("show_schedule", name="s")
    assert schedule["paused"] is True
    assert "not sealed" in schedule["error"]
    assert db.value("select count(*) from ostinato_data.job") == 0


def test_secret_arguments_of_jobs_are_found_and_replaced(db: Session) -> None:
    declare_pin(db)
    job = db.enqueue("app.pay", args=json.dumps({"pin": OLD}))

    assert [(row["kind"], row["secret_args"]) for row in db.call("secret_kinds")] == [("app.pay", ["pin"])]
    (found,) = db.call("secret_jobs", after=0, most=10)
    assert found["job_id"] == job
    news = [json.dumps({"pin": NEW})]
    assert db.get("reseal_args", job_ids=[job], olds=[found["args"]], news=news) == 1
    assert db.get("reseal_args", job_ids=[job], olds=[found["args"]], news=news) == 0


def test_the_schedules_that_come_first_are_found_by_their_time(db: Session) -> None:
    for name, hour in (("late", 9), ("early", 3)):
        db.call("upsert_schedule", name=name, kind="app.task", cron=f"0 {hour} * * *", tenant_id="acme")

    first, second = db.call("upcoming_schedules", tenant_id="acme", most=2)

    assert first["next_at"] < second["next_at"]
    assert [row["name"] for row in db.call("upcoming_schedules", tenant_id="acme", most=1)] == [first["name"]]
    assert db.call("upcoming_schedules", tenant_id="globex") == []

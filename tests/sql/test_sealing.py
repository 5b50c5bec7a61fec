"""Sealed values in SQL: they are counted, found and replaced; the database opens none."""

import json

from tests.sql.engine import Session
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


def test_secret_arguments_of_jobs_are_found_and_replaced(db: Session) -> None:
    kinds = {"names": ["app.pay"], "queues": ["default"], "priorities": [0], "timeouts": [None], "retries": ["{}"]}
    db.call("register_kinds", **kinds, schemas=["{}"], secrets=["pin"])
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

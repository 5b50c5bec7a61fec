"""Series: what workers did, by minute and hour, of all tenants and of each."""

import json
from datetime import timedelta
from typing import Any

from tests.sql.engine import START, Clock, Session, Sessions, refused

PLACES = 19


def row(tenant: str = "acme", kind: str = "app.task", done: int = 3, late: int = 0) -> dict[str, Any]:
    latency = [0] * PLACES
    latency[3], latency[10] = done - late, late  # within 10 ms, within 2.5 s
    return {
        "queue": "mail",
        "kind": kind,
        "tenant": tenant,
        "first": done,
        "done": done,
        "failed": 1,
        "dead": 1,
        "run": 0.5,
        "latency": latency,
    }


def record(db: Session, *rows: dict[str, Any]) -> None:
    db.rows("select ostinato.record_series(%s::jsonb)", json.dumps(rows))


def test_what_workers_did_is_summed_by_minute_and_by_hour(db: Session, clock: Clock) -> None:
    record(db, row(), row(kind="app.other"))
    record(db, row(tenant="globex"))
    clock.advance(minutes=1)
    record(db, row(done=1))

    minutes = db.call("list_series", since=START - timedelta(hours=1))
    (hour,) = db.call("list_series", since=START - timedelta(hours=1), step=3600)

    assert [each["done"] for each in minutes] == [9, 1]
    assert (hour["done"], hour["failed"], hour["dead"], hour["run_seconds"]) == (10, 4, 4, 2.0)


def test_percentiles_are_the_bounds_that_a_share_did_not_exceed(db: Session) -> None:
    record(db, row(done=100, late=2))

    (found,) = db.call("list_series", since=START - timedelta(hours=1))

    assert (found["p50"], found["p95"], found["p99"]) == (0.01, 0.01, 2.5)


def test_a_series_can_be_asked_for_a_kind_a_queue_or_a_tenant(db: Session) -> None:
    record(db, row(), row(tenant="globex", kind="app.other", done=7))
    since = START - timedelta(hours=1)

    (kind,) = db.call("list_series", since=since, kind="app.other")
    (tenant,) = db.call("list_series", since=since, tenant_id="acme")
    (queue,) = db.call("queue_rates", since=since)

    assert (kind["done"], tenant["done"], queue["done"]) == (7, 3, 10)
    assert db.call("list_series", since=since, queue="none") == []


def test_a_tenant_sees_its_own_series_only(db: Session, sessions: Sessions) -> None:
    record(db, row(), row(tenant="globex", done=7))
    tenant = sessions.open("tenant")
    tenant.rows("select set_config('app.tenant_id', 'acme', false)")

    (found,) = tenant.call("list_series", since=START - timedelta(hours=1))

    assert found["done"] == 3


def test_a_step_of_another_length_is_refused(db: Session) -> None:
    with refused("OS400", "no steps of 61 s"):
        db.call("list_series", since=START, step=61)


def test_steps_go_when_their_time_is_over(db: Session, clock: Clock) -> None:
    record(db, row())
    clock.advance(days=3)

    assert db.get("prune_series", retention_days=14) == 2  # the minute of all, and that of the tenant
    clock.advance(days=14)
    assert db.get("prune_series", retention_days=14) == 2  # the hours
    assert db.call("list_series", since=START - timedelta(days=1), step=3600) == []

"""Observe: the engine's figures, noted once however many ask."""

import json
from datetime import timedelta

import pytest

from ostinato._core.base.alerts import Alert
from ostinato._core.base.metrics import ENGINE_GAUGES, QUEUE_OLDEST, QUEUE_P99
from ostinato._core.engine.alerts import as_row
from tests.sql.engine import START, Clock, Session, refused
from tests.sql.test_series import record, row

SLOW = Alert("shop.slow", figure=QUEUE_OLDEST, above=60, message="{value}", remedy="Look.")


def figure(db: Session, name: str, label: str = "") -> float | None:
    found = {(row["name"], row["label"]): row["value"] for row in db.call("observe")}
    return found.get((name, label))


def test_the_figures_of_a_queue(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.enqueue(queue="mail")
    db.enqueue(queue="mail")
    db.enqueue(queue="mail", run_at=START + timedelta(days=1))
    clock.advance(seconds=5)
    db.call("claim_jobs", worker_id=worker, queue="mail", wanted=1)
    db.call("pause_queue", name="mail")

    assert figure(db, "queue_ready_jobs", "mail") == 1
    assert figure(db, "queue_scheduled_jobs", "mail") == 1
    assert figure(db, "queue_running_jobs", "mail") == 1
    assert figure(db, "queue_dead_letters", "mail") == 0
    assert figure(db, "queue_oldest_ready_seconds", "mail") == 5
    assert figure(db, "queue_paused", "mail") == 1
    assert figure(db, "workers") == 1


def test_the_rates_and_the_start_latency_of_a_queue_are_those_of_the_last_five_minutes(
    db: Session, clock: Clock
) -> None:
    record(db, row(done=900))
    clock.advance(minutes=10)
    db.enqueue(queue="idle")
    record(db, row(done=100, late=2))
    clock.advance(minutes=2)

    now = db.call("observe")
    minutes = 5 + (START + timedelta(minutes=12)).timestamp() % 60 / 60

    found = {each["name"]: each["value"] for each in now if each["label"] == "mail"}
    assert found["queue_started_per_minute"] == pytest.approx(100 / minutes)
    assert found["queue_done_per_minute"] == pytest.approx(100 / minutes)
    assert found["queue_failed_per_minute"] == pytest.approx(1 / minutes)
    assert [found[f"queue_start_latency_p{share}_seconds"] for share in (50, 95, 99)] == [0.01, 0.01, 2.5]
    idle = {each["name"]: each["value"] for each in now if each["label"] == "idle"}
    assert (idle["queue_done_per_minute"], "queue_start_latency_p99_seconds" in idle) == (0, False)


def test_an_alert_watches_the_start_latency_of_a_queue(db: Session) -> None:
    late = Alert("shop.late", figure=QUEUE_P99, above=1, message="{label} starts late", remedy="Add workers.")
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([as_row(late)]))
    record(db, row(done=100, late=2))

    assert [(each["label"], each["value"]) for each in db.call("measure_alert", name="shop.late")] == [("mail", 2.5)]


def test_every_figure_is_declared_and_every_declared_one_is_told(db: Session) -> None:
    db.enqueue()
    db.get("heartbeat_worker", worker_id=db.worker(), blocked_by="shop.count")
    db.call("subscribe", name="receipts")
    record(db, row())
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([as_row(SLOW)]))
    told = {row["name"] for row in db.call("observe")}

    assert {f"ostinato_{name}" for name in told} == {gauge.name for gauge in ENGINE_GAUGES}


def test_labels_that_tenants_make_up_are_one_on_the_page(db: Session) -> None:
    db.call("configure_queue", name="letters")
    db.worker(queues=["mail"], kinds=["app.task"])
    for queue in ("letters", "mail", "default", "patient-Zebulon", "patient-Erasme"):
        db.enqueue(queue=queue, tenant_id="acme")
    db.call("subscribe", name="receipts")
    db.call("subscribe", name="patient-Zebulon", tenant_id="acme")

    found = {(row["name"], row["label"]): row["value"] for row in db.call("observe_declared")}

    ready = {label: value for (name, label), value in found.items() if name == "queue_ready_jobs"}
    assert ready == {"default": 1, "letters": 1, "mail": 1, "other": 2}
    assert not [label for _, label in found if "patient" in label]
    assert {label for name, label in found if name == "subscription_lag_seconds"} == {"receipts", "other"}


def test_the_page_has_the_same_figures_for_what_is_declared(db: Session) -> None:
    db.call("configure_queue", name="letters")
    db.enqueue(queue="letters")
    db.worker(queues=["letters"])

    def shown(function: str) -> set[tuple[str, str, float]]:
        rows = db.call(function)
        return {
            (r["name"], r["label"], r["value"])
            for r in rows
            if r["name"] not in ("dead_tuples", "xmin_age_transactions")
        }

    assert shown("observe_declared") == shown("observe")


def test_a_subscription_that_is_behind_shows(db: Session, clock: Clock) -> None:
    db.call("subscribe", name="receipts")
    db.call(
        "emit_event", type="invoice.paid", tenant_id="acme", correlation_id="c1", producer="billing", occurred_at=START
    )
    assert figure(db, "unsequenced_events") == 1
    db.call("sequence_events")
    clock.advance(seconds=7)

    assert figure(db, "unsequenced_events") == 0
    assert figure(db, "subscription_behind_events", "receipts") == 1
    assert figure(db, "subscription_lag_seconds", "receipts") == 7
    assert figure(db, "subscription_buried_events", "receipts") == 0


def test_figures_are_noted_once_however_many_ask(db: Session, other: Session, clock: Clock) -> None:
    with db.transaction():
        assert db.get("sample_metrics") > 0
        assert other.get("sample_metrics") == 0  # somebody is at it
    assert other.get("sample_metrics") == 0

    clock.advance(seconds=16)

    assert other.get("sample_metrics") > 0


def test_samples_are_thinned_out_to_means(db: Session, clock: Clock) -> None:
    for waiting in range(4):
        db.call("sample_metrics")
        db.enqueue(queue="mail")
        clock.advance(seconds=30)
        assert waiting < 4

    rows = db.call("list_samples", name="queue_ready_jobs", since=START)

    assert [(row["at"], row["label"], row["value"]) for row in rows if row["label"] == "mail"] == [
        (START, "mail", 1),
        (START + timedelta(minutes=1), "mail", 2.5),
    ]
    with refused("OS400", "too small"):
        db.call("list_samples", name="workers", since=START, step=timedelta(0))


def test_a_primary_is_no_replica_and_has_a_name_that_its_replicas_share(db: Session) -> None:
    (found,) = db.call("show_replication")

    assert (found["is_replica"], found["lag"]) == (False, 0)
    assert int(found["system"]) > 0

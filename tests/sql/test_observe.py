"""Observe: the engine's figures, noted once however many ask."""

import json
from datetime import timedelta

from ostinato._core.base.alerts import Alert
from ostinato._core.base.metrics import ENGINE_GAUGES, QUEUE_OLDEST
from ostinato._core.engine.alerts import as_row
from tests.sql.engine import START, Clock, Session, refused

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


def test_every_figure_is_declared_and_every_declared_one_is_told(db: Session) -> None:
    db.enqueue()
    db.get("heartbeat_worker", worker_id=db.worker(), blocked_by="shop.count")
    db.call("subscribe", name="receipts")
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([as_row(SLOW)]))
    told = {row["name"] for row in db.call("observe")}

    assert {f"ostinato_{name}" for name in told} == {gauge.name for gauge in ENGINE_GAUGES}


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

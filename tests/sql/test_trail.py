"""One correlation id, one thread: everything that happened for it, in order, whatever it was."""

import asyncio
from datetime import datetime, timedelta

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import connect
from ostinato._core.engine import inspect
from tests.sql.deliveries import event_of
from tests.sql.engine import START, Clock, Row, Session, Sessions, arrays, refused
from tests.sql.machinery import table_of
from tests.sql.webhooks import Hooks


def trail(session: Session, correlation_id: str, **params: object) -> list[tuple[str, str, str]]:
    """The lines in order: source, what, state."""
    rows = session.call("trail", correlation_id=correlation_id, **params)
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    return [(row["source"], row["what"], row["state"]) for row in rows]


def line(session: Session, correlation_id: str, source: str, state: str) -> Row:
    (found,) = [
        row
        for row in session.call("trail", correlation_id=correlation_id)
        if (row["source"], row["state"]) == (source, state)
    ]
    return found


def emit(session: Session, type_: str, correlation_id: str, tenant: str = "default") -> int:
    return int(
        session.get(
            "emit_event",
            type=type_,
            correlation_id=correlation_id,
            tenant_id=tenant,
            occurred_at=START,
            producer="shop",
        )
    )


def test_the_attempts_of_a_job_are_told_in_order(db: Session, clock: Clock) -> None:
    worker = db.worker("host-1")
    job = db.enqueue(correlation_id="req-1", queue="default")
    clock.beat(1, worker)
    db.fail(db.claim_one(worker), delay=5)
    assert trail(db, "req-1") == [
        ("job", "app.task", "enqueued"),
        ("attempt", "app.task", "failed"),
        ("job", "app.task", "scheduled"),
    ]

    clock.beat(6, worker)
    db.call("promote_jobs")
    held = db.claim_one(worker)
    assert trail(db, "req-1")[-1] == ("attempt", "app.task", "running")
    clock.beat(1, worker)
    db.complete(held)

    assert trail(db, "req-1") == [
        ("job", "app.task", "enqueued"),
        ("attempt", "app.task", "failed"),
        ("attempt", "app.task", "done"),
    ]
    failed = line(db, "req-1", "attempt", "failed")
    assert (failed["job_id"], failed["attempt"], failed["ref"]) == (job, 1, str(job))
    assert failed["detail"]["error"] == "ValueError: it broke"
    assert line(db, "req-1", "attempt", "done")["detail"]["worker_id"] == str(worker)


def test_a_job_without_one_is_the_beginning_of_its_own_trail(db: Session) -> None:
    parent = db.enqueue("app.parent")
    db.enqueue("app.child", correlation_id=f"job-{parent}")
    db.enqueue("app.other")

    assert trail(db, f"job-{parent}") == [("job", "app.parent", "enqueued"), ("job", "app.child", "enqueued")]
    for nothing in ("job-", "job-x", "job-999999999999999999999", "nobody", "schedule-1-x"):
        assert trail(db, nothing) == []


def test_steps_waits_and_leases_stand_where_they_happened(db: Session, clock: Clock) -> None:
    worker = db.worker()
    db.enqueue(correlation_id="req-1")
    held = db.claim_one(worker)
    clock.beat(1, worker)
    db.call("save_steps", **arrays([held]), positions=[1], names=["charge"], results=["{}"])
    clock.beat(1, worker)
    db.call("acquire_lease", name="books", holder="me", job_id=held.id, job_attempt=held.attempt)

    assert trail(db, "req-1") == [
        ("job", "app.task", "enqueued"),
        ("attempt", "app.task", "running"),
        ("step", "charge", "call"),
        ("lease", "books", "held"),
    ]
    assert line(db, "req-1", "step", "call")["ref"] == "1"
    db.call("release_lease", name="books", force=True)
    waiting = {"positions": [2], "events": ["order.paid"], "keys": ["7"], "timeouts": [None]}
    db.call("wait_jobs", **arrays([held]), **waiting)
    assert ("wait", "order.paid", "waiting") in trail(db, "req-1")
    assert line(db, "req-1", "wait", "waiting")["ref"] == "7"


def test_events_deliveries_and_callbacks_belong_to_it(db: Session, clock: Clock) -> None:
    hooks = Hooks(db)
    hooks.endpoint("shop")
    db.call("subscribe", name="audit")
    hooks.emit("order.paid")
    clock.beat(1)
    hooks.fan_out()
    db.call("dispatch_events")
    worker = db.worker()
    (held,) = db.claim(worker, kinds=["audit"])
    clock.beat(1, worker)
    (delivery,) = hooks.deliveries("shop")
    hooks.settle(delivery, "refused", 500, retry=30.0)
    clock.beat(1, worker)
    hooks.settle(delivery)

    told = trail(db, "request-1")

    assert told[0] == ("event", "order.paid", "emitted")
    assert ("job", "audit", "enqueued") in told
    assert ("webhook", "shop", "delivered") in told
    assert [entry for entry in told if entry[0] == "callback"] == [
        ("callback", "shop", "refused"),
        ("callback", "shop", "delivered"),
    ]
    refusal = line(db, "request-1", "callback", "refused")
    assert (refusal["attempt"], refusal["detail"]["status"]) == (1, 500)
    assert line(db, "request-1", "event", "emitted")["detail"]["position"] == event_of(held)["position"]
    assert any(source == "job" for source, _, _ in told)  # the job that sends the webhook


def test_changes_of_state_are_part_of_it(admin: Session, db: Session) -> None:
    with table_of(admin) as table:
        row = table.add(tenant="t1")
        table.happen(db, row, "cancel", by="ana", why="a mistake", correlation_id="req-1")

        assert trail(db, "req-1") == [("transition", f"billing.invoice {row}", "void")]
        told = line(db, "req-1", "transition", "void")["detail"]
        assert (told["from"], told["event"], told["by"], told["why"]) == ("draft", "cancel", "ana", "a mistake")


def test_a_slot_of_a_schedule_is_the_beginning_of_what_it_fired(db: Session, clock: Clock) -> None:
    db.call("upsert_schedule", name="nightly", kind="app.task", cron="0 10 * * *")
    clock.set(datetime.fromisoformat("2026-03-02T10:00:01+00:00"))
    db.call("fire_schedules")
    correlation = db.value("select correlation_id from ostinato_data.job")

    assert trail(db, correlation) == [("fire", "nightly", "fired"), ("job", "app.task", "enqueued")]
    fired = line(db, correlation, "fire", "fired")
    assert fired["detail"]["slot_at"].startswith("2026-03-02T10:00:00")
    assert fired["job_id"] == db.value("select id from ostinato_data.job")


def test_tenants_that_use_the_same_id_are_told_apart(db: Session, sessions: Sessions) -> None:
    for tenant in ("t1", "t2"):
        job = db.enqueue(f"app.{tenant}", tenant_id=tenant, correlation_id="req-1")
        emit(db, f"{tenant}.done", "req-1", tenant)
        lease = {"name": "books", "holder": "me", "ttl_seconds": 60}
        db.call("acquire_lease", job_id=job, tenant_id=tenant, **lease)

    assert len(trail(db, "req-1")) == 6
    assert {what for _, what, _ in trail(db, "req-1", for_tenant="t1")} == {"app.t1", "t1.done", "books"}


def test_a_tenant_sees_its_own_part(db: Session, sessions: Sessions) -> None:
    worker = db.worker(kinds=["app.t1", "app.t2"])
    for tenant in ("t1", "t2"):
        db.enqueue(f"app.{tenant}", tenant_id=tenant, correlation_id="req-1")
        emit(db, f"{tenant}.done", "req-1", tenant)
    held = db.claim(worker)
    steps = {"positions": [1, 1], "names": ["one", "one"], "results": ["{}", "{}"]}
    db.call("save_steps", **arrays(held), **steps)
    db.complete(*held)
    mine = sessions.tenant("t1")

    assert trail(mine, "req-1") == [
        ("job", "app.t1", "enqueued"),
        ("step", "one", "call"),
        ("event", "t1.done", "emitted"),
        ("attempt", "app.t1", "done"),
    ]
    assert trail(mine, "req-1", for_tenant="t2") == []
    assert mine.value("select count(*) from ostinato_data.outcome") == 1
    assert sessions.open("tenant").call("trail", correlation_id="req-1") == []


def test_a_trail_has_an_end(db: Session) -> None:
    for _ in range(5):
        db.enqueue(correlation_id="req-1")

    assert len(trail(db, "req-1", most=3)) == 3
    assert len(trail(db, "req-1", most=-1)) == 1
    with refused("OS400", "correlation_id must be"):
        trail(db, "")


def test_a_trail_is_found_by_its_indexes(admin: Session, db: Session) -> None:
    """Not by reading every job: a probe of the index by correlation id, in every week."""
    db.call("upkeep_partitions", retention_days=14)
    for function in ("trail_jobs", "trail_of_transitions"):
        assert db.call(function, correlation_id="x", most=1, **_tenant(function)) == []
    for table in ("job", "event", "transition"):
        plan = "\n".join(
            str(row["QUERY PLAN"])
            for row in _without_scans(admin, f"select from ostinato_data.{table} where correlation_id = 'req-1'")
        )
        assert "Index" in plan
        assert "Seq Scan" not in plan


def _tenant(function: str) -> dict[str, None]:
    return {"tenant_id": None} if function == "trail_jobs" else {}


def _without_scans(admin: Session, statement: str) -> list[Row]:
    with admin.transaction():
        admin.rows("set local enable_seqscan = off")
        return admin.rows(f"explain {statement}")


def test_each_part_can_be_asked_for_by_itself(db: Session) -> None:
    job = db.enqueue(correlation_id="req-1")
    event = emit(db, "order.paid", "req-1")
    asked = {
        "trail_of_jobs": [job],
        "trail_of_runs": [job],
        "trail_of_steps": [job],
        "trail_of_leases": [job],
        "trail_of_events": [event],
        "trail_of_webhooks": [event],
    }

    counts = {function: len(db.call(function, ids=ids)) for function, ids in asked.items()}

    assert counts == dict.fromkeys(asked, 0) | {"trail_of_jobs": 1, "trail_of_events": 1}
    assert db.call("trail_of_fires", correlation_id="schedule-1-1") == []


def test_python_asks_the_same(db: Session, urls: Urls) -> None:
    job = db.enqueue(correlation_id="req-1", tenant_id="t1", run_at=START + timedelta(hours=1))

    async def ask(correlation_id: str) -> list[inspect.TrailLine]:
        async with await connect(urls.worker) as conn:
            return await inspect.trail(conn, correlation_id, tenant_id="t1")

    first, second = asyncio.run(ask("req-1"))

    assert (first.source, first.what, first.state, first.job_id) == ("job", "app.task", "enqueued", job)
    assert (second.state, second.detail["reason"]) == ("scheduled", "later")
    with pytest.raises(InvalidInput):
        asyncio.run(ask("x" * 201))

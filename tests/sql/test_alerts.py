"""Alerts: pending, firing and resolved by the clock, told once, whoever evaluates."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from ostinato._core.base.alerts import ENGINE_ALERTS
from ostinato._core.base.metrics import WORKERS
from ostinato._core.engine.alerts import as_row
from tests.sql.engine import START, Clock, Row, Session, Sessions, refused

NOW = "0"  # evaluate, however short ago somebody did


@pytest.fixture(autouse=True)
def _source(admin: Session) -> Iterator[None]:
    """An application's function, which tells what is in a table."""
    admin.rows("create schema shop")
    admin.rows("grant usage on schema shop to ostinato_worker")
    admin.rows("create table shop.reading (label text, value double precision)")
    admin.rows(
        "create function shop.readings(factor double precision default 1)"
        " returns table (label text, value double precision) language sql stable as"
        " 'select label, value * factor from shop.reading'"
    )
    admin.rows("grant select on shop.reading to ostinato_worker")
    yield
    admin.rows("drop schema shop cascade")


def row(name: str = "shop.slow", **fields: Any) -> Row:  # noqa: ANN401 - as the column is
    plain = {
        "name": name,
        "owner": name.partition(".")[0],
        "severity": "warning",
        "function": "shop.readings",
        "parameters": {},
        "labels": [],
        "comparison": ">",
        "threshold": 10,
        "clears_at": fields.get("threshold", 10),
        "for_seconds": 0,
        "clear_seconds": 0,
        "tenant_id": "ops",
        "message": "{label} is at {value}, above {threshold}",
        "remedy": "Look.",
    }
    return plain | fields


def declare(db: Session, *rows: Row, owners: tuple[str, ...] = ("shop",)) -> None:
    db.call("declare_alerts", owners=list(owners), alerts=json.dumps(rows))


def say(admin: Session, **values: float | None) -> None:
    """What the application's function tells from now on."""
    admin.rows("delete from shop.reading")
    for label, value in values.items():
        admin.rows("insert into shop.reading values (%s, %s)", label, value)


def evaluate(db: Session, every: str = NOW, names: list[str] | None = None) -> list[str]:
    """What changed, as words."""
    rows = db.call("evaluate_alerts", every=every, names=names)
    return [f"{each['alert']} {each['label']} {each['change']}" for each in rows]


def firing(db: Session, **filters: Any) -> list[Row]:  # noqa: ANN401 - as the parameter is
    return db.call("list_firings", **filters)


def state(db: Session, name: str = "shop.slow") -> str:
    (line,) = db.call("list_alerts", name=name)
    return str(line["state"])


def told(db: Session) -> list[tuple[str, Row]]:
    """The events so far, with their payloads."""
    rows = db.rows("select type, payload from ostinato_data.event order by id")
    return [(each["type"], each["payload"]) for each in rows]


def test_a_value_beyond_the_threshold_fires_and_one_at_it_does_not(db: Session, admin: Session) -> None:
    declare(db, row())
    assert state(db) == "new"
    say(admin, mail=10, post=11)

    assert evaluate(db) == ["shop.slow post fired"]

    (fired,) = firing(db)
    assert (fired["label"], fired["value"], fired["state"]) == ("post", 11, "firing")
    assert (fired["fired_at"], fired["resolved_at"]) == (START, None)
    assert fired["message"] == "post is at 11, above 10"
    assert json.loads(fired["details"])["threshold"] == 10
    assert state(db) == "firing"


def test_what_fires_is_told_once_and_again_when_it_is_over(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)
    clock.advance(seconds=30)
    say(admin, post=20)
    assert evaluate(db) == []
    clock.advance(seconds=30)
    say(admin, post=3)

    assert evaluate(db) == ["shop.slow post resolved"]
    assert evaluate(db) == []

    (first, began), (last, ended) = told(db)
    assert (first, last) == ("alert.fired", "alert.resolved")
    assert (began["value"], began["resolved_at"]) == (11, None)
    assert (ended["value"], ended["worst"], ended["alert"]) == (3, 20, "shop.slow")
    assert began["id"] == ended["id"]
    (over,) = firing(db)
    assert (over["state"], over["resolved_at"]) == ("resolved", START + timedelta(seconds=60))
    assert state(db) == "ok"


def test_both_events_are_the_tenants_in_order_and_have_one_correlation_id(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)
    say(admin)
    evaluate(db)

    rows = db.rows("select tenant_id, ordering_key, correlation_id from ostinato_data.event")

    assert rows[0] == rows[1]
    assert (rows[0]["tenant_id"], rows[0]["ordering_key"]) == ("ops", "alert:shop.slow:post")


def test_it_fires_when_it_was_bad_for_its_time_and_not_before(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row(for_seconds=60))
    say(admin, post=11)
    assert evaluate(db) == []
    assert state(db) == "pending"
    clock.advance(seconds=59)
    assert evaluate(db) == []
    clock.advance(seconds=1)

    assert evaluate(db) == ["shop.slow post fired"]

    (fired,) = firing(db)
    assert fired["since"] == START
    assert fired["fired_at"] == START + timedelta(seconds=60)


def test_what_was_good_in_between_starts_anew(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row(for_seconds=60))
    say(admin, post=11)
    evaluate(db)
    clock.advance(seconds=50)
    say(admin, post=9)
    evaluate(db)
    assert state(db) == "ok"
    say(admin, post=11)
    evaluate(db)
    clock.advance(seconds=50)

    assert evaluate(db) == []
    assert firing(db) == []
    assert [each["state"] for each in firing(db, open=True)] == ["pending"]


def test_a_value_that_wavers_about_the_threshold_is_told_of_once(db: Session, admin: Session) -> None:
    declare(db, row(clears_at=5))
    for value in (11, 9, 11, 6, 12):
        say(admin, post=value)
        evaluate(db)
    assert [kind for kind, _ in told(db)] == ["alert.fired"]

    say(admin, post=5)

    assert evaluate(db) == ["shop.slow post resolved"]


def test_it_is_over_when_it_was_good_for_its_time(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row(clear_seconds=60))
    say(admin, post=11)
    evaluate(db)
    say(admin, post=1)
    assert evaluate(db) == []
    clock.advance(seconds=59)
    say(admin, post=11)
    evaluate(db)
    say(admin, post=1)
    evaluate(db)
    clock.advance(seconds=59)
    assert evaluate(db) == []
    clock.advance(seconds=1)

    assert evaluate(db) == ["shop.slow post resolved"]


def test_it_may_be_bad_below_a_value(db: Session, admin: Session) -> None:
    declare(db, row(comparison="<", threshold=2, clears_at=4))
    say(admin, post=2)
    assert evaluate(db) == []
    say(admin, post=1)
    assert evaluate(db) == ["shop.slow post fired"]
    say(admin, post=3)
    assert evaluate(db) == []
    say(admin, post=4)
    assert evaluate(db) == ["shop.slow post resolved"]


def test_no_value_is_good_and_of_several_the_worst_counts(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=None, mail=float("nan"), fax=float("inf"))
    admin.rows("insert into shop.reading values ('phone', 1), ('phone', 99), (null, 12)")

    assert evaluate(db) == ["shop.slow  fired", "shop.slow fax fired", "shop.slow phone fired"]
    assert {each["label"]: each["value"] for each in firing(db)}["phone"] == 99
    assert [payload["value"] for _, payload in told(db)] == [12, None, 99]


def test_parameters_are_handed_on_and_labels_are_chosen(db: Session, admin: Session) -> None:
    parameters = {"factor": 2}
    declare(db, row(parameters=parameters, labels=["post"], message="{value} with {factor}"))
    say(admin, post=6, mail=100)

    assert evaluate(db) == ["shop.slow post fired"]
    assert firing(db)[0]["message"] == "12 with 2"


def test_labels_may_be_tenants_who_are_told_of_their_own(db: Session, admin: Session, sessions: Sessions) -> None:
    declare(db, row(tenant_id=None), row("shop.ours"))
    say(admin, acme=11, zeta=12)
    evaluate(db, names=["shop.slow"])

    tenants = db.rows("select tenant_id from ostinato_data.event order by 1")
    assert [each["tenant_id"] for each in tenants] == ["acme", "zeta"]
    with db.transaction():
        db.call("enter_tenant", tenant_id="acme")
        (line,) = db.call("own_alerts")
        (seen,) = db.call("own_firings")
    assert (line["name"], line["firing"], seen["label"]) == ("shop.slow", 1, "acme")


def test_a_session_without_a_tenant_sees_no_alert(db: Session) -> None:
    declare(db, row(), row("shop.each", tenant_id=None))
    with db.transaction():
        db.rows("set local role ostinato_tenant")

        assert db.call("own_alerts") == []
        assert db.call("own_firings") == []


def test_a_tenant_may_not_declare_or_evaluate(db: Session) -> None:
    for call in ("declare_alerts('{}', '[]')", "evaluate_alerts()", "list_alerts()"):
        with refused("42501"), db.transaction():
            db.call("enter_tenant", tenant_id="acme")
            db.rows(f"select ostinato.{call}")


def test_a_source_that_fails_blocks_no_other_and_is_itself_an_alert(db: Session, admin: Session) -> None:
    source = row("ostinato.alert_source", function="ostinato.alert_failures", threshold=0, message="{label}")
    declare(db, row("shop.broken", function="shop.gone"), row("shop.ok"), source, owners=())
    say(admin, post=11)

    assert evaluate(db) == ["shop.broken  failed", "shop.ok post fired", "ostinato.alert_source shop.broken fired"]
    (line,) = db.call("list_alerts", name="shop.broken")
    assert (line["state"], line["failures"]) == ("failing", 1)
    assert "shop.gone" in line["error"]

    admin.rows("create function shop.gone() returns table (l text, v numeric) language sql as $$ select 'x', 1.0 $$")
    assert evaluate(db) == ["ostinato.alert_source shop.broken resolved"]
    assert state(db, "shop.broken") == "ok"


@pytest.mark.parametrize(
    "source",
    [
        "table (label text, value integer) language sql as $$ select 'x', 1/0 $$",
        "table (label text, value text) language sql as $$ select 'x', 'much' $$",
        "setof text language sql as $$ select 'x' $$",
        "table (l int, v int) language sql as $$ select g, g from generate_series(0, 1000) g $$",
    ],
)
def test_a_source_may_fail_in_many_ways(db: Session, admin: Session, source: str) -> None:
    admin.rows(f"create function shop.odd() returns {source}")
    declare(db, row(function="shop.odd"))

    assert evaluate(db) == ["shop.slow  failed"]
    assert state(db) == "failing"


def test_a_source_that_fails_leaves_what_it_had_found(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)
    admin.rows("revoke select on shop.reading from ostinato_worker")

    assert evaluate(db) == ["shop.slow  failed"]
    assert (firing(db)[0]["state"], state(db)) == ("firing", "firing")

    db.call("fail_alerts", names=["shop.slow"], every=NOW, error="no answer")
    (line,) = db.call("list_alerts", name="shop.slow")
    assert (line["failures"], line["error"]) == (2, "no answer")
    assert [dict(each) for each in db.call("alert_failures")] == [{"label": "shop.slow", "value": 2}]


def test_an_event_that_cannot_be_told_leaves_nothing_half_done(db: Session, admin: Session) -> None:
    declare(db, row(tenant_id=None))
    admin.rows("insert into shop.reading values ('', 11)")  # no name of a tenant

    assert evaluate(db) == ["shop.slow  failed"]
    assert firing(db, open=True) == []


def test_two_evaluators_at_once_fire_once(db: Session, other: Session, sessions: Sessions, admin: Session) -> None:
    declare(db, row(), row("shop.other"))
    say(admin, post=11)

    with db.transaction():
        assert evaluate(db, names=["shop.slow"]) == ["shop.slow post fired"]
        assert evaluate(other) == ["shop.other post fired"]  # and does not wait for us
    assert evaluate(other) == []

    assert [payload["alert"] for _, payload in told(db)] == ["shop.slow", "shop.other"]


def test_the_index_lets_nobody_fire_twice(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)

    with refused("23505"):
        admin.rows(
            "insert into ostinato_data.alert_firing"
            " select id + 1, alert, label, tenant_id, severity, since, fired_at, good_since,"
            " resolved_at, value, worst, message, details from ostinato_data.alert_firing"
        )


def test_what_was_evaluated_just_now_is_left_alone(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row())
    evaluate(db, every="10 seconds")
    say(admin, post=11)
    clock.advance(seconds=9)
    assert db.call("due_alerts", every="10 seconds") == []
    assert evaluate(db, every="10 seconds") == []
    clock.advance(seconds=1)

    assert evaluate(db, every="10 seconds") == ["shop.slow post fired"]


def test_a_clock_that_was_set_back_stops_nothing(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row())
    evaluate(db, every="10 seconds")
    clock.advance(seconds=-3600)
    say(admin, post=11)

    assert evaluate(db, every="10 seconds") == ["shop.slow post fired"]


def test_due_alerts_come_in_groups_and_the_one_on_failures_last(db: Session) -> None:
    figure = {"function": None, "figure": "workers"}
    last = row("shop.a_source", function="ostinato.alert_failures")
    declare(db, last, row("shop.b"), row("shop.c", **figure), row("shop.d", **figure))

    groups = [(each["names"], each["is_foreign"]) for each in db.call("due_alerts")]

    assert groups == [(["shop.b"], True), (["shop.c", "shop.d"], False), (["shop.a_source"], False)]


def test_a_figure_of_the_engine_is_measured(db: Session) -> None:
    declare(db, row(function=None, figure="workers", comparison="<", threshold=1, clears_at=1))
    assert WORKERS.name == "ostinato_workers"

    assert evaluate(db) == ["shop.slow  fired"]
    db.worker()
    assert evaluate(db) == ["shop.slow  resolved"]


def test_the_engines_own_alerts_see_what_they_are_for(db: Session, clock: Clock) -> None:
    declare(db, *(as_row(alert) for alert in ENGINE_ALERTS), owners=("ostinato",))
    db.call("subscribe", name="receipts")
    worker = db.worker()
    db.enqueue()
    db.fail(*db.claim(worker))
    db.enqueue(queue="mail")
    db.call("emit_event", type="x", tenant_id="a", correlation_id="c", producer="p", occurred_at=START)
    db.call("sequence_events")
    assert evaluate(db) == ["ostinato.dead_letters default fired"]
    clock.advance(seconds=1000)  # nobody beats, claims or delivers
    assert evaluate(db) == ["ostinato.unrun_kinds app.task fired"], "nobody served that queue from the beginning"
    clock.advance(seconds=100)

    assert evaluate(db) == [
        "ostinato.no_workers  fired",
        "ostinato.outbox_lag receipts fired",
        "ostinato.queue_age mail fired",
        "ostinato.silent_workers  fired",
    ]
    assert db.call("list_alerts")[0]["name"] == "ostinato.no_workers"


def test_a_firing_alert_is_a_figure(db: Session, admin: Session) -> None:
    declare(db, row(), row("shop.calm", threshold=99))
    say(admin, post=11, mail=12)
    evaluate(db)

    figures = {each["label"]: each["value"] for each in db.call("observe") if each["name"] == "alerts_firing"}

    assert figures == {"shop.slow": 2, "shop.calm": 0}
    assert len(db.call("count_firing")) == 2


def test_what_is_no_longer_declared_is_resolved_and_forgotten(db: Session, admin: Session) -> None:
    declare(db, row(), row("shop.waits", for_seconds=60))
    declare(db, row("other.one"), owners=("other",))
    say(admin, post=11)
    evaluate(db)

    declare(db, row("shop.new"))

    names = {each["name"] for each in db.call("list_alerts")}
    assert names == {"shop.new", "other.one"}
    over = firing(db, name="shop.slow")[0]
    assert (over["state"], json.loads(over["details"])["reason"]) == ("resolved", "no longer declared")
    assert firing(db, name="shop.waits", open=True) == []
    assert told(db)[-1][0] == "alert.resolved"


def test_a_declaration_that_changed_keeps_what_fires_and_is_looked_at_soon(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=11)
    evaluate(db)
    declare(db, row())
    assert evaluate(db, every="1 hour") == []

    declare(db, row(threshold=20))

    assert firing(db)[0]["state"] == "firing"
    assert evaluate(db, every="1 hour") == ["shop.slow post resolved"]


def test_a_worker_that_says_what_is_known_waits_for_nobody(db: Session, other: Session, admin: Session) -> None:
    declare(db, row())
    with db.transaction():
        evaluate(db)
        other.rows("set lock_timeout = '100ms'")

        declare(other, row())


def test_measuring_shows_what_would_fire_and_changes_nothing(db: Session, admin: Session) -> None:
    declare(db, row(), row("shop.workers", function=None, figure="workers"))
    say(admin, post=11, mail=1)

    found = db.call("measure_alert", name="shop.slow")

    assert [(each["label"], each["value"], each["bad"]) for each in found] == [("mail", 1, False), ("post", 11, True)]
    assert found[1]["message"] == "post is at 11, above 10"
    assert [each["value"] for each in db.call("measure_alert", name="shop.workers")] == [0]
    assert (firing(db, open=True), told(db), state(db)) == ([], [], "new")
    with refused("OS404"):
        db.call("measure_alert", name="shop.none")


def test_a_rehearsal_tells_both_events_and_says_that_it_is_one(db: Session) -> None:
    declare(db, row())

    assert len(db.call("rehearse_alert", name="shop.slow")) == 2

    (first, began), (last, ended) = told(db)
    assert (first, last) == ("alert.fired", "alert.resolved")
    assert began["details"]["test"] is ended["details"]["test"] is True
    assert began["message"].startswith("TEST: ")
    assert firing(db, open=True) == []


def test_history_goes_with_its_time_and_what_fires_stays(db: Session, admin: Session, clock: Clock) -> None:
    declare(db, row())
    say(admin, post=11, mail=11)
    evaluate(db)
    say(admin, post=11)
    evaluate(db)
    assert db.get("prune_alerts", retention_days=14) == 0
    clock.advance(days=15)

    assert db.get("prune_alerts", retention_days=14) == 1
    assert [each["label"] for each in firing(db)] == ["post"]


def test_a_page_of_firings_goes_on_where_the_last_ended(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, a=11, b=11, c=11)
    evaluate(db)

    first = firing(db, most=2)
    rest = firing(db, most=2, before=first[-1]["id"])

    assert [each["label"] for each in (*first, *rest)] == ["c", "b", "a"]
    assert firing(db, tenant="nobody") == []


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.12345, "0.123"), (1e6, "1000000"), (float("inf"), "Infinity")]
)
def test_numbers_are_written_for_people(db: Session, value: float, text: str) -> None:
    assert db.get("plain_number", value=value) == text


def test_the_helpers_of_alerts(db: Session) -> None:
    declare(db, row())
    assert db.get("is_beyond", value=2.0, comparison=">", threshold=1.0) is True
    assert db.get("is_beyond", value=2.0, comparison="<", threshold=1.0) is False
    assert db.get("worse", one=1.0, other=2.0, comparison="<") == 1
    assert db.get("json_number", value=float("inf")) is None
    assert db.get("is_alert_due", evaluated_at=None, every="1 second", at=START) is True
    assert db.call("find_alert", name="shop.slow")[0]["name"] == "shop.slow"
    db.call("limit_statements", seconds=0.5)


def test_an_evaluation_step_by_step(db: Session, admin: Session) -> None:
    declare(db, row())
    say(admin, post=11)

    (found,) = db.rows("select ostinato_internal.alert_readings(a, '[]') as seen from ostinato_data.alert a")
    assert found == {"seen": {"post": "11"}}
    (noted,) = db.rows(
        "select n.* from ostinato_data.alert a,"
        " ostinato_internal.note_readings(a, ostinato_internal.alert_readings(a, '[]'), %s) n",
        START,
    )
    assert (noted["change"], noted["message"]) == ("fired", "post is at 11, above 10")
    (again,) = db.rows(
        "select n.*, ostinato_internal.alert_message(a, 'x', 1) as other from ostinato_data.alert a,"
        " ostinato_data.alert_firing f, ostinato_internal.fire_alert(a, f, %s, 12) n",
        START,
    )
    assert (again["message"], again["other"]) == ("post is at 12, above 10", "x is at 1, above 10")
    (over,) = db.rows(
        "select n.*, ostinato_internal.emit_alert('alert.resolved', f, %s) as event"
        " from ostinato_data.alert_firing f, ostinato_internal.resolve_firing(f, %s, 3, '{}') n",
        START,
        START,
    )
    assert (over["change"], over["value"], over["event"] > 0) == ("resolved", 3, True)


def test_a_job_that_is_set_aside_fires_an_alert_and_is_a_figure(db: Session, admin: Session, clock: Clock) -> None:
    declare(
        db, *(as_row(alert) for alert in ENGINE_ALERTS if alert.name == "ostinato.quarantine"), owners=("ostinato",)
    )
    job = db.enqueue()
    admin.rows("delete from ostinato_data.job where id = %s", job)
    worker = db.worker()

    assert evaluate(db) == []
    db.call("set_aside_damaged", worker_id=worker, queues=["default"], held=[], named=[job])

    assert {row["name"]: row["value"] for row in db.call("observe")}["quarantined_jobs"] == 1
    assert evaluate(db) == ["ostinato.quarantine  fired"]
    db.call("restore_job", job_id=job, discard=True)
    assert evaluate(db) == ["ostinato.quarantine  resolved"]

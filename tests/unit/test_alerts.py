"""Alerts as values: what a declaration says, and which make no sense."""

from typing import Any

import pytest

from ostinato import App
from ostinato._core.base.alerts import ENGINE_ALERTS, ENGINE_OWNER, Alert
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.metrics import BUFFER_JOBS, QUEUE_DEAD, WORKERS

Value = Any  # a declaration that makes no sense has no type either


def alert(name: str = "shop.slow", **fields: Value) -> Alert:
    plain: dict[str, Value] = {"figure": QUEUE_DEAD, "above": 5.0, "message": "{label}: {value}", "remedy": "Look."}
    return Alert(name, **(plain | fields))


def test_an_alert_says_what_is_measured_and_when_it_is_bad() -> None:
    made = alert(for_seconds=90)

    assert (made.owner, made.figure_name) == ("shop", "queue_dead_letters")
    assert (made.comparison, made.threshold, made.clears_at) == (">", 5, 5)
    assert made.condition == "queue_dead_letters > 5 for 90 s"


def test_an_alert_may_be_bad_below_a_value() -> None:
    made = alert(figure=WORKERS, above=None, below=2, clear=3)

    assert (made.condition, made.clears_at) == ("workers < 2", 3)


def test_a_function_takes_parameters_that_the_message_may_name() -> None:
    given = {"window": "1 hour"}
    made = alert(figure=None, function="shop.rates", parameters=given, message="{value} in {window}")
    given["window"] = "changed"

    assert made.parameters == {"window": "1 hour"}
    assert made.condition == "shop.rates > 5"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "slow"},
        {"name": "Shop.slow"},
        {"name": "shop." + "x" * 80},
        {"severity": "bad"},
        {"figure": None},
        {"figure": BUFFER_JOBS},
        {"function": "shop.rates"},
        {"figure": None, "function": "rates"},
        {"figure": None, "function": "shop.rates(); select 1"},
        {"figure": None, "function": "shop.rates", "parameters": {"a b": 1}},
        {"figure": None, "function": "shop.rates", "parameters": {"a": [1]}},
        {"parameters": {"window": "1 hour"}},
        {"above": None},
        {"below": 1},
        {"above": float("nan")},
        {"clear": 6},
        {"above": None, "below": 5, "clear": 4},
        {"for_seconds": -1},
        {"clear_seconds": float("inf")},
        {"message": ""},
        {"remedy": "x" * 501},
        {"message": "{window}"},
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(fields: dict[str, Value]) -> None:
    with pytest.raises(InvalidInput) as refused:
        alert(**fields)

    assert refused.value.hint


def test_an_app_has_its_alerts_each_once_and_under_its_name() -> None:
    app = App("shop", alerts=(alert(),))
    other = app.alert(alert("shop.empty"))

    assert [each.name for each in app.alerts] == ["shop.slow", "shop.empty"]
    assert other in app.alerts
    for refused in ("shop.slow", "billing.slow"):
        with pytest.raises(InvalidInput):
            app.alert(alert(refused))


def test_the_engine_watches_what_an_operator_must_know() -> None:
    names = {each.name for each in ENGINE_ALERTS}

    assert {each.owner for each in ENGINE_ALERTS} == {ENGINE_OWNER}
    assert names == {
        "ostinato.dead_letters",
        "ostinato.no_workers",
        "ostinato.silent_workers",
        "ostinato.quarantine",
        "ostinato.faults",
        "ostinato.queue_age",
        "ostinato.outbox_lag",
        "ostinato.alert_source",
        "ostinato.unrun_kinds",
    }

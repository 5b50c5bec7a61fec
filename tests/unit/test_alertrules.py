"""Rules for Prometheus and a dashboard for Grafana: readable, and as declared."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it has no types of its own

from ostinato._core.base.alertrules import rule_name, rules
from ostinato._core.base.alerts import ENGINE_ALERTS, SEVERITIES, Alert
from ostinato._core.base.dashboard import dashboard
from ostinato._core.base.metrics import METRICS, QUEUE_DEAD, WORKERS, Histogram
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.operate.alerts import board, declared
from tools import deploy, generated

ROOT = Path(__file__).parents[2]
DURATION = re.compile(r"[1-9]\d*(?:ms|s)")
NAMES = {metric.name for metric in METRICS}


def read(*alerts: Alert) -> list[dict[str, Any]]:
    """The rules of all groups, as Prometheus would read them."""
    file = yaml.safe_load(rules(alerts))
    assert set(file) == {"groups"}
    return [rule for group in file["groups"] for rule in group["rules"]]


def alert(**fields: Any) -> Alert:  # noqa: ANN401 - as Alert
    plain: dict[str, Any] = {"figure": QUEUE_DEAD, "above": 5.0, "message": "m", "remedy": "r"}
    return Alert("shop.slow", **(plain | fields))


def test_every_alert_is_a_rule_that_prometheus_can_read() -> None:
    found = read(*declared(installed_apps()))

    assert {rule_name(each) for each in ENGINE_ALERTS} <= {rule["alert"] for rule in found}
    for rule in found:
        assert set(rule) <= {"alert", "expr", "for", "keep_firing_for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", rule["alert"])
        assert rule["labels"]["severity"] in SEVERITIES
        assert DURATION.fullmatch(rule.get("for", "1s"))
        assert rule["expr"].count("(") == rule["expr"].count(")")
        assert set(re.findall(r"ostinato_\w+", rule["expr"])) <= NAMES
        assert set(rule["annotations"]) == {"summary", "description"}
        assert all("{{" not in re.sub(r"\{\{ \$[\w.| ]+ \}\}", "", text) for text in rule["annotations"].values())


def test_no_two_rules_have_one_name() -> None:
    names = [rule["alert"] for rule in read(*declared(installed_apps()))]

    assert len(names) == len(set(names))


def test_a_figure_is_judged_by_prometheus() -> None:
    (rule,) = read(
        alert(
            for_seconds=90, clear_seconds=0.5, severity="critical", message='{label} has {value} of {threshold}: "no"'
        )
    )

    assert rule["alert"] == "ShopSlow"
    assert rule["expr"] == "max by (queue) (ostinato_queue_dead_letters) > 5"
    assert (rule["for"], rule["keep_firing_for"]) == ("90s", "500ms")
    summary = '{{ $labels.queue }} has {{ $value | humanize }} of 5: "no"'
    assert rule["annotations"]["summary"] == summary


def test_labels_are_chosen_and_a_value_that_wavers_stays() -> None:
    (rule,) = read(alert(labels=("a.b", "c"), clear=2))

    chosen = 'ostinato_queue_dead_letters{queue=~"a\\\\.b|c"}'
    assert rule["expr"] == (
        f"max by (queue) ({chosen}) > 5 or (max by (queue) ({chosen}) > 2"
        ' and on (queue) ALERTS{alertname="ShopSlow", alertstate="firing"})'
    )


def test_a_figure_of_the_whole_has_no_label() -> None:
    (rule,) = read(alert(figure=WORKERS, above=None, below=1, message="{label}none"))

    assert rule["expr"] == "max by () (ostinato_workers) < 1"
    assert rule["annotations"]["summary"] == "none"


def test_a_function_is_judged_by_the_engine() -> None:
    (rule,) = read(alert(figure=None, function="shop.rates", for_seconds=60))

    assert rule["expr"] == 'max by (alert) (ostinato_alerts_firing{alert="shop.slow"}) > 0'
    assert "for" not in rule
    assert "ostinato alerts show shop.slow" in rule["annotations"]["summary"]


def test_the_dashboard_has_a_panel_for_every_metric() -> None:
    made = json.loads(dashboard())
    panels = [panel for panel in made["panels"] if panel["type"] != "row"]
    texts = [target["expr"] for panel in panels for target in panel["targets"]]

    assert len(panels) == len(METRICS)
    for metric in METRICS:
        name = f"{metric.name}_bucket" if isinstance(metric, Histogram) else metric.name
        assert any(re.search(rf"\b{name}\b", text) for text in texts), metric.name
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])


def test_the_figures_of_an_application_have_a_row_of_their_own() -> None:
    made = json.loads(board(installed_apps()))
    after = made["panels"][[each["title"] for each in made["panels"]].index("Rounds") :]
    names = [each["title"] for each in after[1:8]]

    assert names[0] == "rounds runs"
    assert after[1]["targets"][0]["expr"] == "max by (job) (ostinato_rounds_runs)"
    assert all(name.startswith("rounds ") for name in names)


def test_no_panel_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(dashboard())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_the_files_of_deploy_say_what_the_code_declares() -> None:
    assert generated.stale(deploy.files(), ROOT / "deploy") == [], "run `make reference`"


def test_files_are_written_and_stale_ones_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--folder", str(tmp_path)]
    assert generated.write(deploy.files(), deploy.FOLDER, [*folder, "--check"]) == 1
    assert "is out of date" in capsys.readouterr().out
    assert generated.write(deploy.files(), deploy.FOLDER, folder) == 0
    assert generated.write(deploy.files(), deploy.FOLDER, [*folder, "--check"]) == 0

"""`ostinato alerts list | show | test | rules | dashboard`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it has no types of its own

from ostinato._core.base.alerts import ENGINE_ALERTS, Alert
from ostinato._core.base.metrics import QUEUE_DEAD, WORKERS
from ostinato._core.engine.alerts import as_row
from tests.faces.conftest import Place, Shell

DEAD = Alert(
    "shop.dead",
    figure=QUEUE_DEAD,
    above=0,
    severity="critical",
    message="queue {label} has {value} dead letters",
    remedy="Look at them.",
)
LONELY = Alert("shop.lonely", figure=WORKERS, below=1, for_seconds=60, message="alone", remedy="Start one.")
BROKEN = Alert("shop.broken", function="shop.gone", above=0, message="m", remedy="Mend it.")


@pytest.fixture
def watched(place: Place) -> Place:
    """Alerts that were declared and evaluated: one fires, one is pending, one cannot be asked."""
    place.call("ostinato.declare_alerts('{shop}', %s)", json.dumps([as_row(a) for a in (DEAD, LONELY, BROKEN)]))
    place.bury(queue="mail")
    place.conn.execute("delete from ostinato_data.worker")
    place.conn.execute("select ostinato.evaluate_alerts('0')")
    return place


def events(place: Place) -> list[tuple[Any, ...]]:
    found = place.conn.execute("select type, payload from ostinato_data.event order by id")
    return found.fetchall()


def test_the_list_has_the_worst_first_and_says_what_is_wrong(shell: Shell, watched: Place) -> None:
    lines = shell("alerts", "list").splitlines()

    assert lines[0].split() == ["alert", "state", "severity", "condition", "since", "what"]
    assert lines[2].split()[:3] == ["shop.dead", "firing", "critical"]
    assert lines[2].rstrip().endswith("queue mail has 1 dead letters")
    assert "shop.gone" in lines[3]
    assert lines[4].split()[:2] == ["shop.lonely", "pending"]
    assert "workers < 1 for 1 min 0 s" in lines[4]


def test_the_list_of_what_is_wrong_now(shell: Shell, watched: Place) -> None:
    found = shell.json("alerts", "list", "--firing")

    assert [each["name"] for each in found["alerts"]] == ["shop.dead", "shop.broken"]
    assert {each["state"] for each in found["open"]} == {"firing", "pending"}


def test_without_alerts_the_list_says_so(shell: Shell) -> None:
    assert shell("alerts", "list") == "No alerts: a worker declares them when it starts.\n"


def test_when_nothing_is_wrong_the_list_says_so(shell: Shell, place: Place) -> None:
    place.call("ostinato.declare_alerts('{shop}', %s)", json.dumps([as_row(DEAD)]))

    assert shell("alerts", "list", "--firing") == "Nothing is wrong.\n"


def test_one_alert_with_its_remedy_and_its_history(shell: Shell, watched: Place) -> None:
    watched.conn.execute("delete from ostinato_data.dead_letter")
    watched.conn.execute("select ostinato.evaluate_alerts('0')")

    said = shell("alerts", "show", "shop.dead")

    assert "queue_dead_letters > 0" in said
    assert "Look at them." in said
    assert "resolved" in said
    assert shell.json("alerts", "show", "shop.dead")["firings"][0]["label"] == "mail"


def test_one_that_waits_and_one_that_cannot_be_asked(shell: Shell, watched: Place) -> None:
    assert "pending" in shell("alerts", "show", "shop.lonely")
    assert "shop.gone" in shell("alerts", "show", "shop.broken")


def test_an_alert_that_is_not_there(shell: Shell, place: Place) -> None:
    assert "there is no alert shop.none" in shell.fails("alerts", "show", "shop.none", code=1)
    assert "there is no alert shop.none" in shell.fails("alerts", "test", "shop.none", code=1)


def test_a_test_measures_and_changes_nothing(shell: Shell, place: Place) -> None:
    place.call("ostinato.declare_alerts('{shop}', %s)", json.dumps([as_row(DEAD)]))
    assert "nothing would fire" in shell("alerts", "test", "shop.dead")
    place.bury(queue="mail")

    said = shell("alerts", "test", "shop.dead")

    assert "bad" in said
    assert "queue mail has 1 dead letters" in said
    assert shell.json("alerts", "test", "shop.dead")["readings"][-1]["bad"] is True
    assert events(place) == []
    assert shell.json("alerts", "list")["open"] == []


def test_a_test_that_sends_tells_both_events(shell: Shell, watched: Place) -> None:
    before = len(events(watched))

    found = shell.json("alerts", "test", "shop.dead", "--send", "--label", "mail")

    told = events(watched)[before:]
    assert [kind for kind, _ in told] == ["alert.fired", "alert.resolved"]
    assert all(payload["details"]["test"] for _, payload in told)
    assert len(found["events"]) == 2


def test_the_rules_are_printed_without_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_alerts.py").write_text(
        'from ostinato import App\nfrom tests.faces.test_alerts import DEAD\napp = App("shop", alerts=(DEAD,))\n'
    )

    said = Shell({})("alerts", "rules", "--app", "shop_alerts:app")

    groups = yaml.safe_load(said)["groups"]
    assert groups[0]["name"] == "ostinato"
    assert groups[-1]["rules"][0]["alert"] == "ShopDead"
    assert len(groups[0]["rules"]) == len(ENGINE_ALERTS)


def test_the_dashboard_is_printed() -> None:
    assert json.loads(Shell({})("alerts", "dashboard"))["title"] == "Ostinato"


def test_an_alert_is_acknowledged_silenced_and_awake_again(shell: Shell, watched: Place) -> None:
    assert shell.json("alerts", "ack", "shop.dead", "--label", "mail")["acknowledged"] == 1
    shell("alerts", "silence", "shop.dead", "--for", "2h", "--reason", "the mail server is replaced")
    shown = shell.json("alerts", "show", "shop.dead")
    woken = shell.json("alerts", "unsilence", "shop.dead")

    assert shown["alert"]["silenced_until"] is not None
    assert shown["open"][0]["acknowledged_by"]
    assert woken["silenced"] is False
    assert "not silenced" in shell.fails("alerts", "unsilence", "shop.dead")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--for", "2h"], "--reason"),
        (["--reason", "x"], "--for and --until"),
        (["--reason", "x", "--for", "2h", "--until", "2026-03-01T09:00:00Z"], "--for and --until"),
        (["--reason", "x", "--for", "long"], "no length of time"),
        (["--reason", "x", "--for", "99d"], "90 days"),
    ],
)
def test_a_silence_needs_an_end_and_a_reason(shell: Shell, watched: Place, given: list[str], said: str) -> None:
    assert said in shell.fails("alerts", "silence", "shop.dead", *given)

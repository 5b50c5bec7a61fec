"""`ostinato alerts …` lists and silences alerts, and writes them for Prometheus and Grafana."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.alertrules import rules as prometheus_rules
from ostinato._core.base.alerts import ENGINE_ALERTS, Alert
from ostinato._core.base.dashboard import dashboard as grafana_dashboard
from ostinato._core.base.metrics import METRICS
from ostinato._core.base.redact import redact
from ostinato._core.engine import alerts as engine_alerts
from ostinato._core.engine.alerts import AlertLine, Firing, Reading
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.figures import figures_of
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, details
from ostinato._faces.cli.frame.options import argument, flag, option
from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate.silences import ack, silence, unsilence

COLOURS = {"firing": "red", "failing": "red", "pending": "yellow", "ok": "green", "new": "dim"}
HISTORY = 20

Name = Annotated[str, argument("ALERT", "The alert's name.")]


def list_(cli: Cli, *, firing: Annotated[bool, flag("Only what is wrong now.", "--firing")] = False) -> None:
    """List alerts, the worst first: what is watched, and how it stands.

    Example: `ostinato alerts list --firing`
    """
    (found, bad), now = attach.ask_at(cli, _all)
    chosen = [line for line in found if line.state in {"firing", "failing"} or not firing]
    columns = Columns(
        "alert=name | state | severity | condition? | since? | what",
        state=_state,
        condition=_condition,
        what=lambda line, _: _what(line, [each for each in bad if each.alert == line.name]),
    )
    nothing = "Nothing is wrong." if found else "No alerts: a worker declares them when it starts."
    cli.out.show({"alerts": chosen, "open": bad}, columns.table(chosen, now) if chosen else Text(nothing))


def show(cli: Cli, alert: Name) -> None:
    """Show one alert: its condition, what is wrong now, past firings, and the remedy.

    Example: `ostinato alerts show ostinato.dead_letters`
    """
    (line, bad, past), now = attach.ask_at(cli, _one, alert)
    facts = {
        "alert": line.name,
        "state": _state(line, now),
        "severity": line.severity,
        "condition": _condition(line, now),
        "over at": f"{line.clears_at:g}{_lasting(line.clear_seconds)}",
        "only of": line.labels,
        "parameters": None if line.parameters == "{}" else line.parameters,
        "events to": line.tenant_id or "the tenant that its label names",
        "evaluated": line.evaluated_at or "not yet",
        "silent until": line.silenced_until,
        "error": Text(redact(line.error or ""), style="red"),
        "remedy": line.remedy,
    }
    firings = [*(each for each in bad if each.state == "pending"), *past]
    rows = [FIRINGS.table(firings, now)] if firings else []
    cli.out.show({"alert": line, "open": bad, "firings": past}, details(facts, now), *rows)


def try_(
    cli: Cli,
    alert: Name,
    *,
    send: Annotated[bool, flag("Also emit both events, marked as a test.", "--send")] = False,
    label: Annotated[str, option("TEXT", "The label of the events of --send.")] = "test",
) -> None:
    """Measure now, and say what would fire; with --send, also emit its events.

    Measuring changes nothing: an alert fires only when it is evaluated, and for long enough.

    Example: `ostinato alerts test ostinato.dead_letters --send`
    """

    async def work(conn: AsyncConnection[Any]) -> tuple[list[Reading], list[int]]:
        found = await engine_alerts.measure(conn, alert)
        return found, await engine_alerts.rehearse(conn, alert, label) if send else []

    (found, events), now = attach.ask_at(cli, work)
    cli.out.show(
        {"readings": [each._asdict() for each in found], "events": events},
        READINGS.table(found, now) if found else Text("The source returns no value: nothing would fire."),
    )
    if events:
        cli.out.note(f"Emitted as events {events[0]} and {events[1]}: ostinato events show {events[0]}")


def rules(cli: Cli) -> None:
    """Print the alerts as a file of rules for Prometheus; no database is asked.

    Example: `ostinato alerts rules > rules.yml`
    """
    text = prometheus_rules(declared(cli.apps))
    if cli.out.json:
        cli.out.show({"rules": text})
    else:
        cli.out.plain(text.rstrip("\n"))


def dashboard(cli: Cli) -> None:
    """Print a dashboard of all metrics for Grafana, to be imported there.

    Example: `ostinato alerts dashboard > ostinato.json`
    """
    cli.out.plain(board(cli.apps).rstrip("\n"))


def board(apps: Sequence[App]) -> str:
    """Return the dashboard of the engine and of some apps, each of which has a row of its own."""
    figures = figures_of(apps)
    theirs = [metric for each in figures.values() for metric in each.metrics]
    rows = [(name.capitalize(), (f"ostinato_{name}_",)) for name in figures]
    return grafana_dashboard((*METRICS, *theirs), rows)


def declared(apps: Sequence[App]) -> list[Alert]:
    """Return the alerts of the engine and of some apps."""
    return [*ENGINE_ALERTS, *(alert for app in apps for alert in app.alerts)]


async def _all(conn: AsyncConnection[Any]) -> tuple[list[AlertLine], list[Firing]]:
    found = await engine_alerts.list_alerts(conn)
    return found, await engine_alerts.firings(conn, only_open=True, most=1000)


async def _one(conn: AsyncConnection[Any], name: str) -> tuple[AlertLine, list[Firing], list[Firing]]:
    line = await engine_alerts.show(conn, name)
    bad = await engine_alerts.firings(conn, name, only_open=True)
    return line, bad, await engine_alerts.firings(conn, name, most=HISTORY)


def _state(line: AlertLine, _: datetime) -> Text:
    return Text(line.state, style=COLOURS.get(line.state, ""))


def _lasting(seconds: float) -> str:
    return f" for {words.span(seconds)}" if seconds else ""


def _condition(line: AlertLine, _: datetime) -> str:
    return f"{line.source} {line.comparison} {line.threshold:g}{_lasting(line.for_seconds)}"


def _what(line: AlertLine, bad: Sequence[Firing]) -> str:
    if line.state == "failing":
        return redact(line.error or "")
    messages = [each.message for each in bad if each.state == "firing"]
    more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
    return f"{messages[0]}{more}" if messages else ""


def _standing(firing: Firing) -> str:
    if firing.resolved_at is None and firing.silenced_until is not None:
        return f"{firing.state}, silenced"
    return f"{firing.state}, acknowledged" if firing.acknowledged_at is not None else firing.state


FIRINGS = Columns(
    "label | state=standing | since | fired=fired_at | resolved=resolved_at | value | worst | message",
    standing=lambda each, _: _standing(each),
    value=lambda each, _: f"{each.value:g}",
    worst=lambda each, _: f"{each.worst:g}",
)
READINGS = Columns(
    "label | value> | =mark | message",
    value=lambda each, _: f"{each.value:,.6g}",
    mark=lambda each, _: Text(*(("bad", "red") if each.bad else ("good", "green"))),
    message=lambda each, _: each.message if each.bad else "",
)
register = commands(list_, show, ack, silence, unsilence, ("test", try_), rules, dashboard)

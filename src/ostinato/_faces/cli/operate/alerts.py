"""`ostinato alerts …`: what is watched, what is wrong, and the same for Prometheus and Grafana."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.alertrules import rules as prometheus_rules
from ostinato._core.base.alerts import ENGINE_ALERTS, Alert
from ostinato._core.base.dashboard import dashboard as grafana_dashboard
from ostinato._core.base.metrics import METRICS
from ostinato._core.base.redact import redact
from ostinato._core.engine import alerts as engine_alerts
from ostinato._core.engine import clock
from ostinato._core.engine.alerts import AlertLine, Firing, Reading
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.figures import figures_of
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import grid, table

__all__ = ["board", "declared", "register"]

COLOURS = {"firing": "red", "failing": "red", "pending": "yellow", "ok": "green", "new": "dim"}
HISTORY = 20

Name = Annotated[str, typer.Argument(metavar="ALERT", help="The alert's name.")]


def list_(
    cli: Cli,
    *,
    firing: Annotated[bool, typer.Option("--firing", help="Only what is wrong now.")] = False,
) -> None:
    """List alerts, the worst first: what is watched, and how it stands.

    Example: `ostinato alerts list --firing`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[AlertLine], list[Firing], datetime]:
        found = await engine_alerts.list_alerts(conn)
        bad = await engine_alerts.firings(conn, only_open=True, most=1000)
        return found, bad, await clock.now(conn)

    found, bad, now = attach.ask(cli, look)
    chosen = [line for line in found if line.state in {"firing", "failing"} or not firing]
    shown = table("alert", "state", "severity", "condition", "since", "what")
    for line in chosen:
        shown.add_row(
            line.name,
            _state(line.state),
            line.severity,
            _condition(line),
            words.age(line.since, now),
            _what(line, [each for each in bad if each.alert == line.name]),
        )
    nothing = "Nothing is wrong." if found else "No alerts: a worker declares them when it starts."
    cli.out.show({"alerts": chosen, "open": bad}, shown if chosen else Text(nothing))


def show(cli: Cli, alert: Name) -> None:
    """One alert: its condition, what is wrong now, what was, and what to do.

    Example: `ostinato alerts show ostinato.dead_letters`
    """

    async def look(
        conn: AsyncConnection[Any],
    ) -> tuple[AlertLine, list[Firing], list[Firing], datetime]:
        line = await engine_alerts.show(conn, alert)
        bad = await engine_alerts.firings(conn, alert, only_open=True)
        past = await engine_alerts.firings(conn, alert, most=HISTORY)
        return line, bad, past, await clock.now(conn)

    line, bad, past, now = attach.ask(cli, look)
    about = grid()
    about.add_row("alert", line.name)
    about.add_row("state", _state(line.state))
    about.add_row("severity", line.severity)
    about.add_row("condition", _condition(line))
    about.add_row("over at", f"{line.clears_at:g}{_lasting(line.clear_seconds)}")
    if line.labels:
        about.add_row("only of", ", ".join(line.labels))
    if line.parameters != "{}":
        about.add_row("parameters", line.parameters)
    about.add_row("told to", line.tenant_id or "the tenant that its label names")
    about.add_row("evaluated", words.age(line.evaluated_at, now) or "not yet")
    if line.error:
        about.add_row("error", Text(redact(line.error), style="red"))
    about.add_row("remedy", line.remedy)
    shown = table("label", "state", "since", "fired", "resolved", "value", "worst", "message")
    pending = [each for each in bad if each.state == "pending"]
    for each in (*pending, *past):
        shown.add_row(
            each.label,
            each.state,
            words.age(each.since, now),
            words.age(each.fired_at, now),
            words.age(each.resolved_at, now),
            f"{each.value:g}",
            f"{each.worst:g}",
            each.message,
        )
    rows = [shown] if pending or past else []
    cli.out.show({"alert": line, "open": bad, "firings": past}, about, *rows)


def try_(
    cli: Cli,
    alert: Name,
    *,
    send: Annotated[
        bool, typer.Option("--send", help="Also tell both events, marked as a test.")
    ] = False,
    label: Annotated[
        str, typer.Option(metavar="TEXT", help="The label of the events of --send.")
    ] = "test",
) -> None:
    """Measure now, and say what would fire; with --send, also see who is told.

    Measuring changes nothing: an alert fires only when it is evaluated, and for long enough.

    Example: `ostinato alerts test ostinato.dead_letters --send`
    """

    async def work(conn: AsyncConnection[Any]) -> tuple[list[Reading], list[int]]:
        found = await engine_alerts.measure(conn, alert)
        return found, await engine_alerts.rehearse(conn, alert, label) if send else []

    found, events = attach.ask(cli, work)
    shown = table("label", "value", "", "message", right=("value",))
    for each in found:
        mark = Text("bad", style="red") if each.bad else Text("good", style="green")
        shown.add_row(each.label, f"{each.value:,.6g}", mark, each.message if each.bad else "")
    cli.out.show(
        {"readings": [each._asdict() for each in found], "events": events},
        shown if found else Text("The source tells no value: nothing would fire."),
    )
    if events:
        cli.out.note(
            f"Told as events {events[0]} and {events[1]}: ostinato events show {events[0]}"
        )


def rules(cli: Cli) -> None:
    """Print the alerts as a file of rules for Prometheus; no database is asked.

    Example: `ostinato alerts rules > rules.yml`
    """
    cli.out.plain(prometheus_rules(declared(cli.apps)).rstrip("\n"))


def dashboard(cli: Cli) -> None:
    """Print a dashboard of all metrics for Grafana, to be imported there.

    Example: `ostinato alerts dashboard > ostinato.json`
    """
    cli.out.plain(board(cli.apps).rstrip("\n"))


def board(apps: Sequence[App]) -> str:
    """The dashboard of the engine and of some apps, each of which has a row of its own."""
    figures = figures_of(apps)
    theirs = [metric for each in figures.values() for metric in each.metrics]
    rows = [(name.capitalize(), (f"ostinato_{name}_",)) for name in figures]
    return grafana_dashboard((*METRICS, *theirs), rows)


def declared(apps: Sequence[App]) -> list[Alert]:
    """The alerts of the engine and of some apps."""
    return [*ENGINE_ALERTS, *(alert for app in apps for alert in app.alerts)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    command(app)(show)
    command(app, "test")(try_)
    command(app)(rules)
    command(app)(dashboard)


def _state(name: str) -> Text:
    return Text(name, style=COLOURS.get(name, ""))


def _lasting(seconds: float) -> str:
    return f" for {words.span(seconds)}" if seconds else ""


def _condition(line: AlertLine) -> str:
    return f"{line.source} {line.comparison} {line.threshold:g}{_lasting(line.for_seconds)}"


def _what(line: AlertLine, bad: Sequence[Firing]) -> str:
    if line.state == "failing":
        return redact(line.error or "")
    told = [each.message for each in bad if each.state == "firing"]
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return f"{told[0]}{more}" if told else ""

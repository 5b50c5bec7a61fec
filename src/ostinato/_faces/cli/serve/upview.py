"""Writes what `ostinato up` shows when everything answers: a table of addresses, and one line."""

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from ostinato._core.base.redact import redact
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.output import grid
from ostinato._faces.cli.frame.words import counted
from ostinato._faces.cli.serve.lab import DemoKey, lab

KINDS_SHOWN = 6
FRAME = 18
"""The columns that the panel takes for itself and for the names of its rows."""


@dataclass(frozen=True)
class Standing:
    """What runs, and where."""

    database: Database
    apps: list[str]
    workers: list[dict[str, Any]]
    """What they reported when they were ready."""
    url: str | None = None
    """The URL of the API."""
    metrics: str | None = None
    """The address of the page that Prometheus reads."""
    sandbox: str | None = None
    key: DemoKey | None = None
    console: str | None = None
    """The address of the console, or a link that signs in once."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of jobs that run here."""
        return sorted({kind for worker in self.workers for kind in worker["kinds"]})

    @property
    def example(self) -> str | None:
        """A job to try."""
        toys = lab()
        if toys is not None and toys.TOUR in self.apps:
            return toys.EXAMPLE
        return next((worker["example"] for worker in self.workers), None)


def show(cli: Cli, standing: Standing) -> None:
    """Report that everything answers; the line `ready …` comes once, and last."""
    if cli.out.json:
        cli.out.event(_document(cli, standing))
        return
    ready = Text(f"ready {standing.url or _without_api(standing)}")
    if cli.out.quiet:
        cli.out.show(None, ready)
        return
    shown = grid()
    for name, value in _rows(cli, standing):
        shown.add_row(name, Text(value))
    shown.add_row()
    for number, words in enumerate(_tries(cli, standing)):
        shown.add_row("" if number else "try", Text(words))
    panel = Panel(shown, title="Ostinato", title_align="left", border_style="green", expand=False)
    if link := _link(standing):
        cli.out.show(None, panel)
        cli.out.plain(f"Open the console with this link; it works once, for ten minutes:\n{link}")
        cli.out.show(None, ready)
    else:
        cli.out.show(None, Group(panel, ready))  # in one piece: others log to the same terminal
    cli.out.note("Ctrl-C stops everything; the data stays.")


def _link(standing: Standing) -> str | None:
    """Return the link that signs in; it has a line of its own, so that one click marks it, however long it is."""
    return standing.console if standing.console and "ticket=" in standing.console else None


def watched(cli: Cli) -> bool:
    """Return whether a person sees the output, so that it may hold a secret.

    The stream itself is asked: FORCE_COLOR makes a terminal of any file.
    """
    return cli.out.for_people and sys.stdout.isatty()


def _without_api(standing: Standing) -> str:
    return f"{counted(len(standing.workers), 'worker')}, {counted(len(standing.kinds), 'kind')}"


def _document(cli: Cli, standing: Standing) -> dict[str, Any]:
    key = standing.key
    found: dict[str, Any] = {
        "event": "ready",
        "url": standing.url,
        "console": None if standing.url is None or standing.console is None else f"{standing.url}/",
        "metrics": standing.metrics,
        "apps": standing.apps,
        "workers": standing.workers,
        "sandbox": standing.sandbox,
        **_places(cli, standing.database),
    }
    if key is not None:
        found["key_file"] = str(key.path)
    return found


def _rows(cli: Cli, standing: Standing) -> list[tuple[str, str]]:
    rows = []
    if standing.console is not None:
        rows.append(("console", f"{standing.url}/"))
    if standing.url is not None:
        rows += [("api", standing.url), ("docs", f"{standing.url}/docs")]
    if standing.metrics is not None:
        rows.append(("metrics", standing.metrics))
    if standing.key is not None:
        rows.append(("key", str(standing.key.path)))
        if standing.key.is_new:  # its text not into a file, or somebody's log
            make = cli.try_("keys", "create", "--tenant", "demo", "--subject", "me", "--role", "admin")
            shown = f"{standing.key.text}  (shown this once)" if watched(cli) else f"another: {make}"
            rows.append(("", shown))
    if standing.sandbox is not None:
        rows.append(("sandbox", f"{standing.sandbox}/_sandbox"))
    places = _places(cli, standing.database)
    if len(places.get("database_url", "")) > cli.out.width - FRAME:
        places["database_url"] = cli.try_("db", "url")  # in two pieces nobody could copy it
    rows += places.items()
    if standing.workers:
        rows += [("workers", str(len(standing.workers))), ("app", ", ".join(standing.apps))]
        rows.append(("kinds", _kinds(standing.kinds)))
    return rows


def _kinds(kinds: list[str]) -> str:
    """Return the kinds, by name as long as one line holds them; else how many each application has."""
    if len(kinds) <= KINDS_SHOWN:
        return ", ".join(kinds) or "none: services only"
    counts = Counter(kind.partition(".")[0] for kind in kinds)
    return ", ".join(f"{app} ({count})" for app, count in sorted(counts.items()))


def _tries(cli: Cli, standing: Standing) -> list[str]:
    tries = [cli.try_("demo")] if standing.key is not None else []
    if standing.key is not None and standing.url is not None:
        bearer = f'"Authorization: Bearer $(cat {standing.key.path})"'
        tries.append(f"curl -H {bearer} {standing.url}/api/v1/engine/jobs")
    if standing.example is not None:
        tries.append(cli.try_("enqueue", standing.example))
    return [*tries, cli.try_("jobs", "list"), cli.try_("why", "JOB")]


def _places(cli: Cli, database: Database) -> dict[str, str]:
    server, url, psql = database.server, redact(database.url), cli.try_("db", "psql")
    if server is None:
        return {"database": url, "psql": psql}
    return {
        "data": str(server.cluster.data_dir),
        "database": f"PostgreSQL {server.version}, embedded",
        "database_url": url,
        "psql": psql,
        "log": str(server.log_path),
    }

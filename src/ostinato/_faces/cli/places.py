"""Where each command of the engine is: its module is imported when the command is asked for.

A person waits for every import of every command. So the program knows here only names and the
line that its help shows; `Lazy` asks the modules of a group for its commands.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import typer

from ostinato._faces.cli.frame.command import HELP, Command, Group

Register = Callable[[typer.Typer], object]


class Single(NamedTuple):
    """A command that stands alone."""

    module: str
    about: str
    """The first paragraph of its help, for the list of all commands."""


SINGLE = {
    "init": Single("operate.init", "Write a small project that runs and has a test, into a new folder."),
    "up": Single("serve.serve", "Start everything: database, schema, workers and API; Ctrl-C stops, the data stays."),
    "worker": Single("serve.serve", "Run jobs of one or more apps until SIGTERM or Ctrl-C; a second one ends at once."),
    "api": Single(
        "serve.api", "Serve the API until SIGTERM or Ctrl-C, which let running requests end; a second one does not."
    ),
    "enqueue": Single("operate.enqueue", "Add a job and say its id."),
    "workers": Single("operate.workers", "List the workers: who is alive, what they serve, what they hold."),
    "why": Single("operate.workers", "Say why a job is not running, or what became of it."),
    "trail": Single(
        "operate.trail", "List everything that happened for a correlation id: jobs, attempts, events, callbacks."
    ),
    "audit": Single("operate.audit", "List what operators did, newest first."),
    "erase": Single("operate.erase", "Blank arguments, results, errors, steps, events and webhooks about a person."),
    "metrics": Single(
        "operate.metrics", "Show the engine's figures (depth and age of queues, workers, dead rows) and those of apps."
    ),
    "series": Single(
        "operate.series",
        "Show how many jobs were started, done and failed over time, and how long they waited for their start.",
    ),
    "doctor": Single(
        "operate.doctor", "Check the database, its settings, roles, clock and schema, and say how to fix each."
    ),
    "restore": Single(
        "operate.restore", "Restore the server from a base backup and the log after it, into an empty folder."
    ),
    "mcp": Single(
        "serve.mcp", "Serve tools for agents over stdio, by the Model Context Protocol: they read, and change nothing."
    ),
}
"""The commands that stand alone."""


class Listed(Command):
    """Stands in the list of all commands for one that is not imported."""


class Place(NamedTuple):
    """A group of commands."""

    about: str
    modules: tuple[str, ...]

    def made(self) -> typer.Typer:
        """Return the group, without its commands: it has them when it is asked for one."""
        lazy = type("Lazy", (Lazy,), {"modules": self.modules})
        return typer.Typer(cls=lazy, no_args_is_help=True, rich_markup_mode="markdown", context_settings=HELP)


class Lazy(Group):
    """A group whose modules are imported when it is asked for its commands."""

    modules: tuple[str, ...] = ()
    _made: dict[str, Any] | None = None

    @property
    def commands(self) -> Any:  # noqa: ANN401 - Typer has an attribute here
        """The commands by name."""
        if self._made is None:
            self._made = _commands_of(*self.modules)
        return self._made

    @commands.setter
    def commands(self, given: object) -> None:
        """Leave aside what Typer gives at first: nothing is registered on the group itself."""


GROUPS = {
    "jobs": Place("Look at jobs, and retry, cancel or redrive them.", ("operate.jobs", "operate.dead")),
    "queues": Place("Look at queues, and pause, resume or limit them.", ("operate.queues",)),
    "events": Place("List events, subscriptions and buried events; replay and redeliver.", ("operate.events",)),
    "alerts": Place("List alerts, what is wrong now, and what to do.", ("operate.alerts",)),
    "secrets": Place("Make the keys that seal secrets at rest, and seal everything anew.", ("operate.secrets",)),
    "keys": Place("Make, list, rotate and revoke the keys of the API.", ("operate.keys",)),
    "idempotency": Place("List the keys of requests that may come twice.", ("operate.idempotency",)),
    "leases": Place("List leases, and take one away.", ("operate.leases",)),
    "schedules": Place("List, write, pause and preview schedules.", ("operate.schedules",)),
    "webhooks": Place("Send events to other servers: endpoints, attempts, redelivery.", ("operate.webhooks",)),
    "db": Place("Migrate the schema, look at it, and open psql.", ("operate.db",)),
    "backup": Place("Copy the whole server, base backups and log; verify and prune the copies.", ("operate.backup",)),
    "archive": Place("Put what is past retention into files before it is dropped.", ("operate.archive",)),
    "standby": Place(
        "Make a second server that has every commit; promote it; rejoin the old one.", ("operate.standby",)
    ),
    "tenants": Place(
        "Copy one tenant out of this installation, or into it; move one between cells.", ("operate.tenants",)
    ),
    "cells": Place("List the databases that tenants live in, and say which lives where.", ("operate.cells",)),
}


PANELS = {
    "Start and add work": ("init", "up", "worker", "api", "enqueue"),
    "Look and act": (
        *("why", "doctor", "jobs", "queues", "workers", "schedules", "events", "webhooks", "leases", "idempotency"),
        *("trail", "alerts", "metrics", "series", "audit", "erase", "mcp"),
    ),
    "Run an installation": (*("db", "keys", "secrets", "backup", "restore", "archive", "standby", "tenants", "cells"),),
}
"""The help of the program lists its commands under these headings, in this order."""
BROUGHT = "Applications and the lab"


def in_panels(commands: dict[str, Any]) -> dict[str, Any]:
    """Return the commands in the order of the help, each under its heading."""
    ours = {name: panel for panel, names in PANELS.items() for name in names}
    for name, command in commands.items():
        command.rich_help_panel = ours.get(name, BROUGHT)
    return {name: commands[name] for name in [*ours, *(name for name in commands if name not in ours)]}


def listed() -> dict[str, Any]:
    """Return the commands that stand alone as a list shows them, none of them imported."""
    return {name: Listed(name, help=place.about) for name, place in SINGLE.items()}


def single(name: str) -> Any:  # noqa: ANN401 - of Typer
    """Return a command that stands alone."""
    return _commands_of(SINGLE[name].module)[name]


def _commands_of(*modules: str) -> dict[str, Any]:
    root = typer.Typer(rich_markup_mode="markdown")
    for name in modules:
        register: Register = import_module(f"ostinato._faces.cli.{name}").register
        register(root)
    return dict(typer.main.get_group(root).commands)

"""Where each command of the engine is: its module is imported when the command is asked for.

A person waits for every import of every command. So the program knows here only names and, for
groups, the line that its help shows; `Lazy` asks the modules of a group for its commands.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import typer

from ostinato._faces.cli.frame.command import HELP, Group

Register = Callable[[typer.Typer], object]

SINGLE = {
    "init": "operate.init",
    "up": "serve.serve",
    "worker": "serve.serve",
    "api": "serve.api",
    "enqueue": "operate.enqueue",
    "workers": "operate.workers",
    "why": "operate.workers",
    "trail": "operate.trail",
    "audit": "operate.audit",
    "erase": "operate.erase",
    "metrics": "operate.metrics",
    "series": "operate.series",
    "doctor": "operate.doctor",
    "restore": "operate.restore",
    "mcp": "serve.mcp",
}
"""The commands that stand alone, and their modules."""


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


def single(name: str) -> Any:  # noqa: ANN401 - of Typer
    """Return a command that stands alone."""
    return _commands_of(SINGLE[name])[name]


def _commands_of(*modules: str) -> dict[str, Any]:
    root = typer.Typer(rich_markup_mode="markdown")
    for name in modules:
        register: Register = import_module(f"ostinato._faces.cli.{name}").register
        register(root)
    return dict(typer.main.get_group(root).commands)

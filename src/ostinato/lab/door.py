"""Registers the commands of the lab, and gives `ostinato up --demo` what it needs.

`_faces/cli/serve/lab.py` says what is asked for here; the entry point of `ostinato.lab` names it.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import typer

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.cli.frame.command import command
from ostinato._faces.cli.serve.lab import DemoKey

TOUR = "ostinato.lab.tour:app"
EXAMPLE = "tour.greet name=Ada"


def register(root: typer.Typer) -> None:
    """Add the commands."""
    from ostinato.lab.demo.command import demo
    from ostinato.lab.sandbox.command import sandbox
    from ostinato.lab.torture.command import torture

    for function in (sandbox, demo, torture):
        command(root)(function)


def outside_world(url: str, apps: Sequence[App]) -> dict[str, str]:
    """Return the environment that leads applications to their stand-ins in the sandbox."""
    from ostinato.lab.sandbox.server import stand_ins

    said = (each.settings(url) for each in stand_ins(apps))
    return {name: value for settings in said for name, value in settings.items()}


async def prepare(database: Database, settings: Settings, folder: Path) -> DemoKey:
    """Make the demo's key and data, unless they are there."""
    from ostinato.lab.demo import data

    return await data.prepare(database, settings, folder)


def remember(folder: Path, url: str, sandbox: str | None) -> None:
    """Note where the demo runs."""
    from ostinato.lab.demo.data import Place
    from ostinato.lab.demo.data import remember as note

    note(folder, Place(url, sandbox, os.getpid()))


def forget(folder: Path) -> None:
    """Take that note back."""
    from ostinato.lab.demo import data

    data.forget(folder)

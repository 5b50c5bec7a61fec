"""Commands that applications bring, and the lab: added when they are asked for, not before.

The engine's own commands import no application. Only a name that is none of theirs, or a list of
all commands, has the applications imported and asked. One that cannot be imported, or brings a
command that is there already, is named on stderr: it takes nothing from the others.
"""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import typer
from typer.core import TyperGroup

from ostinato._core.base import extras
from ostinato._core.base.errors import NotConfigured
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.installed import absent_apps, load_point
from ostinato._core.runtime.named import named
from ostinato._faces.cli.frame.loading import INSTALLED, load_app
from ostinato._faces.cli.frame.output import Output
from ostinato._faces.cli.serve.lab import EXTRA, lab

T = TypeVar("T")
Register = Callable[[typer.Typer], object]


class Bringer(NamedTuple):
    """Somebody who brings commands."""

    name: str
    find: Callable[[], Register | None]
    """Imports what registers them."""
    refused: NotConfigured | None = None
    """What its commands say instead of running: its extra is missing."""


def bring(commands: MutableMapping[str, Any], paths: Sequence[str], *, json: bool) -> None:
    """Add all commands that are brought; `paths` names applications that are not installed."""
    out = Output(json=json)
    for bringer in _bringers(paths):
        try:
            register = bringer.find()
            root = typer.Typer(rich_markup_mode="markdown")
            if register is not None:
                register(root)
            brought = typer.main.get_group(root).commands
        except Exception as error:  # noqa: BLE001 - whatever it is, the others come all the same
            if bringer.refused is None:
                out.warn(f"{bringer.name} brings no commands: {error}")
            continue
        for name, command in brought.items():
            if name in commands:
                out.warn(f"{bringer.name} brings a command {name!r}, which is there already")
                continue
            if bringer.refused is not None:
                _refuse(command, bringer.refused, out)
            commands[name] = command


def _bringers(paths: Sequence[str]) -> Iterator[Bringer]:
    toys = lab()
    if toys is not None:
        lacking = extras.missing(EXTRA)
        refused = extras.refusal("the lab", lacking, EXTRA) if lacking else None
        yield Bringer("the lab", lambda: toys.register, refused)
    absent = {each.point: each.error for each in absent_apps()}
    for point in extras.points(extras.APPS):
        yield Bringer(point.name, partial(_of, load_point, point), absent.get(point))
    for path in paths:
        if path == INSTALLED:
            continue  # those are brought above
        yield Bringer(f"--app {path}", partial(_of, load_app, path))


def _of(load: Callable[[T], App], place: T) -> Register | None:
    app = load(place)
    return None if app.commands is None else named(app.commands, FunctionType)


def _refuse(command: Any, error: NotConfigured, out: Output) -> None:  # noqa: ANN401 - of Typer
    """Have a command, or all of a group, say only why it cannot run."""
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            _refuse(each, error, out)
        return

    def stop(**_: object) -> None:
        out.error(error)
        raise typer.Exit(error.exit_code)

    command.callback = stop

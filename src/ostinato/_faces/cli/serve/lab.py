"""Finds the lab by its entry point: the demo and the sandbox that `ostinato up` starts.

    [project.entry-points."ostinato.lab"]
    lab = "ostinato.lab.door"

Nothing here depends on it: an installation without its extra runs, only without a demo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol, cast

import typer

from ostinato._core.base import extras
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App

GROUP = "ostinato.lab"
EXTRA = "lab"


@dataclass(frozen=True, slots=True)
class DemoKey:
    """The key of the demo, and whether it was made just now."""

    path: Path
    text: str
    is_new: bool

    def __repr__(self) -> str:
        return f"DemoKey(path={self.path!r}, is_new={self.is_new})"


class Lab(Protocol):
    """What a lab brings: commands, an app to play with, a stand-in world, and a demo's data."""

    @property
    def TOUR(self) -> str:  # noqa: N802 - a constant of the module
        """The app to play with, as "module:NAME"."""

    @property
    def EXAMPLE(self) -> str:  # noqa: N802 - as above
        """A job of that app, as `ostinato enqueue` takes it."""

    def register(self, root: typer.Typer, /) -> None:
        """Add the commands: `sandbox` and what else there is."""

    def outside_world(self, url: str, apps: Sequence[App], /) -> Mapping[str, str]:
        """Return the environment that leads applications to the sandbox at this address."""

    async def prepare(self, database: Database, settings: Settings, folder: Path, /) -> DemoKey:
        """Make the demo's key and data, unless they are there."""

    def remember(self, folder: Path, url: str, sandbox: str | None, /) -> None:
        """Note where the demo runs."""

    def forget(self, folder: Path, /) -> None:
        """Take that note back."""


@cache
def lab() -> Lab | None:
    """Return the lab that is installed, if there is one; its extra may still be missing."""
    return next((cast("Lab", each.load()) for each in extras.points(GROUP)), None)

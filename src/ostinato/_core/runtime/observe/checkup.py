"""Checks of an application: what it lacks on this machine, and what to do about it.

    def look(settings: Settings) -> list[Trouble]:
        mine = settings.section(Billing)
        ...  # files, folders, libraries, settings: what can be seen without the database

    CHECKUP = Checkup(look)

`ostinato doctor` runs it if the app has `App(doctor="module:CHECKUP")`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ostinato._core.base.redact import LONGEST_ERROR, redact
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named


class Trouble(NamedTuple):
    """A fault, in a sentence, and its remedy."""

    problem: str
    hint: str


@dataclass(frozen=True)
class Checkup:
    """The check of an application; it runs in a thread and may take long."""

    look: Callable[[Settings], Sequence[Trouble]]
    """Gets the settings of the process."""


async def examine(apps: Iterable[App], settings: Settings) -> dict[str, list[Trouble]]:
    """Return the troubles by application, of those that have a checkup. One that fails is a trouble."""
    return {
        app.name: await asyncio.to_thread(_troubles, app.doctor, settings) for app in apps if app.doctor is not None
    }


def _troubles(place: str, settings: Settings) -> list[Trouble]:
    try:
        return [Trouble(*each) for each in named(place, Checkup).look(settings)]
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are still examined
        return [Trouble(redact(f"it could not be examined: {error!r}", LONGEST_ERROR), f"Fix {place}.")]

"""Checks of an application: what it lacks on this machine, and what to do about it.

    def look() -> list[Trouble]:
        ...  # files, folders, libraries, settings: what can be seen without the database

    CHECKUP = Checkup(look)

`ostinato doctor` runs it if the app has `App(doctor="module:CHECKUP")`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ostinato._core.base.redact import redact
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named

__all__ = ["Checkup", "Trouble", "examine"]


class Trouble(NamedTuple):
    """A fault, in a sentence, and its remedy."""

    problem: str
    hint: str


@dataclass(frozen=True)
class Checkup:
    """The check of an application; it runs in a thread and may take long."""

    look: Callable[[], Sequence[Trouble]]


async def examine(apps: Iterable[App]) -> dict[str, list[Trouble]]:
    """The troubles by application; a checkup that fails is a trouble too."""
    return {
        app.name: await asyncio.to_thread(_troubles, app.doctor)
        for app in apps
        if app.doctor is not None
    }


def _troubles(place: str) -> list[Trouble]:
    try:
        return [Trouble(*each) for each in named(place, Checkup).look()]
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are still examined
        return [Trouble(redact(f"it could not be examined: {error!r}"), f"Mend {place}.")]

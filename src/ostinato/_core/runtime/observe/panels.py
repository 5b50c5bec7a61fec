"""Panels: what the console shows of an application, as data of two shapes.

    async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
        return [Counts("Invoices", {"paid": 7, "open": 2}), Table("Late", ("id", "days"), rows)]

    PANEL = Panel("Billing", blocks)

`App(panels=("module:PANEL",))` adds it. Whoever shows a panel reads it in a transaction of the one
who looks, so row-level security decides what is in it; the application only asks its tables.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named

__all__ = ["Block", "Cell", "Counts", "Panel", "Table", "panels_of"]

Cell: TypeAlias = str | int | float | bool | datetime | None
"""A value in a table of a panel."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers by name, such as requests by status."""

    title: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below named columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InvalidInput(
                f"a row of the table {self.title!r} has not {len(self.columns)} cells",
                hint=f"Its columns are: {', '.join(self.columns)}.",
            )


Block: TypeAlias = Counts | Table
"""A part of a panel."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the console: its title, and how the database is asked for what is in it."""

    title: str
    read: Callable[[AsyncConnection[Any]], Awaitable[Sequence[Block]]]


def panels_of(apps: Iterable[App], name: str) -> list[Panel]:
    """The panels of the application of that name."""
    for app in apps:
        if app.name == name and app.panels:
            return [named(place, Panel) for place in app.panels]
    raise NotFound(f"there is no application {name!r} that has panels")

"""Panels: counts and tables of an application, which the API returns to its tenant.

    async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
        return [Counts("Invoices", {"paid": 7, "open": 2}), Table("Late", ("id", "days"), rows)]

    PANEL = Panel("Billing", blocks)

`App(panels=("module:PANEL",))` adds it. A panel is read in a transaction of the caller's tenant, so
row-level security decides what is in it; the application only queries its tables.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named

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
    """A panel: its title, and the function that reads its blocks."""

    title: str
    read: Callable[[AsyncConnection[Any]], Awaitable[Sequence[Block]]]


def panels_of(apps: Iterable[App], name: str) -> list[Panel]:
    """The panels of the application of that name."""
    for app in apps:
        if app.name == name and app.panels:
            return [named(place, Panel) for place in app.panels]
    raise NotFound(f"there is no application {name!r} that has panels")

"""Lists and details for people, declared by their columns, beside the same rows as JSON.

LEASES = Columns("lease=name | tenant | state | since | attempt>", state=_state)

answer = attach.ask_at(cli, leases.list_leases, most=most)
listed(cli, "leases", answer, LEASES, empty="Nobody holds a lease.")
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from ostinato._faces.cli.frame import words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.output import grid, table

Cell = Callable[[Any, datetime], object]
"""What a row has in a column, from the row and the database's time."""


class Columns:
    """The columns of a list in one line: `heading=field`, or `field` where both are the same.

    The sign > after a column says that it holds numbers, which stand at the right, and ? that it is left out where
    the terminal is too narrow for all. A field is one of the row, unless a function of that name makes it from the
    row and the database's time.
    """

    def __init__(self, line: str, **made: Cell) -> None:
        columns = [each.strip() for each in line.split("|")]
        named = [each.rstrip(">?").partition("=") for each in columns]
        self._fields = {heading: field or heading for heading, _, field in named}
        self._right, self._spare = (
            tuple(each.partition("=")[0].rstrip(">?") for each in columns if sign in each) for sign in ">?"
        )
        self._made = made

    def table(self, found: Sequence[object], now: datetime) -> Table:
        """Return the rows in the house style."""
        shown = table(*self._fields, right=self._right, spare=self._spare)
        for row in found:
            values = (
                self._made[field](row, now) if field in self._made else getattr(row, field)
                for field in self._fields.values()
            )
            shown.add_row(*(_cell(value, now) for value in values))
        return shown


def listed(cli: Cli, name: str, answer: tuple[Sequence[object], datetime], columns: Columns, *, empty: str) -> None:
    """Show rows that were found at a time: as JSON under a name, or as a table."""
    found, now = answer
    cli.out.show({name: found}, columns.table(found, now) if found else Text(empty))


def paged(
    cli: Cli,
    name: str,
    answer: tuple[Sequence[object], datetime],
    columns: Columns,
    *,
    empty: str,
    most: int,
    by: str = "id",
    document: Callable[[Any], object] = lambda row: row,
) -> None:
    """Show one page of rows, and how to ask for the next; `by` is the field that --before takes.

    `document` makes of a row what programs get instead.
    """
    found, now = answer
    following = getattr(found[-1], by) if len(found) == most else None
    shown = columns.table(found, now) if found else Text(empty)
    cli.out.show({name: [document(row) for row in found], "next": following}, shown)
    if following is not None:
        cli.out.note(f"There may be more: add --before {following}")


def details(facts: Mapping[str, object], now: datetime) -> Table:
    """Return what there is to know about one thing; what is not known, or empty, is left out."""
    shown = grid()
    for label, value in facts.items():
        if cell := _cell(value, now):
            shown.add_row(label, cell)
    return shown


def _cell(value: object, now: datetime) -> Text:
    """Return a value as people read it: a time by its age, several values with commas."""
    if isinstance(value, Text):
        return value
    if isinstance(value, datetime):
        return Text(words.age(value, now))
    if isinstance(value, list | tuple):
        return Text(", ".join(str(each) for each in value))
    return Text("" if value is None else str(value))  # a plain string may hold an :emoji:

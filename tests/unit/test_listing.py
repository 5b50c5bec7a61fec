"""Lists and details as commands declare them."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from ostinato._faces.cli.frame.listing import Columns, details

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Lamp(NamedTuple):
    name: str
    lit_at: datetime | None
    rooms: list[str]
    watts: int


LAMP = Lamp("desk :sun:", NOW - timedelta(seconds=30), ["study", "hall"], 1200)


def lines_of(shown: Table) -> list[str]:
    console = Console(width=80, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(shown)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_column_has_a_heading_and_the_field_that_it_names() -> None:
    columns = Columns("lamp=name | watts>", watts=lambda lamp, _: f"{lamp.watts:,}")

    heading, _, row = lines_of(columns.table([LAMP], NOW))

    assert heading.split() == ["lamp", "watts"]
    assert row.split() == ["desk", ":sun:", "1,200"]


def test_numbers_stand_at_the_right() -> None:
    columns = Columns("watts> | lamp=name")

    rows = lines_of(columns.table([LAMP, LAMP._replace(watts=7)], NOW))[2:]

    assert [row.partition(" desk")[0].rstrip() for row in rows] == [" 1200", "    7"]


def test_a_time_is_shown_by_its_age_and_several_values_with_commas() -> None:
    columns = Columns("lit=lit_at | rooms")

    row = lines_of(columns.table([LAMP], NOW))[2]

    assert row.split("   ") == ["30 s ago", "study, hall"]


def test_details_leave_out_what_is_empty_but_not_zero() -> None:
    shown = details({"lamp": "desk", "lit": None, "rooms": [], "note": "", "watts": 0}, NOW)

    assert [line.split() for line in lines_of(shown)] == [["lamp", "desk"], ["watts", "0"]]

"""At most 120 columns a line of SQL, so that two files stand side by side on one screen."""

from pathlib import Path

import pytest

from tests.house.source import PACKAGE, shown

COLUMNS = 120


def sql_files() -> list[Path]:
    """The SQL that may still change: a released file of tables is never edited."""
    return sorted(path for path in PACKAGE.rglob("*.sql") if path.parent.name != "tables")


@pytest.mark.parametrize("path", sql_files(), ids=shown)
def test_a_line_of_sql_fits_on_half_a_screen(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    long = [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS]

    assert not long, f"{shown(path)}: wrap the lines {long}"

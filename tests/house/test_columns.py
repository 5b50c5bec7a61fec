"""At most 120 columns a line of SQL, so that two files stand side by side on one screen."""

from pathlib import Path

from tests.house.source import PACKAGE, findings, text_of

COLUMNS = 120


def sql_files() -> list[Path]:
    """The SQL that may still change: a released file of tables is never edited."""
    return sorted(path for path in PACKAGE.rglob("*.sql") if path.parent.name != "tables")


def long_lines(path: Path) -> list[int]:
    return [number for number, line in enumerate(text_of(path).splitlines(), 1) if len(line) > COLUMNS]


def test_a_line_of_sql_fits_on_half_a_screen() -> None:
    assert findings(sql_files(), long_lines) == {}, "wrap these lines"

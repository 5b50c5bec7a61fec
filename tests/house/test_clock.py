"""One clock: the database's, through ostinato.now(), so that tests can move it."""

import re
from pathlib import Path

import pytest

from tests.house.source import calls, dotted, findings, function_files, python_files, text_of, without_comments

# time.monotonic() measures durations and is always allowed
WALL_CLOCK = re.compile(
    r"(?:^|\.)(?:datetime\.(?:now|utcnow|today)|date\.today"
    r"|time\.(?:time|time_ns|localtime|gmtime|strftime))$"
)

# The wall clock all the same, each with its reason: `"path": "why"`.
ALLOWED: dict[str, str] = {
    "src/ostinato/_faces/cli/operate/doctor.py": "compares this clock with the database's",
    "src/ostinato/apps/capture/sandbox.py": "as a store does: compares its clock with the time of a signature",
    "src/ostinato/apps/capture/uploads.py": "signs an address, whose time the store compares with its own clock",
    "src/ostinato/apps/watchfolder/core.py": "compares with times of files, without a database",
    "src/ostinato/apps/watchfolder/utils.py": "as core: dates what it writes into files",
}

# Files of SQL functions that read the real clock, each with its reason.
REAL_CLOCK = {
    "clock.sql": "makes the one clock of it",
    "audit.sql": "an audit entry proves when it was made, also in a database whose clock tests move",
}

SQL_CLOCK = re.compile(
    r"(?<!ostinato\.)\bnow\s*\(\s*\)"
    r"|\b(?:current_timestamp|current_date|current_time|localtimestamp|localtime)\b"
    r"|\b(?:clock|statement|transaction)_timestamp\s*\(|\btimeofday\s*\(",
    re.IGNORECASE,
)


def reads(path: Path) -> list[int]:
    return [call.lineno for call in calls(path) if WALL_CLOCK.search(dotted(call.func))]


def other_clocks(path: Path) -> list[str]:
    found = [match.group() for match in SQL_CLOCK.finditer(without_comments(text_of(path)))]
    real = path.name in REAL_CLOCK
    return [clock for clock in found if not (real and clock.startswith("clock_timestamp"))]


def test_no_logic_reads_the_clock_of_this_machine() -> None:
    found = findings(python_files(), reads)

    assert {path: lines for path, lines in found.items() if path not in ALLOWED} == {}


def test_sql_functions_ask_the_one_clock() -> None:
    assert findings(function_files(), other_clocks) == {}


@pytest.mark.parametrize("text", ["select now()", "pg_catalog.now()", "Current_Timestamp", "clock_timestamp()"])
def test_the_scan_finds_other_clocks(text: str) -> None:
    assert SQL_CLOCK.search(text)


@pytest.mark.parametrize("text", ["ostinato.now()", "ostinato_internal.fake_now()", "v_now", "known"])
def test_the_scan_lets_the_one_clock_pass(text: str) -> None:
    assert not SQL_CLOCK.search(text)

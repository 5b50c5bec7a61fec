"""Drawings of the console: what stands close together can still be read."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ostinato._faces.console.draw import Bar, timeline
from ostinato._faces.console.text import Clock, language

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
LONG = timedelta(minutes=3)


def notes(*seconds: float) -> list[str]:
    """The notes of events at these moments, beside a job that takes a hundred seconds."""
    job = Bar("attempt 1", START, START + timedelta(seconds=100), "ok")
    events = [Bar("events", START + timedelta(seconds=each), None, "accent", "order.paid") for each in seconds]
    drawn = timeline("Time line", [job, *events], lambda at, _: str(at))
    return re.findall(r'note">([^<]*)<', drawn)


def test_events_that_are_far_apart_have_a_note_each() -> None:
    assert notes(5, 40, 80) == ["order.paid"] * 3


def test_of_events_that_are_close_together_the_first_counts_the_others() -> None:
    assert notes(5, 5.1, 6, 50) == ["order.paid +2", "order.paid"]


def test_a_note_that_stands_before_its_dot_lies_on_no_other() -> None:
    """At the right end there is no room behind a dot; what is too close to the one before is counted with it."""
    assert notes(80, 99) == ["order.paid +1"]
    assert notes(60, 99) == ["order.paid"] * 2


LABELS_END = 180
"""Where the names of the rows end, and the drawing begins."""


def drawn(*bars: Bar) -> str:
    return timeline("story", bars, lambda at, _: f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}")


def test_a_note_of_a_bar_that_fills_the_axis_stands_inside_it_and_not_on_the_names_of_rows() -> None:
    waited = Bar("waited", START, START + timedelta(seconds=1), "soft")
    long = drawn(waited, Bar("attempt 1", START, START + LONG, "accent", "running"))

    note = re.search(r'<text x="([0-9.]+)" y="[0-9.]+" class="end inside note">running</text>', long)

    assert note is not None
    assert float(note[1]) - 7 * 6.2 > LABELS_END


def test_a_wait_to_come_is_named_above_its_line() -> None:
    line = drawn(Bar("waits", START, START + LONG, "info", "next attempt", dashed=True))

    across = re.search(r'<path class="dash info" d="M[0-9.]+ (\d+)H', line)
    note = re.search(r'<text x="[0-9.]+" y="(\d+)" class="end note">next attempt</text>', line)

    assert across is not None
    assert note is not None
    assert int(note[1]) < int(across[1])


def test_what_happened_at_once_has_one_time_below_it() -> None:
    ticks = re.findall(r">(\d\d:\d\d:\d\d[^<]*)</text>", drawn(Bar("created", START, None, "info")))

    assert len(ticks) == 1


@pytest.mark.parametrize("length", [0.02, 1, 9, 60, 7_200, 100_000, 90 * 86_400, 3 * 365 * 86_400])
def test_no_two_times_below_an_axis_are_the_same(length: float) -> None:
    clock = Clock(language("fr"), ZoneInfo("Europe/Paris"), START)
    span = timedelta(seconds=length)

    ticks = [clock.tick(START - span + span * i / 4, span) for i in range(5)]

    assert len(set(ticks)) == 5

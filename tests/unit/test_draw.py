"""Drawings of the console: what stands close together can still be read."""

import re
from datetime import UTC, datetime, timedelta

from ostinato._faces.console.draw import Bar, timeline

START = datetime(2026, 3, 1, 8, tzinfo=UTC)


def notes(*seconds: float) -> list[str]:
    """The notes of events at these moments, beside a job that takes a hundred seconds."""
    job = Bar("attempt 1", START, START + timedelta(seconds=100), "ok")
    events = [Bar("events", START + timedelta(seconds=each), None, "accent", "order.paid") for each in seconds]
    drawn = timeline("Time line", [job, *events], str)
    return re.findall(r'note">([^<]*)<', drawn)


def test_events_that_are_far_apart_have_a_note_each() -> None:
    assert notes(5, 40, 80) == ["order.paid"] * 3


def test_of_events_that_are_close_together_the_first_counts_the_others() -> None:
    assert notes(5, 5.1, 6, 50) == ["order.paid +2", "order.paid"]

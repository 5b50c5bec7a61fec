"""How values are read and written on the command line."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato._faces.cli.frame import words
from ostinato._faces.cli.frame.document import Raw, to_json

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (10, "10 s"),
        (59.9, "59 s"),
        (60, "1 min 0 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (86_399, "23 h 59 min"),
        (86_400, "1 d 0 h"),
        (10 * 86_400 + 7200, "10 d 2 h"),
    ],
)
def test_a_span_has_its_two_largest_units(seconds: float, said: str) -> None:
    assert words.span(seconds) == said


def test_an_age_is_past_or_future() -> None:
    assert words.age(NOW - timedelta(seconds=90), NOW) == "1 min 30 s ago"
    assert words.age(NOW + timedelta(hours=2), NOW) == "in 2 h 0 min"
    assert words.age(None, NOW) == ""


def test_numbers_agree_with_their_nouns() -> None:
    assert words.counted(0, "job") == "0 jobs"
    assert words.counted(1, "job") == "1 job"
    assert words.counted(12_000, "job") == "12,000 jobs"


@pytest.mark.parametrize(("text", "seconds"), [("1", 1), ("1.5s", 1.5), (".5m", 30), (" 2 h", 7200)])
def test_lengths_of_time_are_read(text: str, seconds: float) -> None:
    assert words.seconds(text, "--in") == seconds


@pytest.mark.parametrize("text", ["", "-1", "1w", "five", "1e3", "inf", "nan"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="--in"):
        words.seconds(text, "--in")


@pytest.mark.parametrize(
    ("text", "rate"), [("5/s", (5, 1)), ("100/m", (100, 60)), ("1 / 90", (1, 90)), ("2/1.5h", (2, 5400))]
)
def test_rates_are_read(text: str, rate: tuple[int, float]) -> None:
    found = words.rate(text, "--rate")

    assert found is not None
    assert (found.count, found.seconds) == rate


def test_none_is_no_limit() -> None:
    assert words.rate("none", "--rate") is None
    assert words.limit("none", "--concurrency") is None


class Named(NamedTuple):
    x: int


@dataclass(frozen=True, slots=True)
class Row:
    y: object


def test_a_document_holds_whatever_rows_hold() -> None:
    value = {
        "at": NOW,
        "id": UUID(int=7),
        "named": Named(1),
        "row": Row([1.5, None, True]),
        "raw": Raw('{"n": 1.10}'),
        "text": "ü \u2028",
    }

    text = to_json(value)

    assert '"raw": {"n": 1.10}' in text
    assert json.loads(text) == {
        "at": "2026-03-01T12:00:00+00:00",
        "id": str(UUID(int=7)),
        "named": {"x": 1},
        "row": {"y": [1.5, None, True]},
        "raw": {"n": 1.1},
        "text": "ü \u2028",
    }


def test_raw_text_may_hold_anything() -> None:
    awkward = r'["\\1", "\\g<0>", "{", "\"", "deadbeef-0"]'

    assert json.loads(to_json([Raw(awkward), Raw("1e400")], indent=2))[0] == json.loads(awkward)

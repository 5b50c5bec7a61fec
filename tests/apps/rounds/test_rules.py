"""The rules of rounds, without a database: instants, prompts, what is missed."""

import os
import random
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.errors import InvalidInput, NotConfigured
from ostinato.apps.rounds import rules
from ostinato.apps.rounds.demo import last_change
from ostinato.apps.rounds.model import Choice, Timing
from ostinato.apps.rounds.rules import (
    LAST_PROMPTS,
    choose_prompt,
    creation_days,
    openings,
    parse_drop_time,
    plan_opening,
    round_instants,
    sees_others,
    zone_of,
)
from ostinato.apps.rounds.settings import RoundsSettings
from tests.apps.rounds.town import moment

PARIS = "Europe/Paris"

# R2, R3: the day, the drop time, when the round opens and closes, and for how long it lasts
TABLE = [
    ("2026-03-28", "14:30", "2026-03-28T13:30Z", "2026-03-29T12:30Z", 23),
    ("2026-03-29", "14:30", "2026-03-29T12:30Z", "2026-03-30T12:30Z", 24),
    ("2026-03-28", "02:30", "2026-03-28T01:30Z", "2026-03-29T01:30Z", 24),
    ("2026-03-29", "02:30", "2026-03-29T01:30Z", "2026-03-30T00:30Z", 23),
    ("2026-03-29", "00:00", "2026-03-28T23:00Z", "2026-03-29T22:00Z", 23),
    ("2026-10-24", "14:30", "2026-10-24T12:30Z", "2026-10-25T13:30Z", 25),
    ("2026-10-24", "02:30", "2026-10-24T00:30Z", "2026-10-25T00:30Z", 24),
    ("2026-10-25", "02:30", "2026-10-25T00:30Z", "2026-10-26T01:30Z", 25),
    ("2026-10-25", "00:00", "2026-10-24T22:00Z", "2026-10-25T23:00Z", 25),
    ("2026-10-24", "23:59", "2026-10-24T21:59Z", "2026-10-25T22:59Z", 25),
    ("2027-03-27", "14:30", "2027-03-27T13:30Z", "2027-03-28T12:30Z", 23),
    ("2027-03-27", "02:30", "2027-03-27T01:30Z", "2027-03-28T01:30Z", 24),
    ("2027-03-28", "02:30", "2027-03-28T01:30Z", "2027-03-29T00:30Z", 23),
    ("2027-10-30", "14:30", "2027-10-30T12:30Z", "2027-10-31T13:30Z", 25),
    ("2027-10-30", "02:30", "2027-10-30T00:30Z", "2027-10-31T00:30Z", 24),
    ("2027-10-31", "02:30", "2027-10-31T00:30Z", "2027-11-01T01:30Z", 25),
]


@pytest.mark.parametrize(("day", "drop", "opens", "closes", "hours"), TABLE)
def test_a_round_opens_and_closes_at_the_instants_of_the_table(
    day: str, drop: str, opens: str, closes: str, hours: int
) -> None:
    found = round_instants(date.fromisoformat(day), time.fromisoformat(drop), PARIS)

    assert found == (moment(opens), moment(closes))
    assert found[0].tzinfo is UTC
    assert found[1] - found[0] == timedelta(hours=hours)


@pytest.mark.parametrize(
    "zone", [PARIS, "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Indian/Reunion"]
)
@pytest.mark.parametrize("drop", ["00:00", "01:45", "02:00", "02:30", "02:59:59", "14:30"])
def test_a_round_closes_when_the_next_one_opens_over_two_years(zone: str, drop: str) -> None:
    day, wanted = date(2026, 1, 1), time.fromisoformat(drop)
    opens, closes = round_instants(day, wanted, zone)
    for _ in range(731):
        day += timedelta(days=1)
        assert opens < closes
        opens, before = (found := round_instants(day, wanted, zone))[0], closes
        closes = found[1]
        assert opens == before


@given(
    st.dates(date(2020, 1, 1), date(2035, 12, 31)),
    st.times().map(lambda at: at.replace(microsecond=0)),
    st.sampled_from([PARIS, "America/Santiago", "Asia/Tehran", "Pacific/Apia", "UTC"]),
)
def test_an_instant_shows_its_wall_clock_time_or_lies_in_a_gap(day: date, drop: time, zone: str) -> None:
    opens, _ = round_instants(day, drop, zone)
    wall = datetime.combine(day, drop)
    shown = opens.astimezone(ZoneInfo(zone)).replace(tzinfo=None)

    assert shown == wall or shown - wall in (timedelta(hours=1), timedelta(minutes=30))
    if shown == wall:  # of two instants, the first: an hour before it is another wall-clock time
        earlier = (opens - timedelta(hours=1)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert earlier != wall


@pytest.mark.parametrize(
    "zone", ["Paris", "", "europe/paris", "../etc/passwd", "Nope/Town", "Factory", "posix/Europe/Paris"]
)
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        zone_of(zone)


def test_every_zone_that_there_is_gives_instants() -> None:
    """Also the old names, which have their summer time too."""
    names = available_timezones() - {"Factory", "localtime"}
    assert {"CET", "EST5EDT", "Japan", "Zulu", "America/Argentina/Ushuaia"} <= names
    for name in names:
        opens, closes = round_instants(date(2026, 7, 1), time(14, 30), name)
        assert timedelta(hours=22) < closes - opens < timedelta(hours=26), name
    assert round_instants(date(2026, 7, 1), time(14, 30), "CET")[0] == moment("2026-07-01T12:30Z")


def test_instants_need_no_zone_data_of_the_system() -> None:
    """A slim image has none: then that of the package counts."""
    code = (
        "from datetime import date, time\n"
        "from ostinato.apps.rounds.rules import round_instants\n"
        "for day in ('2026-03-28', '2026-10-25'):\n"
        "    for at in round_instants(date.fromisoformat(day), time(2, 30), 'Europe/Paris'):\n"
        "        print(f'{at:%FT%RZ}')\n"
    )
    env = os.environ | {"PYTHONTZPATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    rows = [row for row in TABLE if row[:2] in (("2026-03-28", "02:30"), ("2026-10-25", "02:30"))]
    assert done.stdout.split() == [at for row in rows for at in row[2:4]]


def test_without_any_zone_data_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_zones", frozenset)
    with pytest.raises(NotConfigured, match="tzdata"):
        zone_of(PARIS)


@pytest.mark.parametrize("text", ["24:00", "2:30", "14h30", "14:30Z", "14:30+02:00", "", "14", "T1430", "14:30:00.5"])
def test_what_is_no_drop_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="time of the day"):
        parse_drop_time(text)


def test_settings_are_checked_when_they_are_read() -> None:
    with pytest.raises(InvalidInput):
        RoundsSettings.load(environ={"OSTINATO_ROUNDS_ZONE": "Paris"})
    assert RoundsSettings.load(environ={"OSTINATO_ROUNDS_DROP_TIME": "09:00"}).default_drop_time == time(9)


@pytest.mark.parametrize(
    ("now", "day"),
    [
        ("2026-06-01T21:59:59Z", date(2026, 6, 2)),
        ("2026-06-01T22:00:00Z", date(2026, 6, 3)),  # midnight in Paris
        ("2026-12-31T23:00:00Z", date(2027, 1, 2)),
    ],
)
def test_the_next_day_is_that_of_the_local_clock(now: str, day: date) -> None:
    today, tomorrow = creation_days(moment(now), PARIS)

    assert (today.local_date, tomorrow.local_date) == (day - timedelta(days=1), day)
    assert today.known_before == round_instants(today.local_date, time(), PARIS)[0]


prompts = st.lists(st.integers(1, 40), unique=True, max_size=30)


@given(prompts, st.lists(st.integers(1, 40), max_size=12), st.integers())
def test_a_prompt_is_active_and_not_one_of_the_last_seven_if_there_is_another(
    active: list[int], recent: list[int], seed: int
) -> None:
    chosen = choose_prompt(Choice(tuple(active), tuple(recent)), random.Random(seed))

    fresh = set(active) - set(recent)
    if fresh:
        assert chosen in fresh
    elif active:
        assert chosen in active
        assert all(recent.index(chosen) >= recent.index(other) for other in active)
    else:
        assert chosen is None


@given(st.integers(1, 7), st.integers())
def test_with_few_prompts_they_come_in_turn(count: int, seed: int) -> None:
    rng, used = random.Random(seed), list[int]()
    for _ in range(30):
        chosen = choose_prompt(Choice(tuple(range(count)), tuple(reversed(used[-LAST_PROMPTS:]))), rng)
        assert chosen is not None
        used.append(chosen)

    assert all(len({*used[n : n + count]}) == count for n in range(30 - count))


@given(st.integers(8, 20), st.integers())
def test_with_eight_prompts_or_more_none_comes_twice_in_eight_days(count: int, seed: int) -> None:
    rng, used = random.Random(seed), list[int]()
    for _ in range(60):
        recent = tuple(used[-LAST_PROMPTS:])
        chosen = choose_prompt(Choice(tuple(range(count)), recent), rng)
        assert chosen is not None
        assert chosen not in used[-LAST_PROMPTS:]
        used.append(chosen)


def test_the_same_seed_chooses_the_same_prompts_and_every_prompt_is_chosen() -> None:
    choice = Choice(tuple(range(10)), ())

    def chosen(seed: int) -> list[int | None]:
        rng = random.Random(seed)
        return [choose_prompt(choice, rng) for _ in range(200)]

    assert chosen(7) == chosen(7)
    assert set(chosen(7)) == set(range(10))


def test_a_round_whose_time_has_passed_is_missed_and_gets_no_new_prompt() -> None:
    closes, rng = moment("2026-06-02T12:30Z"), random.Random(0)
    choice = Choice((1,), ())

    assert plan_opening(closes, closes, None, choice, rng).missed
    assert plan_opening(closes, closes, None, choice, rng).prompt_id is None
    just_before = closes - timedelta(microseconds=1)
    assert not plan_opening(just_before, closes, None, choice, rng).missed
    assert plan_opening(just_before, closes, 5, choice, rng).prompt_id == 5
    assert plan_opening(just_before, closes, None, choice, rng).prompt_id == 1


def test_openings_name_the_days_on_which_the_clock_is_moved() -> None:
    night = Timing(time(2, 30), PARIS)
    found = openings(moment("2026-03-27T12:00Z"), night, 4)
    assert [each.local_date.day for each in found] == [28, 29, 30, 31]
    assert [each.hours for each in found] == [24, 23, 24, 24]
    assert "02:30 does not exist, 03:30 instead" in found[1].note
    autumn = openings(moment("2026-10-24T12:00Z"), night, 2)
    assert "02:30 comes twice" in autumn[0].note
    assert autumn[1].note == ""
    day = openings(moment("2026-10-23T13:00Z"), Timing(time(14, 30), PARIS), 3)
    assert [each.hours for each in day] == [25, 24, 24]
    assert [bool(each.note) for each in day] == [True, True, False]


def test_openings_begin_with_the_first_one_after_now() -> None:
    timing = Timing(time(14, 30), PARIS)
    assert openings(moment("2026-06-01T12:29:59Z"), timing, 1)[0].local_date == date(2026, 6, 1)
    assert openings(moment("2026-06-01T12:30:00Z"), timing, 1)[0].local_date == date(2026, 6, 2)


@pytest.mark.parametrize("at", ["9999-12-20T00:00Z", "0001-01-01T00:00Z"])
def test_at_the_end_of_time_there_are_no_openings(at: str) -> None:
    with pytest.raises(InvalidInput, match="openings"):
        openings(datetime.fromisoformat(at), Timing(time(14, 30), "America/Los_Angeles"), 14)


def test_who_sees_what() -> None:
    assert sees_others(is_closed=False, took_part=False, manages=True)
    assert not sees_others(is_closed=False, took_part=False, manages=False)
    assert sees_others(is_closed=False, took_part=True, manages=False)
    assert sees_others(is_closed=True, took_part=False, manages=False)


def test_the_demo_takes_a_change_of_the_past() -> None:
    assert last_change(date(2026, 11, 16)) == date(2026, 10, 25)
    assert last_change(date(2026, 10, 28)) == date(2025, 10, 26)

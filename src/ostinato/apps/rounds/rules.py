"""The decisions about rounds: pure functions of plain values.

The instants of rounds are computed here and nowhere else, with Python's zone data: a wall-clock
time that does not exist is shifted later by the length of the gap, one that comes twice means its
first instant, as Java's `ZonedDateTime.of` does, which the specification names (R2). The engine
computes its own zones in SQL (`zones.sql`); a test compares both. What is stored was computed here.
"""

import random
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from ostinato.apps.rounds.model import Choice, CreationDay, Opening, Plan, Timing
from ostinato.errors import InvalidInput, NotConfigured

__all__ = [
    "LAST_PROMPTS",
    "choose_prompt",
    "creation_days",
    "is_missed",
    "local_date",
    "openings",
    "parse_drop_time",
    "plan_opening",
    "round_instants",
    "sees_others",
    "zone_of",
]

LAST_PROMPTS = 7
"""How many of a group's last prompts are not chosen again."""
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
USUAL_HOURS = 24.0
FIRST_DAY, LAST_DAY = date.min + 3 * DAY, date.max - 3 * DAY
"""Outside of these days, the day before or after cannot be represented in some zone."""
WALL_TIME = re.compile(r"\d\d:\d\d(:\d\d)?", re.ASCII)
NO_PLACE = {"Factory", "localtime"}
"""Names in the zone data that are no zone."""


def round_instants(local_date: date, drop_time: time, zone: str) -> tuple[datetime, datetime]:
    """Return the instants, in UTC, at which the round of a local day opens and closes.

    It opens on the day at `drop_time` and closes on the next day at `drop_time`, on the wall clock
    of `zone`: 23 or 25 hours later when the clock is moved in between.
    """
    return _instant(local_date, drop_time, zone), _instant(local_date + DAY, drop_time, zone)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of an IANA name, written as there; every name that this machine has data for."""
    known = _zones()
    if name in known:
        return ZoneInfo(name)
    if not known:
        raise NotConfigured("this machine has no time zone data", hint="Install it: `pip install tzdata`.")
    raise InvalidInput(
        f"there is no time zone {name[:100]!r}",
        hint="Use a name of the IANA database, such as Europe/Paris or UTC.",
        zone=name[:100],
    )


def parse_drop_time(text: str) -> time:
    """Parse a wall-clock time from "14:30" or "14:30:00"."""
    try:
        found = time.fromisoformat(text) if WALL_TIME.fullmatch(text) else None
    except ValueError:
        found = None
    if found is None:
        raise InvalidInput(f"{text[:40]!r} is no time of the day", hint="Write it as 14:30.", drop_time=text[:40])
    return found


def local_date(now: datetime, zone: str) -> date:
    """Return the date on the wall clock of a zone."""
    return now.astimezone(zone_of(zone)).date()


def creation_days(now: datetime, zone: str) -> list[CreationDay]:
    """Return the days whose rounds are created now: the next local day, and today where that was not done yesterday.

    Today's round is one for the groups that were there before today; its time must be ahead, which
    `wall` only bounds: an hour is more than a clock is moved by, with few exceptions.
    """
    today = local_date(now, zone)
    begins = _instant(today, time(), zone)
    wall = (now - HOUR).astimezone(zone_of(zone)).replace(tzinfo=None)
    return [
        CreationDay(zone, today, begins, wall),
        CreationDay(zone, today + DAY, datetime.max.replace(tzinfo=UTC), datetime.combine(FIRST_DAY, time())),
    ]


def is_missed(now: datetime, close_at: datetime) -> bool:
    """Return whether the whole time of a round has passed."""
    return now >= close_at


def choose_prompt(choice: Choice, rng: random.Random) -> int | None:
    """Choose a prompt at random: an active one that is not among the group's last seven.

    A group whose active prompts were all used of late gets the one whose last use is the longest
    ago; one without active prompts gets none.
    """
    recent = set(choice.recent)
    fresh = [prompt for prompt in choice.active if prompt not in recent]
    if fresh:
        return rng.choice(fresh)
    return max(choice.active, key=choice.recent.index, default=None)


def plan_opening(now: datetime, close_at: datetime, chosen: int | None, choice: Choice, rng: random.Random) -> Plan:
    """Return what becomes of a round that is due.

    `chosen` is the prompt of its creation if that is still active; without one, another choice is
    made now. A round that is missed keeps what it has: nobody will see it.
    """
    if is_missed(now, close_at):
        return Plan(missed=True, prompt_id=chosen)
    prompt = choose_prompt(choice, rng) if chosen is None else chosen
    return Plan(missed=False, prompt_id=prompt)


def sees_others(*, is_closed: bool, took_part: bool, manages: bool) -> bool:
    """Return whether somebody sees what others said: who took part, and everybody when it is closed.

    Who keeps the groups of a tenant sees all at any time, also when he plays himself.
    """
    return is_closed or took_part or manages


def openings(now: datetime, timing: Timing, count: int) -> list[Opening]:
    """Return the next openings of a group after now, with what is unusual about their days."""
    found: list[Opening] = []
    if not FIRST_DAY < now.date() < LAST_DAY - count * DAY:
        raise InvalidInput(f"there are no {count} openings after {now.date()}", hint="Ask for a time of our age.")
    for day in _days_from(local_date(now, timing.zone) - DAY):
        if len(found) == count:
            break
        opening = _opening(day, timing)
        if opening.open_at > now:
            found.append(opening)
    return found


def _days_from(first: date) -> Iterator[date]:
    while True:
        yield first
        first += DAY


def _opening(day: date, timing: Timing) -> Opening:
    open_at, close_at = round_instants(day, timing.drop_time, timing.zone)
    zone = zone_of(timing.zone)
    hours = (close_at - open_at) / timedelta(hours=1)
    local = open_at.astimezone(zone)
    return Opening(day, open_at, close_at, local, hours, "; ".join(_notes(day, timing, hours)))


def _notes(day: date, timing: Timing, hours: float) -> Iterator[str]:
    zone, wall = zone_of(timing.zone), datetime.combine(day, timing.drop_time)
    first, second = (wall.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    if first != second:
        there = _instant(day, timing.drop_time, timing.zone).astimezone(zone)
        if there.replace(tzinfo=None) != wall:
            yield f"gap: {wall:%H:%M} does not exist, {there:%H:%M} instead"
        else:
            yield f"overlap: {wall:%H:%M} comes twice, the first counts"
    if hours != USUAL_HOURS:
        yield f"the clock changes before it closes: {hours:g} h"
    elif _offset(day, zone) != _offset(day + DAY, zone):
        yield "the clock changes on this day"


def _offset(day: date, zone: ZoneInfo) -> timedelta | None:
    """Return the offset at the beginning of a day."""
    return datetime.combine(day, time()).replace(tzinfo=zone).utcoffset()


@cache
def _zones() -> frozenset[str]:
    # Asking for all of them reads the whole zone data: once for each process.
    return frozenset(available_timezones() - NO_PLACE)


@lru_cache(maxsize=4096)
def _instant(day: date, drop_time: time, zone: str) -> datetime:
    # With fold=0 the offset from before a change is taken: in a gap that shifts the time later, in
    # an overlap it is the first of the two. No arithmetic on aware datetimes: that is wall-clock.
    wall = datetime.combine(day, drop_time.replace(fold=0), tzinfo=zone_of(zone))
    return wall.astimezone(UTC)

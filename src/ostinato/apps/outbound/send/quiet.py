"""Knows when messages may go out: hours and days by purpose, in the organisation's zone."""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import holidays

from ostinato.apps.outbound.model import Organisation, Purpose

SUNDAY: Final = 7
MOST_DAYS: Final = 60


class Hours(NamedTuple):
    """From when to when, and whether on Sundays and public holidays too."""

    opens: time
    closes: time
    every_day: bool


def hours_of(purpose: Purpose, organisation: Organisation) -> Hours:
    """Return the organisation's hours for messages of a purpose; marketing neither on Sundays nor on holidays."""
    if purpose is Purpose.MARKETING:
        return Hours(organisation.marketing_opens, organisation.marketing_closes, every_day=False)
    return Hours(organisation.opens, organisation.closes, every_day=True)


def next_opening(
    at: datetime, purpose: Purpose, organisation: Organisation, *, urgent: bool = False
) -> datetime | None:
    """Return when a message that is due now may go; None: now.

    An urgent one is not held up, unless it is marketing.
    """
    if urgent and purpose is Purpose.TRANSACTIONAL:
        return None
    hours = hours_of(purpose, organisation)
    zone = ZoneInfo(organisation.zone)
    local = at.astimezone(zone)
    day = local.date()
    if _is_open(day, hours, organisation) and hours.opens <= local.time() < hours.closes:
        return None
    if local.time() >= hours.opens:
        day += timedelta(days=1)
    for _ in range(MOST_DAYS):
        if _is_open(day, hours, organisation):
            return datetime.combine(day, hours.opens, zone).astimezone(UTC)
        day += timedelta(days=1)
    raise AssertionError("no country closes for two months")


def is_holiday(day: date, country: str) -> bool:
    """Return whether a day is a public holiday; "FR-57" is a part of a country with its own."""
    return day in _holidays(country, day.year)


def _is_open(day: date, hours: Hours, organisation: Organisation) -> bool:
    if hours.every_day:
        return True
    return day.isoweekday() != SUNDAY and not is_holiday(day, organisation.holidays)


@lru_cache(maxsize=256)
def _holidays(country: str, year: int) -> frozenset[date]:
    name, _, part = country.partition("-")
    # A part that the library names otherwise: Alsace-Moselle goes by its three departments.
    found = holidays.country_holidays(name, subdiv=part or None, years=year)
    return frozenset(found.keys())

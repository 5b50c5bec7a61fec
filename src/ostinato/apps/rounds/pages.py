"""Shows groups, and the calendar of one: what was, what is open, and what comes, in the group's own zone."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from ostinato.apps.rounds import rules
from ostinato.apps.rounds.http import MANAGE
from ostinato.apps.rounds.model import Timing
from ostinato.apps.rounds.queries import QUERIES, Connection
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.errors import InvalidInput, NotFound
from ostinato.observe import N_, Block, Calendar, Counts, Entry, Facts, Link, Look, Panel, State, Table

Row = dict[str, Any]

MOST = 100
DAYS = 62
"""As many openings to come as a calendar of two months may show."""
MONTHS = 24
GROUP = (N_("group"), N_("state"), N_("members"), N_("time"), N_("zone"), N_("tenant"))
COMING = (N_("day"), N_("opens"), N_("closes"), N_("hours"), N_("note"))
NOTES: Mapping[re.Pattern[str], str] = {
    re.compile(r"gap: (?P<time>\S+) does not exist, (?P<there>\S+) instead"): N_(
        "gap: %(time)s does not exist, %(there)s instead"
    ),
    re.compile(r"overlap: (?P<time>\S+) comes twice, the first counts"): N_(
        "overlap: %(time)s comes twice, the first counts"
    ),
    re.compile(r"the clock changes before it closes: (?P<hours>\S+) h"): N_(
        "the clock changes before it closes: %(hours)s h"
    ),
    re.compile(r"the clock changes on this day"): N_("the clock changes on this day"),
}
"""What `rules` notes of a day, and the same as it is translated."""
STATES = (N_("scheduled"), N_("open"), N_("closed"), N_("missed"), N_("to come"))

NO_GROUP = N_("There is no group yet: POST /api/v1/rounds/groups makes one.")


async def front(conn: Connection, look: Look) -> Sequence[Block]:
    """Show the groups, and how many rounds are scheduled or open."""
    counts = {row["status"]: row["rounds"] for row in await QUERIES.rows(conn, "count_rounds")}
    after = look.number("after", 0)
    rows = await QUERIES.rows(conn, "page_groups", tenant_id=look.tenant_id, group_id=None, after=after, most=MOST + 1)
    more = Link(look.words("More"), "", {"after": rows[MOST - 1]["id"]}) if len(rows) > MOST else None
    return [
        Counts("Rounds now", {"scheduled": 0, "open": 0} | counts),
        Table("Groups", GROUP, [_listed(row, look) for row in rows[:MOST]], more, NO_GROUP),
    ]


async def calendar(conn: Connection, look: Look) -> Sequence[Block]:
    """Show a month of a group: its rounds, and the openings to come with what is unusual about their days."""
    group_id = look.number("group")
    row = await QUERIES.first(
        conn, "page_groups", tenant_id=look.tenant_id, group_id=group_id, after=group_id - 1, most=1
    )
    if row is None:
        raise NotFound(f"there is no group {group_id}")
    timing = _timing(row, look)
    month = _month(look.text("month"), rules.local_date(look.now, timing.zone))
    first, last = month, _shifted(month, 1) - timedelta(days=1)
    rounds = await QUERIES.rows(conn, "rounds_between", group_id=group_id, first=first, last=last)
    days: dict[date, list[Entry]] = {}
    for each in rounds:
        days.setdefault(each["day"], []).append(_entry(each, timing))
    coming = rules.openings(look.now, timing, DAYS) if row["is_active"] else []
    for opening in coming:
        if first <= opening.local_date <= last and opening.local_date not in days:
            tone: Literal["", "noted"] = "noted" if opening.note else ""
            days[opening.local_date] = [Entry(f"{opening.local:%H:%M}", tone, _noted(opening.note, look), "to come")]
    next_ones = [
        [each.local_date, each.open_at, each.close_at, each.hours, _noted(each.note, look) or None]
        for each in coming[:10]
    ]
    facts = {
        N_("state"): _active(row),
        N_("members"): row["members"],
        N_("time"): f"{timing.drop_time:%H:%M}",
        N_("zone"): timing.zone,
    }
    at = (month.year - look.now.year) * 12 + month.month - look.now.month
    return [
        Facts(row["name"], facts, row["name"]),
        Calendar(
            month,
            timing.zone,
            days,
            _link(look, row, _shifted(month, -1)) if at > -MONTHS else None,
            _link(look, row, _shifted(month, 1)) if at < MONTHS else None,
        ),
        Table("Next openings", COMING, next_ones),
    ]


def _listed(row: Row, look: Look) -> list[Any]:
    timing = _timing(row, look)
    link = Link(row["name"], "calendar", {"group": row["id"]})
    return [link, _active(row), row["members"], f"{timing.drop_time:%H:%M}", timing.zone, row["tenant_id"]]


def _noted(notes: str, look: Look) -> str:
    """Return what is unusual about a day in the reader's language."""
    return "; ".join(_one_note(note, look) for note in notes.split("; ")) if notes else ""


def _one_note(note: str, look: Look) -> str:
    for pattern, text in NOTES.items():
        if found := pattern.fullmatch(note):
            return look.words(text, **found.groupdict())
    return note


def _active(row: Row) -> State:
    return State("active", "ok") if row["is_active"] else State("inactive", "soft")


def _entry(each: Row, timing: Timing) -> Entry:
    local = each["open_at"].astimezone(rules.zone_of(each["zone"] or timing.zone))
    state = "missed" if each["missed"] else each["status"]
    return Entry(f"{local:%H:%M}", "noted" if each["missed"] else "", f"{each['submissions']}", state)


def _timing(row: Row, look: Look) -> Timing:
    chosen = look.settings(RoundsSettings)
    return Timing(row["drop_time"] or chosen.default_drop_time, row["zone"] or chosen.zone)


def _link(look: Look, row: Row, month: date) -> Link:
    return Link(look.words("Month"), "calendar", {"group": row["id"], "month": f"{month:%Y-%m}"})


def _month(text: str, today: date) -> date:
    if not text:
        return today.replace(day=1)
    try:
        found = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC).date()
    except ValueError:
        raise InvalidInput(f"{text[:20]!r} is no month", hint="Write it as 2026-11.") from None
    if abs((found.year - today.year) * 12 + found.month - today.month) > MONTHS:
        raise InvalidInput(f"{text} is too far away", hint=f"Within {MONTHS} months of today.")
    return found


def _shifted(month: date, by: int) -> date:
    years, number = divmod(month.month - 1 + by, 12)
    return date(month.year + years, number + 1, 1)


FRONT = Panel("Rounds", front, needs=MANAGE)
CALENDAR = Panel("Calendar of a group", calendar, name="calendar", listed=False, needs=MANAGE)

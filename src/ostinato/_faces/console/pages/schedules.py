"""Schedules: what comes next, and a month as a calendar in the schedule's own zone."""

import calendar
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from fastapi import Query, Response

from ostinato._core.engine import fires, schedules
from ostinato._core.engine.fires import Fire, NextFire
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.names import segment
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()

PAGE = 50
SLOTS = 10
MONTHS_AHEAD = 24
MOST_DRAWN = 32 * 24
"""The slots of a month that are drawn: one an hour."""
LATE_SECONDS = 60
"""A fire later than this is marked."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the calendar."""

    day: date
    inside: bool
    """Whether it belongs to the month."""
    slots: tuple[NextFire, ...]
    shift: timedelta
    """By how much the clocks are moved on it."""
    fired: tuple[Fire, ...] = ()
    """The slots that have fired, first to last."""


@pages.page("/schedules", needs=CONSOLE_READ)
async def list_schedules(
    view: Looking,
    *,
    tenant: Annotated[str, Query(max_length=200)] = "",
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show the schedules by tenant and name; `tenant` and `name` are the last of the page before."""
    async with view.reading() as conn:
        rows = await schedules.list_(conn, tenant_id=view.tenant, after=(tenant, name), most=PAGE + 1)
        last = await fires.last_fires(conn, [row.id for row in rows[:PAGE]])
    return view.page(
        "schedules.html",
        schedules=rows[:PAGE],
        last=last,
        late=LATE_SECONDS,
        more=len(rows) > PAGE,
        first=not name,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.page("/schedules/{tenant:named}/{name:named}", needs=CONSOLE_READ)
async def show_schedule(
    view: Looking, tenant: str, name: str, *, ahead: Annotated[int, Query(ge=0, le=MONTHS_AHEAD)] = 0
) -> Response:
    """Show one schedule: its rule, a month of slots, and its last fires."""
    async with view.reading() as conn:
        found = await schedules.show(conn, name, tenant_id=tenant)
        coming = await fires.next_fires(conn, name, SLOTS, tenant_id=tenant)
        past = await fires.list_fires(conn, name, tenant_id=tenant, most=SLOTS if ahead else MOST_DRAWN)
        first = _month(view.now.astimezone(ZoneInfo(found.zone)).date(), ahead)
        start = datetime(first.year, first.month, 1, tzinfo=ZoneInfo(found.zone)).astimezone(UTC) - timedelta(seconds=1)
        slots = await fires.next_fires(conn, name, MOST_DRAWN, after=max(start, view.now), tenant_id=tenant)
    return view.page(
        "schedule.html",
        schedule=found,
        coming=coming,
        past=past[:SLOTS],
        weeks=weeks(first, slots, found.zone, past),
        today=view.now.astimezone(ZoneInfo(found.zone)).date(),
        first=first,
        ahead=ahead,
        last=MONTHS_AHEAD,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/schedules/{tenant:named}/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, tenant: str, name: str, verb: Literal["pause", "resume"]) -> Response:
    """Pause a schedule, or let it go on."""
    words = view.words.gettext
    async with view.acting() as conn:
        if verb == "pause":
            await schedules.pause(conn, name, tenant_id=tenant)
            said = words("The schedule is paused.")
        else:
            await schedules.resume(conn, name, tenant_id=tenant)
            said = words("The schedule goes on.")
    return view.see(f"/schedules/{segment(tenant)}/{segment(name)}", said)


def weeks(first: date, slots: list[NextFire], zone: str, past: Sequence[Fire] = ()) -> list[list[Day]]:
    """Return the weeks of a month, each with its days, slots, fires and moved clocks; `past` is newest first."""
    by_day: dict[date, list[NextFire]] = {}
    for slot in slots:
        by_day.setdefault(slot.slot_local.date(), []).append(slot)
    fired: dict[date, list[Fire]] = {}
    for fire in reversed(past):
        fired.setdefault(fire.slot_local.date(), []).append(fire)
    months = calendar.Calendar().monthdatescalendar(first.year, first.month)
    return [
        [
            Day(day, day.month == first.month, tuple(by_day.get(day, ())), moved(day, zone), tuple(fired.get(day, ())))
            for day in week
        ]
        for week in months
    ]


def moved(day: date, zone: str) -> timedelta:
    """Return by how much the clocks of a zone are moved on a day."""
    here = ZoneInfo(zone)
    start = datetime(day.year, day.month, day.day, tzinfo=here)
    end = datetime(day.year, day.month, day.day, tzinfo=here) + timedelta(days=1)
    return (end.utcoffset() or timedelta()) - (start.utcoffset() or timedelta())


def _month(today: date, ahead: int) -> date:
    years, month = divmod(today.month - 1 + ahead, 12)
    return date(today.year + years, month + 1, 1)

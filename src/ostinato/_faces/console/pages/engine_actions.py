"""What operators do to queues, workers and schedules: limits, drain, another rule, run now, catch up."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from fastapi import Query, Response

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.engine import fires, inspect, queues, schedules, workers
from ostinato._core.engine.fires import NextFire
from ostinato._core.engine.queues import Queue, Rate
from ostinato._core.engine.schedules import Gap, Overlap, Schedule
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.names import segment
from ostinato._faces.console.pages.filters import moment, whole
from ostinato._faces.console.pages.schedules import moved
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View, zone_of

pages = Pages()

SLOTS = 10
DAYS_AHEAD = 400
MOST_CAUGHT_UP = 1_000
Text = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class Change:
    """A day on which the clocks of a zone are moved, and the slots around it."""

    day: date
    shift: timedelta
    slots: list[NextFire]


@pages.page("/queues/{name:named}/limits", needs=CONSOLE_READ)
async def show_limits(view: Looking, name: str) -> Response:
    """Show the limits of a queue, to be changed."""
    ENGINE_WRITE.check(view.roles)
    view.check_installation()
    async with view.site.staff.connection() as conn:
        found = next((each for each in await inspect.list_queues(conn) if each.name == name), None)
    if found is None:
        raise NotFound(f"there is no queue {name[:100]!r}", hint="The page Queues lists them.")
    return view.page("queue_limits.html", queue=found)


@pages.action("/queues/{name:named}/limits", needs=ENGINE_WRITE)
async def set_limits(view: Looking, name: str) -> Response:
    """Set the limits of a queue; an empty field takes a limit away."""
    view.check_installation()
    limits = Queue(
        name,
        concurrency=_count(view, "concurrency"),
        rate=_rate(view, "rate"),
        key_concurrency=_count(view, "key_concurrency"),
        key_rate=_rate(view, "key_rate"),
    )
    async with view.administering() as conn:
        await queues.configure(conn, limits)
    return view.see("/queues", view.words.gettext("The limits of %(queue)s are set.") % {"queue": name})


@pages.action("/workers/{worker_id}/drain", needs=ENGINE_WRITE)
async def drain(view: Looking, worker_id: UUID) -> Response:
    """Ask a worker to end."""
    view.check_installation()
    async with view.administering() as conn:
        await workers.drain(conn, worker_id)
    return view.see("/workers", view.words.gettext("The worker takes nothing new, finishes what it has, and ends."))


@pages.page("/schedules/{tenant:named}/{name:named}/move", needs=CONSOLE_READ)
async def preview_move(
    view: Looking, tenant: str, name: str, *, cron: Text = "", zone: Text = "", gap: Text = "", overlap: Text = ""
) -> Response:
    """Show the form for another rule of a schedule, and what it would come to."""
    ENGINE_WRITE.check(view.roles)
    async with view.reading() as conn:
        found = await schedules.show(conn, name, tenant_id=tenant)
        rule = cron.strip() or ("" if " at " in found.rule else found.rule)
        given = Schedule(
            name,
            found.kind,
            cron=rule or None,
            zone=checked_zone(zone.strip() or found.zone),
            gap=cast("Gap | None", one_of(gap or found.gap, ("shift", "skip"))),
            overlap=cast("Overlap | None", one_of(overlap or found.overlap, ("first", "last", "both"))),
        )
        coming = await fires.preview(conn, given, SLOTS) if rule else []
        change = next_change(view.now, given.zone)
        if change is not None and len(coming) > 1:
            step = coming[1].slot_at - coming[0].slot_at
            before = max(view.now, _start(change.day, given.zone) - step * (SLOTS // 2))
            change.slots.extend(await fires.preview(conn, given, SLOTS, after=before))
    return view.page("schedule_move.html", schedule=found, given=given, coming=coming, change=change)


@pages.action("/schedules/{tenant:named}/{name:named}/move", needs=ENGINE_WRITE)
async def move(view: Looking, tenant: str, name: str) -> Response:
    """Give a schedule another rule."""
    form = view.form
    async with view.acting() as conn:
        await schedules.move(
            conn,
            name,
            cron=form.get("cron", "").strip(),
            zone=checked_zone(form.get("zone", "").strip()),
            gap=cast("Gap | None", one_of(form.get("gap", ""), ("shift", "skip"))),
            overlap=cast("Overlap | None", one_of(form.get("overlap", ""), ("first", "last", "both"))),
            tenant_id=tenant,
        )
    return view.see(schedule_path(tenant, name), view.words.gettext("The schedule has its new rule."))


@pages.action("/schedules/{tenant:named}/{name:named}/run", needs=ENGINE_WRITE)
async def run(view: Looking, tenant: str, name: str) -> Response:
    """Fire a schedule now, beside its slots."""
    async with view.acting() as conn:
        job_id = await fires.run_now(conn, name, tenant_id=tenant)
    return view.see(f"/jobs/{job_id}", view.words.gettext("The schedule has fired: this is its job."))


@pages.page("/schedules/{tenant:named}/{name:named}/catch-up", needs=CONSOLE_READ)
async def preview_catch_up(view: Looking, tenant: str, name: str, *, since: Text = "") -> Response:
    """Show the slots that did not fire, since a time."""
    ENGINE_WRITE.check(view.roles)
    start = moment(view, since) if since else view.now - timedelta(days=1)
    async with view.reading() as conn:
        found = await schedules.show(conn, name, tenant_id=tenant)
        slots = await fires.catch_up(conn, name, start, tenant_id=tenant, most=MOST_CAUGHT_UP, preview=True)
    typed = view.clock.local(start).strftime("%Y-%m-%dT%H:%M")
    return view.page("schedule_catch_up.html", schedule=found, slots=slots, since=typed)


@pages.action("/schedules/{tenant:named}/{name:named}/catch-up", needs=ENGINE_WRITE)
async def catch_up(view: Looking, tenant: str, name: str) -> Response:
    """Fire the slots that did not fire."""
    start = moment(view, view.form.get("since", ""))
    async with view.acting() as conn:
        found = await fires.catch_up(conn, name, start, tenant_id=tenant, most=MOST_CAUGHT_UP)
    words = view.words
    said = words.ngettext("%(n)s slot has fired.", "%(n)s slots have fired.", len(found))
    return view.see(schedule_path(tenant, name), said % {"n": words.number(len(found))})


def next_change(now: datetime, zone: str) -> Change | None:
    """Return the next day on which the clocks of a zone are moved, if there is one within a year."""
    today = now.astimezone(ZoneInfo(zone)).date()
    days = (today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD))
    return next((Change(day, shift, []) for day in days if (shift := moved(day, zone))), None)


def checked_zone(name: str) -> str:
    """Return the name of a zone that there is."""
    if zone_of(name) is None:
        raise InvalidInput(f"there is no time zone {name[:60]!r}", hint="Write one such as Europe/Paris or UTC.")
    return name


def _start(day: date, zone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def one_of(given: str, known: tuple[str, ...]) -> str | None:
    """Return a choice that there is, or None for none."""
    if given and given not in known:
        raise InvalidInput(f"{given[:40]!r} is not known", hint=f"Choose one of: {', '.join(known)}.")
    return given or None


def _count(view: View, name: str) -> int | None:
    given = view.form.get(name, "").strip()
    if not given:
        return None
    if not 1 <= (count := whole(given)) < 2**31:
        raise InvalidInput(f"{given[:20]!r} is no limit", hint="Write a whole number from 1 on, or nothing.")
    return count


def _rate(view: View, name: str) -> Rate | None:
    count = _count(view, f"{name}_count")
    seconds = view.form.get(f"{name}_seconds", "").strip()
    if count is None and not seconds:
        return None
    try:
        return Rate(count or 0, float(seconds.replace(",", ".")))
    except ValueError:
        raise InvalidInput(
            f"a rate of {count} in {seconds[:20]!r} seconds is none", hint="Write both numbers, or none."
        ) from None


def schedule_path(tenant: str, name: str) -> str:
    """Return the address of the page of a schedule."""
    return f"/schedules/{segment(tenant)}/{segment(name)}"

"""Schedules that people make on the console, and what one starts: its kind, its arguments, what it catches up."""

from dataclasses import dataclass
from datetime import timedelta
from typing import get_args

from fastapi import Response

from ostinato._core.base.errors import Conflict, InvalidInput, NotFound
from ostinato._core.engine import schedules
from ostinato._core.engine.schedules import CatchUp, Schedule, ScheduleDetails
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.pages.engine_actions import checked_zone, one_of, schedule_path
from ostinato._faces.console.pages.filters import arguments
from ostinato._faces.console.pages.job_actions import open_kinds
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

CATCH_UPS = get_args(CatchUp)


@dataclass(frozen=True, slots=True)
class Typed:
    """What the form shows: the schedule as it is, or as a new one begins."""

    name: str = ""
    kind: str = ""
    cron: str = ""
    zone: str = "UTC"
    queue: str = ""
    catch_up: str = "last"


@pages.page("/schedules-new", needs=CONSOLE_READ)
async def new(view: Looking) -> Response:
    """Show the form for a new schedule."""
    ENGINE_WRITE.check(view.roles)
    return _form(view, Typed(zone=view.prefs.zone.key), None)


@pages.action("/schedules-new", needs=ENGINE_WRITE)
async def create(view: Looking) -> Response:
    """Make a schedule; one of that name is not written over."""
    form = view.form
    name, tenant = form.get("name", "").strip(), view.tenant or form.get("tenant", "").strip()
    if not name or not tenant:
        raise InvalidInput("a schedule has a name and a tenant", hint="Fill in the form.")
    made = Schedule(
        name,
        form.get("kind", "").strip(),
        arguments(form.get("args", "").strip() or "{}"),
        cron=form.get("cron", "").strip(),
        zone=checked_zone(form.get("zone", "").strip()),
        queue=form.get("queue", "").strip() or None,
        tenant_id=tenant,
        catch_up=_catch_up(view),
    )
    if await _is_there(view, name, tenant):
        raise Conflict(f"there is a schedule {name[:100]!r} already", hint="Change that one, or take another name.")
    async with view.acting() as conn:
        await schedules.upsert(conn, made)
    return view.see(schedule_path(tenant, name), view.words.gettext("The schedule is made."))


@pages.page("/schedules/{tenant:named}/{name:named}/change", needs=CONSOLE_READ)
async def show_change(view: Looking, tenant: str, name: str) -> Response:
    """Show the form for what a schedule starts. Its arguments are not: each look at them is recorded."""
    ENGINE_WRITE.check(view.roles)
    async with view.reading() as conn:
        found = await schedules.show(conn, name, tenant_id=tenant)
    typed = Typed(found.name, found.kind, _cron(found), found.zone, found.queue or "", found.catch_up)
    return _form(view, typed, found)


@pages.action("/schedules/{tenant:named}/{name:named}/change", needs=ENGINE_WRITE)
async def change(view: Looking, tenant: str, name: str) -> Response:
    """Change what a schedule starts; what the form does not name stays as it is."""
    form = view.form
    async with view.acting() as conn:
        found = await schedules.show(conn, name, tenant_id=tenant)
        typed = form.get("args", "").strip()
        await schedules.upsert(
            conn,
            Schedule(
                found.name,
                form.get("kind", "").strip() or found.kind,
                arguments(typed) if typed else found.args,
                cron=_cron(found) or form.get("cron", "").strip(),
                zone=found.zone,
                gap=found.gap,
                overlap=found.overlap,
                key=found.key,
                owner=found.owner,
                queue=form.get("queue", "").strip() or None,
                priority=found.priority,
                tenant_id=tenant,
                catch_up=_catch_up(view),
                catch_up_most=found.catch_up_most,
                catch_up_age=None if found.catch_up_seconds is None else timedelta(seconds=found.catch_up_seconds),
                grace=timedelta(seconds=found.grace_seconds),
                jitter=timedelta(seconds=found.jitter_seconds),
                starts_at=found.starts_at,
                ends_at=found.ends_at,
            ),
        )
    return view.see(schedule_path(tenant, name), view.words.gettext("The schedule is changed."))


def _form(view: View, given: Typed, schedule: ScheduleDetails | None) -> Response:
    known = [kind.name for kind in open_kinds(view)]
    if view.sees_all:  # the installation starts what no tenant may
        known = sorted({kind for app in view.parts.apps for kind in app.kinds})
    return view.page("schedule_form.html", schedule=schedule, given=given, kinds=known, catch_ups=CATCH_UPS)


async def _is_there(view: View, name: str, tenant: str) -> bool:
    async with view.reading() as conn:
        try:
            await schedules.show(conn, name, tenant_id=tenant)
        except NotFound:
            return False
    return True


def _cron(found: ScheduleDetails) -> str:
    """Return the rule if it is a cron expression; the others say at which time."""
    return "" if " at " in f" {found.rule}" else found.rule


def _catch_up(view: View) -> CatchUp:
    given = one_of(view.form.get("catch_up", ""), CATCH_UPS)
    return "last" if given is None else given  # type: ignore[return-value]

"""`/api/v1/engine/schedules` lists the tenant's schedules, with their fires."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import fires, schedules
from ostinato._core.engine.fires import Fire, NextFire
from ostinato._core.engine.schedules import ScheduleDetails, ScheduleSummary
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant, may_look
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import MAX_NAME, PREFIX, JsonObject, Limit, LocalTime, Name, View, shows

NEXT_FIRES = 5
LAST_FIRES = 20
NAME = "daily-digest"

router = Router(prefix=PREFIX, tags=["schedules"])


@shows(ScheduleSummary, without=["id"], name=NAME, rule="30 8 * * MON-FRI")
class ScheduleItem(View):
    """One schedule in a list."""

    slot_local: LocalTime | None


class SchedulePage(View):
    """Schedules by name."""

    items: list[ScheduleItem]
    next: str | None = Field(examples=[NAME])
    """The `after` of the next page; null means that this is the last one."""


@shows(NextFire, without=["zone"], utc_offset="+01:00")
class NextFireView(View):
    """A slot to come."""

    slot_local: LocalTime


@shows(Fire, lateness=0.02)
class FireView(View):
    """A slot that has fired."""

    slot_local: LocalTime


@shows(ScheduleDetails, without=["id"], name=NAME, rule="30 8 * * MON-FRI")
class ScheduleView(View):
    """Everything about one schedule."""

    args: JsonObject | None = Field(examples=[{"group_id": 7}])
    """Null for a reader."""
    slot_local: LocalTime | None
    next_fires: list[NextFireView]
    """The next five."""
    fires: list[FireView]
    """The last twenty, newest first."""


@router.get("/schedules", needs=ENGINE_READ)
async def list_schedules(
    caller: AsTenant,
    *,
    kind: Name = None,
    key: Name = None,
    after: Annotated[str, Query(max_length=MAX_NAME, description="The `next` of the page before.", examples=[""])] = "",
    limit: Limit = 50,
) -> SchedulePage:
    """Return the schedules that match every filter, by name."""
    async with caller.reading() as conn:
        rows = await schedules.list_(
            conn, tenant_id=caller.tenant_id, kind=kind, key=key, after=(caller.tenant_id, after), most=limit + 1
        )
    following = rows[limit - 1].name if len(rows) > limit else None
    return SchedulePage.of(items=rows[:limit], next=following)


@router.get("/schedules/{name:path}", needs=ENGINE_READ, raises=(NotFound,))
async def show_schedule(
    caller: AsTenant, name: Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=[NAME])]
) -> ScheduleView:
    """Return a schedule with its next fires and its last ones."""
    async with caller.reading() as conn:
        found = await schedules.show(conn, name, tenant_id=caller.tenant_id)
        coming = await fires.next_fires(conn, name, NEXT_FIRES, tenant_id=caller.tenant_id)
        past = await fires.list_fires(conn, name, tenant_id=caller.tenant_id, most=LAST_FIRES)
    shown = asdict(found) if may_look(caller) else asdict(found) | {"args": None}
    return ScheduleView.of(**shown, next_fires=coming, fires=past)

"""`/api/v1/engine/schedules/…` makes, changes, pauses, runs and catches up the tenant's schedules."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, time, timedelta
from typing import Annotated, Any, TypeVar

from fastapi import Path, Response
from pydantic import Field

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.engine import audit, fires, schedules
from ostinato._core.engine.fires import CaughtUp
from ostinato._core.engine.schedules import CatchUp, Gap, Overlap, Schedule, Weekday
from ostinato._core.web.idempotent import IDEMPOTENT, Key
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant
from ostinato._faces.api.job_views import Because, Enqueued, Instant, Priority, ReasonRequest, Text, reason_of
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.schedules_http import NAME, NextFireView, ScheduleItem
from ostinato._faces.api.views import KIND, MAX_NAME, PREFIX, Checked, LocalTime, Reason, View, shows

T = TypeVar("T")
SLOTS = 10
YEAR = 31_536_000.0

router = Router(prefix=PREFIX, tags=["schedules"])

Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=[NAME])]
Cron = Annotated[str, Field(min_length=1, max_length=200, examples=["30 8 * * MON-FRI"])]
Zone = Annotated[str, Field(min_length=1, max_length=64, examples=["Europe/Paris"])]


class Rule(Checked):
    """A rule says when a schedule fires."""

    cron: Cron
    """Minute, hour, day of the month, month and day of the week."""
    zone: Zone = "UTC"
    gap: Gap | None = Field(default=None, examples=["shift"])
    """A slot whose local time does not exist does this."""
    overlap: Overlap | None = Field(default=None, examples=["first"])
    """A slot whose local time comes twice fires at this instant."""


class PreviewRequest(Rule):
    """A rule to be tried."""

    after: Instant | None = Field(default=None, examples=[None])
    """The slots after this time; null means now."""


class ScheduleRequest(Rule):
    """A schedule, whole, with one of `cron`, `at_time` and `at`; fields that are left out have their defaults."""

    cron: Cron | None = Field(default=None, examples=["30 8 * * MON-FRI"])  # type: ignore[assignment]  # or another
    """Minute, hour, day of the month, month and day of the week."""
    at_time: Text | None = Field(default=None, examples=[None])
    """Daily at this local time: 14:30."""
    weekdays: list[Weekday] | None = Field(default=None, min_length=1, max_length=7, examples=[None])
    """With `at_time`: only on these days."""
    at: Text | None = Field(default=None, examples=[None])
    """Once: a local time in `zone` (2026-03-29T02:30), or an instant with a zone of its own."""
    priority: Priority | None = Field(default=None, examples=[None])
    """Of its jobs; null is that of the kind."""
    kind: Text = Field(examples=[KIND])
    args: dict[str, Any] = Field(default_factory=dict, examples=[{"group_id": 7}])
    queue: Text | None = Field(default=None, examples=[None])
    key: Text | None = Field(default=None, examples=[None])
    """The entity that it belongs to."""
    catch_up: CatchUp = "last"
    """Of the slots that were missed in an outage these fire."""
    grace_seconds: float = Field(default=60.0, ge=0, le=YEAR)
    jitter_seconds: float = Field(default=0.0, ge=0, le=YEAR)
    starts_at: Instant | None = Field(default=None, examples=[None])
    ends_at: Instant | None = Field(default=None, examples=[None])
    reason: Because | None = Field(default=None, examples=["as agreed with the team"])
    """The audit tells why."""


class CatchUpRequest(Checked):
    """From when on slots are to fire that did not."""

    since: Instant = Field(examples=["2026-03-02T00:00:00Z"])
    until: Instant | None = Field(default=None, examples=[None])
    """Null means now."""
    limit: int = Field(default=100, ge=1, le=1_000)
    """The most that fire, oldest first."""
    preview: bool = True
    """Only list them; send false to fire them."""
    reason: Because | None = Field(default=None, examples=["the outage of the night"])
    """The audit tells why."""


class Slots(View):
    """Slots to come."""

    items: list[NextFireView]


@shows(CaughtUp)
class CaughtUpView(View):
    """A slot that did not fire in its time."""

    slot_local: LocalTime


class CaughtUpSlots(View):
    """Slots that did not fire in their time, oldest first."""

    items: list[CaughtUpView]
    preview: bool
    """True says that they were only listed."""


@router.post("/schedules/preview", needs=ENGINE_READ)
async def preview_schedule(caller: AsTenant, body: PreviewRequest) -> Slots:
    """Return the next ten slots of a rule, with what is special on days when clocks are moved."""
    rule = Schedule("preview", "preview", cron=body.cron, zone=body.zone, gap=body.gap, overlap=body.overlap)
    async with caller.transaction() as conn:
        return Slots.of(items=await fires.preview(conn, rule, SLOTS, after=body.after))


@router.put("/schedules/{name:path}", needs=ENGINE_WRITE)
async def set_schedule(caller: AsTenant, name: Name, body: ScheduleRequest) -> ScheduleItem:
    """Make a schedule, or change the one with that name; tenants use open kinds."""
    made = Schedule(
        name,
        body.kind,
        body.args,
        cron=body.cron,
        at_time=_read(time.fromisoformat, body.at_time, "at_time", "14:30"),
        weekdays=body.weekdays,
        at=_read(datetime.fromisoformat, body.at, "at", "2026-03-29T02:30"),
        zone=body.zone,
        gap=body.gap,
        overlap=body.overlap,
        key=body.key,
        queue=body.queue,
        priority=body.priority,
        tenant_id=caller.tenant_id,
        catch_up=body.catch_up,
        grace=timedelta(seconds=body.grace_seconds),
        jitter=timedelta(seconds=body.jitter_seconds),
        starts_at=body.starts_at,
        ends_at=body.ends_at,
    )
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=body.reason)
        await schedules.upsert(conn, made)
        return await _item(conn, caller, name)


@router.post("/schedules/{name:path}/move", needs=ENGINE_WRITE, raises=(NotFound,))
async def move_schedule(caller: AsTenant, name: Name, body: Rule) -> ScheduleItem:
    """Change the rule of a schedule, and leave all else as it is."""
    rule = body.model_dump()
    async with caller.transaction() as conn:
        await schedules.move(conn, name, tenant_id=caller.tenant_id, **rule)
        return await _item(conn, caller, name)


@router.post("/schedules/{name:path}/pause", needs=ENGINE_WRITE, raises=(NotFound,))
async def pause_schedule(caller: AsTenant, name: Name, body: ReasonRequest | None = None) -> ScheduleItem:
    """Pause a schedule until it is resumed."""
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=reason_of(body))
        await schedules.pause(conn, name, tenant_id=caller.tenant_id)
        return await _item(conn, caller, name)


@router.post("/schedules/{name:path}/resume", needs=ENGINE_WRITE, raises=(NotFound,))
async def resume_schedule(caller: AsTenant, name: Name, body: ReasonRequest | None = None) -> ScheduleItem:
    """Resume a schedule, from its first slot after now."""
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=reason_of(body))
        await schedules.resume(conn, name, tenant_id=caller.tenant_id)
        return await _item(conn, caller, name)


@router.post("/schedules/{name:path}/run", needs=ENGINE_WRITE, raises=(NotFound, *IDEMPOTENT), response_model=Enqueued)
async def run_schedule(caller: AsTenant, key: Key, name: Name, body: ReasonRequest | None = None) -> Response:
    """Fire a schedule now, beside its slots, paused or not."""
    async with key.once(caller) as once:
        if once.is_new:
            await audit.act_as(once.conn, reason=reason_of(body))
            once.reply(200, Enqueued(job_id=await fires.run_now(once.conn, name, tenant_id=caller.tenant_id)))
    return once.response()


@router.post("/schedules/{name:path}/catch-up", needs=ENGINE_WRITE, raises=(NotFound,))
async def catch_up_schedule(caller: AsTenant, name: Name, body: CatchUpRequest) -> CaughtUpSlots:
    """List the slots that did not fire, or fire them: `preview` is true by default. Safe to repeat."""
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=body.reason)
        found = await fires.catch_up(
            conn, name, body.since, until=body.until, tenant_id=caller.tenant_id, most=body.limit, preview=body.preview
        )
    return CaughtUpSlots.of(items=found, preview=body.preview)


@router.delete("/schedules/{name:path}", needs=ENGINE_WRITE, raises=(NotFound,), status_code=204)
async def delete_schedule(caller: AsTenant, name: Name, reason: Reason = None) -> None:
    """Remove a schedule; its jobs and fires stay."""
    async with caller.transaction() as conn:
        await audit.act_as(conn, reason=reason)
        await schedules.delete(conn, name, tenant_id=caller.tenant_id)


def _read(parse: Callable[[str], T], text: str | None, field: str, example: str) -> T | None:
    """Parse a local time of a request."""
    try:
        return None if text is None else parse(text)
    except ValueError:
        raise InvalidInput(f"{field} cannot be read: {text!r}", hint=f"Write it as {example}.") from None


async def _item(conn: Any, caller: AsTenant, name: str) -> ScheduleItem:  # noqa: ANN401 - a connection
    return ScheduleItem.of(**asdict(await schedules.show(conn, name, tenant_id=caller.tenant_id)))

"""`ostinato schedules …` lists, writes and previews schedules, in local time and in UTC."""

import json
from datetime import datetime, time, timedelta
from typing import Annotated, Any, get_args

import typer
from psycopg import AsyncConnection
from rich.console import Group, RenderableType
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import fires, queues
from ostinato._core.engine import schedules as engine_schedules
from ostinato._core.engine.fires import Fire, NextFire
from ostinato._core.engine.schedules import (
    CatchUp,
    Gap,
    Overlap,
    Schedule,
    ScheduleDetails,
    ScheduleSummary,
    Weekday,
    Written,
)
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import fields_of, parsed
from ostinato._faces.cli.frame.listing import Columns, details, listed
from ostinato._faces.cli.frame.options import argument, option
from ostinato._faces.cli.frame.verbs import Noun, commands

Conn = AsyncConnection[Any]

Name = Annotated[str, argument("NAME", "The schedule's name.")]
Tenant = Annotated[str | None, option("ID", "Of this tenant.", "--tenant")]
SCHEDULE = Noun("schedule", Name, {"tenant_id": (Tenant, None)}, called="name")
Cron = Annotated[str | None, option("TEXT", "Five fields, such as '30 8 * * MON-FRI'.")]
Daily = Annotated[str | None, option("HH:MM", "Daily at this local time.", "--at-time")]
Days = Annotated[str | None, option("DAYS", "With --at-time: mon,tue,wed,thu,fri,sat,sun.")]
At = Annotated[str | None, option("LOCAL", "Once: 2026-03-29T02:30, in the zone.")]
Zone = Annotated[str, option("ZONE", "Such as Europe/Paris.")]
GapOption = Annotated[Gap | None, typer.Option(help="For local times that do not exist.")]
OverlapOption = Annotated[Overlap | None, typer.Option(help="For local times that come twice.")]


def list_(
    cli: Cli,
    *,
    tenant: Tenant = None,
    key: Annotated[str | None, option("KEY", "Of this entity.")] = None,
    kind: Annotated[str | None, option("KIND", "Of this kind of job.")] = None,
    most: Annotated[int, option("N", "At most this many.", min=1)] = 50,
) -> None:
    """List schedules: their rules, and when each fires next.

    Example: `ostinato schedules list --tenant acme`
    """
    found = attach.ask_at(cli, engine_schedules.list_, tenant_id=tenant, key=key, kind=kind, most=most)
    listed(cli, "schedules", found, COLUMNS, empty="No schedules yet.")


def show(cli: Cli, name: Name, *, tenant: Tenant = None) -> None:
    """Show one schedule: its rule, its policies, its last and next fires.

    Example: `ostinato schedules show morning-digest`
    """
    (found, served, to_come), now = attach.ask_at(cli, _seen, name, tenant)
    facts = {
        "schedule": found.name,
        "tenant": found.tenant_id,
        "key": found.key,
        "owner": found.owner,
        "rule": f"{found.rule} in {found.zone}",
        "policies": f"gap {found.gap}, overlap {found.overlap}, catch up {found.catch_up}",
        "kind": found.kind,
        "args": json.dumps(parsed(found.args), ensure_ascii=False),
        "queue": found.queue,
        "error": found.error,
        "missed": found.missed or None,
        "next": found.next_at,
        "state": _state(found, now),
    }
    parts: list[RenderableType] = [details(facts, now)]
    if served:
        parts += ["", FIRES.table(served, now)]
    if to_come:
        parts += ["", NEXT.table(to_come, now)]
    cli.out.show({**fields_of(found), "fires": served, "next_fires": to_come}, Group(*parts))


def create(
    cli: Cli,
    *,
    name: Name,
    kind: Annotated[str, argument("KIND", "Such as billing.send_invoice.")],
    args: Annotated[list[str] | None, argument("ARGS", "A JSON object, or name=value pairs.")] = None,
    cron: Cron = None,
    at_time: Daily = None,
    weekdays: Days = None,
    at: At = None,
    zone: Zone = "UTC",
    gap: GapOption = None,
    overlap: OverlapOption = None,
    key: Annotated[str | None, option("KEY", "The entity it is for.")] = None,
    queue: Annotated[str | None, option("NAME", "Instead of the kind's own.")] = None,
    priority: Annotated[int | None, option("N", "Lower runs first.", min=-32768, max=32767)] = None,
    catch_up: Annotated[CatchUp, typer.Option(help="Which of the slots that an outage missed fire after it.")] = "last",
    jitter: Annotated[str, option("TIME", "Spread the fires by up to this time: 90, 5m.")] = "0",
    tenant: Tenant = None,
) -> None:
    """Create a schedule, or change the one with this name.

    Example: `ostinato schedules create digest mail.digest team=blue --cron "0 8 * * MON"`
    """
    schedule = Schedule(
        name,
        kind,
        **_times(at_time, weekdays, at),
        cron=cron,
        zone=zone,
        gap=gap,
        overlap=overlap,
        args=json.loads(words.named_args(args or [])),
        key=key,
        queue=queue,
        priority=priority,
        catch_up=catch_up,
        jitter=timedelta(seconds=words.seconds(jitter, "--jitter")),
        tenant_id=tenant,
    )
    written = attach.ask(cli, _write, schedule)
    local = written.slot_local
    due = "is paused" if local is None else f"fires next at {local:%Y-%m-%d %H:%M} ({zone})"
    cli.out.show(written, f"schedule {name} {due}")


def next_(
    cli: Cli,
    *,
    name: Annotated[str | None, argument("NAME", "Of a schedule; or give a rule.")] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, max=1000, help="How many to show.")] = 5,
    after: Annotated[str | None, option("ISO", "Those after a time: 2026-03-28T00:00:00Z.")] = None,
    cron: Cron = None,
    at_time: Daily = None,
    weekdays: Days = None,
    at: At = None,
    zone: Zone = "UTC",
    gap: GapOption = None,
    overlap: OverlapOption = None,
    tenant: Tenant = None,
) -> None:
    """Show when a schedule or a rule fires next: local time, UTC, and days when clocks move.

    Example: `ostinato schedules next --cron "30 2 * * *" --zone Europe/Paris`
    """
    start = None if after is None else words.moment(after, "--after")
    given = _times(at_time, weekdays, at)
    given |= {"cron": cron, "zone": zone, "gap": gap, "overlap": overlap}
    if (name is None) == (cron is None and at_time is None and at is None):
        hint = "Give NAME, or --cron, --at-time or --at."
        raise InvalidInput("a schedule or a rule is needed, and only one of them", hint=hint)

    async def look(conn: Conn) -> list[NextFire]:
        if name is not None:
            return await fires.next_fires(conn, name, number, after=start, tenant_id=tenant)
        return await fires.preview(conn, Schedule("-", "-", **given), number, after=start)

    listed(cli, "fires", attach.ask_at(cli, look), NEXT, empty="It will not fire.")


def recompute(cli: Cli) -> None:
    """Compute all next slots again: after the rules of zones changed, or the clock was wrong.

    Example: `ostinato schedules recompute`
    """
    changed = attach.ask(cli, fires.recompute)
    cli.out.show({"changed": changed}, f"{words.counted(changed, 'schedule')} changed")


async def _seen(conn: Conn, name: str, tenant: str | None) -> tuple[ScheduleDetails, list[Fire], list[NextFire]]:
    found = await engine_schedules.show(conn, name, tenant_id=tenant)
    served = await fires.list_fires(conn, name, tenant_id=tenant, most=5)
    return found, served, await fires.next_fires(conn, name, 3, tenant_id=tenant)


async def _write(conn: Conn, schedule: Schedule) -> Written:
    written = await engine_schedules.upsert(conn, schedule)
    await queues.ring(conn, engine_schedules.RING)
    return written


def _times(at_time: str | None, weekdays: str | None, at: str | None) -> dict[str, Any]:
    """Read times from the command line, as a schedule takes them."""
    try:
        daily = None if at_time is None else time.fromisoformat(at_time)
        once = None if at is None else datetime.fromisoformat(at)
    except ValueError as error:
        hint = "Write --at-time 14:30 or --at 2026-03-29T02:30."
        raise InvalidInput(f"the time cannot be read: {error}", hint=hint) from None
    days = None if weekdays is None else _days(weekdays)
    return {"at_time": daily, "weekdays": days, "at": once}


def _days(text: str) -> list[str]:
    days = [day.strip().lower() for day in text.split(",")]
    unknown = [day for day in days if day not in get_args(Weekday)]
    if unknown:
        hint = f"Weekdays are {', '.join(get_args(Weekday))}."
        raise InvalidInput(f"--weekdays: unknown {', '.join(unknown)}", hint=hint)
    return days


def _state(schedule: ScheduleSummary | ScheduleDetails, _: datetime) -> Text:
    if schedule.error is not None:
        return Text("broken", style="red")
    if schedule.paused:
        return Text("paused", style="yellow")
    return Text("over", style="dim") if schedule.next_at is None else Text("on", style="green")


def _resumed(due: datetime | None) -> str:
    due_text = "is over" if due is None else f"fires next at {due:%Y-%m-%d %H:%M:%S}Z"
    return f"schedule {{name}} {due_text}"


def _local(slot: ScheduleSummary | Fire, _: datetime) -> str:
    return "" if slot.slot_local is None else f"{slot.slot_local:%Y-%m-%d %H:%M}"


def _utc(fire: Fire | NextFire, _: datetime) -> str:
    return f"{fire.slot_at:%Y-%m-%d %H:%M:%S}Z"


COLUMNS = Columns(
    "schedule=name | tenant=tenant_id | kind | rule | zone | state | next, local=local | next=next_at",
    state=_state,
    local=_local,
)
FIRES = Columns(
    "served, local=local | at | lateness | job=job_id | missed>",
    local=_local,
    at=_utc,
    lateness=lambda fire, _: words.span(fire.lateness),
)
NEXT = Columns(
    "local | offset=utc_offset | UTC=utc | =note",
    local=lambda fire, _: f"{fire.slot_local:%a %Y-%m-%d %H:%M:%S}",
    utc=_utc,
    note=lambda fire, _: Text(fire.note or "", style="yellow"),
)
register = commands(
    list_,
    show,
    create,
    SCHEDULE.verb(
        "pause",
        engine_schedules.pause,
        "Stop a schedule; what passes until it is resumed does not fire.",
        example="ostinato schedules pause morning-digest",
        said="schedule {name} is paused",
        answer={"paused": True},
    ),
    SCHEDULE.verb(
        "resume",
        engine_schedules.resume,
        "Resume a schedule from its next slot.",
        example="ostinato schedules resume morning-digest",
        said=_resumed,
        answer={"paused": False},
        result="next_at",
        rings=engine_schedules.RING,
    ),
    next_,
    SCHEDULE.verb(
        "delete",
        engine_schedules.delete,
        "Remove a schedule; the jobs that it added stay.",
        example="ostinato schedules delete morning-digest",
        said="schedule {name} is deleted",
        answer={"deleted": True},
    ),
    recompute,
)

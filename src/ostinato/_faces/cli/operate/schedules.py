"""`ostinato schedules …`: what happens when, in local time and in UTC."""

import json
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Annotated, Any, get_args

import typer
from psycopg import AsyncConnection
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import clock, fires, queues
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
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.document import fields_of, parsed
from ostinato._faces.cli.frame.output import grid, table

__all__ = ["register"]

Conn = AsyncConnection[Any]

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]
Tenant = Annotated[str | None, typer.Option(metavar="ID", help="Of this tenant.")]
Cron = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Five fields, such as '30 8 * * MON-FRI'.")
]
Daily = Annotated[
    str | None, typer.Option("--at-time", metavar="HH:MM", help="Daily at this local time.")
]
Days = Annotated[
    str | None, typer.Option(metavar="DAYS", help="With --at-time: mon,tue,wed,thu,fri,sat,sun.")
]
At = Annotated[
    str | None, typer.Option(metavar="LOCAL", help="Once: 2026-03-29T02:30, in the zone.")
]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="Such as Europe/Paris.")]
GapOption = Annotated[Gap | None, typer.Option(help="For times that a moved clock leaves out.")]
OverlapOption = Annotated[Overlap | None, typer.Option(help="For times that come twice.")]


def list_(
    cli: Cli,
    *,
    tenant: Tenant = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Of this entity.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Of this kind of job.")] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 50,
) -> None:
    """List schedules: their rules, and when each fires next.

    Example: `ostinato schedules list --tenant acme`
    """

    async def look(conn: Conn) -> tuple[list[ScheduleSummary], datetime]:
        found = await engine_schedules.list_(conn, tenant_id=tenant, key=key, kind=kind, most=most)
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table("schedule", "tenant", "kind", "rule", "zone", "state", "next, local", "next")
    for each in found:
        shown.add_row(
            each.name,
            each.tenant_id,
            each.kind,
            each.rule,
            each.zone,
            _state(each.paused, each.error, each.next_at),
            "" if each.slot_local is None else f"{each.slot_local:%Y-%m-%d %H:%M}",
            words.age(each.next_at, now),
        )
    cli.out.show({"schedules": found}, shown if found else Text("No schedules yet."))


def show(cli: Cli, name: Name, *, tenant: Tenant = None) -> None:
    """Everything about one schedule: its rule, its policies, what fired and what comes.

    Example: `ostinato schedules show morning-digest`
    """

    async def look(conn: Conn) -> tuple[ScheduleDetails, list[Fire], list[NextFire], datetime]:
        found = await engine_schedules.show(conn, name, tenant_id=tenant)
        served = await fires.list_fires(conn, name, tenant_id=tenant, most=5)
        to_come = await fires.next_fires(conn, name, 3, tenant_id=tenant)
        return found, served, to_come, await clock.now(conn)

    found, served, to_come, now = attach.ask(cli, look)
    parts: list[RenderableType] = [_facts(found, now)]
    if served:
        past = table("served, local", "at", "lateness", "job", "missed", right=("missed",))
        for fire in served:
            late = words.span(fire.lateness)
            at = f"{fire.slot_at:%Y-%m-%d %H:%M:%S}Z"
            local = f"{fire.slot_local:%Y-%m-%d %H:%M}"
            past.add_row(local, at, late, str(fire.job_id), str(fire.missed))
        parts += ["", past]
    if to_come:
        parts += ["", _next(to_come)]
    cli.out.show({**fields_of(found), "fires": served, "next_fires": to_come}, Group(*parts))


def create(
    cli: Cli,
    *,
    name: Name,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as billing.send_invoice.")],
    args: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="A JSON object, or name=value pairs.")
    ] = None,
    cron: Cron = None,
    at_time: Daily = None,
    weekdays: Days = None,
    at: At = None,
    zone: Zone = "UTC",
    gap: GapOption = None,
    overlap: OverlapOption = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The entity it is for.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Not the kind's own.")] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", min=-32768, max=32767, help="Lower runs first.")
    ] = None,
    catch_up: Annotated[
        CatchUp, typer.Option(help="Which of the slots that an outage missed fire after it.")
    ] = "last",
    jitter: Annotated[
        str, typer.Option(metavar="TIME", help="Fire up to so much later: 90, 5m.")
    ] = "0",
    tenant: Tenant = None,
) -> None:
    """Write a schedule, or other values for the one with this name.

    Example: `ostinato schedules create digest mail.digest team=blue --cron "0 8 * * MON"`
    """
    given = _times(at_time, weekdays, at) | {"cron": cron, "zone": zone}
    wanted = {
        "gap": gap,
        "overlap": overlap,
        "args": json.loads(words.named_args(args or [])),
        "key": key,
        "queue": queue,
        "priority": priority,
        "catch_up": catch_up,
        "jitter": timedelta(seconds=words.seconds(jitter, "--jitter")),
        "tenant_id": tenant,
    }
    schedule = Schedule(name, kind, **(given | wanted))

    async def write(conn: Conn) -> Written:
        written = await engine_schedules.upsert(conn, schedule)
        await queues.ring(conn, engine_schedules.RING)
        return written

    written = attach.ask(cli, write)
    local = written.slot_local
    due = "is paused" if local is None else f"fires next at {local:%Y-%m-%d %H:%M} ({zone})"
    cli.out.show(written, f"schedule {name} {due}")


def pause(cli: Cli, name: Name, *, tenant: Tenant = None) -> None:
    """Stop a schedule; what passes until it is resumed does not fire.

    Example: `ostinato schedules pause morning-digest`
    """

    async def stop(conn: Conn) -> None:
        await engine_schedules.pause(conn, name, tenant_id=tenant)

    attach.ask(cli, stop)
    cli.out.show({"schedule": name, "paused": True}, f"schedule {name} is paused")


def resume(cli: Cli, name: Name, *, tenant: Tenant = None) -> None:
    """Let a schedule go on from its next slot.

    Example: `ostinato schedules resume morning-digest`
    """

    async def go_on(conn: Conn) -> datetime | None:
        due = await engine_schedules.resume(conn, name, tenant_id=tenant)
        await queues.ring(conn, engine_schedules.RING)
        return due

    due = attach.ask(cli, go_on)
    told = "is over" if due is None else f"fires next at {due:%Y-%m-%d %H:%M:%S}Z"
    cli.out.show({"schedule": name, "paused": False, "next_at": due}, f"schedule {name} {told}")


def next_(
    cli: Cli,
    *,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Of a schedule; or give a rule.")
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, max=1000, help="So many.")] = 5,
    after: Annotated[
        str | None, typer.Option(metavar="ISO", help="Those after a time: 2026-03-28T00:00:00Z.")
    ] = None,
    cron: Cron = None,
    at_time: Daily = None,
    weekdays: Days = None,
    at: At = None,
    zone: Zone = "UTC",
    gap: GapOption = None,
    overlap: OverlapOption = None,
    tenant: Tenant = None,
) -> None:
    """When a schedule fires next, or a rule would: local time, UTC, and days with a moved clock.

    Example: `ostinato schedules next --cron "30 2 * * *" --zone Europe/Paris`
    """
    start = None if after is None else words.moment(after, "--after")
    given = _times(at_time, weekdays, at)
    given |= {"cron": cron, "zone": zone, "gap": gap, "overlap": overlap}
    if (name is None) == (cron is None and at_time is None and at is None):
        hint = "Give NAME, or --cron, --at-time or --at."
        raise InvalidInput("either a schedule or a rule is asked about", hint=hint)

    async def look(conn: Conn) -> list[NextFire]:
        if name is not None:
            return await fires.next_fires(conn, name, number, after=start, tenant_id=tenant)
        return await fires.preview(conn, Schedule("-", "-", **given), number, after=start)

    found = attach.ask(cli, look)
    cli.out.show({"fires": found}, _next(found) if found else Text("It will not fire."))


def delete(cli: Cli, name: Name, *, tenant: Tenant = None) -> None:
    """Remove a schedule; the jobs that it added stay.

    Example: `ostinato schedules delete morning-digest`
    """

    async def remove(conn: Conn) -> None:
        await engine_schedules.delete(conn, name, tenant_id=tenant)

    attach.ask(cli, remove)
    cli.out.show({"schedule": name, "deleted": True}, f"schedule {name} is gone")


def recompute(cli: Cli) -> None:
    """Compute all next slots again: after the rules of zones changed, or the clock was wrong.

    Example: `ostinato schedules recompute`
    """
    changed = attach.ask(cli, fires.recompute)
    cli.out.show({"changed": changed}, f"{words.counted(changed, 'schedule')} changed")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    command(app)(show)
    command(app)(create)
    command(app)(pause)
    command(app)(resume)
    command(app, "next")(next_)
    command(app)(delete)
    command(app)(recompute)


def _times(at_time: str | None, weekdays: str | None, at: str | None) -> dict[str, Any]:
    """Times from the command line, as a schedule takes them."""
    try:
        daily = None if at_time is None else time.fromisoformat(at_time)
        once = None if at is None else datetime.fromisoformat(at)
    except ValueError as error:
        hint = "Write --at-time 14:30 or --at 2026-03-29T02:30."
        raise InvalidInput(f"that is no time: {error}", hint=hint) from None
    days = None if weekdays is None else _days(weekdays)
    return {"at_time": daily, "weekdays": days, "at": once}


def _days(text: str) -> list[str]:
    days = [day.strip().lower() for day in text.split(",")]
    unknown = [day for day in days if day not in get_args(Weekday)]
    if unknown:
        hint = f"Weekdays are {', '.join(get_args(Weekday))}."
        raise InvalidInput(f"--weekdays: unknown {', '.join(unknown)}", hint=hint)
    return days


def _state(paused: bool, error: str | None, next_at: datetime | None) -> Text:  # noqa: FBT001
    if error is not None:
        return Text("broken", style="red")
    if paused:
        return Text("paused", style="yellow")
    return Text("over", style="dim") if next_at is None else Text("on", style="green")


def _facts(found: ScheduleDetails, now: datetime) -> Table:
    shown = grid()
    policies = f"gap {found.gap}, overlap {found.overlap}, catch up {found.catch_up}"
    for label, value in (
        ("schedule", found.name),
        ("tenant", found.tenant_id),
        ("key", found.key),
        ("owner", found.owner),
        ("rule", f"{found.rule} in {found.zone}"),
        ("policies", policies),
        ("kind", found.kind),
        ("args", json.dumps(parsed(found.args), ensure_ascii=False)),
        ("queue", found.queue),
        ("error", found.error),
        ("missed", str(found.missed) if found.missed else None),
        ("next", words.age(found.next_at, now)),
    ):
        if value:
            shown.add_row(label, Text(value))
    shown.add_row("state", _state(found.paused, found.error, found.next_at))
    return shown


def _next(found: Sequence[NextFire]) -> Table:
    shown = table("local", "offset", "UTC", "")
    for fire in found:
        shown.add_row(
            f"{fire.slot_local:%a %Y-%m-%d %H:%M:%S}",
            fire.utc_offset,
            f"{fire.slot_at:%Y-%m-%d %H:%M:%S}Z",
            Text(fire.note or "", style="yellow"),
        )
    return shown

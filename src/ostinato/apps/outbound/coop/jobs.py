"""Runs the jobs of Coop Habitat: its events become messages, its timers fire (rules 6 bis)."""

import json
from datetime import date
from typing import Any

from ostinato import Cancel, Context, database, jobs
from ostinato.apps.outbound import APP
from ostinato.apps.outbound.coop import events, service
from ostinato.apps.outbound.coop.rules import EVENTS, step_named
from ostinato.apps.outbound.surface import OutboundSettings
from ostinato.jobs import NewJob
from ostinato.outbox import Event
from ostinato.schedules import Slot


@APP.on(*EVENTS, name="outbound.coop_notify", queue="outbound_events", start="beginning")
async def coop_notify(ctx: Context, event: Event[Any]) -> None:
    """Make a message for each recipient of an event of Coop Habitat."""
    settings = ctx.settings(OutboundSettings)
    async with ctx.transaction() as conn:
        payload = dict(vars(event.payload))
        await service.notify(conn, event.tenant_id, event.type, payload, settings)


@APP.job(queue="outbound_events")
async def coop_step(
    ctx: Context,
    *,
    contribution_id: str,
    step: str,
    due_date: date,
    plan_version: int,
    scheduled_for: Slot,  # noqa: ARG001 - the slot says which day it serves; the step says it too
) -> Cancel | None:
    """Act on a timer of a contribution: J-3, J-1, J+1 or J+7, unless the organisation has other days."""
    settings = ctx.settings(OutboundSettings)
    known = step_named(step)
    if known is None:
        return Cancel(f"there is no step {step}")
    async with ctx.transaction() as conn:
        tenant = ctx.job.tenant_id
        what = await service.take_step(
            conn, tenant, contribution_id, known, due=due_date, plan_version=plan_version, settings=settings
        )
        if what == "overdue":
            await events.emit_contribution(
                conn,
                "EVT_COOP_CONTRIBUTION_OVERDUE",
                contribution_id,
                due=due_date,
                plan_version=plan_version,
                tenant=tenant,
            )
        ctx.result = {"outcome": what, "at": str(await database.now(conn))}
    return None


@APP.job(queue="outbound_events")
async def coop_replan(ctx: Context, *, after: str = "") -> None:
    """Write the timers of open contributions anew: the organisation has other days, another hour or zone."""
    async with ctx.transaction() as conn:
        last = await service.replan(conn, ctx.job.tenant_id, after)
        if last is not None:
            args = json.dumps({"after": last})
            await jobs.enqueue(conn, NewJob("outbound.coop_replan", args, tenant_id=ctx.job.tenant_id))

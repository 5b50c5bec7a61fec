"""The jobs of Coop Habitat: its events become messages, its timers fire (seed 6)."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from ostinato import Cancel, Context, database
from ostinato.apps.outbound import APP, round_notices
from ostinato.apps.outbound.coop import service as coop
from ostinato.apps.outbound.coop.rules import EVENTS, STEPS
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.outbox import Event
from ostinato.schedules import Slot

__all__ = ["coop_notify", "coop_step", "round_opened"]


@dataclass(frozen=True)
class ContributionDue:
    """A contribution is due, or is overdue."""

    contribution_id: str
    due_date: str
    plan_version: int


@dataclass(frozen=True)
class DocumentPublished:
    """A PV, or another document, was published for a group."""

    group_id: str
    document_id: str
    title: str


@dataclass(frozen=True)
class AllocationProposed:
    """A lot was proposed to a member."""

    allocation_id: str
    allocation_version: int
    member_id: str
    rank: int
    lot: str
    contest_until: str


@dataclass(frozen=True)
class AllocationValidated:
    """A lot was attributed to a member."""

    allocation_id: str
    allocation_version: int
    member_id: str
    lot: str


@dataclass(frozen=True)
class MilestoneUpdated:
    """A project reached a milestone: PERMITS, BUILDING, DELIVERY, HANDOVER."""

    project_id: str
    group_id: str
    status_code: str
    transition_id: str


@dataclass(frozen=True)
class StatusChanged:
    """A group or a project is in another status."""

    entity_type: Literal["COOP_GROUP", "COOP_PROJECT"]
    entity_id: str
    group_id: str
    status_code: str
    transition_id: str


SHAPES: dict[str, type[Any]] = {
    "EVT_COOP_CONTRIBUTION_DUE_CREATED": ContributionDue,
    "EVT_COOP_CONTRIBUTION_OVERDUE": ContributionDue,
    "EVT_COOP_DOCUMENT_PUBLISHED": DocumentPublished,
    "EVT_COOP_ALLOCATION_PROPOSED": AllocationProposed,
    "EVT_COOP_ALLOCATION_VALIDATED": AllocationValidated,
    "EVT_COOP_PROJECT_MILESTONE_UPDATED": MilestoneUpdated,
    "EVT_COOP_STATUS_CHANGED": StatusChanged,
}
for _name, _shape in SHAPES.items():
    APP.event(_name, payload=_shape)


@APP.on(*EVENTS, name="outbound.coop_notify", queue="outbound_events", start="beginning")
async def coop_notify(ctx: Context, event: Event[Any]) -> None:
    """An event of Coop Habitat becomes a message for each recipient."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        payload = dict(vars(event.payload))
        await coop.notify(conn, event.tenant_id, event.type, payload, settings)


@APP.on(
    round_notices.OPENED, name="outbound.round_opened", queue="outbound_events", start="beginning"
)
async def round_opened(ctx: Context, event: Event[Any]) -> None:
    """A round is open: the members who want it are told."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        await round_notices.tell_opened(conn, event.tenant_id, event.payload, settings)


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
    """A timer of a contribution fired: J-3, J-1, J+1 or J+7."""
    settings = OutboundSettings.load()
    known = STEPS.get(step)
    if known is None:
        return Cancel(f"there is no step {step}")
    async with ctx.transaction() as conn:
        tenant = ctx.job.tenant_id
        what = await coop.take_step(
            conn,
            tenant,
            contribution_id,
            known,
            due=due_date,
            plan_version=plan_version,
            settings=settings,
        )
        if what == "overdue":
            payload = ContributionDue(contribution_id, due_date.isoformat(), plan_version)
            await APP.emit(
                conn,
                "EVT_COOP_CONTRIBUTION_OVERDUE",
                vars(payload),
                key=f"coop-contribution:{contribution_id}",
                tenant=tenant,
            )
        ctx.result = {"outcome": what, "at": str(await database.now(conn))}
    return None

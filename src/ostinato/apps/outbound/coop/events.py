"""Declares the events of Coop Habitat, and emits those about a contribution."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from ostinato.apps.outbound import APP
from ostinato.apps.outbound.surface import Connection


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


SHAPES: Final[dict[str, type[Any]]] = {
    "EVT_COOP_CONTRIBUTION_DUE_CREATED": ContributionDue,
    "EVT_COOP_CONTRIBUTION_OVERDUE": ContributionDue,
    "EVT_COOP_DOCUMENT_PUBLISHED": DocumentPublished,
    "EVT_COOP_ALLOCATION_PROPOSED": AllocationProposed,
    "EVT_COOP_ALLOCATION_VALIDATED": AllocationValidated,
    "EVT_COOP_PROJECT_MILESTONE_UPDATED": MilestoneUpdated,
    "EVT_COOP_STATUS_CHANGED": StatusChanged,
}
DECLARED: Final = {name: APP.event(name, payload=shape) for name, shape in SHAPES.items()}


async def emit_contribution(
    conn: Connection, name: str, contribution_id: str, *, due: date, plan_version: int, tenant: str | None = None
) -> int:
    """Emit that a contribution is due, or overdue, with the date and version that it has now."""
    payload = ContributionDue(contribution_id, due.isoformat(), plan_version)
    key = f"coop-contribution:{contribution_id}"
    return await DECLARED[name].emit(conn, payload, key=key, tenant=tenant)

"""Serves Coop Habitat: members, contributions, and the events of the outbox (rules 6 bis)."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import Field

from ostinato import audit
from ostinato.apps.outbound.coop import events, service
from ostinato.apps.outbound.coop.texts import TEMPLATES
from ostinato.apps.outbound.permissions import SEND, SET_UP
from ostinato.apps.outbound.surface import Channel, Language, Name, OutboundSettings, Short, View, Whole, put_template
from ostinato.errors import InvalidInput, NotFound
from ostinato.web import Router, Who

router = Router(prefix="/api/v1/outbound/coop", tags=["outbound coop"])

Id = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[^\x00]+$")]
Emitted = Literal[
    "EVT_COOP_DOCUMENT_PUBLISHED",
    "EVT_COOP_ALLOCATION_PROPOSED",
    "EVT_COOP_ALLOCATION_VALIDATED",
    "EVT_COOP_PROJECT_MILESTONE_UPDATED",
    "EVT_COOP_STATUS_CHANGED",
]


class MemberBody(View):
    """A member of a group."""

    group_id: Name
    subject_id: Name
    address: Short = Field(min_length=1)
    channel: Channel = Channel.WHATSAPP
    status: Literal["PENDING_KYC", "ACTIVE", "SUSPENDED", "EXITED", "EXCLUDED"] = "ACTIVE"
    name: Short = ""
    language: Language = "fr"
    dossier_id: Name | None = None


class ContributionBody(View):
    """What a member owes."""

    member_id: Name
    plan_id: Name
    plan_version: Whole = Field(ge=1, le=1_000_000)
    due_date: date = Field(ge=date(2000, 1, 1), le=date(2200, 1, 1))
    amount_due: Decimal = Field(gt=0, lt=10**11, decimal_places=2)
    currency: str = Field(default="EUR", pattern=r"^[A-Z]{3}$")
    penalty: Decimal = Field(default=Decimal(0), ge=0, lt=10**11, decimal_places=2)
    status: Literal["PENDING", "CONFIRMED", "REJECTED", "LATE", "WAIVED"] = "PENDING"
    paid_date: date | None = None


class CoopEvent(View):
    """Something that happened in a group or a project."""

    type: Emitted
    payload: dict[str, Any]


class EventEmitted(View):
    """The event, as the outbox has it."""

    event_id: int | None


@router.put("/templates", needs=SET_UP)
async def install_templates(caller: Who) -> dict[str, int]:
    """Write the eight templates of Coop Habitat, as they come, in French and in English."""
    async with caller.transaction() as conn:
        for template in TEMPLATES:
            await put_template(conn, caller.tenant_id, **template)
        await audit.note(conn, "set", "template", "coop", count=len(TEMPLATES))
    return {"templates": len(TEMPLATES)}


@router.put("/members/{member_id}", needs=SEND)
async def set_member(caller: Who, member_id: Id, body: MemberBody) -> dict[str, str]:
    """Write a member."""
    member = service.Member(id=member_id, **body.model_dump())
    async with caller.transaction() as conn:
        await service.put_member(conn, caller.tenant_id, member, caller.settings(OutboundSettings))
    return {"id": member_id}


@router.put("/contributions/{contribution_id}", needs=SEND, raises=(NotFound,))
async def set_contribution(caller: Who, contribution_id: Id, body: ContributionBody) -> EventEmitted:
    """Write a contribution: its timers, and the event of its call for funds, in one transaction."""
    new = service.Contribution(id=contribution_id, **body.model_dump())
    event_id = None
    async with caller.transaction() as conn:
        if await service.put_contribution(conn, caller.tenant_id, new):
            event_id = await events.emit_contribution(
                conn, "EVT_COOP_CONTRIBUTION_DUE_CREATED", new.id, due=new.due_date, plan_version=new.plan_version
            )
    return EventEmitted(event_id=event_id)


@router.post("/events", needs=SEND, status_code=202, raises=(InvalidInput, NotFound))
async def emit_event(caller: Who, body: CoopEvent) -> EventEmitted:
    """Emit an event of Coop Habitat; a worker makes a message of it for each recipient."""
    member_id = body.payload.get("member_id")
    about = body.payload.get("group_id") or body.payload.get("allocation_id")
    key = f"coop:{about}"[:200] if isinstance(about, str) else None
    async with caller.transaction() as conn:
        if isinstance(member_id, str):  # else the event has another shape, or is refused for it
            await service.check_member(conn, caller.tenant_id, member_id)
        event_id = await events.DECLARED[body.type].emit(conn, body.payload, key=key)
    return EventEmitted(event_id=event_id)

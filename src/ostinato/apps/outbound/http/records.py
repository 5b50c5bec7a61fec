"""Serves what went on: the timeline of a dossier, the audit, what people wrote, the figures."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field

from ostinato.apps.outbound import metrics, store
from ostinato.apps.outbound.model import Channel
from ostinato.apps.outbound.permissions import READ
from ostinato.apps.outbound.store import Row
from ostinato.apps.outbound.views import View
from ostinato.web import Router, Who

router = Router(prefix="/api/v1/outbound", tags=["outbound"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
Limit = Annotated[int, Query(ge=1, le=200)]
Text = Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00]+$")]
Before = Annotated[int | None, Query(ge=1, le=2**53 - 1)]


class AuditEvent(View):
    """One event of the audit."""

    id: int
    at: datetime
    action: str
    actor: str
    message_id: UUID | None
    consent_id: UUID | None
    dossier_id: str | None
    subject_id: str | None
    correlation_id: str | None
    details: dict[str, Any]


class Activity(View):
    """One entry of a dossier's timeline."""

    id: int
    at: datetime
    activity_code: str
    message_id: UUID | None = Field(description="None: it was refused before it was one.")
    channel: Channel
    template_code: str | None
    status: str
    note: str | None


class InboundView(View):
    """What somebody wrote."""

    id: int
    sender_id: int = Field(description="The sender that it was written to.")
    channel: Channel
    from_: str = Field(alias="from", description="Empty: the person was erased.")
    kind: str
    text: str | None
    asked: str | None = Field(description="STOP, STOP_ALL, START, HELP; null: nothing by one word.")
    received_at: datetime

    @classmethod
    def of(cls, row: Row) -> "InboundView":
        """Make the view from its row."""
        given = {name: row[name] for name in ("id", "sender_id", "channel", "kind", "asked", "received_at")}
        return cls(**given, **{"from": row["from_address"]}, text=row["body"])


class Figure(View):
    """One figure."""

    name: str
    label: str
    value: float | None


class Figures(View):
    """What went on in the last while."""

    minutes: int
    figures: list[Figure]


@router.get("/timeline", needs=READ)
async def show_timeline(
    caller: Who,
    dossier_id: Annotated[str, Query(alias="dossierId", min_length=1, max_length=200)],
    before: Before = None,
    limit: Limit = 100,
) -> list[Activity]:
    """Return the MESSAGE_LOG activities of a dossier, newest first."""
    async with caller.transaction() as conn:
        rows = await store.rows(
            conn, "timeline", tenant_id=caller.tenant_id, dossier_id=dossier_id, before=before, most=limit
        )
    return [Activity(**row) for row in rows]


@router.get("/audit", needs=READ)
async def show_audit(
    caller: Who,
    *,
    message_id: Annotated[UUID | None, Query(alias="messageId")] = None,
    dossier_id: Annotated[str | None, Query(alias="dossierId", max_length=200)] = None,
    action: Text = None,
    before: Before = None,
    limit: Limit = 100,
) -> list[AuditEvent]:
    """Return the audit, newest first."""
    async with caller.transaction() as conn:
        rows = await store.rows(
            conn,
            "audit",
            tenant_id=caller.tenant_id,
            message_id=message_id,
            dossier_id=dossier_id,
            action=action,
            before=before,
            most=limit,
        )
    return [AuditEvent(**row) for row in rows]


@router.get("/inbound", needs=READ)
async def list_inbound(
    caller: Who,
    *,
    from_: Annotated[str | None, Query(alias="from", max_length=254, description="From this number, in E.164.")] = None,
    before: Before = None,
    limit: Limit = 100,
) -> list[InboundView]:
    """Return what people wrote, newest first, for as long as it is kept."""
    async with caller.transaction() as conn:
        rows = await store.rows(
            conn, "inbound_messages", tenant_id=caller.tenant_id, from_address=from_, before=before, most=limit
        )
    return [InboundView.of(row) for row in rows]


@router.get("/metrics", needs=READ)
async def show_figures(caller: Who, minutes: Annotated[int, Query(ge=1, le=10_080)] = 60) -> Figures:
    """Return queue size, latencies, failure rate with its codes, retries and dead letters."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "figures", tenant_id=caller.tenant_id, minutes=minutes)
    return Figures(minutes=minutes, figures=[Figure(**row) for row in rows])


@router.get(
    "/metrics/prometheus",
    needs=READ,
    response_class=Response,
    responses={200: {"content": {PROMETHEUS: {"schema": {"type": "string"}}}}},
)
async def show_page(caller: Who) -> Response:
    """Return the figures of the last hour as Prometheus reads them."""
    async with caller.transaction() as conn:
        rows = await store.rows(conn, "figures", tenant_id=caller.tenant_id, minutes=60)
    return Response(metrics.render(rows), media_type=PROMETHEUS)

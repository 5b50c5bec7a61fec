"""`/api/v1/engine/alerts`: what is watched for the tenant, what is wrong now, and what was."""

import math
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BeforeValidator, Field

from ostinato._core.engine import alerts
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.jobs_http import PREFIX
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import Before, Json, Limit, Name, Page, View, page_of

__all__ = ["router"]

MOST_OPEN = 1_000

router = Router(prefix=PREFIX, tags=["alerts"])


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_finite), Field(examples=[3.0])]
"""A measured value; null: one without end, which JSON cannot hold."""
Level = Literal["info", "warning", "critical"]


class FiringView(View):
    """One time that a label of an alert was bad."""

    id: int = Field(examples=[3190000000042])
    alert: str = Field(examples=["ostinato.dead_letters"])
    label: str = Field(examples=["mail"])
    """What it is about, such as a queue; empty: the whole."""
    severity: Level
    state: Literal["pending", "firing", "resolved"]
    """Pending: bad, but not for long enough to fire."""
    since: datetime
    """Bad since then."""
    fired_at: datetime | None
    resolved_at: datetime | None
    value: Number
    """The last value."""
    worst: Number
    message: str = Field(examples=["queue mail has 3 dead letters"])
    details: Json
    """The condition that it met."""


class AlertView(View):
    """What is watched, and how it stands."""

    name: str = Field(examples=["ostinato.dead_letters"])
    severity: Level
    state: Literal["firing", "failing", "pending", "ok", "new"]
    """Failing: its source cannot be asked. New: it was not evaluated yet."""
    source: str = Field(examples=["queue_dead_letters"])
    """The figure or the function that is measured."""
    parameters: Json
    labels: list[str]
    """Only these; none: all that the source tells."""
    comparison: Literal[">", "<"]
    threshold: float
    clears_at: float
    """It is good again from here on."""
    for_seconds: float
    """It fires when it has been bad for so long."""
    clear_seconds: float
    """It is resolved when it has been good for so long."""
    message: str
    remedy: str
    evaluated_at: datetime | None
    open: list[FiringView]
    """What is bad now, pending ones included."""


class Alerts(View):
    """Alerts, the worst first."""

    items: list[AlertView]


class FiringPage(Page[FiringView]):
    """What fired, newest first."""


_OWN_FIELDS = AlertView.model_fields.keys() - {"open"}


@router.get("/alerts", needs=ENGINE_READ)
async def list_alerts(
    caller: Who,
    *,
    firing: Annotated[bool, Query(description="Only those that fire.", examples=[False])] = False,
) -> Alerts:
    """The alerts that are told to the tenant, with what is wrong now: 1,000 at most."""
    async with caller.transaction() as conn:
        lines = await alerts.own_alerts(conn)
        found = await alerts.own_firings(conn, only_open=True, most=MOST_OPEN)
    bad = [FiringView.model_validate(each) for each in found]
    return Alerts(
        items=[
            AlertView(
                **{field: getattr(line, field) for field in _OWN_FIELDS},
                open=[each for each in bad if each.alert == line.name],
            )
            for line in lines
            if line.state == "firing" or not firing
        ]
    )


@router.get("/alerts/firings", needs=ENGINE_READ)
async def list_firings(
    caller: Who, *, alert: Name = None, before: Before = None, limit: Limit = 50
) -> FiringPage:
    """What fired for the tenant within the retention time, newest first."""
    async with caller.transaction() as conn:
        rows = await alerts.own_firings(conn, alert, before=before, most=limit + 1)
    items, following = page_of(FiringView, rows, limit, lambda each: each.id)
    return FiringPage(items=items, next=following)

"""`/api/v1/engine/alerts` lists the tenant's alerts, and their firings."""

import math
from dataclasses import asdict
from typing import Annotated

from fastapi import Query
from pydantic import BeforeValidator, Field

from ostinato._core.engine import alerts
from ostinato._core.engine.alerts import AlertLine, Firing
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import JOB, PREFIX, Before, Json, Limit, Name, Page, View, page_of, shows

MOST_OPEN = 1_000

router = Router(prefix=PREFIX, tags=["alerts"])


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_finite), Field(examples=[3.0])]
"""A measured value; null means infinite, which JSON cannot hold."""
ALERT = "ostinato.dead_letters"


@shows(
    Firing,
    without=["template", "template_one", "places"],
    id=JOB,
    alert=ALERT,
    label="mail",
    message="queue mail has 3 dead letters",
    acknowledged_by="ann",
)
class FiringView(View):
    """One period in which a label of an alert was bad."""

    value: Number
    """The last value."""
    worst: Number
    details: Json
    """The condition that it met."""


@shows(
    AlertLine,
    without=["owner", "firing", "since", "failures", "error", "message_one"],
    name=ALERT,
    source="queue_dead_letters",
)
class AlertView(View):
    """An alert and its state."""

    parameters: Json
    open: list[FiringView]
    """These are bad now, pending ones included."""


class Alerts(View):
    """Alerts, the worst first."""

    items: list[AlertView]


class FiringPage(Page[FiringView]):
    """Firings, newest first."""


@router.get("/alerts", needs=ENGINE_READ)
async def list_alerts(
    caller: Who, *, firing: Annotated[bool, Query(description="Only those that fire.", examples=[False])] = False
) -> Alerts:
    """Return the alerts of the tenant, with what is wrong now: 1,000 at most."""
    async with caller.reading() as conn:
        lines = await alerts.own_alerts(conn)
        found = await alerts.own_firings(conn, only_open=True, most=MOST_OPEN)
    return Alerts.of(
        items=[
            {**asdict(line), "open": [each for each in found if each.alert == line.name]}
            for line in lines
            if line.state == "firing" or not firing
        ]
    )


@router.get("/alerts/firings", needs=ENGINE_READ)
async def list_firings(caller: Who, *, alert: Name = None, before: Before = None, limit: Limit = 50) -> FiringPage:
    """Return the firings of the tenant within the retention time, newest first."""
    async with caller.reading() as conn:
        rows = await alerts.own_firings(conn, alert, before=before, most=limit + 1)
    return page_of(FiringPage, rows, limit)

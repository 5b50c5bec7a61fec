"""`/api/v1/engine/series` shows what was done over time: the tenant's, or that of the installation."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Query
from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import clock, series
from ostinato._core.engine.series import Step
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.audit_http import Since
from ostinato._faces.api.desk import AtInstallation
from ostinato._faces.api.permissions import ENGINE_READ, INSTALLATION
from ostinato._faces.api.views import PREFIX, Name, View, shows

router = Router(prefix=PREFIX, tags=["series"])

MOST_STEPS = 3_000
LENGTHS: dict[str, Literal[60, 3600]] = {"60": 60, "3600": 3600}
USUAL = {60: timedelta(hours=1), 3600: timedelta(days=1)}

Seconds = Annotated[
    Literal["60", "3600"], Query(description="The length of a step: a minute, or an hour.", examples=["60"])
]
Until = Annotated[Since, Query(description="Steps that began before this time; now unless it says so.")]


@shows(Step, first=12, done=11, failed=1, dead=0, run_seconds=3.5, p50=0.01, p95=0.05, p99=0.1)
class SeriesStep(View):
    """A step of time counts what happened in it."""


class SeriesSteps(View):
    """Steps in which anything happened, oldest first: 3,000 at the most."""

    items: list[SeriesStep]


@router.get("/series", needs=ENGINE_READ)
async def list_own_series(
    caller: Who, *, since: Since = None, until: Until = None, step: Seconds = "60"
) -> SeriesSteps:
    """Return what was done for the tenant, by minute (kept for three hours) or by hour.

    Of the last hour, or of the last day by hour, unless `since` says otherwise.
    """
    async with caller.reading() as conn:
        return await _steps(conn, LENGTHS[step], since, until, tenant_id=caller.tenant_id)


@router.get("/installation/series", needs=INSTALLATION)
async def list_series(
    desk: AtInstallation,
    *,
    queue: Name = None,
    kind: Name = None,
    tenant: Name = None,
    since: Since = None,
    until: Until = None,
    step: Seconds = "60",
) -> SeriesSteps:
    """Return what was done for all tenants, of a queue or a kind, or for one tenant as a whole.

    By minute (kept for 48 hours) or by hour; of the last hour, or of the last day by hour, unless `since` says
    otherwise.
    """
    if tenant is not None and (queue is not None or kind is not None):
        raise InvalidInput(
            "tenant is not taken with queue or kind", hint="A tenant has one series, of all its jobs: leave them out."
        )
    async with desk.transaction() as conn:
        return await _steps(conn, LENGTHS[step], since, until, queue=queue, kind=kind, tenant_id=tenant)


async def _steps(
    conn: AsyncConnection[Any],
    step: Literal[60, 3600],
    since: datetime | None,
    until: datetime | None,
    **which: str | None,
) -> SeriesSteps:
    now = await clock.now(conn)
    start, end = since or (until or now) - USUAL[step], until or now
    if (end - start) / timedelta(seconds=step) > MOST_STEPS:
        raise InvalidInput(
            f"from {start:%Y-%m-%dT%H:%M:%SZ} to {end:%Y-%m-%dT%H:%M:%SZ} there are more than"
            f" {MOST_STEPS:,} steps of {step} s",
            hint="Ask for less at once, or for step=3600.",
        )
    return SeriesSteps.of(items=await series.list_series(conn, start, until=end, step=step, **which))

"""`/api/v1/engine/queues`, `/workers`, `/schedules`, `/dead-letters`: where work waits and runs."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import fires, operators, schedules
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.event_views import (
    FireView,
    NextFireView,
    ScheduleItem,
    SchedulePage,
    ScheduleView,
)
from ostinato._faces.api.job_views import (
    DeadLetterGroups,
    DeadLetterGroupView,
    DeadLetterItem,
    DeadLetterPage,
)
from ostinato._faces.api.jobs_http import PREFIX
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import MAX_NAME, Before, Limit, Name, View, page_of

__all__ = ["router"]

NEXT_FIRES = 5
LAST_FIRES = 20
MAX_SIGNATURE = 1_000

router = Router(prefix=PREFIX, tags=["places"])


class QueueView(View):
    """A queue with its limits, and what the tenant has in it."""

    name: str = Field(examples=["mail"])
    paused: bool
    """Nothing is claimed from it."""
    concurrency: int | None
    """So many jobs of all tenants run at once at the most; null: any number."""
    rate_count: int | None
    """So many start within `rate_seconds` at the most."""
    rate_seconds: float | None
    key_concurrency: int | None
    """As `concurrency`, for the jobs of one limit key."""
    key_rate_count: int | None
    key_rate_seconds: float | None
    ready: int = Field(examples=[3])
    scheduled: int = Field(examples=[1])
    running: int = Field(examples=[2])
    dead: int = Field(examples=[0])
    capped: list[str]
    """The counts that are lower bounds, by name."""
    oldest_wait: float | None
    """For how many seconds the tenant's oldest ready job has waited."""
    workers: int = Field(examples=[4])
    """Living workers that serve it."""


class Queues(View):
    """Queues by name."""

    items: list[QueueView]


class WorkerView(View):
    """A worker of the installation, alive or not."""

    id: UUID
    name: str = Field(examples=["host-1"])
    started_at: datetime
    beat_at: datetime
    beat_age: float = Field(examples=[1.2])
    """Seconds since it was last heard of."""
    expiry_seconds: float = Field(examples=[15.0])
    """Silent for so long, it loses its jobs."""
    expired: bool
    draining: bool
    """It ends, and takes no new jobs."""
    held: int = Field(examples=[2])
    """Jobs of the tenant that it holds."""
    oldest_claim: datetime | None
    """Since when it holds the oldest of them."""
    queues: list[str] = Field(examples=[["default", "mail"]])
    kinds: list[str] = Field(examples=[["billing.send_invoice"]])


class Workers(View):
    """Workers, the longest silent first."""

    items: list[WorkerView]


@router.get("/queues", needs=ENGINE_READ)
async def list_queues(caller: Who) -> Queues:
    """Queues that are configured, belong to a kind, or hold jobs of the tenant: 1,000 at most."""
    async with caller.transaction() as conn:
        rows = await operators.queues(conn)
    return Queues(items=[QueueView.model_validate(row) for row in rows])


@router.get("/workers", needs=ENGINE_READ)
async def list_workers(caller: Who) -> Workers:
    """The workers of the installation: 1,000 at most."""
    async with caller.transaction() as conn:
        rows = await operators.workers(conn)
    return Workers(items=[WorkerView.model_validate(row) for row in rows])


@router.get("/schedules", needs=ENGINE_READ)
async def list_schedules(
    caller: Who,
    *,
    kind: Name = None,
    key: Name = None,
    after: Annotated[
        str,
        Query(max_length=MAX_NAME, description="The `next` of the page before.", examples=[""]),
    ] = "",
    limit: Limit = 50,
) -> SchedulePage:
    """Schedules that match every filter, by name."""
    async with caller.transaction() as conn:
        rows = await schedules.list_(
            conn,
            tenant_id=caller.tenant_id,
            kind=kind,
            key=key,
            after=(caller.tenant_id, after),
            most=limit + 1,
        )
    items = [ScheduleItem.model_validate(row) for row in rows[:limit]]
    return SchedulePage(items=items, next=items[-1].name if len(rows) > limit else None)


@router.get("/schedules/{name:path}", needs=ENGINE_READ, raises=(NotFound,))
async def show_schedule(
    caller: Who,
    name: Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=["daily-digest"])],
) -> ScheduleView:
    """A schedule with its next fires and its last ones."""
    async with caller.transaction() as conn:
        found = await schedules.show(conn, name, tenant_id=caller.tenant_id)
        coming = await fires.next_fires(conn, name, NEXT_FIRES, tenant_id=caller.tenant_id)
        past = await fires.list_fires(conn, name, tenant_id=caller.tenant_id, most=LAST_FIRES)
    shown = {field: getattr(found, field) for field in _OWN_FIELDS}
    return ScheduleView(
        **shown,
        next_fires=[NextFireView.model_validate(each) for each in coming],
        fires=[FireView.model_validate(each) for each in past],
    )


_OWN_FIELDS = ScheduleView.model_fields.keys() - {"next_fires", "fires"}


@router.get("/dead-letters", needs=ENGINE_READ)
async def list_dead_letters(
    caller: Who,
    *,
    queue: Name = None,
    kind: Name = None,
    signature: Annotated[str | None, Query(min_length=1, max_length=MAX_SIGNATURE)] = None,
    before: Before = None,
    limit: Limit = 50,
) -> DeadLetterPage:
    """Jobs that gave up and match every filter, newest first."""
    async with caller.transaction() as conn:
        rows = await operators.dead_letters(
            conn, queue=queue, kind=kind, signature=signature, before=before, most=limit + 1
        )
    items, following = page_of(DeadLetterItem, rows, limit, lambda letter: letter.job_id)
    return DeadLetterPage(items=items, next=following)


@router.get("/dead-letters/groups", needs=ENGINE_READ)
async def list_dead_letter_groups(caller: Who, limit: Limit = 50) -> DeadLetterGroups:
    """Jobs that gave up by what killed them, the largest group first."""
    async with caller.transaction() as conn:
        rows = await operators.dead_letter_groups(conn, limit)
    return DeadLetterGroups(items=[DeadLetterGroupView.model_validate(row) for row in rows])

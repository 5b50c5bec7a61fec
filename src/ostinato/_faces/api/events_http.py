"""`/api/v1/engine/events` lists the tenant's events, `/trail` what they caused."""

from typing import Annotated

from fastapi import Path, Query

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import inspect, outbox
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant, may_look
from ostinato._faces.api.event_views import EventPage, EventView, Trail
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import BIGGEST, MAX_NAME, PREFIX, Before, Limit, Name, page_of

MOST_TRAIL = 1_000

router = Router(prefix=PREFIX, tags=["events"])


@router.get("/events", needs=ENGINE_READ)
async def list_events(
    caller: AsTenant,
    *,
    type_: Annotated[str | None, Query(alias="type", min_length=1, max_length=MAX_NAME)] = None,
    ordering_key: Name = None,
    correlation_id: Name = None,
    before: Before = None,
    limit: Limit = 50,
) -> EventPage:
    """Return the events that match every filter, newest first."""
    async with caller.reading() as conn:
        rows = await outbox.list_events(
            conn,
            type=type_,
            ordering_key=ordering_key,
            tenant_id=caller.tenant_id,
            correlation_id=correlation_id,
            before=before,
            most=limit + 1,
        )
    return page_of(EventPage, rows, limit)


@router.get("/events/{event_id:digits}", needs=ENGINE_READ, raises=(NotFound,))
async def show_event(
    caller: AsTenant, event_id: Annotated[int, Path(ge=1, le=BIGGEST, description="The id of an event.")]
) -> EventView:
    """Return an event with its payload, which is null for a reader."""
    async with caller.reading() as conn:
        found = EventView.model_validate(await outbox.show_event(conn, event_id))
    return found if may_look(caller) else found.model_copy(update={"payload": None})


@router.get("/trail/{correlation_id:path}", needs=ENGINE_READ)
async def show_trail(
    caller: AsTenant,
    correlation_id: Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=["request-42"])],
    limit: Annotated[int, Query(ge=1, le=MOST_TRAIL, description="How many lines at the most.")] = MOST_TRAIL,
) -> Trail:
    """Return everything that happened for a correlation id; that of a job without one is `job-<id>`."""
    async with caller.reading() as conn:
        rows = await inspect.trail(conn, correlation_id, tenant_id=caller.tenant_id, most=limit + 1)
    complete = len(rows) <= limit
    return Trail.of(correlation_id=correlation_id, items=rows[:limit], complete=complete)

"""`/api/v1/engine/webhooks/{name}/…` lists what was sent to an endpoint, sends it again, and tries the endpoint."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Path, Query, Request
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import jobs, webhook_deliveries, webhooks
from ostinato._core.engine.webhook_deliveries import Attempt, Delivery, DeliveryState
from ostinato._core.runtime.services.webhooks import QUEUE, Met
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.desk import AtDesk
from ostinato._faces.api.job_views import Instant, ReasonRequest, Text
from ostinato._faces.api.parts import parts_of
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.views import BIGGEST, MAX_NAME, PREFIX, Before, Limit, Page, View, page_of, shows

router = Router(prefix=PREFIX, tags=["records"])

MOST_NAMED = 1_000

Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=["partner"])]
DeliveryId = Annotated[int, Field(ge=1, le=BIGGEST)]


@shows(Delivery)
class DeliveryView(View):
    """One event for one endpoint."""


class DeliveryPage(Page[DeliveryView]):
    """Deliveries, newest first."""


@shows(Attempt)
class SendView(View):
    """One attempt at a delivery."""


class SendPage(Page[SendView]):
    """Attempts at deliveries, newest first."""


class RedeliverRequest(ReasonRequest):
    """Deliveries that match every given field are sent again. Without any: all that are dead."""

    deliveries: list[DeliveryId] | None = Field(default=None, min_length=1, max_length=MOST_NAMED, examples=[None])
    """Only these."""
    events: list[Text] | None = Field(default=None, min_length=1, max_length=MOST_NAMED, examples=[None])
    """Only of these events: the `webhook-id` that the receiver saw."""
    since: Instant | None = Field(default=None, examples=["2026-03-01T09:00:00Z"])
    """Only those made since."""
    delivered: bool = False
    """Also those that were delivered; so it is for deliveries or events that are named."""
    most: int | None = Field(default=None, ge=1, le=BIGGEST, examples=[5])
    """The most that are sent, oldest first: a canary."""
    preview: bool = False
    """Only count them."""


class Redelivered(View):
    """These were sent again, or would be."""

    count: int
    """This many are sent again."""
    matching: int
    """This many match, also beyond `most`."""
    preview: bool
    """True says that they were only counted."""


@shows(Met, outcome="delivered", status=204, milliseconds=42)
class MetView(View):
    """A test message was sent, and met this."""


@router.post("/webhooks/{name}/test", needs=ENGINE_WRITE, raises=(NotFound,))
async def try_endpoint(request: Request, caller: Who, desk: AtDesk, name: Name) -> MetView:
    """Send a test message to an endpoint, now and from here, and return what came of it."""
    async with desk.transaction() as conn:
        sending = await webhook_deliveries.probe(conn, name, tenant_id=desk.tenant_id)
    # Outside of the transaction: a receiver that is slow holds no connection.
    return MetView.of(**asdict(await parts_of(request).trials.send(sending, caller.vault)))


@router.post("/webhooks/{name}/redeliver", needs=ENGINE_WRITE, raises=(NotFound,))
async def redeliver(desk: AtDesk, name: Name, body: RedeliverRequest | None = None) -> Redelivered:
    """Deliver again what an endpoint gave up, or what the body names; the ids stay the same."""
    given = body or RedeliverRequest()
    states: list[DeliveryState] = ["dead"]
    if given.delivered or given.deliveries or given.events:
        states.append("delivered")
    async with desk.transaction(given.reason) as conn:
        await webhooks.show_endpoint(conn, name, tenant_id=desk.tenant_id)
        found = await webhook_deliveries.find(
            conn,
            name,
            tenant_id=desk.tenant_id,
            states=states,
            since=given.since,
            event_ids=given.events,
            ids=given.deliveries,
        )
        chosen = found[: given.most]
        count = len(chosen)
        if not given.preview:
            count = await webhook_deliveries.redeliver(conn, name, chosen, tenant_id=desk.tenant_id)
            jobs.wake_after_commit(QUEUE)
    return Redelivered(count=count, matching=len(found), preview=given.preview)


@router.get("/webhooks/{name}/deliveries", needs=ENGINE_READ, raises=(NotFound,))
async def list_deliveries(desk: AtDesk, name: Name, *, before: Before = None, limit: Limit = 50) -> DeliveryPage:
    """Return the deliveries of an endpoint, newest first."""
    async with desk.transaction() as conn:
        rows = await webhook_deliveries.list_deliveries(
            conn, name, tenant_id=desk.tenant_id, before=before, most=limit + 1
        )
    return page_of(DeliveryPage, rows, limit, "delivery_id")


@router.get("/webhooks/{name}/attempts", needs=ENGINE_READ, raises=(NotFound,))
async def list_attempts(
    desk: AtDesk,
    name: Name,
    *,
    delivery: Annotated[int | None, Query(ge=1, le=BIGGEST, description="Only of this one.", examples=[None])] = None,
    before: Before = None,
    limit: Limit = 50,
) -> SendPage:
    """Return the attempts at deliveries of an endpoint, newest first, with the answers."""
    async with desk.transaction() as conn:
        rows = await webhook_deliveries.list_attempts(
            conn, name, tenant_id=desk.tenant_id, delivery_id=delivery, before=before, most=limit + 1
        )
    return page_of(SendPage, rows, limit, "attempt_id")

"""`/api/v1/engine/installation/…` operates what all tenants share: queues, workers, subscriptions, figures.

For keys with the role `installation` beside that of an operator, never for tokens: the roles of a token are what the
directory of some tenant says.
"""

from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Query
from psycopg import AsyncConnection
from pydantic import Field

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.engine import alerts, clock, fires, inspect, jobs, observe, outbox, queues, subscriptions, workers
from ostinato._core.engine.alerts import Reading
from ostinato._core.engine.queues import Queue, Rate
from ostinato._core.engine.subscriptions import Buried, Subscription
from ostinato._core.web.routes import Router
from ostinato._faces.api.alerts_http import Number
from ostinato._faces.api.audit_http import Since
from ostinato._faces.api.desk import AtInstallation
from ostinato._faces.api.job_views import Because, Instant, ReasonRequest, reason_of
from ostinato._faces.api.permissions import INSTALLATION
from ostinato._faces.api.queues_http import QueueView
from ostinato._faces.api.views import (
    BIGGEST,
    MAX_NAME,
    PREFIX,
    Before,
    Checked,
    Limit,
    Page,
    Reason,
    View,
    page_of,
    read_json,
    shows,
)

router = Router(prefix=f"{PREFIX}/installation", tags=["installation"])

Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME, examples=["mail"])]
LARGEST = 2**31 - 1
DAY = timedelta(days=1)


class RateView(Checked):
    """So many starts within some seconds."""

    count: int = Field(ge=1, le=LARGEST, examples=[100])
    seconds: float = Field(gt=0, le=31_536_000, examples=[60.0])


class LimitsRequest(Checked):
    """The limits of a queue; one that is left out is removed."""

    concurrency: int | None = Field(default=None, ge=1, le=LARGEST, examples=[10])
    rate: RateView | None = None
    key_concurrency: int | None = Field(default=None, ge=1, le=LARGEST, examples=[None])
    key_rate: RateView | None = None
    reason: Because | None = Field(default=None, examples=["the provider asked for it"])
    """The audit tells why."""


@shows(Subscription, name="billing.mirror", kind="billing.mirror", types=["order.paid"])
class SubscriptionView(View):
    """A subscription, and how far it is."""


class Subscriptions(View):
    """Subscriptions by name."""

    items: list[SubscriptionView]


@shows(Buried, subscription="billing.mirror", type="order.paid")
class BuriedView(View):
    """An event that a subscription gave up."""

    error: Any


class BuriedPage(Page[BuriedView]):
    """Events that a subscription gave up, newest first."""


class PositionsRequest(ReasonRequest):
    """The positions name events that were given up."""

    positions: list[Annotated[int, Field(ge=1, le=BIGGEST)]] | None = Field(default=None, max_length=1_000)
    """Null means all, oldest first, a thousand at the most."""
    preview: bool = True
    """Only count them; send false to act."""


class ReplayRequest(ReasonRequest):
    """From where on events are delivered again."""

    from_position: int | None = Field(default=None, ge=1, le=BIGGEST, examples=[1])
    from_time: Instant | None = Field(default=None, examples=[None])
    """Instead of a position."""
    preview: bool = True
    """Only count them; send false to replay."""


class DiscardRequest(ReasonRequest):
    """The events at these positions are given up for good."""

    positions: list[Annotated[int, Field(ge=1, le=BIGGEST)]] = Field(min_length=1, max_length=1_000)
    """As the list of buried events has them."""


class Discarded(View):
    """The count says how many events were given up for good."""

    count: int


class RehearseRequest(ReasonRequest):
    """The caller says whether the events of an alert are emitted as a test."""

    send: bool = False
    """Also emit both events, marked as a test; else it is only measured."""
    label: str = Field(default="test", min_length=1, max_length=100)
    """The label of the events."""


@shows(Reading, label="mail", value=3.0, bad=True, message="queue mail has 3 dead letters")
class ReadingView(View):
    """An alert measures this now for one label."""

    value: Number


class Rehearsed(View):
    """An alert measures this now, and its test emitted these events."""

    readings: list[ReadingView]
    event_ids: list[int]
    """Fired, and resolved; empty unless they were to be sent."""


class Recomputed(View):
    """The count says how many schedules have another next slot now."""

    count: int


class Counted(View):
    """The count says how many were met."""

    count: int
    """Of events that are delivered again by a replay, 10,000 means that many or more."""
    preview: bool
    """True says that they were only counted."""


class SampleView(View):
    """The mean of a figure over one step of time."""

    at: datetime
    label: str
    value: float


class Samples(View):
    """The stored figures of one name."""

    items: list[SampleView]


def _rate(given: RateView | None) -> Rate | None:
    return None if given is None else Rate(given.count, given.seconds)


async def _queue(conn: AsyncConnection[Any], name: str) -> QueueView:
    for found in await inspect.list_queues(conn):
        if found.name == name:
            return QueueView.model_validate(found)
    raise NotFound(f"there is no queue {name[:100]!r}", hint="GET /queues lists them.")


@router.post("/queues/{name}/pause", needs=INSTALLATION, raises=(NotFound,))
async def pause_queue(desk: AtInstallation, name: Name, body: ReasonRequest | None = None) -> QueueView:
    """Pause claims from a queue, for all tenants; jobs that run go on."""
    async with desk.transaction(reason_of(body)) as conn:
        await queues.pause(conn, name)
        return await _queue(conn, name)


@router.post("/queues/{name}/resume", needs=INSTALLATION, raises=(NotFound,))
async def resume_queue(desk: AtInstallation, name: Name, body: ReasonRequest | None = None) -> QueueView:
    """Resume claims from a queue."""
    async with desk.transaction(reason_of(body)) as conn:
        await queues.resume(conn, name)
        return await _queue(conn, name)


@router.put("/queues/{name}/limits", needs=INSTALLATION, raises=(NotFound,))
async def limit_queue(desk: AtInstallation, name: Name, body: LimitsRequest) -> QueueView:
    """Set the limits of a queue, for all workers together."""
    limits = Queue(
        name,
        concurrency=body.concurrency,
        rate=_rate(body.rate),
        key_concurrency=body.key_concurrency,
        key_rate=_rate(body.key_rate),
    )
    async with desk.transaction(body.reason) as conn:
        await queues.configure(conn, limits)
        return await _queue(conn, name)


class RekindRequest(ReasonRequest):
    """The new name of a kind."""

    to: str = Field(min_length=1, max_length=MAX_NAME, examples=["billing.send_invoice"])
    """A kind that a worker has declared."""


class Renamed(View):
    """The count says how many jobs were renamed."""

    count: int
    more: bool
    """True says that some may be left: send it again."""


@router.post("/kinds/{name}/rename", needs=INSTALLATION, raises=(NotFound, InvalidInput))
async def rename_kind(desk: AtInstallation, name: Name, body: RekindRequest) -> Renamed:
    """Rename the waiting and dead jobs of a kind, and its schedules; 5,000 jobs at a time."""
    async with desk.transaction(body.reason) as conn:
        count = await jobs.rekind(conn, name, body.to)
    return Renamed(count=count, more=count > 0)


@router.post("/workers/{worker_id}/drain", needs=INSTALLATION, raises=(NotFound,), status_code=204)
async def drain_worker(desk: AtInstallation, worker_id: UUID, body: ReasonRequest | None = None) -> None:
    """Ask a worker to end: it takes no new jobs, finishes those that it has, and stops."""
    async with desk.transaction(reason_of(body)) as conn:
        await workers.drain(conn, worker_id)


@router.get("/subscriptions", needs=INSTALLATION)
async def list_subscriptions(desk: AtInstallation) -> Subscriptions:
    """Return every subscription, and how far it is."""
    async with desk.transaction() as conn:
        return Subscriptions.of(items=await subscriptions.list_subscriptions(conn))


@router.post("/subscriptions/{name}/pause", needs=INSTALLATION, raises=(NotFound,), status_code=204)
async def pause_subscription(desk: AtInstallation, name: Name, body: ReasonRequest | None = None) -> None:
    """Pause the deliveries of a subscription."""
    async with desk.transaction(reason_of(body)) as conn:
        await subscriptions.pause(conn, name)


@router.post("/subscriptions/{name}/resume", needs=INSTALLATION, raises=(NotFound,), status_code=204)
async def resume_subscription(desk: AtInstallation, name: Name, body: ReasonRequest | None = None) -> None:
    """Resume the deliveries of a subscription."""
    async with desk.transaction(reason_of(body)) as conn:
        await subscriptions.resume(conn, name)


@router.post("/subscriptions/{name}/replay", needs=INSTALLATION, raises=(NotFound,))
async def replay_subscription(desk: AtInstallation, name: Name, body: ReplayRequest) -> Counted:
    """Deliver the log again from a position or a time on, or count: `preview` is true by default."""
    async with desk.transaction(body.reason) as conn:
        since = body.from_time or body.from_position or 1
        return Counted(count=await subscriptions.replay(conn, name, since, preview=body.preview), preview=body.preview)


@router.get("/subscriptions/{name}/buried", needs=INSTALLATION)
async def list_buried(desk: AtInstallation, name: Name, *, before: Before = None, limit: Limit = 50) -> BuriedPage:
    """Return the events that a subscription gave up, newest first."""
    async with desk.transaction() as conn:
        rows = await subscriptions.buried(conn, name, before=before, most=limit + 1, loads=read_json)
    return page_of(BuriedPage, rows, limit, "job_id")


@router.post("/subscriptions/{name}/redeliver", needs=INSTALLATION, raises=(NotFound,))
async def redeliver_buried(desk: AtInstallation, name: Name, body: PositionsRequest) -> Counted:
    """Deliver again what a subscription gave up, or count it: `preview` is true by default."""
    async with desk.transaction(body.reason) as conn:
        count = await subscriptions.redeliver(conn, name, body.positions, preview=body.preview)
    return Counted(count=count, preview=body.preview)


@router.post("/subscriptions/{name}/discard", needs=INSTALLATION, raises=(NotFound,))
async def discard_buried(desk: AtInstallation, name: Name, body: DiscardRequest) -> Discarded:
    """Give up buried events for good: their jobs are cancelled, and a key that they block goes on."""
    async with desk.transaction(body.reason) as conn:
        count = await subscriptions.discard(conn, name, body.positions)
        jobs.wake_after_commit(outbox.RELAY)
    return Discarded(count=count)


@router.delete("/subscriptions/{name}", needs=INSTALLATION, raises=(NotFound,), status_code=204)
async def remove_subscription(desk: AtInstallation, name: Name, reason: Reason = None) -> None:
    """Remove a subscription, and cancel its jobs that have not begun; an app that declares it makes it anew."""
    async with desk.transaction(reason) as conn:
        await subscriptions.drop(conn, name)


@router.post("/alerts/{name}/test", needs=INSTALLATION, raises=(NotFound,))
async def rehearse_alert(desk: AtInstallation, name: Name, body: RehearseRequest | None = None) -> Rehearsed:
    """Measure an alert now, and say what would fire; with `send`, also emit its events, to try their way to people."""
    given = body or RehearseRequest()
    async with desk.transaction(given.reason) as conn:
        found = await alerts.measure(conn, name)
        sent = await alerts.rehearse(conn, name, given.label) if given.send else []
    return Rehearsed.of(readings=found, event_ids=sent)


@router.post("/schedules/recompute", needs=INSTALLATION)
async def recompute_schedules(desk: AtInstallation, body: ReasonRequest | None = None) -> Recomputed:
    """Compute all next slots again: after the rules of zones changed, or the clock was wrong."""
    async with desk.transaction(reason_of(body)) as conn:
        return Recomputed(count=await fires.recompute(conn))


@router.get("/samples/{name}", needs=INSTALLATION)
async def list_samples(
    desk: AtInstallation,
    name: Name,
    *,
    since: Since = None,
    step_seconds: Annotated[float, Query(ge=1, le=86_400, description="The step of the means.")] = 60.0,
) -> Samples:
    """Return the stored figures of one name, of the last day unless `since` says otherwise."""
    async with desk.transaction() as conn:
        start = since or await clock.now(conn) - DAY
        rows = await observe.samples(conn, name, start, step=timedelta(seconds=step_seconds))
    return Samples.of(items=[SampleView(at=row.at, label=row.label, value=row.value) for row in rows])

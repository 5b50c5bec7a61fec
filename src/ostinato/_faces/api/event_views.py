"""Events, trails and schedules as the engine's routes show them."""

from datetime import datetime

from pydantic import Field

from ostinato._faces.api.views import JsonObject, LocalTime, Page, View

__all__ = [
    "EventItem",
    "EventPage",
    "EventView",
    "FireView",
    "NextFireView",
    "ScheduleItem",
    "SchedulePage",
    "ScheduleView",
    "Trail",
    "TrailItem",
]

EVENT = 3190000000077


class EventItem(View):
    """One event in a list."""

    id: int = Field(examples=[EVENT])
    position: int | None = Field(examples=[1204])
    """Its place in the order of all events; null: it has none yet."""
    type: str = Field(examples=["invoice.paid"])
    version: int = Field(examples=[1])
    correlation_id: str = Field(examples=["request-42"])
    occurred_at: datetime
    """When it happened."""
    emitted_at: datetime
    """When it was told."""
    producer: str = Field(examples=["billing"])
    ordering_key: str | None = Field(examples=["invoice-7"])


class EventPage(Page[EventItem]):
    """Events, newest first."""


class EventView(EventItem):
    """Everything about one event."""

    payload: JsonObject = Field(examples=[{"invoice_id": 7}])


class TrailItem(View):
    """One thing that happened for a correlation id."""

    at: datetime
    source: str = Field(examples=["job"])
    """job, attempt, step, wait, lease, fire, event, webhook, callback or transition."""
    what: str = Field(examples=["billing.send_invoice"])
    """The kind, step, schedule, event type, endpoint, or the row that changed."""
    state: str = Field(examples=["enqueued"])
    """What came of it."""
    job_id: int | None
    attempt: int | None
    ref: str = Field(examples=["3190000000042"])
    """The id of the thing itself."""
    detail: JsonObject


class Trail(View):
    """Everything that happened for a correlation id, first to last."""

    correlation_id: str = Field(examples=["request-42"])
    items: list[TrailItem]
    complete: bool
    """Whether this is all of it; else ask with a larger `limit`."""


class ScheduleItem(View):
    """One schedule in a list."""

    name: str = Field(examples=["daily-digest"])
    key: str | None
    """The entity that it belongs to."""
    owner: str | None
    """The application that declares it."""
    kind: str = Field(examples=["billing.send_digest"])
    queue: str | None
    rule: str = Field(examples=["30 8 * * MON-FRI"])
    zone: str = Field(examples=["Europe/Paris"])
    paused: bool
    error: str | None
    """Why the engine paused it."""
    next_at: datetime | None
    """When it fires next; null: it is paused, or over."""
    slot_local: LocalTime | None
    missed: int | None
    """Slots missed since the last fire."""


class SchedulePage(View):
    """Schedules by name."""

    items: list[ScheduleItem]
    next: str | None = Field(examples=["daily-digest"])
    """What `after` is for the next page; null: this is the last one."""


class NextFireView(View):
    """A slot to come."""

    slot_local: LocalTime
    slot_at: datetime
    due_at: datetime | None
    """The slot and its jitter."""
    utc_offset: str = Field(examples=["+01:00"])
    note: str | None
    """What is special about it on a day on which the clock is moved."""


class FireView(View):
    """A slot that was served."""

    slot_local: LocalTime
    slot_at: datetime
    zone: str = Field(examples=["Europe/Paris"])
    fired_at: datetime
    lateness: float = Field(examples=[0.02])
    """Seconds."""
    job_id: int = Field(examples=[3190000000042])
    missed: int = Field(examples=[0])
    """Slots right before it that were missed."""


class ScheduleView(ScheduleItem):
    """Everything about one schedule."""

    priority: int | None
    args: JsonObject = Field(examples=[{"group_id": 7}])
    gap: str = Field(examples=["shift"])
    """What becomes of a time that does not exist: shift or skip."""
    overlap: str = Field(examples=["first"])
    """Which of two is meant by a time that comes twice: first, last or both."""
    starts_at: datetime | None
    ends_at: datetime | None
    catch_up: str = Field(examples=["last"])
    """Which of the slots fire that were missed in an outage: all, last or none."""
    catch_up_most: int = Field(examples=[100])
    catch_up_seconds: float | None
    grace_seconds: float = Field(examples=[60.0])
    jitter_seconds: float = Field(examples=[0.0])
    created_at: datetime
    timed_at: datetime
    """When its times were set last."""
    next_fires: list[NextFireView]
    """The next five."""
    fires: list[FireView]
    """The last twenty, newest first."""

"""Defines the models that show events and trails."""

from datetime import datetime

from pydantic import Field

from ostinato._core.engine.inspect import TrailLine
from ostinato._core.engine.outbox import EventSummary
from ostinato._faces.api.views import JOB, KIND, JsonObject, Page, View, shows


@shows(EventSummary, id=3190000000077, position=1204, type="invoice.paid", producer="billing", ordering_key="invoice-7")
class EventItem(View):
    """One event in a list."""

    occurred_at: datetime
    """The event happened at this time."""
    emitted_at: datetime
    """The event was emitted at this time."""


class EventPage(Page[EventItem]):
    """Events, newest first."""


class EventView(EventItem):
    """Everything about one event."""

    payload: JsonObject | None = Field(examples=[{"invoice_id": 7}])
    """Null for a reader."""


@shows(TrailLine, source="job", what=KIND, state="enqueued", job_id=JOB, ref=str(JOB))
class TrailItem(View):
    """One thing that happened for a correlation id."""

    detail: JsonObject


class Trail(View):
    """Everything that happened for a correlation id, first to last."""

    correlation_id: str = Field(examples=["request-42"])
    items: list[TrailItem]
    complete: bool
    """True says that this is all; if not, use a larger `limit`."""

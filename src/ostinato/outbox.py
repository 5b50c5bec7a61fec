"""The outbox: events emitted in your transaction, delivered in order per key, at least once.

paid = app.event("invoice.paid", payload=Paid)

async with client.transaction() as conn:
await conn.execute("update invoice set paid = true where id = %s", [7])
await paid.emit(conn, Paid(invoice=7), key="7")         # both are committed, or neither

@app.on("invoice.paid")
async def thank(ctx: Context, event: Event) -> None: ...
"""

from ostinato._core.base.events import Event, EventType, OnPoison, Start, to_cloudevent
from ostinato._core.engine.outbox import (
    EventDetails,
    EventSummary,
    NewEvent,
    emit,
    emit_many,
    list_events,
    replay,
    show_event,
)
from ostinato._core.engine.subscriptions import (
    EventDelivery,
    Subscription,
    deliveries_of,
    list_subscriptions,
    pause,
    resume,
)
from ostinato._core.runtime.handlers.events import EventKind, Subscriber

__all__ = [
    "Event",
    "EventDelivery",
    "EventDetails",
    "EventKind",
    "EventSummary",
    "EventType",
    "NewEvent",
    "OnPoison",
    "Start",
    "Subscriber",
    "Subscription",
    "deliveries_of",
    "emit",
    "emit_many",
    "list_events",
    "list_subscriptions",
    "pause",
    "replay",
    "resume",
    "show_event",
    "to_cloudevent",
]

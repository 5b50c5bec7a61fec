"""The outbox delivers events that your transaction emitted, in order per key, at least once.

    from ostinato import App, Context
    from ostinato.outbox import Event

    app = App("billing")
    paid = app.event("invoice.paid", version=1, payload=InvoicePaid)    # a model of pydantic

    @app.on("invoice.paid")
    async def send_receipt(ctx: Context, event: Event[InvoicePaid]) -> None: ...

    async with client.transaction() as conn:
        await conn.execute("update invoice set paid = true where id = %s", [7])
        await paid.emit(conn, InvoicePaid(id=7), key="invoice-7")       # both, or neither

The functions here list, replay and pause what was emitted and who gets it. The guide is
`docs/outbox.md`.
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
from ostinato._core.runtime.handlers.events import Envelope, EventKind, Subscriber

__all__ = [
    "Envelope",
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

"""A relay is a subscription whose handler publishes.

So it has all that a subscription has: an event is a job, one of a key at a time; its place is kept by the engine;
what fails for good is a dead letter, and `replay` publishes again. An event is published at least once, always
with the same id, which the broker or its consumer takes for the same.

    worker dies after publishing, before its verdict   the next one publishes again, the same id, before later events
    the answer of the broker is lost                   the same
    the broker is away, or has nowhere to put it       the event is snoozed, no attempt is used up
    the broker will never take it (too large)          a dead letter; `on_poison` says whether those behind it go on
"""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from ostinato._core.base.cloudevents import outgoing
from ostinato._core.base.errors import NoAnswer
from ostinato._core.base.events import Event
from ostinato._core.engine import workers
from ostinato._core.engine.queues import Queue
from ostinato._core.runtime.brokers.broker import Address
from ostinato._core.runtime.brokers.link import Link, linked
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.outcomes import Snooze

QUEUE = Queue("relay", concurrency=32)
"""Relays publish from a queue of their own: so many at once, over all workers."""
SNOOZE_SECONDS = 10.0

_chance = random.Random()  # noqa: S311 - spreads load, guards nothing


def publishing(to: Address) -> Callable[[Context, Event[Any]], Awaitable[Snooze | None]]:
    """Return the handler of a subscription that publishes its events."""

    async def publish(ctx: Context, event: Event[Any]) -> Snooze | None:
        settings = ctx._services.settings  # noqa: SLF001 - this is the engine's own
        link = await ctx.shared(linked, type(to), settings)  # one connection for all addresses of a broker
        try:
            await link.publish(to, outgoing(event, settings.cloudevents_source))
        except NoAnswer as error:
            await _note(ctx, link, error)
            ctx.log.info("event_held", broker=to.kind, event_id=event.id, error=error.message)
            return Snooze(SNOOZE_SECONDS * _chance.uniform(0.5, 1.5))
        return None

    return publish


async def _note(ctx: Context, link: Link, error: NoAnswer) -> None:
    """Note the fault for `ostinato doctor` and the alert, now and then."""
    if link.is_to_be_noted():
        async with ctx._services.transaction() as conn:  # noqa: SLF001 - as above
            await workers.note_fault(conn, f"broker {link.kind}", error.message)

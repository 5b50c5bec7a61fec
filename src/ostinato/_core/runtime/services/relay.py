"""The relay gives events their positions, and makes jobs of them for subscriptions and webhooks.

Every worker has one; the database lets one sequence and one dispatch a subscription at a time.
"""

from typing import Any

from psycopg import AsyncConnection

from ostinato._core.base.metrics import EVENTS_SEQUENCED, Recorder
from ostinato._core.engine import outbox, queues, subscriptions, webhook_deliveries
from ostinato._core.runtime.worker.loop import FOREVER

BUSY_SECONDS = 0.02
HOT_SECONDS = 0.002
COLD_SECONDS = 0.07
EVENTS_A_ROUND = 5000
WEBHOOKS_A_ROUND = 500
WEBHOOKS = "webhooks"


class Relay:
    """Sequences, and makes jobs of events."""

    name = "relay"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pause = FOREVER
        self._more = False

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """Do one round: sequence, dispatch, ring."""
        stamped, rung = await outbox.sequence(conn, EVENTS_A_ROUND)
        self._recorder.add(EVENTS_SEQUENCED, by=stamped or 0)
        # Under load writers ring every 50 ms: look for what they emitted meanwhile, more rarely.
        looked_again = self._pause < FOREVER
        self._pause = HOT_SECONDS if stamped else self._pause * 2
        if self._pause > COLD_SECONDS:
            self._pause = FOREVER
        if stamped == 0 and looked_again and not self._more:
            return self._pause
        made = await subscriptions.dispatch(conn)
        for queue in {*rung, *made}:
            await queues.ring(conn, queue)
        fanned = await self._fan_out(conn)
        self._more = bool(made) or fanned  # a round makes so many at the most: there may be more to make
        if stamped is None:
            return BUSY_SECONDS
        return 0 if self._more else self._pause

    async def _fan_out(self, conn: AsyncConnection[Any]) -> bool:
        """Make deliveries for the webhook endpoints; return whether there may be more to make."""
        events, deliveries = await webhook_deliveries.fan_out(conn, WEBHOOKS_A_ROUND)
        if deliveries:
            await queues.ring(conn, WEBHOOKS)
        return events == WEBHOOKS_A_ROUND

"""The relay: gives events their positions, and hands them to those who wait for them.

    Relay       sequences what is committed, makes jobs of events, frees what dead workers held
    Deliverer   one for each subscription in mode "relay": takes, runs handlers, settles

Any number of workers run both. What may go wrong, and then: a worker dies (its deliveries are
given back by any other); it is declared dead and wakes up (what it settles is refused); the answer
to a take gets lost (given back after a while, see `reconcile`).
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from ostinato._core.base.errors import LeaseLost, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import DELIVERIES, EVENTS_SEQUENCED, FENCED_WRITES, Recorder
from ostinato._core.engine import outbox, queues, subscriptions
from ostinato._core.engine.subscriptions import Delivery, Settlement
from ostinato._core.runtime.handlers.deliver import Lender, run
from ostinato._core.runtime.handlers.events import Subscriber
from ostinato._core.runtime.worker.loop import FOREVER
from ostinato._core.runtime.worker.threads import Threads

__all__ = ["Deliverer", "Relay", "service_of"]

log = get_logger("relay")

BUSY_SECONDS = 0.02
HOT_SECONDS = 0.002
COLD_SECONDS = 0.07
DEAD_SECONDS = 0.5
RECONCILE_SECONDS = 30.0
EVENTS_A_ROUND = 5000
BATCH = 200


def service_of(subscription: str) -> str:
    """The service that delivers a subscription, as `ostinato.chores()` names it."""
    return f"deliver:{subscription}"


class Relay:
    """Sequences, and makes jobs of events."""

    name = "relay"

    def __init__(
        self,
        recorder: Recorder,
        local: Iterable[str] = (),
        wake: Callable[[str], None] | None = None,
    ) -> None:
        self._recorder = recorder
        self._local = frozenset(service_of(name) for name in local)
        self._wake = wake
        self._pause = FOREVER
        self._more = False

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """One round: sequence, free, dispatch, wake."""
        stamped, rung = await outbox.sequence(conn, EVENTS_A_ROUND)
        self._recorder.add(EVENTS_SEQUENCED, by=stamped or 0)
        # Writers ring at most every 50 ms: look for what they told meanwhile, ever more rarely.
        looked_again = self._pause < FOREVER
        self._pause = HOT_SECONDS if stamped else self._pause * 2
        if self._pause > COLD_SECONDS:
            self._pause = FOREVER
        if stamped == 0 and looked_again and not self._more:
            return self._pause
        await subscriptions.free(conn)
        for queue in {*rung, *await subscriptions.dispatch_all(conn)}:
            await queues.ring(conn, queue)
        due = await subscriptions.chores(conn)
        for service in (name for name, seconds in due.items() if seconds <= 0):
            if service in self._local and self._wake is not None:
                self._wake(service)
            elif service != self.name and stamped:
                await queues.ring(conn, f"@{service}")
        if stamped is None:
            return BUSY_SECONDS
        self._more = due.get(self.name, 1) <= 0
        return 0 if self._more and stamped else self._pause


class Deliverer:
    """Delivers the events of one subscription that runs in the relay."""

    def __init__(
        self,
        subscriber: Subscriber,
        lender: Lender,
        *,
        worker_id: Callable[[], UUID],
        wake: Callable[[str], None],
        recorder: Recorder,
        rng: random.Random,
        unheard_seconds: float = 60.0,
    ) -> None:
        self.name = service_of(subscriber.name)
        self._subscriber = subscriber
        self._lender = lender
        self._worker_id = worker_id
        self._wake = wake
        self._recorder = recorder
        self._rng = rng
        self._unheard_seconds = unheard_seconds
        self._threads = Threads("ostinato-relay")
        self._slots = asyncio.Semaphore(subscriber.concurrency)
        self._held: dict[int, int] = {}
        self._ended: list[Settlement] = []
        self._settling = asyncio.Lock()
        self._lanes: set[asyncio.Task[None]] = set()
        self._closing = False
        self._reconciled = time.monotonic()
        self._in_doubt = FOREVER
        """When to look for a take whose answer may have been lost."""

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """One round: settle what has ended, take more, start it."""
        await self._settle(conn)
        if self._closing:
            return FOREVER
        now = time.monotonic()
        if now - self._reconciled > RECONCILE_SECONDS or now > self._in_doubt:
            await self._reconcile(conn)
        pause = await self._take(conn, BATCH - len(self._held))
        # What nobody knows to be held is due to nobody: no poll would wake us for it.
        return min(pause, max(self._in_doubt - now, BUSY_SECONDS))

    async def _take(self, conn: AsyncConnection[Any], room: int) -> float:
        if room * 2 < BATCH:
            return FOREVER  # a lane that ends wakes us
        try:
            taken = await subscriptions.take(conn, self._subscriber.name, self._worker_id(), room)
        except LeaseLost:
            return DEAD_SECONDS  # this worker is about to start over under a new id
        except OstinatoError:
            self._in_doubt = time.monotonic() + self._unheard_seconds + BUSY_SECONDS
            raise
        self._start(taken)
        return 0 if len(taken) == room and len(self._held) * 2 < BATCH else FOREVER

    async def close(self, conn: AsyncConnection[Any], seconds: float = 0) -> None:
        """Let what runs end for a time, then stop it; give back what is not done."""
        self._closing = True
        if self._lanes:
            await asyncio.wait(self._lanes, timeout=seconds)
        for lane in self._lanes:
            lane.cancel()
        if self._lanes:
            await asyncio.wait(self._lanes, timeout=1)
        known = {ended.position for ended in self._ended}
        self._ended += [
            Settlement(position, attempt, "released")
            for position, attempt in self._held.items()
            if position not in known
        ]
        await self._settle(conn)
        self._threads.shutdown()

    async def round(self, conn: AsyncConnection[Any]) -> int:
        """Take a batch, run it and settle it, as a test does; how many events it was."""
        taken = await subscriptions.take(conn, self._subscriber.name, self._worker_id(), BATCH)
        self._start(taken)
        if self._lanes:
            await asyncio.wait(self._lanes)
        await self._settle(conn)
        return len(taken)

    def _start(self, taken: Sequence[Delivery]) -> None:
        lanes: defaultdict[tuple[object, ...], list[Delivery]] = defaultdict(list)
        for delivery in taken:
            self._held[delivery.position] = delivery.attempt
            key = delivery.ordering_key
            alone: tuple[object, ...] = (delivery.position,)
            lanes[alone if key is None else (delivery.tenant_id, key)].append(delivery)
        for lane in lanes.values():
            task = asyncio.create_task(self._lane(lane))
            self._lanes.add(task)
            task.add_done_callback(self._lane_ended)

    def _lane_ended(self, task: asyncio.Task[None]) -> None:
        self._lanes.discard(task)
        self._wake(self.name)

    async def _lane(self, deliveries: list[Delivery]) -> None:
        """The events of one key, one after the other; the rest goes back when one fails."""
        failed = False
        for delivery in deliveries:
            if failed or self._closing:
                ended = Settlement(delivery.position, delivery.attempt, "released")
            else:
                async with self._slots:
                    ended = await run(
                        self._subscriber,
                        delivery,
                        self._lender,
                        self._threads,
                        self._rng,
                    )
                failed = ended.outcome != "done"
            self._ended.append(ended)

    async def _settle(self, conn: AsyncConnection[Any]) -> None:
        async with self._settling:
            await self._settle_all(conn, self._ended[:])

    async def _settle_all(self, conn: AsyncConnection[Any], ended: list[Settlement]) -> None:
        name = self._subscriber.name
        refused = set(await subscriptions.settle(conn, name, ended))
        del self._ended[: len(ended)]
        for one in ended:
            if self._held.get(one.position) == one.attempt:
                del self._held[one.position]
            outcome = one.outcome
            if one.position in refused:
                self._recorder.add(FENCED_WRITES, "settle_deliveries")
                log.warning(
                    "fenced",
                    verb="settle_deliveries",
                    subscription=name,
                    position=one.position,
                    attempt=one.attempt,
                )
            elif outcome == "failed" and one.delay is None:
                self._recorder.add(DELIVERIES, name, "buried")
                log.error("event_buried", subscription=name, position=one.position)
            else:
                self._recorder.add(DELIVERIES, name, outcome)

    async def _reconcile(self, conn: AsyncConnection[Any]) -> None:
        """Give back what we never heard of."""
        lost = await subscriptions.reconcile(
            conn, self._worker_id(), self._subscriber.name, self._held, self._unheard_seconds
        )
        if lost:
            log.warning("take_never_heard_of", subscription=self._subscriber.name, events=lost)
        self._reconciled = time.monotonic()
        self._in_doubt = FOREVER

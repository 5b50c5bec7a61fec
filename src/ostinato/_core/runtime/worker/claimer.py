"""The claimer: claims jobs for the worker's lanes.

It claims from a queue when that may hold work: the doorbell rang, a poll saw ready jobs, a verdict
may have freed a slot, or the last claim found some. After an empty claim it tries every millisecond
for a tenth of a second, so that a stream of single jobs starts at once without a notification for
each; with a single queue it lets the database wait instead. Then the queue rests until the next
ring or poll; while it holds ready jobs that a limit keeps back, it is tried five times a second.
"""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from uuid import UUID

from ostinato._core.base.metrics import BUFFER_JOBS, CLAIMED_JOBS, CLAIMS, Recorder
from ostinato._core.db.keep import Keeper
from ostinato._core.engine import claims
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.worker.lanes import Lanes
from ostinato._core.runtime.worker.loop import FOREVER, Loop

__all__ = ["Claimer"]

HOT_FOR_SECONDS = 0.1
HOT_SECONDS = 0.0009  # the event loop waits whole milliseconds: this is one, 0.0012 is two
HOT_PATIENCE_SECONDS = 0.01
HELD_BACK_SECONDS = 0.2
SILENT_SECONDS = 0.05
SMALL_CLAIM = 32
"""Claims up to this size take no turns in the database (claims.sql), so a lone job starts sooner.
A queue is asked for more once it gave that many."""


class Liveness(Protocol):
    """The part of the heart that the claimer uses."""

    @property
    def may_be_dead(self) -> bool:
        """Whether other workers may have declared this one dead."""

    def set_waiting(self, *, waiting: bool) -> None:
        """Set whether this worker is idle."""


class Claimer:
    """Claims jobs for the lanes; a round claims from the queues that are awake."""

    def __init__(
        self,
        keeper: Keeper,
        lanes: Lanes,
        *,
        queues: Sequence[str],
        kinds: list[str],
        recorder: Recorder,
        rng: random.Random,
        worker_id: Callable[[], UUID],
        heart: Callable[[], Liveness],
        on_error: Callable[[BaseException], None],
    ) -> None:
        self.loop = Loop("claimer", self._round, on_error=on_error, rng=rng)
        """To be run beside the jobs."""
        self._heart = heart
        self._keeper = keeper
        self._lanes = lanes
        self._queues = tuple(queues)
        self._kinds = kinds
        self._recorder = recorder
        self._worker_id = worker_id
        self._due: dict[str, float] = {}
        self._hot_until: dict[str, float] = {}
        self._ready: frozenset[str] = frozenset()
        self._cursors: dict[str, str | None] = {}
        self._plenty: set[str] = set()
        self._asking: str | None = None
        self.paused = False

    def rouse(self, queue: str | None = None) -> None:
        """Claim from a queue, or from all, now."""
        now = time.monotonic()
        for name in self._queues if queue not in self._queues else (queue,):
            self._due[name] = now
            self._hot_until[name] = now + HOT_FOR_SECONDS
        self.loop.wake()

    def resting(self) -> list[str]:
        """The queues that a poll should look into; the claimer claims from the others anyway.

        Finding the first ready job of a queue that many workers drain is expensive: the index
        entries of all jobs that were taken lately lie before it.
        """
        now = time.monotonic()
        return [
            queue
            for queue in self._queues
            if queue != self._asking
            and queue not in self._plenty
            and self._hot_until.get(queue, 0.0) <= now
        ]

    def saw_ready(self, asked: Iterable[str], queues: Iterable[str]) -> None:
        """Wake the queues in which a poll saw ready jobs; `asked` are those that it looked into."""
        self._ready = self._ready.difference(asked).union(queues)
        for queue in self._ready - self._due.keys():
            self.rouse(queue)
        self.loop.wake()

    def forget(self) -> None:
        """Start over, under a new worker id."""
        self._cursors.clear()

    async def _round(self) -> float:
        heart = self._heart()
        if heart.may_be_dead:
            return SILENT_SECONDS  # other workers could rescue at once what we claim now
        pause = await self.tick()
        self._recorder.set(BUFFER_JOBS, self._lanes.buffered)
        heart.set_waiting(waiting=pause == FOREVER and self._lanes.room() > 0)
        return pause

    async def tick(self) -> float:
        """Claim what there is room for; returns the seconds until the next round."""
        for queue, due in list(self._due.items()):
            if self.paused:
                return FOREVER
            if due > time.monotonic():
                continue
            room = self._lanes.room()
            if room <= 0:
                return FOREVER  # the lanes wake the claimer when there is room again
            wanted = room if queue in self._plenty else min(room, SMALL_CLAIM)
            found = await self._claim(queue, wanted)
            if found == wanted:
                self._plenty.add(queue)
                # The other queues come first now: the order of the dict is the order of service.
                del self._due[queue]
                self._due[queue] = 0.0
                return 0
            self._plenty.discard(queue)
            self._schedule(queue)
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else FOREVER

    def _schedule(self, queue: str) -> None:
        """Set when to claim again from a queue that gave all it had."""
        now = time.monotonic()
        if now < self._hot_until.get(queue, 0.0):
            self._due[queue] = now + HOT_SECONDS
        elif queue in self._ready:  # kept back by a limit, or of kinds that others run
            self._due[queue] = now + HELD_BACK_SECONDS
        else:
            self._due.pop(queue, None)

    async def _claim(self, queue: str, wanted: int) -> int:
        self._asking = queue
        try:
            jobs = await self._ask(queue, wanted)
        finally:
            self._asking = None
        self._recorder.add(CLAIMS, queue)
        self._cursors[queue] = jobs[0].cursor if jobs else None
        if jobs:
            self._recorder.add(CLAIMED_JOBS, queue, by=len(jobs))
            self._hot_until[queue] = time.monotonic() + HOT_FOR_SECONDS
            self._lanes.add(jobs)
        return len(jobs)

    async def _ask(self, queue: str, wanted: int) -> list[Job]:
        async with self._keeper.connection() as conn:
            return await claims.claim(
                conn,
                self._worker_id(),
                queue,
                wanted,
                kinds=self._kinds,
                cursor=self._cursors.get(queue),
                suspects=not self._lanes.holds_suspect(),
                patience=HOT_PATIENCE_SECONDS if self._is_hot(queue) else 0.0,
            )

    def _is_hot(self, queue: str) -> bool:
        """Whether to wait in the database for a queue's next job; only with a single queue."""
        return len(self._queues) == 1 and time.monotonic() < self._hot_until.get(queue, 0.0)

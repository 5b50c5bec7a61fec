"""The claimer claims jobs for the worker's lanes.

It claims once from a queue when that may hold work: the doorbell rang, a poll saw ready jobs, or a
job ended that may let another one start. Then the queue rests until the next ring or poll: every
commit rings while workers rest, so a lone job costs one claim.

Under load, which is when a queue gave jobs twice within 30 ms, clients coalesce their rings. Then
the claimer lets the database wait for the next job, 5 ms at a time, until 30 ms bring nothing;
where several queues are under load it tries each every millisecond instead. While a queue holds
ready jobs that a limit keeps back, it is tried five times a second.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol
from uuid import UUID

from psycopg import AsyncConnection

from ostinato._core.base.metrics import BUFFER_JOBS, CLAIMED_JOBS, CLAIMS, Recorder
from ostinato._core.db.keep import Keeper
from ostinato._core.engine import claims
from ostinato._core.engine import queues as engine_queues
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.worker.lanes import Lanes
from ostinato._core.runtime.worker.loop import FOREVER, Loop
from ostinato._core.runtime.worker.marker import Marker

LOAD_SECONDS = 0.03
HOT_SECONDS = 0.0009  # the event loop waits whole milliseconds: this is one, 0.0012 is two
PATIENCE_SECONDS = 0.005  # a ring for another queue waits as long
HELD_BACK_SECONDS = 0.2
CROWDED_SECONDS = 0.05
"""How long a queue rests that has nothing but jobs which wait for a connection."""
SILENT_SECONDS = 0.05
AT_ONCE = 0.0
"""The due time of a queue while a claim is under way: one that is roused meanwhile has a later."""
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
        marker: Marker,
        connections: Callable[[], int],
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
        self.queues = tuple(queues)
        """The queues of this worker, awake or not."""
        self._kinds = kinds
        self._marker = marker
        self._connections = connections
        """How many more jobs may start that use a connection."""
        self._recorder = recorder
        self._worker_id = worker_id
        self._due: dict[str, float] = {}
        self._found_at: dict[str, float] = {}
        self._hot_until: dict[str, float] = {}
        self._crowded_until: dict[str, float] = {}
        self._ready: frozenset[str] = frozenset()
        self._cursors: dict[str, str | None] = {}
        self._asked_for = kinds
        self._plenty: set[str] = set()
        self._limited = frozenset(self.queues)
        self._asking: str | None = None
        self.failing: dict[str, Exception] = {}
        """What the last claim from a queue failed with, of the queues that failed."""
        self._idle = False
        self.paused = False

    def rouse(self, queue: str | None = None) -> None:
        """Claim from a queue, or from all, now."""
        now = time.monotonic()
        for name in self.queues if queue not in self.queues else (queue,):
            self._due[name] = now
        self.loop.wake()

    def has_room(self) -> None:
        """Claim what had to wait for room, if anything did; the end of a lone job wakes nobody."""
        if self._due or not self._idle:
            self.loop.wake()

    def has_connections(self) -> None:
        """Claim the kinds that had to wait for a connection, if any had to."""
        if self._asked_for is self._kinds:
            self.loop.wake()
        elif self._lanes.buffered <= self._lanes.ahead():  # otherwise those that are here use it
            self.rouse()

    def ended(self, queue: str, *, plainly: bool) -> None:
        """Claim from a queue if the end of one of its jobs may let another one start.

        A job that completed plainly, which is outside of a transaction of its own, frees at most
        a slot of a limit: after it a claim from a queue without limits would find nothing.
        """
        if not plainly or queue in self._limited or queue in self._ready:
            crowded = time.monotonic() < self._crowded_until.get(queue, 0.0)  # it is due soon anyway
            if not crowded or self._lanes.buffered <= self._lanes.ahead():
                self.rouse(queue)

    async def learn_limits(self, conn: AsyncConnection[Any]) -> None:
        """Ask which of the queues have limits."""
        self._limited = await engine_queues.limited(conn, self.queues)

    def resting(self) -> list[str]:
        """Return the queues that a poll should look into; the claimer claims from the others anyway.

        Finding the first ready job of a queue that many workers drain is expensive: the index
        entries of all jobs that were taken lately lie before it.
        """
        now = time.monotonic()
        return [
            queue
            for queue in self.queues
            if queue != self._asking and queue not in self._plenty and self._hot_until.get(queue, 0.0) <= now
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
        self._idle = pause == FOREVER and self._lanes.room() > 0
        heart.set_waiting(waiting=self._idle)
        return pause

    async def tick(self) -> float:
        """Claim what there is room for; returns the seconds until the next round."""
        for queue, due in list(self._due.items()):
            if self.paused:
                return FOREVER
            if due > time.monotonic():
                continue
            room = self._lanes.room()
            if room <= 0 or not self._wanted_kinds():
                return FOREVER  # the lanes wake the claimer when there is room again
            wanted = room if queue in self._plenty else min(room, SMALL_CLAIM)
            self._due[queue] = AT_ONCE
            found = await self._claim(queue, wanted)
            if found == wanted:
                self._plenty.add(queue)
                # The other queues come first now: the order of the dict is the order of service.
                del self._due[queue]
                self._due[queue] = AT_ONCE
                return 0
            self._plenty.discard(queue)
            self._schedule(queue, found)
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else FOREVER

    def _schedule(self, queue: str, found: int) -> None:
        """Set when to claim again from a queue that gave all it had."""
        if self._due[queue] != AT_ONCE:
            return  # it was roused meanwhile, by a commit that the claim may not have seen
        now = time.monotonic()
        if not found and self._asked_for is not self._kinds:
            self._due[queue] = self._crowded_until[queue] = now + CROWDED_SECONDS
        elif now < self._hot_until.get(queue, 0.0):
            self._due[queue] = now + HOT_SECONDS
        elif queue in self._ready:  # kept back by a limit, or of kinds that others run
            self._due[queue] = now + HELD_BACK_SECONDS
        elif self._asked_for is not self._kinds:  # those that it left out have to be asked for
            self._due[queue] = now + CROWDED_SECONDS
        else:
            self._due.pop(queue, None)

    async def _claim(self, queue: str, wanted: int) -> int:
        self._asking = queue
        try:
            jobs = await self._ask(queue, wanted)
        except Exception as error:
            self.failing[queue] = error
            raise
        finally:
            self._asking = None
        self.failing.pop(queue, None)
        self._recorder.add(CLAIMS, queue)
        self._cursors[queue] = jobs[0].cursor if jobs else None
        if jobs:
            self._recorder.add(CLAIMED_JOBS, queue, by=len(jobs))
            self._note_load(queue)
        return len(jobs)

    def _note_load(self, queue: str) -> None:
        """Note that a queue gave jobs; when that was soon after the last time, it is hot."""
        now = time.monotonic()
        if now - self._found_at.get(queue, 0.0) < LOAD_SECONDS:
            self._hot_until[queue] = now + LOAD_SECONDS
        self._found_at[queue] = now

    async def _ask(self, queue: str, wanted: int) -> list[Job]:
        kinds, starts = self._wanted_kinds(), self._lanes.starts()
        if kinds != self._asked_for:  # a cursor is behind the jobs of other kinds
            self._cursors.clear()
            self._asked_for = kinds
        async with self._keeper.connection() as conn:
            jobs = await claims.claim(
                conn,
                self._worker_id(),
                queue,
                wanted,
                kinds=kinds,
                cursor=self._cursors.get(queue),
                suspects=not self._lanes.holds_suspect(),
                patience=PATIENCE_SECONDS if self._is_hot(queue) else 0.0,
                starts=starts,
                apart=self._marker.apart,
            )
        if jobs:
            self._lanes.add(jobs, starts)
            await asyncio.sleep(0)  # they start before the next claim is prepared
        return jobs

    def _wanted_kinds(self) -> list[str]:
        """Return the kinds to claim: while all connections are in use, those that use one only for the next moment."""
        if not self._marker.apart or self._connections() > 0 or self._lanes.buffered < self._lanes.ahead():
            return self._kinds
        return [kind for kind in self._kinds if kind not in self._marker.apart]

    def _is_hot(self, queue: str) -> bool:
        """Return whether to wait in the database for a queue's next job; not while others are due."""
        return len(self._due) == 1 and time.monotonic() < self._hot_until.get(queue, 0.0)

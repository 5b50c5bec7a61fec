"""The claimer: keeps the lanes supplied.

A queue is awake when it may hold work: the doorbell rang, a poll saw ready jobs, or the last claim
found some. A queue whose claims come back empty stays awake for a tenth of a second and is asked
every few milliseconds, so a stream of single jobs starts at once without a notification for each;
then it sleeps until the next ring or poll.
"""

import time
from collections.abc import Callable, Sequence
from uuid import UUID

from ostinato.base.metrics import CLAIMED_JOBS, CLAIMS, Recorder
from ostinato.db.keep import Keeper
from ostinato.engine import claims
from ostinato.runtime.lanes import Lanes
from ostinato.runtime.loop import FOREVER

__all__ = ["Claimer"]

AWAKE_SECONDS = 0.1
HOT_SECONDS = 0.0025


class Claimer:
    """Claims jobs for the lanes; `tick` makes one round over the queues that are awake."""

    def __init__(
        self,
        keeper: Keeper,
        lanes: Lanes,
        *,
        queues: Sequence[str],
        kinds: list[str],
        recorder: Recorder,
        worker_id: Callable[[], UUID],
    ) -> None:
        self._keeper = keeper
        self._lanes = lanes
        self._queues = tuple(queues)
        self._kinds = kinds
        self._recorder = recorder
        self._worker_id = worker_id
        self._awake: dict[str, float] = {}
        self._cursors: dict[str, str | None] = {}
        self.paused = False

    def rouse(self, queue: str | None = None) -> None:
        """Ask a queue, or all of them, for work in the next round."""
        until = time.monotonic() + AWAKE_SECONDS
        for name in self._queues if queue not in self._queues else (queue,):
            self._awake[name] = until

    def forget(self) -> None:
        """Start over, as another worker."""
        self._cursors.clear()

    async def tick(self) -> float:
        """Claim what there is room for, and say when to come again."""
        if self.paused:
            return FOREVER
        for queue in list(self._awake):
            room = self._lanes.room()
            if room <= 0:
                return FOREVER  # the lanes call when there is room again
            found = await self._claim(queue, room)
            if found == room:
                # Others get their turn first: the order of the dict is the order of service.
                self._awake[queue] = self._awake.pop(queue)
                return 0
            if not found and time.monotonic() >= self._awake[queue]:
                del self._awake[queue]
        return HOT_SECONDS if self._awake else FOREVER

    async def _claim(self, queue: str, room: int) -> int:
        async with self._keeper.connection() as conn:
            jobs = await claims.claim(
                conn,
                self._worker_id(),
                queue,
                room,
                kinds=self._kinds,
                cursor=self._cursors.get(queue),
                suspects=not self._lanes.holds_suspect(),
            )
        self._recorder.add(CLAIMS, queue)
        self._cursors[queue] = jobs[0].cursor if jobs else None
        if jobs:
            self._recorder.add(CLAIMED_JOBS, queue, by=len(jobs))
            self._awake[queue] = time.monotonic() + AWAKE_SECONDS
            self._lanes.add(jobs)
        return len(jobs)

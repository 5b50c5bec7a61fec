"""The poller finds work without a ring, and releases claims whose answer was lost.

One poll rescues the jobs of dead workers, promotes those whose time has come, returns requests to
cancel, and names the queues with ready jobs and the services with work. Every half minute, or soon
after a claim whose answer was lost, a reconciliation compares the jobs that the worker holds in
the database with those that it really has, and asks which queues have limits by now.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from ostinato._core.base.errors import CommitUnknown
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import RESCUED_JOBS, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.db.keep import Keeper
from ostinato._core.db.pool import Pool
from ostinato._core.db.sqlstate import is_damage
from ostinato._core.engine import workers
from ostinato._core.runtime.worker.claimer import Claimer
from ostinato._core.runtime.worker.finisher import Finisher
from ostinato._core.runtime.worker.lanes import Lanes
from ostinato._core.runtime.worker.loop import Loop

log = get_logger("poller")

RECONCILE_SECONDS = 30.0
OVERDUE_SECONDS = 0.05
DRAIN = "drain"
"""Among the chores of a poll: an operator asked this worker to end."""


class Poller:
    """Polls and reconciles for one worker; both loops are run beside its jobs."""

    def __init__(
        self,
        keeper: Keeper,
        pool: Pool,
        claimer: Claimer,
        lanes: Lanes,
        finisher: Finisher,
        *,
        services: Mapping[str, Loop],
        settings: Settings,
        recorder: Recorder,
        rng: random.Random,
        worker_id: Callable[[], UUID],
        on_error: Callable[[BaseException], None],
        drain: Callable[[], None],
    ) -> None:
        self.loop = Loop("poller", self._poll, on_error=on_error, rng=rng)
        self.reconciling = Loop("reconciler", self._reconcile, on_error=on_error, rng=rng)
        self._keeper = keeper
        self._pool = pool
        self._claimer = claimer
        self._lanes = lanes
        self._finisher = finisher
        self._services = services
        self._settings = settings
        self._recorder = recorder
        self._rng = rng
        self._worker_id = worker_id
        self._drain = drain

    def claim_failed(self, error: BaseException) -> None:
        """Reconcile after a claim whose answer was lost, once that answer cannot come any more.

        After one that met a row that cannot be read, set that row aside now.
        """
        if is_damage(error):
            self.reconciling.wake()
        if isinstance(error, CommitUnknown | UnicodeDecodeError):
            loop = asyncio.get_running_loop()
            loop.call_later(1.1 * self._unheard_seconds(), self.reconciling.wake)

    async def _poll(self) -> float:
        queues = self._claimer.resting()
        async with self._keeper.connection() as conn:
            poll = await workers.poll(conn, self._worker_id(), queues, self._settings.max_crashes)
        if poll.rescued:
            self._recorder.add(RESCUED_JOBS, by=poll.rescued)
            log.warning("rescued", jobs=poll.rescued)
        self._lanes.request_cancel(poll.cancels)
        self._claimer.saw_ready(queues, poll.ready_queues)
        for service in poll.chores:
            if service in self._services:
                self._services[service].wake()
        if DRAIN in poll.chores:
            log.info("drain_asked")
            self._drain()
        pause = self._settings.poll_seconds * self._rng.uniform(0.75, 1.25)
        if poll.next_due is not None:
            # An overdue job that is still there is being promoted by another worker: no hurry.
            pause = min(pause, poll.next_due + 0.001 if poll.next_due > 0 else OVERDUE_SECONDS)
        return pause

    async def _reconcile(self) -> float:
        async with self._pool.connection() as conn:
            held = [*self._lanes.held(), *self._finisher.held()]
            await self._set_aside(conn, held)
            lost = await workers.reconcile(conn, self._worker_id(), held, self._unheard_seconds())
            await self._claimer.learn_limits(conn)
        if lost:
            log.warning("claim_never_heard_of", jobs=lost)
        return RECONCILE_SECONDS * self._rng.uniform(0.5, 1.5)

    async def _set_aside(self, conn: AsyncConnection[Any], held: list[int]) -> None:
        damaged = {queue: error for queue, error in self._claimer.failing.items() if is_damage(error)}
        for queue, error in damaged.items():
            gone = await workers.set_aside(conn, self._worker_id(), queue, held, error)
            if self._claimer.failing.get(queue) is error:
                del self._claimer.failing[queue]
            for job_id in gone:
                log.error("set_aside", job_id=job_id, hint="Its row is missing or damaged.")
        if damaged:
            self._claimer.rouse()

    def _unheard_seconds(self) -> float:
        """Return the age from which the answer of a claim cannot arrive any more."""
        return 2 * self._settings.call_timeout_seconds

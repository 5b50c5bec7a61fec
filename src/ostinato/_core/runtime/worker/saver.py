"""The saver writes the steps of running jobs, and loads those of resumed ones, in sets.

As in the finisher, the next steps gather while one flush is under way: a lone step is written at
once, and under load the steps of all lanes go in one statement. A handler waits for its step until
it is committed. When the database is away nothing is dropped: the handlers wait. A step that is
written twice, because the first answer got lost, counts once.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, LeaseLost, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import FENCED_WRITES, Recorder
from ostinato._core.db.keep import Keeper
from ostinato._core.engine import steps
from ostinato._core.engine.steps import NewStep, StoredStep
from ostinato._core.runtime.worker.loop import FOREVER, Loop

log = get_logger("saver")

MOST_AT_ONCE = 1000
MOST_BYTES = 8 * 1024 * 1024

Stored = dict[int, StoredStep]
"""The steps of a job, by position."""


class Pending(NamedTuple):
    """A step, and the future of the handler that waits until it is written."""

    step: NewStep
    saved: asyncio.Future[None]


class Saver:
    """Collects steps to write and to load; `tick` does both in sets."""

    def __init__(
        self,
        keeper: Keeper,
        recorder: Recorder,
        rng: random.Random,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.loop = Loop("saver", self.tick, on_error=on_error, rng=rng)
        """To be run beside the jobs."""
        self._keeper = keeper
        self._recorder = recorder
        self._waiting: list[Pending] = []
        self._writing: list[Pending] = []
        self._asked: dict[int, list[asyncio.Future[Stored]]] = {}

    def save(self, step: NewStep) -> "asyncio.Future[None]":
        """Write a step and wait for its commit; raises `LeaseLost` when it was refused."""
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Pending(step, saved))
        self.loop.wake()
        return saved

    def load(self, job_id: int) -> "asyncio.Future[Stored]":
        """Return the steps of a job that is held."""
        loaded: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(job_id, []).append(loaded)
        self.loop.wake()
        return loaded

    async def tick(self) -> float:
        """Write and load everything that waits."""
        while self._waiting or self._writing or self._asked:
            self._take()
            async with self._keeper.connection() as conn:
                if self._asked:
                    await self._load(conn)
                if self._writing:
                    await self._save(conn, self._writing)
                    self._writing = []
        return FOREVER

    def _take(self) -> None:
        """Take the next steps to write, bounded in number and in size."""
        size = taken = 0
        # A handler that was stopped meanwhile does not wait any more.
        self._writing = [pending for pending in self._writing if not pending.saved.done()]
        for pending in self._waiting[: MOST_AT_ONCE - len(self._writing)]:
            size += len(pending.step.result or "")
            if size > MOST_BYTES and self._writing:
                break
            taken += 1
            if not pending.saved.done():
                self._writing.append(pending)
        self._waiting = self._waiting[taken:]

    async def _load(self, conn: AsyncConnection[Any]) -> None:
        job_ids = list(self._asked)[:MOST_AT_ONCE]
        found: dict[int, Stored] = {job_id: {} for job_id in job_ids}
        trouble: OstinatoError | None = None
        try:
            for step in await steps.load(conn, job_ids):
                found[step.job_id][step.position] = step
        except (DatabaseUnavailable, CommitUnknown):
            raise  # asked again by the next round
        except OstinatoError as error:
            trouble = error  # fails these attempts, and holds up no others
        for job_id in job_ids:
            for loaded in self._asked.pop(job_id):
                if loaded.done():
                    continue
                if trouble is not None:
                    loaded.set_exception(trouble)
                else:
                    loaded.set_result(found[job_id])

    async def _save(self, conn: AsyncConnection[Any], batch: list[Pending]) -> None:
        try:
            refused = await steps.save(conn, [pending.step for pending in batch])
        except (DatabaseUnavailable, CommitUnknown):
            raise  # written again by the next round; what was committed then counts as written
        except (OstinatoError, ValueError, TypeError) as error:
            await self._save_apart(conn, batch, error)
            return
        stale = {batch[place].saved for place in refused}
        for pending in batch:
            if pending.saved.done():
                continue
            if pending.saved in stale:
                self._refuse(pending)
            else:
                pending.saved.set_result(None)

    async def _save_apart(self, conn: AsyncConnection[Any], batch: list[Pending], error: Exception) -> None:
        """Save a set that the database refused one by one, so that only the bad step fails."""
        if len(batch) > 1:
            for pending in batch:
                await self._save(conn, [pending])
        elif not batch[0].saved.done():
            batch[0].saved.set_exception(error)

    def _refuse(self, pending: Pending) -> None:
        job, name = pending.step.job, pending.step.name
        self._recorder.add(FENCED_WRITES, "step")
        log.warning("fenced", verb="step", step=name, job_id=job.id, attempt=job.attempt)
        lost = LeaseLost(
            f"attempt {job.attempt} of job {job.id} is not held any more: {name!r} was not saved",
            job_id=job.id,
            attempt=job.attempt,
            step=name,
        )
        pending.saved.set_exception(lost)

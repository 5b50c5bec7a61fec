"""The marker says in the claims what is about to start, and gives jobs a claim of their own.

Both are done in sets, as in the finisher: while one round is under way the next marks gather.

- A job that was claimed ahead is marked before it starts. When the process dies, what had not begun
  goes back to its place, and only what had is suspected.
- A job that its handler holds in a transaction of its own gets a claim of its own: the lock of a
  claim is the lock of all its verdicts. Kinds that did so once are claimed apart from then on.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from ostinato._core.base.log import get_logger
from ostinato._core.db.keep import Keeper
from ostinato._core.engine import claims
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.worker.loop import FOREVER, Loop

log = get_logger("marker")

SPLIT_TRIES = 20
SPLIT_PAUSE_SECONDS = 0.005


class Start(NamedTuple):
    """Jobs that are about to start, and who waits for the mark."""

    jobs: list[Job]
    alone: bool
    marked: "asyncio.Future[set[int]]"


class Marker:
    """Collects marks; `tick` writes them."""

    def __init__(
        self, keeper: Keeper, rng: random.Random, on_error: Callable[[BaseException], None] | None = None
    ) -> None:
        self.loop = Loop("marker", self.tick, on_error=on_error, rng=rng)
        """To be run beside the jobs."""
        self.apart: set[str] = set()
        """The kinds whose jobs are to be claimed apart."""
        self._keeper = keeper
        self._starts: list[Start] = []
        self._splits: dict[asyncio.Future[None], Job] = {}

    def begin(self, jobs: list[Job], *, alone: bool = False) -> "asyncio.Future[set[int]]":
        """Mark jobs as begun; the ids of those that are not held any more."""
        marked: asyncio.Future[set[int]] = asyncio.get_running_loop().create_future()
        self._starts.append(Start(jobs, alone, marked))
        self.loop.wake()
        return marked

    async def set_apart(self, job: Job) -> None:
        """Give a job a claim of its own, unless it has one."""
        if job.apart:
            return
        self.apart.add(job.kind)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._splits[done] = job
        self.loop.wake()
        try:
            await done
        finally:
            self._splits.pop(done, None)

    async def tick(self) -> float:
        """Write all marks."""
        async with self._keeper.connection() as conn:
            while self._starts or self._splits:
                if self._starts:
                    await self._begin(conn)
                if self._splits:
                    await self._split(conn)
        return FOREVER

    async def _begin(self, conn: AsyncConnection[Any]) -> None:
        alone = self._starts[0].alone
        taken = [start for start in self._starts if start.alone == alone]
        jobs = [job for start in taken for job in start.jobs]
        refused = set(await claims.begin(conn, jobs, alone=alone))
        self._starts = [start for start in self._starts if start not in taken]
        for start in taken:
            if not start.marked.done():
                start.marked.set_result(refused)

    async def _split(self, conn: AsyncConnection[Any]) -> None:
        """Split claims. One that stays locked keeps its jobs: that is slower, and as safe."""
        waiting = dict(self._splits)
        left = set(waiting.values())
        for _ in range(SPLIT_TRIES):
            refused = set(await claims.split(conn, list(left)))
            left = {job for job in left if job.id in refused}
            for done, job in waiting.items():
                if job not in left and not done.done():
                    done.set_result(None)
            if not left:
                break
            await asyncio.sleep(SPLIT_PAUSE_SECONDS)
        for done, job in waiting.items():
            self._splits.pop(done, None)
            if not done.done():
                log.info("claim_not_split", job_id=job.id, attempt=job.attempt, kind=job.kind)
                done.set_result(None)

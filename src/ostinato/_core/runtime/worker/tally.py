"""The tally counts what this worker did since it last reported it, by queue, kind and tenant.

The finisher counts every verdict that was written; every ten to fifteen seconds one statement adds the
counts to the series of the database. While the database is away they are kept; a worker that dies
takes those seconds of them with it. A job counts as started when its first attempt has ended.
"""

import random
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ostinato._core.base.metrics import START_LATENCY_SECONDS
from ostinato._core.db.pool import Pool
from ostinato._core.engine import series
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.worker.loop import Loop

WRITE_SECONDS = 10.0
BOUNDS = START_LATENCY_SECONDS.buckets


class Key(NamedTuple):
    """What is counted together."""

    queue: str
    kind: str
    tenant: str


class Tally:
    """Counts verdicts, and writes the counts in its own loop."""

    def __init__(self, pool: Pool, *, rng: random.Random, on_error: Callable[[BaseException], None]) -> None:
        self.loop = Loop("tally", self._round, on_error=on_error, rng=rng)
        """To be run beside the jobs."""
        self._pool = pool
        self._rng = rng
        self._rows: dict[Key, series.Row] = {}

    def add(self, ended: Iterable[tuple[Job, float, bool]], outcome: str) -> None:
        """Count attempts that ended alike: each with its seconds, and whether it is a dead letter now."""
        for job, seconds, dead in ended:
            key = Key(job.queue, job.kind, job.tenant_id)
            row = self._rows.get(key)
            if row is None:
                row = self._rows[key] = _empty(key)
            row["run"] += seconds
            if job.attempt == 1:  # how long a retry or a snooze was asked to wait says nothing of the start
                row["first"] += 1
                row["latency"][bisect_left(BOUNDS, job.waited)] += 1
            if outcome == "done":
                row["done"] += 1
            elif outcome == "failed":
                row["failed"] += 1
                row["dead"] += dead

    async def write(self) -> None:
        """Write what was counted; what cannot be written is kept for the next time."""
        if not self._rows:
            return
        rows, self._rows = self._rows, {}
        try:
            async with self._pool.connection() as conn:
                await series.record(conn, list(rows.values()))
        except BaseException:
            self._merge(rows)
            raise

    async def _round(self) -> float:
        await self.write()
        return WRITE_SECONDS * self._rng.uniform(1.0, 1.5)

    def _merge(self, rows: dict[Key, series.Row]) -> None:
        for key, old in rows.items():
            row = self._rows.setdefault(key, _empty(key))
            for name in ("first", "done", "failed", "dead"):
                row[name] += old[name]
            row["run"] += old["run"]
            row["latency"] = [a + b for a, b in zip(row["latency"], old["latency"], strict=True)]


def _empty(key: Key) -> series.Row:
    return {
        "queue": key.queue,
        "kind": key.kind,
        "tenant": key.tenant,
        "first": 0,
        "done": 0,
        "failed": 0,
        "dead": 0,
        "run": 0.0,
        "latency": [0] * (len(BOUNDS) + 1),
    }

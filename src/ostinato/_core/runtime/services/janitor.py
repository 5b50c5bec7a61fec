"""The janitor creates and drops partitions, deletes old rows, and evaluates alerts.

Every worker has one; the work is done once, because upkeep takes its locks without waiting and
skips what another janitor has locked.
"""

import random
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from ostinato._core.base.errors import DatabaseUnavailable, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import Recorder
from ostinato._core.engine import (
    alerts,
    idempotency,
    keys,
    leases,
    observe,
    series,
    sessions,
    subscriptions,
    upkeep,
    webhook_deliveries,
)
from ostinato._core.runtime.services.alerts import ALERT_SECONDS, watch

log = get_logger("janitor")

Round = Callable[[AsyncConnection[Any]], Awaitable[object]]

PARTITIONS_SECONDS = 3600.0
SAMPLES_SECONDS = 60.0
KEYS_SECONDS = 300.0
DELIVERIES_SECONDS = 20.0
WEBHOOKS_SECONDS = 120.0


class Chore(NamedTuple):
    """A task that is repeated after some time."""

    name: str
    seconds: float
    run: Round


class Janitor:
    """Does each chore when it is due."""

    name = "janitor"

    def __init__(
        self,
        retention_days: int,
        rng: random.Random,
        recorder: Recorder | None = None,
        *,
        audit_days: int | None = None,
    ) -> None:
        self._rng = rng
        counted = recorder or Recorder()
        self._chores = (
            Chore("partitions", PARTITIONS_SECONDS, lambda conn: upkeep.run(conn, retention_days, audit_days)),
            Chore("samples", SAMPLES_SECONDS, _sample),
            Chore("idempotency", KEYS_SECONDS, idempotency.prune),
            Chore("leases", KEYS_SECONDS, leases.prune),
            Chore("deliveries", DELIVERIES_SECONDS, subscriptions.heal),
            Chore("webhooks", WEBHOOKS_SECONDS, lambda conn: _webhooks(conn, retention_days)),
            Chore("keys", PARTITIONS_SECONDS, keys.prune),
            Chore("sessions", KEYS_SECONDS, sessions.prune),
            Chore("series", KEYS_SECONDS, lambda conn: series.prune(conn, retention_days)),
            Chore("firings", PARTITIONS_SECONDS, lambda conn: alerts.prune(conn, retention_days)),
            Chore("alerts", ALERT_SECONDS, lambda conn: watch(conn, counted)),
        )
        self._due = dict.fromkeys((chore.name for chore in self._chores), 0.0)

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """Do the due chores, whichever of them fail; returns the seconds until the next."""
        for chore in self._chores:
            if time.monotonic() >= self._due[chore.name]:
                pause = chore.seconds * self._rng.uniform(0.5, 1.5)
                self._due[chore.name] = time.monotonic() + pause
                await self._run(chore, conn)
        return max(0.0, min(self._due.values()) - time.monotonic())

    async def _run(self, chore: Chore, conn: AsyncConnection[Any]) -> None:
        try:
            await chore.run(conn)
        except DatabaseUnavailable:
            self._due[chore.name] = 0.0
            raise  # the loop logs it, and retries soon
        except OstinatoError as error:
            log.exception("chore_failed", chore=chore.name, error=error.message)


async def _sample(conn: AsyncConnection[Any]) -> object:
    return await observe.sample(conn, timedelta(seconds=SAMPLES_SECONDS / 2))


async def _webhooks(conn: AsyncConnection[Any], retention_days: int) -> None:
    await webhook_deliveries.heal(conn)
    await webhook_deliveries.prune(conn, retention_days)

"""The background services of a worker: what it does for everybody, beside running jobs.

A service does one round of work at each `tick` and says in how many seconds it wants the next one.
Those that wait for work return `FOREVER`: a poll wakes them when `ostinato.chores()` names them,
and a ring of "@<name>" does so at once. Any number of workers may run the same service; what must
happen once is settled in the database.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psycopg import AsyncConnection

from ostinato.base.metrics import Recorder
from ostinato.base.settings import Settings
from ostinato.runtime.app import App
from ostinato.runtime.janitor import Janitor
from ostinato.runtime.ticker import Ticker
from ostinato.runtime.webhooks import FanOut

__all__ = ["Service", "Site", "background"]


class Service(Protocol):
    """One background service."""

    name: str
    """As in `ostinato.chores()`."""

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """Do one round, on a connection in autocommit; seconds until the next one."""


@dataclass(frozen=True)
class Site:
    """What a worker hands to its services."""

    apps: Sequence[App]
    settings: Settings
    recorder: Recorder
    rng: random.Random


def background(site: Site) -> list[Service]:
    """The services of a worker."""
    return [
        Janitor(site.settings.retention_days, site.rng),
        Ticker([schedule for app in site.apps for schedule in app.schedules], site.recorder),
        FanOut(),
    ]

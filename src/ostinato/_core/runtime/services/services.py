"""The background services of a worker: its work for the whole installation, beside running jobs.

A service does one round of work at each `tick` and returns the seconds until the next one.
Those that wait for work return `FOREVER`: a poll wakes them when `chores()` names them,
and a ring of "@<name>" does so at once. Any number of workers may run the same service; the
database ensures that what must happen once happens once.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psycopg import AsyncConnection

from ostinato._core.base.metrics import Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.events import register
from ostinato._core.runtime.services import alerts
from ostinato._core.runtime.services.janitor import Janitor
from ostinato._core.runtime.services.relay import Relay
from ostinato._core.runtime.services.ticker import Ticker

SERVICES = ("ticker", "relay", "janitor")
"""The services that a process can run alone; webhooks belong to the relay."""


class Service(Protocol):
    """One background service."""

    name: str
    """Its name in `chores()`."""

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """Do one round, on a connection in autocommit; returns the seconds until the next one."""


@dataclass(frozen=True)
class Site:
    """What a worker passes to its services."""

    apps: Sequence[App]
    settings: Settings
    recorder: Recorder
    rng: random.Random
    only: frozenset[str] | None = None
    """Names of `SERVICES`; None means all."""


def background(site: Site) -> list[Service]:
    """Return the services that a worker runs."""
    schedules = [schedule for app in site.apps for schedule in app.schedules]
    makers: dict[str, Callable[[], list[Service]]] = {
        "relay": lambda: [Relay(site.recorder)],
        "janitor": lambda: [_janitor(site)],
        "ticker": lambda: [Ticker(schedules, site.recorder)],
    }
    chosen = makers if site.only is None else site.only
    return [service for name, make in makers.items() if name in chosen for service in make()]


def _janitor(site: Site) -> Janitor:
    days = site.settings.audit_retention_days
    return Janitor(site.settings.retention_days, site.rng, site.recorder, audit_days=days)


async def declare(conn: AsyncConnection[Any], apps: Sequence[App]) -> None:
    """Declare the events, the subscriptions and the alerts of the apps."""
    await register(
        conn,
        [*alerts.ALERT_EVENTS, *(event for app in apps for event in app.events)],
        [subscriber for app in apps for subscriber in app.subscribers.values()],
    )
    await alerts.declare(conn, apps)

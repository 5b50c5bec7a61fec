"""The background services of a worker: its work for the whole installation, beside running jobs.

A service does one round of work at each `tick` and returns the seconds until the next one.
Those that wait for work return `FOREVER`: a poll wakes them when `ostinato.chores()` names them,
and a ring of "@<name>" does so at once. Any number of workers may run the same service; the
database ensures that what must happen once happens once.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from psycopg import AsyncConnection

from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.db.pool import Pool
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.deliver import Lender
from ostinato._core.runtime.handlers.events import register
from ostinato._core.runtime.services import alerts
from ostinato._core.runtime.services.janitor import Janitor
from ostinato._core.runtime.services.relay import Deliverer, Relay
from ostinato._core.runtime.services.ticker import Ticker
from ostinato._core.runtime.services.webhooks import FanOut

__all__ = ["SERVICES", "Host", "Service", "Site", "background", "close", "declare"]

log = get_logger("services")

SERVICES = ("ticker", "relay", "janitor")
"""The services that a process can run alone; webhooks belong to the relay."""


class Service(Protocol):
    """One background service."""

    name: str
    """Its name in `ostinato.chores()`."""

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """Do one round, on a connection in autocommit; returns the seconds until the next one."""


@dataclass(frozen=True)
class Site:
    """What a worker passes to its services."""

    apps: Sequence[App]
    settings: Settings
    recorder: Recorder
    rng: random.Random
    host: "Host | None" = None
    """None means that no handlers run here."""
    only: frozenset[str] | None = None
    """Names of `SERVICES`; None means all."""


class Host(Lender, Protocol):
    """What a worker does for services that run handlers."""

    def worker_id(self) -> UUID:
        """Its present id."""

    def wake(self, service: str) -> None:
        """Let a service of this worker tick soon."""


def background(site: Site) -> list[Service]:
    """The services that a worker runs."""
    schedules = [schedule for app in site.apps for schedule in app.schedules]
    makers: dict[str, Callable[[], list[Service]]] = {
        "relay": lambda: [*_relay(site), FanOut()],
        "janitor": lambda: [Janitor(site.settings.retention_days, site.rng, site.recorder)],
        "ticker": lambda: [Ticker(schedules, site.recorder)],
    }
    chosen = makers if site.only is None else site.only
    return [service for name, make in makers.items() if name in chosen for service in make()]


async def declare(conn: AsyncConnection[Any], apps: Sequence[App]) -> None:
    """Declare the events, the subscriptions and the alerts of the apps."""
    await register(
        conn,
        [*alerts.ALERT_EVENTS, *(event for app in apps for event in app.events)],
        [subscriber for app in apps for subscriber in app.subscribers.values()],
    )
    await alerts.declare(conn, apps)


async def close(services: Sequence[Service], pool: Pool, seconds: float) -> None:
    """Let services that run handlers give back what is not done; their loops have ended."""
    for service in services:
        if isinstance(service, Deliverer):
            try:
                async with pool.connection() as conn:
                    await service.close(conn, seconds)
            except Exception as error:  # noqa: BLE001 - others will see that this worker is gone
                log.warning("not_given_back", service=service.name, error=str(error))


def _relay(site: Site) -> list[Service]:
    host = site.host
    if host is None:
        return [Relay(site.recorder)]
    here = [
        subscriber
        for app in site.apps
        for subscriber in app.subscribers.values()
        if subscriber.mode == "relay"
    ]
    deliverers: list[Service] = [
        Deliverer(
            subscriber,
            host,
            worker_id=host.worker_id,
            wake=host.wake,
            recorder=site.recorder,
            rng=site.rng,
            unheard_seconds=2 * site.settings.call_timeout_seconds,
        )
        for subscriber in here
    ]
    return [Relay(site.recorder, [each.name for each in here], host.wake), *deliverers]

"""Figures of an application for Prometheus, read from its tables at every scrape.

    UNPAID = Gauge("ostinato_billing_unpaid", "Invoices that nobody has paid.")

    async def record(conn: AsyncConnection[Any]) -> Recorder: ...    # select … from billing.unpaid()

    FIGURES = Figures((UNPAID,), record)

`App(metrics="module:FIGURES")` puts them on the API's metrics page and into `ostinato metrics`. That
page needs no key, so no label may name what belongs to a tenant. The API logs in as `ostinato_api`,
which sees no tenant's rows: a function of the application counts for it.

    create function billing.unpaid() returns bigint language sql stable security definer
    set search_path = billing, pg_catalog, pg_temp set row_security = on as …;
    grant execute on function billing.unpaid to ostinato_api;

When the figures of an application cannot be read (a table read directly is an error, never a 0),
the failure is counted and the page is served without them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import FIGURE_FAILURES, Gauge, Recorder
from ostinato._core.base.redact import LONGEST_ERROR, redact
from ostinato._core.db.pool import transaction
from ostinato._core.engine import tenants
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named

log = get_logger("figures")


@dataclass(frozen=True)
class Figures:
    """The gauges of an application, and the function that reads their values."""

    metrics: tuple[Gauge, ...]
    record: Callable[[AsyncConnection[Any]], Awaitable[Recorder]]
    """Called with a connection of the API or of a worker, in a transaction."""
    seconds: float = 5.0
    """The longest that it may take: a scrape waits for ten seconds or so."""


class Shown(NamedTuple):
    """The figures of some applications, to be added to those of the engine."""

    metrics: list[Gauge]
    recorders: list[Recorder]


async def ask(conn: AsyncConnection[Any], apps: Iterable[App], failures: Recorder) -> Shown:
    """Read the figures of the applications; failures are counted and logged."""
    shown = Shown([], [])
    for app in apps:
        if app.metrics is None:
            continue
        failures.add(FIGURE_FAILURES, app.name, by=0)  # the series exists before the first failure
        try:
            figures = _loaded(app.name, app.metrics)
            async with asyncio.timeout(figures.seconds), transaction(conn):
                await tenants.refuse_filtered_reads(conn)
                recorder = await figures.record(conn)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this application's
            failures.add(FIGURE_FAILURES, app.name)
            log.warning("figures_failed", app=app.name, error=redact(f"{error!r}", LONGEST_ERROR))
        else:
            shown.metrics.extend(figures.metrics)
            shown.recorders.append(recorder)
    return shown


def figures_of(apps: Iterable[App]) -> dict[str, Figures]:
    """Return the figures by the name of their application."""
    return {app.name: _loaded(app.name, app.metrics) for app in apps if app.metrics is not None}


def _loaded(app: str, place: str) -> Figures:
    found = named(place, Figures)
    strays = [each.name for each in found.metrics if not each.name.startswith(f"ostinato_{app}_")]
    if strays:
        raise InvalidInput(
            f"app {app!r} has figures of another name: {', '.join(strays)}",
            hint=f"Name them ostinato_{app}_<what is measured>.",
        )
    return found

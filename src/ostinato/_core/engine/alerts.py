"""Alerts in the database: declare, evaluate and list them.

The logic is in `sql/functions/alerts.sql`; `base.alerts` declares what an alert is.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple

from psycopg.rows import class_row

from ostinato._core.base.alerts import Alert, Severity
from ostinato._core.base.errors import DatabaseUnavailable, NotFound
from ostinato._core.db.call import Connection, call, call_as, call_value
from ostinato._core.db.sqlstate import sqlstate_of

EVERY = timedelta(seconds=10)
SOURCE_SECONDS = 5.0
"""A source that takes longer has failed."""
CANCELLED = "57014"


class Change(NamedTuple):
    """One change that an evaluation made."""

    alert: str
    label: str
    change: Literal["fired", "resolved", "failed"]
    severity: Severity
    tenant_id: str | None
    value: float | None
    message: str
    firing_id: int | None


class Reading(NamedTuple):
    """The value that a source returns for one label."""

    label: str
    value: float
    bad: bool
    message: str


@dataclass(frozen=True, slots=True)
class AlertLine:
    """An alert with its state."""

    name: str
    owner: str
    severity: Severity
    state: Literal["firing", "failing", "pending", "ok", "new"]
    """Failing means that its source raises an error, new that it was not evaluated yet."""
    firing: int
    """The number of labels that it fires for."""
    since: datetime | None
    """Since when the first of them is bad."""
    source: str
    """The figure or the function that is measured."""
    parameters: str
    """Arguments of the function, as JSON."""
    labels: list[str]
    """Only these labels; empty means all that the source returns."""
    comparison: Literal[">", "<"]
    threshold: float
    clears_at: float
    """The value at which it is good again."""
    for_seconds: float
    """It fires when it has been bad for this long."""
    clear_seconds: float
    """It is resolved when it has been good for this long."""
    tenant_id: str | None
    message: str
    remedy: str
    evaluated_at: datetime | None
    failures: int
    """How often its source failed, in a row."""
    error: str | None
    """The error of the source when it failed last."""
    message_one: str | None
    """The message when the value is exactly 1; null means the same one."""
    silenced_until: datetime | None
    """Nothing is sent about any of its labels until then."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One period in which a label of an alert was bad."""

    id: int
    alert: str
    label: str
    """What it is about, such as a queue; empty means the whole engine."""
    tenant_id: str
    severity: Severity
    state: Literal["pending", "firing", "resolved"]
    """Pending means bad, but not for long enough to fire."""
    since: datetime
    """Bad since then."""
    fired_at: datetime | None
    resolved_at: datetime | None
    value: float
    """The last value."""
    worst: float
    message: str
    details: str
    """The condition that it met, as JSON."""
    acknowledged_at: datetime | None
    """Somebody has seen it since then."""
    acknowledged_by: str | None
    silenced_until: datetime | None
    """Nothing is sent about it until then."""
    template: str | None
    """The message of its alert with places, {label} and others; None when that is no longer declared."""
    template_one: str | None
    places: str | None
    """What stands in the places beside label and value, as JSON."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A time in which nothing is sent about an alert."""

    alert: str
    label: str | None
    """The one label that is silenced; null means all."""
    until: datetime
    reason: str
    silenced_by: str
    silenced_at: datetime


async def declare(conn: Connection, owners: Sequence[str], alerts: Sequence[Alert]) -> None:
    """Declare the alerts of some owners; their other alerts are resolved and deleted."""
    rows = json.dumps([as_row(alert) for alert in alerts])
    await call(conn, "declare_alerts", owners=list(owners), alerts=rows)


async def evaluate(
    conn: Connection, every: timedelta = EVERY, *, source_seconds: float = SOURCE_SECONDS
) -> list[Change]:
    """Evaluate the alerts unless a process did within `every`; returns the changes.

    A source that hangs is cancelled after its time; the others are still evaluated.
    """

    async def fail(names: list[str]) -> list[Any]:
        problem = f"no answer within {source_seconds:g} s"
        return await call(conn, "fail_alerts", names=names, every=every, error=problem)

    due = await call(conn, "due_alerts", _read=True, every=every)
    return await _evaluate_all(conn, due, partial(call, conn, "evaluate_alerts", every=every), fail, source_seconds)


async def watch(conn: Connection, every: timedelta = EVERY, *, source_seconds: float = SOURCE_SECONDS) -> list[Change]:
    """Evaluate as the role of the API, which sees no tenant: the changes name no label.

    Alerts on functions that the owner did not make, or that may write, are left to workers.
    """
    fail = partial(call, conn, "watch_failed_alerts", every=every, seconds=source_seconds)
    due = await call(conn, "watch_due_alerts", _read=True, every=every)
    work = partial(call, conn, "watch_alerts", every=every)
    return await _evaluate_all(conn, due, work, lambda names: fail(names=names), source_seconds)


async def measure(conn: Connection, name: str) -> list[Reading]:
    """Read the source of an alert now; changes nothing."""
    return [Reading(*row) for row in await call(conn, "measure_alert", _read=True, name=name)]


async def rehearse(conn: Connection, name: str, label: str = "test") -> list[int]:
    """Emit the events of an alert as a test, fired and resolved; returns their ids."""
    rows = await call(conn, "rehearse_alert", name=name, label=label)
    return [row[0] for row in rows]


async def list_alerts(conn: Connection, *, tenant_id: str | None = None) -> list[AlertLine]:
    """Return all alerts, or those of a tenant; the worst first."""
    return await call_as(conn, class_row(AlertLine), "list_alerts", _read=True, tenant_id=tenant_id, name=None)


async def show(conn: Connection, name: str) -> AlertLine:
    """Return one alert."""
    found = await call_as(conn, class_row(AlertLine), "list_alerts", _read=True, tenant_id=None, name=name)
    if not found:
        raise NotFound(f"there is no alert {name}", hint="See `ostinato alerts list`.", alert=name)
    return found[0]


async def firings(
    conn: Connection,
    name: str | None = None,
    *,
    tenant_id: str | None = None,
    only_open: bool = False,
    before: int | None = None,
    most: int = 50,
) -> list[Firing]:
    """Return the firings, newest first; with `only_open`, those that are bad now, pending included."""
    return await call_as(
        conn,
        class_row(Firing),
        "list_firings",
        _read=True,
        name=name,
        tenant=tenant_id,
        open=only_open,
        before=before,
        most=most,
    )


async def own_alerts(conn: Connection) -> list[AlertLine]:
    """Return the alerts of the tenant of the transaction."""
    return await call_as(conn, class_row(AlertLine), "own_alerts", _read=True)


async def own_firings(
    conn: Connection, name: str | None = None, *, only_open: bool = False, before: int | None = None, most: int = 50
) -> list[Firing]:
    """Return the firings of the tenant of the transaction, newest first."""
    return await call_as(
        conn, class_row(Firing), "own_firings", _read=True, name=name, open=only_open, before=before, most=most
    )


async def acknowledge(conn: Connection, name: str, *, label: str | None = None) -> int:
    """Note that somebody has seen what fires, of one label or of all; returns how many."""
    return int(await call_value(conn, "acknowledge_alert", name=name, label=label))


async def silence(conn: Connection, name: str, *, until: datetime, reason: str, label: str | None = None) -> None:
    """Send nothing about an alert until a moment: of one label, or of all."""
    await call(conn, "silence_alert", name=name, until=until, reason=reason, label=label)


async def unsilence(conn: Connection, name: str, *, label: str | None = None) -> bool:
    """End a silence before its time; returns whether there was one."""
    return bool(await call_value(conn, "unsilence_alert", name=name, label=label))


async def list_silences(conn: Connection, name: str | None = None) -> list[Silence]:
    """Return the silences that last; those that end first come first."""
    return await call_as(conn, class_row(Silence), "list_silences", _read=True, name=name)


async def prune(conn: Connection, retention_days: int) -> int:
    """Delete firings that were resolved before the retention; returns how many."""
    return int(await call_value(conn, "prune_alerts", retention_days=retention_days))


def as_row(alert: Alert) -> dict[str, object]:
    """Return a declaration as the database keeps it."""
    return {
        "name": alert.name,
        "owner": alert.owner,
        "severity": alert.severity,
        "figure": alert.figure_name,
        "function": alert.function,
        "parameters": dict(alert.parameters),
        "labels": list(alert.labels),
        "comparison": alert.comparison,
        "threshold": alert.threshold,
        "clears_at": alert.clears_at,
        "for_seconds": alert.for_seconds,
        "clear_seconds": alert.clear_seconds,
        "tenant_id": alert.tenant,
        "message": alert.message,
        "message_one": alert.message_one,
        "remedy": alert.remedy,
    }


async def _evaluate_all(
    conn: Connection,
    due: list[Any],
    work: Callable[..., Awaitable[list[Any]]],
    fail: Callable[[list[str]], Awaitable[list[Any]]],
    seconds: float,
) -> list[Change]:
    """Evaluate the groups that are due; what is an application's within a time, else it failed."""
    rows = []
    for names, is_foreign in due:
        if not is_foreign:
            rows += await work(names=names)
            continue
        try:
            async with conn.transaction():
                await call(conn, "limit_statements", seconds=seconds)
                found = await work(names=names)
        except DatabaseUnavailable as error:
            if sqlstate_of(error) != CANCELLED:
                raise
            found = await fail(names)
        rows += found
    return [Change(*row) for row in rows]

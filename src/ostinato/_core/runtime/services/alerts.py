"""Declares alerts, and evaluates them in every worker and every API process.

The janitor of each worker and each process of the API call `watch`; the database ensures that an
alert is evaluated once at a time. The API does so too, so that "no worker is alive" can fire.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.base.alerts import ENGINE_ALERTS, ENGINE_OWNER, FIRED, RESOLVED
from ostinato._core.base.events import EventType
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import ALERT_FAILURES, ALERTS_FIRED, ALERTS_RESOLVED, Recorder
from ostinato._core.base.redact import LONGEST_ERROR, redact
from ostinato._core.engine import alerts
from ostinato._core.engine.alerts import Change
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.events import EventKind

log = get_logger("alerts")

ALERT_SECONDS = 30.0
"""About how often each process evaluates the alerts."""


@dataclass(frozen=True, slots=True)
class AlertTold:
    """The payload of `alert.fired` and `alert.resolved`."""

    id: int
    """The same in both events."""
    alert: str
    label: str
    severity: str
    message: str
    value: float | None
    worst: float | None
    since: str
    fired_at: str
    resolved_at: str | None
    details: dict[str, Any]


ALERT_EVENTS = tuple(EventKind[AlertTold](ENGINE_OWNER, EventType(name, 1, AlertTold)) for name in (FIRED, RESOLVED))


async def declare(conn: AsyncConnection[Any], apps: Sequence[App]) -> None:
    """Declare the alerts of the engine and of the apps."""
    owners = [ENGINE_OWNER, *(app.name for app in apps)]
    declared = [*ENGINE_ALERTS, *(alert for app in apps for alert in app.alerts)]
    await alerts.declare(conn, owners, declared)


async def watch(conn: AsyncConnection[Any], recorder: Recorder, *, as_api: bool = False) -> list[Change]:
    """Evaluate the alerts that are due; counts, logs and returns the changes.

    `as_api`: on a connection of the role of the API, which is told no label.
    """
    evaluate = alerts.watch if as_api else alerts.evaluate
    changes = await evaluate(conn, timedelta(seconds=ALERT_SECONDS / 2))
    for change in changes:
        _note(change, recorder)
    return changes


def _note(change: Change, recorder: Recorder) -> None:
    told = {"alert": change.alert, "label": change.label, "severity": change.severity}
    match change.change:
        case "fired":
            recorder.add(ALERTS_FIRED, change.alert, change.severity)
            log.warning("alert_fired", **told, value=change.value)
        case "resolved":
            recorder.add(ALERTS_RESOLVED, change.alert, change.severity)
            log.info("alert_resolved", **told, value=change.value)
        case "failed":
            recorder.add(ALERT_FAILURES, change.alert)
            log.warning("alert_source_failed", alert=change.alert, error=redact(change.message, LONGEST_ERROR))

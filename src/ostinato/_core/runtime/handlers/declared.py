"""An app declares schedules in its code; workers write them to the database."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any, TypedDict

from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine.schedules import CatchUp, Gap, Overlap, Schedule, Weekday
from ostinato._core.runtime.handlers.kinds import JobKind, Upgrade


class Times(TypedDict, total=False):
    """When a declared schedule fires: the fields of `Schedule` that are not the kind's."""

    cron: str
    at_time: time
    weekdays: Sequence[Weekday]
    zone: str
    gap: Gap
    overlap: Overlap
    key: str
    queue: str
    priority: int
    tenant_id: str
    catch_up: CatchUp
    catch_up_most: int
    catch_up_age: timedelta
    grace: timedelta
    jitter: timedelta
    starts_at: datetime
    ends_at: datetime


class Declared(TypedDict, total=False):
    """How a kind of job is declared: the options of `App.job`."""

    name: str | None
    queue: str
    priority: int
    retry: Retry | None
    timeout: float | None
    open: bool
    aliases: Iterable[str]
    version: int
    upgrade: Upgrade | None


def declared(owner: str, kind: JobKind[Any], name: str, args: Mapping[str, object], times: Times) -> Schedule:
    """Return a schedule of a kind, with arguments that the kind's handler takes."""
    checked: dict[str, object] = json.loads(kind.arguments.dump_scheduled(args))
    if given := sorted(name for name in kind.arguments.secrets if checked.get(name) is not None):
        raise InvalidInput(
            f"schedule {name!r} gives {kind.name} the secret argument {given[0]}, and a schedule keeps no secrets",
            hint="Let the handler read the secret from its settings or from a sealed column.",
        )
    chosen: Times = {"queue": kind.queue, "priority": kind.priority, "tenant_id": "default"}
    return Schedule(name, kind.name, checked, owner=owner, **(chosen | times))

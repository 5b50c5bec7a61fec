"""A schedule fires its slots: this module lists those to come and those that have fired, and fires some by hand.

Every function works in the transaction of the connection it is given. The logic is in
`sql/functions/schedules.sql` and `sql/functions/zones.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from psycopg.rows import class_row

from ostinato._core.base.flow import current_tenant
from ostinato._core.db.arrays import numbers
from ostinato._core.db.call import Connection, call_as, call_one, call_value
from ostinato._core.engine.jobs import ANY_QUEUE, wake_after_commit
from ostinato._core.engine.schedules import Schedule, document

RECOMPUTE_SECONDS = 120.0
TIMES = ("cron", "at_time", "weekdays", "at", "zone", "gap", "overlap")


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of a job, which its handler gets as the argument `scheduled_for`."""

    schedule: str
    """The name of the schedule."""
    local: datetime
    """The wall-clock time that the schedule names, without a zone.

    On a day on which the clock is put forward it may be one that does not exist.
    """
    zone: str
    at: datetime
    """The instant, in UTC."""
    key: str | None = None
    """The entity that the schedule belongs to."""

    @property
    def date(self) -> date:
        """The local date: "once a day" means once per date."""
        return self.local.date()


@dataclass(frozen=True, slots=True)
class NextFire:
    """A slot to come."""

    slot_local: datetime
    slot_at: datetime
    utc_offset: str
    note: str | None
    """A remark if the clock is moved on that day."""
    due_at: datetime | None = None
    """The slot and its jitter."""
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Fire:
    """A slot that has fired."""

    slot_local: datetime
    slot_at: datetime
    zone: str
    fired_at: datetime
    lateness: float
    """Seconds."""
    job_id: int
    missed: int
    """Slots right before it that were missed."""


@dataclass(frozen=True, slots=True)
class LastFire:
    """The last slot that a schedule has fired."""

    schedule_id: int
    slot_at: datetime
    fired_at: datetime
    lateness: float
    """Seconds."""
    job_id: int


@dataclass(frozen=True, slots=True)
class Fired:
    """What one call of `fire` did."""

    looked: int
    """Schedules that were due and that no other ticker had locked."""
    undone: int
    """Those of them that are left to the next call, for lack of time."""
    fired: int
    """Jobs that were added."""
    missed: int
    broken: int
    """Schedules that were paused because their rule can no longer be computed."""
    queues: list[str]
    """The queues to which jobs were added; ring them after the commit."""
    lateness: list[float]
    next_due: float | None
    """Seconds until the next schedule is due."""


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """A slot that did not fire in its time."""

    slot_local: datetime
    slot_at: datetime
    job_id: int | None
    """Its job; None in a preview."""


async def fire(conn: Connection, most: int = 1000) -> Fired:
    """Fire the due schedules, at most `most`, in one transaction."""
    return Fired(*await call_one(conn, "fire_schedules", most=most))


async def run_now(conn: Connection, name: str, *, tenant_id: str | None = None) -> int:
    """Fire a schedule now, beside its slots, paused or not, and return the job."""
    job_id = int(await call_value(conn, "run_schedule", name=name, tenant_id=tenant_id or current_tenant()))
    wake_after_commit(ANY_QUEUE)
    return job_id


async def catch_up(
    conn: Connection,
    name: str,
    since: datetime,
    *,
    until: datetime | None = None,
    tenant_id: str | None = None,
    most: int = 100,
    preview: bool = False,
) -> list[CaughtUp]:
    """Fire the slots after `since` that have not fired, oldest first and at most `most`; `preview` only lists them."""
    given: dict[str, Any] = {"since": since, "until": until, "tenant_id": tenant_id or current_tenant(), "most": most}
    rows = class_row(CaughtUp)
    found = await call_as(conn, rows, "catch_up_schedule", _read=preview, name=name, **given, preview=preview)
    wake_after_commit(ANY_QUEUE)
    return found


async def recompute(conn: Connection, zones: Sequence[str] | None = None) -> int:
    """Compute next slots again after the rules of zones changed; returns how many changed."""
    given = None if zones is None else list(zones)
    changed = await call_value(conn, "recompute_schedules", _seconds=RECOMPUTE_SECONDS, zones=given)
    return int(changed)


async def list_fires(conn: Connection, name: str, *, tenant_id: str | None = None, most: int = 20) -> list[Fire]:
    """Return the last fires of a schedule, newest first."""
    tenant = tenant_id or current_tenant()
    return await call_as(conn, class_row(Fire), "list_fires", _read=True, name=name, tenant_id=tenant, most=most)


async def last_fires(conn: Connection, schedule_ids: Sequence[int]) -> dict[int, LastFire]:
    """Return the last fires of some schedules, by the ids of those that have fired."""
    found = await call_as(conn, class_row(LastFire), "last_fires", _read=True, schedule_ids=numbers(schedule_ids))
    return {fire.schedule_id: fire for fire in found}


async def next_fires(
    conn: Connection, name: str, n: int = 5, *, after: datetime | None = None, tenant_id: str | None = None
) -> list[NextFire]:
    """Return the next slots of a schedule, in local time and in UTC."""
    return await call_as(
        conn,
        class_row(NextFire),
        "next_fires",
        _read=True,
        name=name,
        n=n,
        after=after,
        tenant_id=tenant_id or current_tenant(),
    )


async def preview(conn: Connection, schedule: Schedule, n: int = 5, *, after: datetime | None = None) -> list[NextFire]:
    """Return the next slots of a schedule that need not be stored, without its bounds and jitter."""
    given = {name: value for name, value in document(schedule).items() if name in TIMES}
    return await call_as(conn, class_row(NextFire), "preview_fires", _read=True, **given, n=n, after=after)

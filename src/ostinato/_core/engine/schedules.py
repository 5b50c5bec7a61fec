"""Schedules add jobs at local times, each slot once.

    await schedules.upsert(conn, Schedule(
        "bill-7", "billing.send", at_time=time(14, 30), zone="Europe/Paris", args={"customer": 7},
    ))

Every function works in the transaction of the connection it is given. The logic is in
`sql/functions/schedules.sql` and `sql/functions/zones.sql`: all arithmetic with time zones is
PostgreSQL's. A job gets its slot as the argument `scheduled_for`, a `Slot`, if its
handler takes one (`engine.fires`).
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, Literal

from psycopg.rows import class_row

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.base.flow import current_tenant
from ostinato._core.base.jsonio import dump_args
from ostinato._core.db.call import Connection, call, call_as, call_value
from ostinato._core.engine.jobs import wake_after_commit

Gap = Literal["shift", "skip"]
"""What a slot does whose local time does not exist: fire later by the gap, or not at all."""
Overlap = Literal["first", "last", "both"]
"""Which of the two instants a slot fires at whose local time comes twice."""
CatchUp = Literal["all", "last", "none"]
"""Which of the slots fire that were missed in an outage."""
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
"""A day on which a schedule with `at_time` fires."""

RING = "@ticker"
"""What `jobs.wake_after_commit` takes after schedules were written by a function of your own."""
MAX_ARGS_BYTES = 260_000
UPSERT_SECONDS = 60.0
SET = 5_000
PAGE = 50
CRON_FIELDS = 5


@dataclass(frozen=True, slots=True)
class Schedule:
    """A job and the times to add it. Exactly one of `cron`, `at_time` and `at` is given."""

    name: str
    """Unique for the tenant: an upsert with the same name changes the schedule."""
    kind: str
    args: Mapping[str, object] = field(default_factory=dict)
    cron: str | None = None
    """Five fields, with names, lists, ranges, steps, and L for the last day of the month."""
    at_time: time | None = None
    """Daily at this local time."""
    weekdays: Sequence[Weekday] | None = None
    """With `at_time`: only on these days."""
    at: datetime | None = None
    """Once: a local time in `zone`, or an instant (with a zone of its own)."""
    zone: str = "UTC"
    """A name of the IANA database, such as Europe/Paris."""
    gap: Gap | None = None
    """What a slot does whose wall-clock time does not exist.

    "shift" (the default) fires later by as much as the clock was put forward; "skip" (the default
    of a cron expression that matches every hour) does not fire.
    """
    overlap: Overlap | None = None
    """Which instant a slot fires at whose wall-clock time comes twice.

    "first" (the default), "last" or "both" (the default of a cron expression that matches every
    hour).
    """
    key: str | None = None
    """The entity that it belongs to."""
    owner: str | None = None
    """The app that declares it, for schedules that are part of its code."""
    queue: str | None = None
    priority: int | None = None
    tenant_id: str | None = None
    catch_up: CatchUp = "last"
    """Which of the slots fire that were missed in an outage."""
    catch_up_most: int = 100
    """With "all": the most that fire, the newest ones. 1 to 1,000."""
    catch_up_age: timedelta | None = None
    """Slots older than this never fire."""
    grace: timedelta = timedelta(seconds=60)
    """A slot that is later than this is missed."""
    jitter: timedelta = timedelta(0)
    """The longest delay of a fire; the delay itself is fixed for each schedule and slot."""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    """Slots fire from `starts_at` on, and before `ends_at`."""

    def __post_init__(self) -> None:
        if self.cron is not None:
            _check_cron(self.cron)
        if self.at is not None and self.at.tzinfo is not None and self.zone != "UTC":
            raise InvalidInput(
                f"schedule {self.name!r} has an instant and a zone: {self.at.isoformat()} and {self.zone}",
                hint="Give a local time (a datetime without a zone) with `zone`, or an instant without it.",
                schedule=self.name,
            )
        for bound in (self.starts_at, self.ends_at):
            if bound is not None and bound.tzinfo is None:
                raise InvalidInput(
                    f"a bound of schedule {self.name!r} has no zone: {bound.isoformat()}",
                    hint="Use a datetime with a zone.",
                    schedule=self.name,
                )
        if self.at_time is not None and self.at_time.tzinfo is not None:
            raise InvalidInput(
                f"at_time of schedule {self.name!r} has a zone: {self.at_time.isoformat()}",
                hint="Leave it away; `zone` says whose clock is meant.",
                schedule=self.name,
            )


@dataclass(frozen=True, slots=True)
class Written:
    """A schedule that was stored, and when it fires next."""

    id: int
    tenant_id: str
    name: str
    next_at: datetime | None
    """None means that it is paused or over."""
    slot_local: datetime | None


@dataclass(frozen=True, slots=True)
class ScheduleSummary:
    """One schedule in a list."""

    id: int
    tenant_id: str
    name: str
    key: str | None
    """The entity that it belongs to."""
    owner: str | None
    """The application that declares it."""
    kind: str
    queue: str | None
    rule: str
    zone: str
    paused: bool
    error: str | None
    """Why the engine paused it."""
    next_at: datetime | None
    """When it fires next; None means that it is paused or over."""
    slot_local: datetime | None
    missed: int | None
    """Slots missed since the last fire."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A schedule whose next slot comes soon."""

    tenant_id: str
    name: str
    kind: str
    zone: str
    next_at: datetime
    slot_local: datetime


@dataclass(frozen=True, slots=True)
class ScheduleDetails(ScheduleSummary):
    """Everything about one schedule."""

    priority: int | None
    args: Any
    gap: Gap
    """What a slot does whose local time does not exist."""
    overlap: Overlap
    """Which instant a slot fires at whose local time comes twice."""
    starts_at: datetime | None
    ends_at: datetime | None
    catch_up: CatchUp
    """Which of the slots fire that were missed in an outage."""
    catch_up_most: int
    catch_up_seconds: float | None
    grace_seconds: float
    jitter_seconds: float
    created_at: datetime
    timed_at: datetime
    """When its times were set last."""


async def upsert(conn: Connection, schedule: Schedule) -> Written:
    """Insert a schedule, or update the one with the same name."""
    (written,) = await upsert_many(conn, [schedule])
    return written


async def upsert_many(conn: Connection, schedules: Sequence[Schedule]) -> list[Written]:
    """Upsert schedules, thousands at a time; returns them in order.

    Outside a transaction, each set of 5,000 is a transaction.
    """
    written: list[Written] = []
    for start in range(0, len(schedules), SET):
        text = json.dumps([document(each) for each in schedules[start : start + SET]])
        written += await call_as(conn, class_row(Written), "upsert_schedules", _seconds=UPSERT_SECONDS, schedules=text)
    if schedules:
        wake_after_commit(RING)
    return written


async def pause(conn: Connection, name: str, *, tenant_id: str | None = None) -> None:
    """Stop a schedule until it is resumed."""
    await call(conn, "pause_schedule", name=name, tenant_id=tenant_id or current_tenant())


async def resume(conn: Connection, name: str, *, tenant_id: str | None = None) -> datetime | None:
    """Resume a schedule; slots that passed meanwhile do not fire. Returns when it is due.

    None means that it is over.
    """
    tenant = tenant_id or current_tenant()
    due: datetime | None = await call_value(conn, "resume_schedule", name=name, tenant_id=tenant)
    wake_after_commit(RING)
    return due


async def move(
    conn: Connection,
    name: str,
    *,
    cron: str,
    zone: str = "UTC",
    gap: Gap | None = None,
    overlap: Overlap | None = None,
    tenant_id: str | None = None,
) -> datetime | None:
    """Give a schedule another rule, leave all else as it is, and return when it is due next."""
    _check_cron(cron)
    tenant = tenant_id or current_tenant()
    given: dict[str, Any] = {"cron": cron, "zone": zone, "gap": gap, "overlap": overlap, "tenant_id": tenant}
    due: datetime | None = await call_value(conn, "move_schedule", name=name, **given)
    wake_after_commit(RING)
    return due


async def delete(conn: Connection, name: str, *, tenant_id: str | None = None) -> None:
    """Remove a schedule; its jobs and fires stay."""
    await call(conn, "delete_schedule", name=name, tenant_id=tenant_id or current_tenant())


async def show(conn: Connection, name: str, *, tenant_id: str | None = None) -> ScheduleDetails:
    """Return everything about one schedule."""
    tenant = tenant_id or current_tenant()
    rows = class_row(ScheduleDetails)
    found = await call_as(conn, rows, "show_schedule", _read=True, name=name, tenant_id=tenant)
    if not found:  # in a table without a row nothing asks whether there is one of that name
        raise NotFound(f"there is no schedule {name!r}", schedule=name)
    return found[0]


async def upcoming(conn: Connection, *, tenant_id: str | None = None, most: int = 10) -> list[Upcoming]:
    """Return the schedules whose next slots come first."""
    return await call_as(conn, class_row(Upcoming), "upcoming_schedules", _read=True, tenant_id=tenant_id, most=most)


async def list_(
    conn: Connection,
    *,
    tenant_id: str | None = None,
    key: str | None = None,
    owner: str | None = None,
    kind: str | None = None,
    after: tuple[str, str] = ("", ""),
    most: int = PAGE,
) -> list[ScheduleSummary]:
    """Return schedules by tenant and name, those after a (tenant, name)."""
    return await call_as(
        conn,
        class_row(ScheduleSummary),
        "list_schedules",
        _read=True,
        tenant_id=tenant_id,
        key=key,
        owner=owner,
        kind=kind,
        after_tenant=after[0],
        after_name=after[1],
        most=most,
    )


def document(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as `ostinato.upsert_schedules` takes it."""
    given = {f.name: getattr(schedule, f.name) for f in dataclasses.fields(schedule)}
    given["tenant_id"] = given["tenant_id"] or current_tenant()
    given["args"] = json.loads(dump_args(dict(schedule.args), MAX_ARGS_BYTES))
    for name, length in (
        ("catch_up", given.pop("catch_up_age")),
        ("grace", given.pop("grace")),
        ("jitter", given.pop("jitter")),
    ):
        given[f"{name}_seconds"] = None if length is None else length.total_seconds()
    if schedule.at is not None and schedule.at.tzinfo is not None:
        given["at"] = schedule.at.astimezone(UTC).replace(tzinfo=None)
    for name in ("at", "at_time", "starts_at", "ends_at"):
        given[name] = None if given[name] is None else given[name].isoformat()
    given["weekdays"] = None if schedule.weekdays is None else list(schedule.weekdays)
    return {name: value for name, value in given.items() if value is not None}


def _check_cron(cron: str) -> None:
    """Refuse what is no cron text at all where it is written; the database reads the fields."""
    if (found := len(cron.split())) != CRON_FIELDS:
        raise InvalidInput(
            f"cron text {cron!r} cannot be read: it has {found} fields, not {CRON_FIELDS}",
            hint="Write minute, hour, day of the month, month and day of the week: 30 8 * * MON-FRI.",
            cron=cron,
        )

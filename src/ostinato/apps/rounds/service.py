"""Creates, retimes, opens and closes sets of rounds for the jobs, a transaction each.

The caller brings the transaction. Every verb looks again, under the locks of the groups, at what is
to be done, so it may be repeated at any time; it returns what it did. `sql/functions/opening.sql`
has the lock order and what may go wrong.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from ostinato import database
from ostinato.apps.rounds.model import Choice, CreationDay, JobName
from ostinato.apps.rounds.queries import QUERIES, Connection
from ostinato.apps.rounds.rules import LAST_PROMPTS, choose_prompt, creation_days, plan_opening, round_instants
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.apps.rounds.views import FiguresView
from ostinato.errors import InvalidInput
from ostinato.tenants import current_correlation

BEGINNING = datetime(1900, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Due:
    """A group, or a round of it, that a job has to look at."""

    tenant_id: str
    group_id: int
    round_id: int | None
    at: datetime | None
    place: int

    @property
    def id(self) -> int:
        """What the verbs of the job take."""
        return self.group_id if self.round_id is None else self.round_id


class Days(NamedTuple):
    """The days whose rounds are created, by zone, as the statements take them."""

    zones: list[str]
    dates: list[date]
    known_before: list[datetime]
    walls: list[datetime]

    @classmethod
    def of(cls, found: Iterable[CreationDay]) -> "Days":
        """Turn days into columns."""
        rows = [(each.zone, each.local_date, each.known_before, each.wall) for each in found]
        return cls(*map(list, zip(*rows, strict=True))) if rows else cls([], [], [], [])


class Opened(NamedTuple):
    """A round that was opened, or got its prompt."""

    round_id: int
    missed: bool
    told: bool
    lateness: float


@dataclass(frozen=True, slots=True)
class _ToCreate:
    tenant_id: str
    group_id: int
    local_date: date
    drop_time: time
    zone: str
    prompts: list[int]
    recently: list[int]


@dataclass(frozen=True, slots=True)
class _ToRetime:
    round_id: int
    group_id: int
    local_date: date
    drop_time: time
    zone: str


@dataclass(frozen=True, slots=True)
class _ToOpen:
    round_id: int
    tenant_id: str
    close_at: datetime
    prompt_id: int | None
    prompts: list[int]
    recently: list[int]


async def days(conn: Connection, settings: RoundsSettings) -> Days:
    """Return the days whose rounds are created now, in the zones of all active groups."""
    now = await database.now(conn)
    found = await QUERIES.rows(conn, "zones", default_zone=settings.zone)
    return Days.of(day for row in found for day in _days_in(now, str(row["zone"])))


def _days_in(now: datetime, zone: str) -> list[CreationDay]:
    """Return the days in a zone; in one that nobody knows, days on which its own groups fail."""
    try:
        return creation_days(now, zone)
    except InvalidInput:
        return [replace(day, zone=zone) for day in creation_days(now, "UTC")]


async def page(conn: Connection, name: str, after: Due | None, most: int, **params: object) -> list[Due]:
    """Return the next things to look at, behind the last one of the page before."""
    place = {
        "after_id": 0 if after is None else after.place,
        "after_at": BEGINNING if after is None or after.at is None else after.at,
        "most": most,
    }
    return await QUERIES.rows_as(Due, conn, name, **place, **params)


async def create_set(
    conn: Connection,
    group_ids: Sequence[int],
    creation: Days,
    settings: RoundsSettings,
    rng: random.Random,
    *,
    wait: bool,
) -> list[int]:
    """Create the rounds that groups have not, of the next day and, while its time is ahead, of today.

    Returns the groups that got one; twice, if they got both.
    """
    needed = await QUERIES.rows_as(
        _ToCreate,
        conn,
        "begin_creation",
        ids=list(group_ids),
        **creation._asdict(),
        default_zone=settings.zone,
        default_time=settings.default_drop_time,
        recent=LAST_PROMPTS,
        wait=wait,
    )
    now = await database.now(conn)
    timed = [(each, round_instants(each.local_date, each.drop_time, each.zone)) for each in needed]
    found = [each for each, (open_at, _) in timed if open_at > now]
    if not found:
        return []
    instants = [instant for _, instant in timed if instant[0] > now]
    made = await QUERIES.rows(
        conn,
        "apply_creation",
        tenant_ids=[each.tenant_id for each in found],
        group_ids=[each.group_id for each in found],
        dates=[each.local_date for each in found],
        drop_times=[each.drop_time for each in found],
        zones=[each.zone for each in found],
        open_ats=[open_at for open_at, _ in instants],
        close_ats=[close_at for _, close_at in instants],
        prompt_ids=_choose_prompts(found, rng),
    )
    return [row["group_id"] for row in made]


def _choose_prompts(found: Sequence[_ToCreate], rng: random.Random) -> list[int | None]:
    """Choose the prompts of new rounds, in the order of their days: a group that gets two gets different ones."""
    chosen: dict[int, int] = {}
    prompts: list[int | None] = []
    for each in found:
        before = (chosen[each.group_id],) if each.group_id in chosen else ()
        prompt = choose_prompt(Choice(tuple(each.prompts), (*before, *each.recently)), rng)
        if prompt is not None:
            chosen[each.group_id] = prompt
        prompts.append(prompt)
    return prompts


async def retime_set(conn: Connection, round_ids: Sequence[int], settings: RoundsSettings, *, wait: bool) -> list[int]:
    """Time scheduled rounds anew whose group has other settings now; which these were."""
    found = await QUERIES.rows_as(
        _ToRetime,
        conn,
        "begin_retiming",
        ids=list(round_ids),
        default_zone=settings.zone,
        default_time=settings.default_drop_time,
        wait=wait,
    )
    if not found:
        return []
    instants = [round_instants(each.local_date, each.drop_time, each.zone) for each in found]
    await QUERIES.run(
        conn,
        "apply_retiming",
        round_ids=[each.round_id for each in found],
        drop_times=[each.drop_time for each in found],
        zones=[each.zone for each in found],
        open_ats=[open_at for open_at, _ in instants],
        close_ats=[close_at for _, close_at in instants],
    )
    return [each.round_id for each in found]


async def open_set(
    conn: Connection, round_ids: Sequence[int], rng: random.Random, *, by: str, wait: bool
) -> list[Opened]:
    """Open rounds whose time has come, give open ones their missing prompt, and emit it."""
    found = await QUERIES.rows_as(_ToOpen, conn, "begin_opening", ids=list(round_ids), recent=LAST_PROMPTS, wait=wait)
    if not found:
        return []
    now = await database.now(conn)
    plans = [
        plan_opening(now, each.close_at, each.prompt_id, Choice(tuple(each.prompts), tuple(each.recently)), rng)
        for each in found
    ]
    return await QUERIES.rows_as(
        Opened,
        conn,
        "apply_opening",
        round_ids=[each.round_id for each in found],
        tenant_ids=[each.tenant_id for each in found],
        prompt_ids=[plan.prompt_id for plan in plans],
        missed=[plan.missed for plan in plans],
        by=by,
        correlation_id=current_correlation() or by,
    )


async def close_set(conn: Connection, round_ids: Sequence[int], *, by: str, wait: bool) -> dict[int, float]:
    """Close rounds whose time is over; each with how late that was, in seconds."""
    found = await QUERIES.rows(
        conn, "close_rounds", ids=list(round_ids), wait=wait, by=by, correlation_id=current_correlation() or by
    )
    return {row["round_id"]: row["lateness"] for row in found}


async def soonest(conn: Connection, job: JobName, within: timedelta) -> datetime | None:
    """Return when the next round is due, if that is within some time."""
    name = "next_opening" if job is JobName.OPEN else "next_closing"
    found: datetime | None = await QUERIES.value(conn, name, within=within)
    return found


async def note_run(
    conn: Connection,
    job: JobName,
    started_at: datetime,
    *,
    groups: int,
    failed: int,
    worst_lateness: float,
    keep: timedelta | None = None,
    error: str | None = None,
    mended: bool = False,
) -> None:
    """Note what a run did, and with what it failed; at the end of a whole one forget old ones."""
    await QUERIES.value(
        conn,
        "note_run",
        job=job.value,
        started_at=started_at,
        groups=groups,
        failed=failed,
        worst_lateness=worst_lateness,
        keep=keep,
        error=error,
        mended=mended,
    )


async def note_failure(conn: Connection, job: JobName, due: Due, error: str) -> bool:
    """Store the error of a group, and return whether it is the first one of late."""
    found = await QUERIES.value(
        conn,
        "note_failure",
        tenant_id=due.tenant_id,
        job=job.value,
        group_id=due.group_id,
        round_id=due.round_id,
        error=error,
    )
    return bool(found)


async def figures(conn: Connection, period: timedelta) -> list[FiguresView]:
    """Return what the jobs did within a period."""
    return await QUERIES.rows_as(FiguresView, conn, "figures", period=period)


async def failures_by_type(conn: Connection, period: timedelta) -> list[dict[str, Any]]:
    """Return which errors the jobs met within a period, and how often."""
    return await QUERIES.rows(conn, "failures_by_type", period=period)

"""Counts the promises of `ostinato torture`, once everything is quiet again."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ostinato._core.db.call import Connection
from ostinato._core.db.sqlfile import statement
from ostinato.lab.torture import app as kinds
from ostinato.lab.torture.nemesis import Death

FILE = ("ostinato.lab.torture", "sql/torture.sql")


@dataclass(frozen=True, slots=True)
class Count:
    """One number and its required value; None means that any value keeps the promises."""

    name: str
    value: float
    must_be: int | None = None

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.must_be is None or self.value == self.must_be


@dataclass(frozen=True, slots=True)
class Left:
    """How many jobs are in which state."""

    ready: int
    scheduled: int
    running: int
    dead: int
    ended: int

    @property
    def alive(self) -> int:
        """Jobs that wait or run."""
        return self.ready + self.scheduled + self.running


async def left(conn: Connection) -> Left:
    """Return how many jobs wait, run, or have ended."""
    return Left(*await _row(conn, "left"))


async def in_two_places(conn: Connection) -> int:
    """Count jobs that are in two places at once: always 0, at any moment."""
    return int((await _row(conn, "in_two_places"))[0])


async def longest_rescue(conn: Connection, deaths: Iterable[Death]) -> float:
    """Return the longest time from the death of a worker until its jobs were taken back, in seconds."""
    longest = 0.0
    for death in deaths:
        cursor = await conn.execute(statement(*FILE, "rescues"), [death.worker_id])
        times = [(row[0] - death.at).total_seconds() for row in await cursor.fetchall()]
        longest = max(longest, min((seconds for seconds in times if seconds > 0), default=0.0))
    return longest


async def counts(conn: Connection, acknowledged: set[int]) -> list[Count]:
    """Count what became of the jobs and of their effects."""
    ids = sorted(acknowledged)
    done, cancelled, dead = await _row(conn, "ended", ids)
    effects, twice, missing, stale, completed_twice = await _row(conn, "effects", kinds.WITH_EFFECT)
    calls, repeated, without = await _row(conn, "outside", kinds.outside.name)
    lost, poison, innocent, others, survived = await _row(conn, "crashes", poison=kinds.POISON)
    now = await left(conn)
    return [
        Count("jobs acknowledged", len(ids)),
        Count("jobs done", done),
        Count("jobs cancelled", cancelled),
        Count("jobs dead", dead),
        Count("jobs lost", (await _row(conn, "lost", ids))[0], 0),
        Count("jobs stuck", now.alive, 0),
        Count("jobs in two places", await in_two_places(conn), 0),
        Count("jobs completed twice", completed_twice, 0),
        Count("effects in transactions", effects),
        Count("effects duplicated", twice, 0),
        Count("effects missing", missing, 0),
        Count("stale writes accepted", stale, 0),
        Count("calls outside", calls),
        Count("calls outside repeated, recognised by key", repeated),
        Count("jobs done without their call outside", without, 0),
        Count("attempts taken from dead workers", lost),
        Count("poison jobs buried", poison),
        Count("poison jobs that ended otherwise", survived, 0),
        Count("innocent jobs buried", innocent, 0),
        Count("jobs buried for another reason", others, 0),
    ]


async def evidence(conn: Connection, acknowledged: set[int]) -> list[str]:
    """Return the histories of some jobs for which a promise was broken."""
    named = {"ids": sorted(acknowledged), "kinds": kinds.WITH_EFFECT}
    cursor = await conn.execute(statement(*FILE, "evidence"), named)
    return [str(row[0]) for row in await cursor.fetchall()]


async def _row(conn: Connection, block: str, *values: object, **named: object) -> tuple[Any, ...]:
    cursor = await conn.execute(statement(*FILE, block), named or values or None)
    row = await cursor.fetchone()
    return () if row is None else tuple(row)

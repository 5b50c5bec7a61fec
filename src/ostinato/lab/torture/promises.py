"""Leases, limits and schedules of `ostinato torture`: the jobs that keep them leave a history, which is counted."""

from datetime import timedelta
from typing import Any

from ostinato._core.db.call import Connection
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine import clock, schedules
from ostinato._core.engine.schedules import Schedule
from ostinato.lab.torture.checks import Count

FILE = ("ostinato.lab.torture", "sql/promises.sql")
FIRST_SECONDS = 3
MOST_SLOTS = 60


async def plan(conn: Connection, kind: str, minutes: float) -> list[str]:
    """Write a schedule for each second that is to come, at most sixty; returns the keys of their slots."""
    now = await clock.now(conn)
    times = [now + timedelta(seconds=FIRST_SECONDS + n) for n in range(min(MOST_SLOTS, max(1, int(60 * minutes))))]
    await schedules.upsert_many(conn, [Schedule(f"slot-{n}", kind, at=at, key=f"{n}") for n, at in enumerate(times)])
    return [f"{n}" for n in range(len(times))]


async def left(conn: Connection, slots: list[str]) -> int:
    """Return how many slots nobody has served yet."""
    return int((await _row(conn, "unserved", [slots]))[0])


async def counts(conn: Connection, slots: list[str]) -> list[Count]:
    """Count what leases, limits and schedules promise."""
    held, late, ran, beside, planned, wrong = await _row(conn, "counts", {"slots": slots})
    return [
        Count("writes under a lease", held),
        Count("writes under a lease that somebody else had", late, 0),
        Count("jobs of a limited key", ran),
        Count("jobs of a limited key beside each other", beside, 0),
        Count("slots of schedules", planned),
        Count("slots of schedules missed or served twice", wrong, 0),
    ]


async def _row(conn: Connection, block: str, values: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as psycopg
    row = await (await conn.execute(statement(*FILE, block), values)).fetchone()
    assert row is not None  # noqa: S101 - one row always
    return tuple(row)

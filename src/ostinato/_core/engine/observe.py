"""The engine's figures, read from the database for Prometheus and for charts.

The logic is in `sql/functions/observe.sql`; the names and their meaning are in `base.metrics`.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from ostinato._core.base.metrics import ENGINE_GAUGES, Recorder
from ostinato._core.db.call import Connection, call, call_value

PREFIX = "ostinato_"


class Figure(NamedTuple):
    """One figure of this moment."""

    name: str
    label: str
    """A queue, a table, a subscription; empty when the figure is of the whole engine."""
    value: float


class Sample(NamedTuple):
    """The mean of a figure over one step of time."""

    at: datetime
    label: str
    value: float


async def figures(conn: Connection) -> list[Figure]:
    """Return the figures of this moment."""
    return [Figure(*row) for row in await call(conn, "observe", _read=True)]


async def declared(conn: Connection) -> list[Figure]:
    """Return the figures by declared labels only: what tenants made up is the label "other"."""
    return [Figure(*row) for row in await call(conn, "observe_declared", _read=True)]


async def record(conn: Connection) -> Recorder:
    """Return the figures as gauges for `metrics.render`, by declared labels only."""
    gauges = {gauge.name.removeprefix(PREFIX): gauge for gauge in ENGINE_GAUGES}
    recorder = Recorder()
    for name, label, value in await declared(conn):
        if name in gauges:
            gauge = gauges[name]
            recorder.set(gauge, value, *((label,) if gauge.labels else ()))
    return recorder


class Replication(NamedTuple):
    """What a server says of itself."""

    is_replica: bool
    lag: float
    """Seconds that it is behind the server it follows; 0 where it is the primary."""
    system: str
    """A name that a primary and its replicas share, and no other server has."""


async def replication(conn: Connection) -> Replication:
    """Return whether the server is a replica, and how far it is behind."""
    return Replication(*(await call(conn, "show_replication", _read=True))[0])


async def sample(conn: Connection, every: timedelta) -> int:
    """Store the figures, unless it was done less than `every` ago; returns how many."""
    return int(await call_value(conn, "sample_metrics", every=every))


async def samples(
    conn: Connection, name: str, since: datetime, until: datetime | None = None, step: timedelta = timedelta(minutes=1)
) -> list[Sample]:
    """Return the stored figures of one name, as means over steps of time."""
    rows = await call(conn, "list_samples", _read=True, name=name, since=since, until=until, step=step)
    return [Sample(*row) for row in rows]

"""Queues.

Limits, pause and resume, and the doorbell. The logic is in `sql/functions/queues.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.call import Connection, call, call_value


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts within any `seconds`."""

    count: int
    seconds: float

    def __post_init__(self) -> None:
        if self.count < 1 or self.seconds <= 0:
            raise InvalidInput(
                f"a rate needs a count of at least 1 and more than 0 seconds, got {self.count} in {self.seconds} s",
                hint="Write Rate(100, 60) for a hundred a minute.",
            )


@dataclass(frozen=True, slots=True)
class Queue:
    """The limits of a queue.

    None means no limit. A worker that declares a queue sets its limits when it starts.
    """

    name: str
    concurrency: int | None = None
    """Jobs of the queue that run at once, over all workers."""
    rate: Rate | None = None
    """Starts of the queue, over all workers."""
    key_concurrency: int | None = None
    """Jobs with the same `limit_key` that run at once."""
    key_rate: Rate | None = None
    """Starts of jobs with the same `limit_key`."""


async def configure(conn: Connection, queue: Queue) -> None:
    """Set the limits of a queue; a limit that is left out is removed."""
    await call(
        conn,
        "configure_queue",
        name=queue.name,
        concurrency=queue.concurrency,
        rate_count=queue.rate and queue.rate.count,
        rate_seconds=queue.rate and queue.rate.seconds,
        key_concurrency=queue.key_concurrency,
        key_rate_count=queue.key_rate and queue.key_rate.count,
        key_rate_seconds=queue.key_rate and queue.key_rate.seconds,
    )


async def limited(conn: Connection, names: Sequence[str]) -> frozenset[str]:
    """Return those of the queues that have a limit."""
    rows = await call(conn, "limited_queues", _read=True, queues=list(names))
    return frozenset(row[0] for row in rows)


async def pause(conn: Connection, name: str) -> None:
    """Stop claims from a queue; running jobs continue."""
    await call(conn, "pause_queue", name=name)


async def resume(conn: Connection, name: str) -> None:
    """Allow claims from a queue again."""
    await call(conn, "resume_queue", name=name)


async def ring(conn: Connection, queue: str) -> bool:
    """Wake idle workers. False means that another ring, after this call began, woke them.

    Call it after the commit, in a transaction of its own, which does not wait for the disk. It
    waits at most 5 ms, and only when the queue was rung just before.
    """
    return bool(await call_value(conn, "ring_doorbell", queue=queue, softly=True))

"""Children: jobs that a job spawned, in groups, and waits for.

The engine counts how the children of a group end; the parent is woken when all have, or when the
first failed. The logic is in `sql/functions/children.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from psycopg.rows import class_row

from ostinato._core.db.arrays import numbers
from ostinato._core.db.call import Connection, Loads, call, call_as, call_value
from ostinato._core.engine import jobs
from ostinato._core.engine.claims import Job, held_columns
from ostinato._core.engine.jobs import NewJob, State

OnFailure = Literal["fail", "collect", "ignore"]
"""What a join does about children that failed or were cancelled.

"fail" ends the join with the first of them and cancels the rest, "collect" waits for all and hands
their errors over, "ignore" waits for all and leaves them out.
"""

EVENT = "ostinato.children"
LONGEST_KEY = 100


@dataclass(frozen=True, slots=True)
class Group:
    """The children of one step, with their counts."""

    group_id: int
    position: int | None
    """The step that spawned them; None after a restart that forgot it."""
    kind: str | None
    """The kind of the first of them."""
    total: int
    done: int
    failed: int
    cancelled: int
    state: Literal["open", "cancelling", "closed"]
    on_failure: OnFailure | None
    joining: bool
    """Whether the parent waits for them now."""

    @property
    def pending(self) -> int:
        """The children that have not ended."""
        return self.total - self.done - self.failed - self.cancelled


class Child(NamedTuple):
    """One child and what became of it."""

    job_id: int
    state: State
    result: Any
    error: Any
    """The last error of one that failed, or the reason of one that was cancelled."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One job below another, at whatever depth."""

    id: int
    parent_id: int
    group_id: int
    level: int
    kind: str
    state: State
    attempt: int
    created_at: datetime
    finished_at: datetime | None


async def open_group(conn: Connection, job: Job, position: int) -> int:
    """Open the group of a step, in the transaction that adds its children."""
    return int(await call_value(conn, "open_group", job_id=job.id, position=position))


async def add(conn: Connection, job: Job, group_id: int, new: Sequence[NewJob]) -> None:
    """Add children to a group."""
    await jobs.enqueue_many(conn, new, parent=(job.id, group_id))


async def seal(conn: Connection, job: Job, group_id: int, total: int) -> None:
    """Say how many children a group has, once all are added."""
    await call(conn, "seal_group", job_id=job.id, group_id=group_id, total=total)


async def join(
    conn: Connection,
    held: Sequence[Job],
    *,
    positions: list[int],
    spawns: list[str],
    policies: list[str],
    timeouts: list[float | None],
) -> list[int]:
    """Take jobs from their worker until their children have ended; returns those that were refused as stale."""
    rows = await call(
        conn,
        "join_jobs",
        **held_columns(held),
        positions=numbers(positions),
        spawns=spawns,
        policies=policies,
        timeouts=numbers(timeouts),
    )
    return [row[0] for row in rows]


async def groups(conn: Connection, job_id: int) -> list[Group]:
    """Return the groups of a job with their counts, exact and cheap however many children there are."""
    return await call_as(conn, class_row(Group), "job_groups", _read=True, job_id=job_id)


async def tree(conn: Connection, job_id: int, *, most: int = 20) -> list[Leaf]:
    """Return the children of a job and theirs, three levels deep and 300 at most, a level after the other."""
    return await call_as(conn, class_row(Leaf), "job_tree", _read=True, job_id=job_id, most=most)


async def page(
    conn: Connection, job_id: int, group_id: int, *, after: int = 0, most: int = 500, loads: Loads | None = None
) -> list[Child]:
    """Return a page of the children of a group, as they were spawned; `after` is the last job of the page before."""
    return await call_as(
        conn,
        class_row(Child),
        "list_children",
        _read=True,
        _loads=loads,
        parent_id=job_id,
        group_id=group_id,
        after=after,
        most=most,
    )


def join_key(spawns: str) -> str:
    """Return the key of a join, as the function in children.sql returns it."""
    if len(spawns) <= LONGEST_KEY:
        return spawns
    steps = spawns.split(",")
    return f"{steps[0]},…,{steps[-1]}"

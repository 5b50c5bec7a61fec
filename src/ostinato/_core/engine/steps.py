"""Steps: the stored results of parts of a job, which no later attempt runs again.

Saving and leaving (sleep, wait) work on sets, for workers; the rest is for people and programs that
look at a job's steps or run it again from one. The logic is in `sql/functions/steps.sql` and
`sql/functions/waits.sql`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import psycopg
from psycopg.rows import class_row

from ostinato._core.db.arrays import numbers, texts, texts_or_nulls
from ostinato._core.db.call import Connection, Loads, call, call_as, call_now, call_value
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine import audit
from ostinato._core.engine.claims import Job, held_columns
from ostinato._core.engine.jobs import State, wake_after_commit

Type = Literal["call", "sleep", "event", "timeout"]


class NewStep(NamedTuple):
    """A step that has run and is to be saved."""

    job: Job
    position: int
    name: str
    result: str | None
    """The result as JSON text."""
    duration_ms: int


class StoredStep(NamedTuple):
    """A step as a later attempt finds it."""

    job_id: int
    position: int
    type: Type
    name: str
    result: str | None
    seconds_left: float | None
    """The seconds that a sleep still lasts; zero or less when it is over."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step as people look at it."""

    position: int
    name: str
    type: Literal["call", "sleep", "event", "timeout", "waiting"]
    """The sort of step; "waiting" is a wait that has not ended, and not a step yet."""
    attempt: int
    """The attempt that ran it."""
    finished_at: datetime | None
    duration_ms: int | None
    bytes: int
    """The size of the result as JSON."""
    until: datetime | None
    """The end of a sleep, the deadline of a wait."""
    result: Any
    """None also when it is longer than was asked for."""


async def save(conn: Connection, new: Sequence[NewStep]) -> list[int]:
    """Save steps of many jobs; returns the indexes in `new` of those that were refused as stale."""
    jobs, positions, names, results, durations = zip(*new, strict=True)
    rows = await call(
        conn,
        "save_steps",
        **held_columns(jobs),
        positions=numbers(positions),
        names=texts(names),
        results=None if results.count(None) == len(results) else texts_or_nulls(results),
        durations=numbers(durations),
    )
    return [row[0] - 1 for row in rows]


async def save_one(conn: Connection, new: NewStep) -> None:
    """Save a step in the caller's transaction, or raise `LeaseLost`."""
    await call(conn, "save_step", **_one(new))


def save_one_now(conn: psycopg.Connection[Any], new: NewStep) -> None:
    """Save one step, on a synchronous connection."""
    with translated():
        call_now(conn, "save_step", **_one(new))


async def load(conn: Connection, job_ids: Iterable[int]) -> list[StoredStep]:
    """Load the steps of jobs that are held, in order; ends a wait whose time is up."""
    rows = await call(conn, "load_steps", job_ids=numbers(job_ids))
    return [StoredStep(*row) for row in rows]


async def sleep(conn: Connection, jobs: Sequence[Job], positions: list[int], seconds: list[float]) -> list[int]:
    """Take jobs from their worker for a time; returns those that were refused as stale."""
    rows = await call(conn, "sleep_jobs", **held_columns(jobs), positions=numbers(positions), seconds=numbers(seconds))
    return [row[0] for row in rows]


async def wait(
    conn: Connection,
    jobs: Sequence[Job],
    *,
    positions: list[int],
    events: list[str],
    keys: list[str],
    timeouts: list[float | None],
) -> list[int]:
    """Take jobs from their worker until an event; returns those that were refused as stale."""
    rows = await call(
        conn,
        "wait_jobs",
        **held_columns(jobs),
        positions=numbers(positions),
        events=events,
        keys=keys,
        timeouts=numbers(timeouts),
    )
    return [row[0] for row in rows]


async def of_job(
    conn: Connection, job_id: int, *, most: int | None = None, longest: int | None = None, loads: Loads | None = None
) -> list[Step]:
    """Return the last steps of a job, first to last, with its present wait.

    None of their results is longer than `longest` bytes; `loads` reads them, as in `inspect`.
    """
    return await call_as(
        conn, class_row(Step), "job_steps", _read=True, _loads=loads, job_id=job_id, most=most, longest=longest
    )


async def restart(conn: Connection, job_id: int, from_step: str | int | None = None) -> State:
    """Run a job again from one of its steps, by name or number, or from the start.

    That step and all after it are deleted. Returns the state the job was in.
    """
    step = None if from_step is None else str(from_step)
    state: State = await call_value(conn, "restart_job", job_id=job_id, from_step=step)
    return state


async def signal(conn: Connection, job_id: int, payload: str | None = None) -> str:
    """End a job's wait by hand, as if its event had come; `payload` is JSON text.

    Returns the job's queue, which the caller rings.
    """
    queue: str = await call_value(conn, "signal_job", job_id=job_id, payload=payload)
    return queue


async def signal_own(conn: Connection, job_id: int, payload: str | None = None) -> None:
    """End a job's wait by hand, for an operator of all tenants or of its own; `payload` is JSON text."""
    queue: str = await call_value(conn, "own_signal_job", job_id=job_id, payload=payload)
    await audit.note(conn, "signal", "job", str(job_id), job_ids=[job_id])
    wake_after_commit(queue)


def wait_name(event: str, key: str) -> str:
    """Return the name of the step of a wait, as the function in steps.sql returns it."""
    return f"{event}/{key}"


def _one(new: NewStep) -> dict[str, Any]:
    return {
        "job_id": new.job.id,
        "attempt": new.job.attempt,
        "position": new.position,
        "name": new.name,
        "result": new.result,
        "duration_ms": new.duration_ms,
        "claim_id": new.job.claim_id,
    }

"""Bulk actions: cancel, retry, discard or redrive all jobs that match a filter, as a job of its own.

    found = await bulk.preview(conn, "cancel", {"kind": "billing.send", "tenant_id": "acme"})
    bulk_id = await bulk.start(conn, "cancel", {"kind": "billing.send", "tenant_id": "acme"})
    await bulk.stop(conn, bulk_id)

The id of a bulk action is that of its job. The logic is in `sql/functions/bulk.sql` and, of the filter, `search.sql`.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row

from ostinato._core.base.errors import NotFound
from ostinato._core.db.call import Connection, call_as, call_one, call_value
from ostinato._core.engine.inspect import Search
from ostinato._core.engine.jobs import State, wake_after_commit

Verb = Literal["cancel", "retry", "discard", "redrive"]
"""What is done: discard gives dead letters up, redrive runs them again."""
Standing = Literal["running", "stopped", "halted", "done"]
"""Where a bulk action is; a canary halts when what it runs again fails again."""
KIND = "ostinato.bulk"
QUEUE = "ostinato"


@dataclass(frozen=True, slots=True)
class Preview:
    """How many jobs a bulk action would meet."""

    matching: int
    capped: bool
    """Whether there are more than were counted."""
    samples: list[int]
    """The ids of five of them."""


@dataclass(frozen=True, slots=True)
class Bulk:
    """One bulk action."""

    id: int
    """The id of its job."""
    verb: Verb
    state: Standing
    tenant_id: str | None
    """Whose jobs; None means all tenants."""
    filter: dict[str, Any]
    matching: int
    """How many matched when it was started."""
    capped: bool
    """Whether more matched than were counted."""
    done: int
    refused: int
    """Jobs that it left as they are."""
    failed: int
    """Jobs of a canary that failed again."""
    canary: bool
    """Whether it redrives one, then ten, then the rest, and halts when they fail again."""
    stage: int
    """Of a canary: 0 one, 1 ten, 2 the rest."""
    watched: int
    """Jobs that the canary waits for."""
    actor: str
    """Who started it."""
    reason: str | None
    note: str | None
    """Why it halted."""
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A job that a bulk action left as it is."""

    job_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """How far a bulk action is after a batch."""

    state: Standing
    waiting: bool
    """A canary waits for jobs that run again."""
    done: int
    refused: int
    matching: int
    capped: bool


async def preview(conn: Connection, verb: Verb, which: Search, *, state: State | None = None) -> Preview:
    """Count the jobs that a bulk action would meet, up to a cap, and name five."""
    row = await call_one(conn, "preview_bulk", _read=True, verb=verb, state=state, filter=json.dumps(which))
    return Preview(*row)


async def start(
    conn: Connection,
    verb: Verb,
    which: Search,
    *,
    state: State | None = None,
    canary: bool = False,
    reason: str | None = None,
) -> int:
    """Start a bulk action on the jobs that match, and return its id, which is that of its job."""
    given: dict[str, Any] = {
        "verb": verb,
        "state": state,
        "filter": json.dumps(which),
        "canary": canary,
        "reason": reason,
    }
    bulk_id = int(await call_value(conn, "start_bulk", **given))
    wake_after_commit(QUEUE)
    return bulk_id


async def run(conn: Connection, bulk_id: int) -> Batch:
    """Do the next batch. Only the job of the bulk action calls it, in a transaction that is fenced by it."""
    return Batch(*await call_one(conn, "run_bulk", bulk_id=bulk_id))


async def stop(conn: Connection, bulk_id: int) -> Standing:
    """Stop a bulk action after the batch that is on, and return the state it was in."""
    was: Standing = await call_value(conn, "stop_bulk", bulk_id=bulk_id)
    return was


async def list_(conn: Connection, *, before: int | None = None, most: int = 50) -> list[Bulk]:
    """Return bulk actions, newest first; a tenant sees its own."""
    return await call_as(conn, class_row(Bulk), "list_bulks", _read=True, before=before, most=most)


async def show(conn: Connection, bulk_id: int) -> Bulk:
    """Return one bulk action; raises `NotFound` when there is none."""
    for found in await call_as(conn, class_row(Bulk), "list_bulks", _read=True, bulk_id=bulk_id):
        return found
    raise NotFound(
        f"there is no bulk action {bulk_id}",
        hint="Check the id; bulk actions leave the history after the retention time.",
        bulk_id=bulk_id,
    )


async def refusals(conn: Connection, bulk_id: int, *, after: int = 0, most: int = 100) -> list[Refusal]:
    """Return the jobs that a bulk action left as they are, by id: the first thousand are kept."""
    rows = class_row(Refusal)
    return await call_as(conn, rows, "list_bulk_refusals", _read=True, bulk_id=bulk_id, after=after, most=most)

"""Wakes what waits for a sender or a template as soon as that is free, before its hold ends."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from ostinato import database, jobs
from ostinato.apps.outbound import store
from ostinato.apps.outbound.store import Connection
from ostinato.jobs import NewJob

WAKE: Final = "outbound.wake"
BY_SENDER: Final = ["SENDER_HELD", "HOLD"]
BY_TEMPLATE: Final = ["TEMPLATE_HELD"]
BY_HOURS: Final = ["QUIET_HOURS"]
BATCH: Final = 500
AGAIN: Final = timedelta(seconds=5)


async def wake_sender(conn: Connection, tenant_id: str, sender_id: int) -> None:
    """Have all that waits for a sender go, once this is committed."""
    await _enqueue(conn, tenant_id, {"sender_id": sender_id})


async def wake_template(conn: Connection, tenant_id: str, code: str, language: str) -> None:
    """Have all that waits for a template go, once this is committed."""
    await _enqueue(conn, tenant_id, {"template_code": code, "language": language})


async def wake_quiet(conn: Connection, tenant_id: str) -> None:
    """Have all that waits for its hours look again, once this is committed: the hours are others now."""
    await _enqueue(conn, tenant_id, {"quiet": True})


async def _enqueue(conn: Connection, tenant_id: str, what: Mapping[str, object], *, later: bool = False) -> None:
    run_at = await database.now(conn) + AGAIN if later else None
    args = json.dumps({**what, "again": not later})
    await jobs.enqueue(conn, NewJob(WAKE, args, tenant_id=tenant_id, run_at=run_at))


async def wake(
    conn: Connection,
    tenant_id: str,
    *,
    sender_id: int | None,
    template_code: str | None,
    language: str | None,
    again: bool,
    quiet: bool = False,
) -> int:
    """Let the jobs of what waits run now; how many. Their sender's rate spreads them.

    With `again` there is a second look a moment later, for those that were just about to wait.
    """
    about = {"sender_id": sender_id, "template_code": template_code, "language": language}
    reasons = BY_HOURS if quiet else BY_TEMPLATE if sender_id is None else BY_SENDER
    woken, after = 0, None
    while True:
        rows = await store.rows(
            conn, "held_messages", tenant_id=tenant_id, waits_for=reasons, after=after, most=BATCH, **about
        )
        if not rows:
            break
        after = UUID(str(rows[-1]["id"]))
        ids = [int(row["job_id"]) for row in rows if row["job_id"] is not None]
        woken += len(await jobs.hasten(conn, ids))
    if again:
        known: dict[str, object] = {name: value for name, value in about.items() if value is not None}
        known |= {"quiet": True} if quiet else {}
        await _enqueue(conn, tenant_id, known, later=True)
    return woken

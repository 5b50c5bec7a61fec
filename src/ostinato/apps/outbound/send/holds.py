"""Wakes what waits for a sender or a template as soon as that is free, before its hold ends."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from ostinato import database, jobs, tenants
from ostinato.apps.outbound import store
from ostinato.apps.outbound.store import Connection
from ostinato.errors import NotFound

QUEUE: Final = "outbound_callbacks"
BY_SENDER: Final = ["SENDER_HELD", "HOLD", "SENDER_RATE"]
BY_TEMPLATE: Final = ["TEMPLATE_HELD"]
BY_HOURS: Final = ["QUIET_HOURS"]
BATCH: Final = 500
AGAIN: Final = timedelta(seconds=5)


async def release_sender(conn: Connection, tenant_id: str, sender_id: int, actor: str) -> None:
    """End the hold of a sender because somebody says so, and have what waits for it go."""
    row = await store.first(conn, "release_sender", tenant_id=tenant_id, id=sender_id)
    if row is None:
        raise NotFound(f"there is no sender {sender_id}", sender_id=sender_id)
    await store.note_audit(conn, tenant_id, "SENDER_RELEASED", actor, details={"sender_id": sender_id})
    await wake_sender(conn, tenant_id, sender_id)


async def wake_sender(conn: Connection, tenant_id: str, sender_id: int) -> None:
    """Wake all that waits for a sender, once this is committed."""
    await _start(conn, tenant_id, {"sender_id": sender_id})


async def pace_anew(conn: Connection, tenant_id: str, sender_id: int) -> None:
    """Give the messages that wait for a sender new turns, once this is committed, because its rate changed."""
    await store.run(conn, "forget_turns", tenant_id=tenant_id, sender_id=sender_id)
    await wake_sender(conn, tenant_id, sender_id)


async def wake_template(conn: Connection, tenant_id: str, code: str, language: str) -> None:
    """Wake all that waits for a template, once this is committed."""
    await _start(conn, tenant_id, {"template_code": code, "language": language})


async def wake_quiet(conn: Connection, tenant_id: str) -> None:
    """Wake all that waits for its hours, once this is committed: the hours are others now."""
    await _start(conn, tenant_id, {"quiet": True})


async def _start(conn: Connection, tenant_id: str, about: Mapping[str, object], *, later: bool = False) -> None:
    what = {"sender_id": None, "template_code": None, "language": None, "quiet": False, **about}
    what["correlation_id"] = tenants.current_correlation()
    run_at = await database.now(conn) + AGAIN if later else None
    await store.run(conn, "start_wake", tenant_id=tenant_id, **what, again=not later, run_at=run_at)
    jobs.wake_after_commit(QUEUE)


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
    """Let the jobs of what waits run now; return how many. Their sender's rate spreads them.

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
        await _start(conn, tenant_id, {**about, "quiet": quiet}, later=True)
    return woken

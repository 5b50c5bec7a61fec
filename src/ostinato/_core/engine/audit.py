"""The audit records who did what to the engine, when, to how much, and why.

    async with client.transaction() as conn:
        await audit.act_as(conn, "ann@host", reason="the order was withdrawn")
        await jobs.cancel(conn, 3190000000042)

Every verb for operators leaves one entry in its own transaction. Who acts is the caller of the API,
else who `act_as` names, else the role that is logged in; what runs in a worker leaves none. The
logic is in `sql/functions/audit.sql`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack

from psycopg.rows import class_row

from ostinato._core.db.call import Connection, Loads, call, call_as


class AuditFilter(TypedDict, total=False):
    """A filter of entries; a field that is None or left out matches any."""

    actor: str | None
    verb: str | None
    target: str | None
    """A name, or the id of a job."""
    since: datetime | None
    tenant_id: str | None
    before: int | None
    """The last id of the page before."""
    most: int
    """The size of the page: 50 by default, 1,000 at the most."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One action of an operator."""

    id: int
    at: datetime
    """When, by the real clock of the database."""
    actor: str
    """Who: the subject of a key or token, `user@host` of the command line, or a database role."""
    actor_type: Literal["user", "operator", "login"]
    """How the actor is known: by the API, by the command line, or by the database."""
    key_id: int | None
    """The API key that was used."""
    verb: str
    noun: str
    """What kind of thing the verb was for."""
    target: str | None
    """The id or name of the one thing; None for an action on many."""
    count: int
    """How many things it changed."""
    reason: str | None
    tenant_id: str | None
    """Whose things these are; None means the whole installation."""
    correlation_id: str | None
    """The request that the action was part of."""
    login: str
    """The database role that was logged in."""
    program: str
    """The application name of the connection."""
    job_ids: list[int] | None
    """The jobs that it was for: the first hundred."""
    filter: Any
    """What chose the things of an action on many."""
    detail: Any
    """More about it, such as the state before."""


async def act_as(
    conn: Connection,
    actor: str | None = None,
    *,
    reason: str | None = None,
    user_id: str | None = None,
    key_id: int | None = None,
) -> None:
    """Name who acts in the rest of the transaction, and why; None leaves what was said before.

    `actor` is an operator of the command line; `user_id` a caller of an API, with the key that it used.
    """
    await call(conn, "act_as", actor=actor, reason=reason, user_id=user_id, key_id=key_id)


async def note(
    conn: Connection,
    verb: str,
    noun: str,
    target: str | None = None,
    *,
    tenant_id: str | None = None,
    job_ids: Sequence[int] | None = None,
    count: int = 1,
    detail: Mapping[str, object] | None = None,
) -> None:
    """Record an action that no verb of the engine is, in the transaction of the action."""
    await call(
        conn,
        "note_action",
        verb=verb,
        noun=noun,
        target=target,
        tenant_id=tenant_id,
        job_ids=None if job_ids is None else list(job_ids),
        count=count,
        detail=None if detail is None else json.dumps(detail),
    )


async def list_entries(conn: Connection, *, loads: Loads | None = None, **filters: Unpack[AuditFilter]) -> list[Entry]:
    """Return the entries that match every filter, newest first; a tenant sees its own."""
    return await call_as(conn, class_row(Entry), "list_audit", _read=True, _loads=loads, **filters)

"""Sessions: people who signed in with a browser, with the tenant and the roles of their key.

    made = await sessions.open_session(conn, tenant_id="acme", subject="lea", roles=["ops"], key_id=7)
    made.text                                             # for the cookie; nothing shows it again
    who = (await sessions.find(conn, [text])).get(text)   # or None
    await sessions.close(conn, who.id)

The text is 32 random bytes, made here. The database gets its SHA-256 and never the text. Use a
worker's connection, as for keys. The logic is in `sql/functions/sessions.sql`.
"""

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from datetime import datetime

from psycopg.rows import class_row, dict_row

from ostinato._core.db.call import Connection, call_as, call_value

TEXT = re.compile(r"[A-Za-z0-9_-]{43}")
TEXT_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A session as people see it."""

    id: int
    tenant_id: str | None
    """None means the whole installation."""
    subject: str
    roles: list[str]
    key_id: int | None
    """The API key that signed in; the session ends with it."""
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    """When it ends unless it is used again."""


SHOWN = tuple(each.name for each in fields(Session))


@dataclass(frozen=True, slots=True)
class Opened:
    """A new session and its text, which nothing shows again."""

    text: str = field(repr=False)
    session: Session


async def open_session(
    conn: Connection,
    *,
    tenant_id: str | None,
    subject: str,
    roles: Collection[str],
    key_id: int | None = None,
    ticket_seconds: float | None = None,
    ends_at: datetime | None = None,
) -> Opened:
    """Open a session; with `ticket_seconds` make a ticket that `enter` takes once, within that time.

    `ends_at` is the end of the token that signed in: the session does not outlast it.
    """
    text = secrets.token_urlsafe(TEXT_BYTES)
    (made,) = await call_as(
        conn,
        class_row(Session),
        "open_session",
        hash=hash_of(text),
        tenant_id=tenant_id,
        subject=subject,
        roles=sorted(roles),
        key_id=key_id,
        ticket_seconds=ticket_seconds,
        ends_at=ends_at,
    )
    return Opened(text, made)


async def enter(conn: Connection, ticket: str) -> Opened | None:
    """Make a session of a ticket; None when the ticket was used, has expired, or never was."""
    if TEXT.fullmatch(ticket) is None:
        return None
    text = secrets.token_urlsafe(TEXT_BYTES)
    rows = class_row(Session)
    found = await call_as(conn, rows, "enter_session", ticket=hash_of(ticket), hash=hash_of(text))
    return Opened(text, found[0]) if found else None


async def find(conn: Connection, texts: Collection[str]) -> dict[str, Session]:
    """Return the sessions that have these texts, those that still last, by their text."""
    by_hash = {hash_of(text): text for text in texts if TEXT.fullmatch(text) is not None}
    found = await call_as(conn, dict_row, "find_sessions", hashes=list(by_hash))
    return {by_hash[row["hash"]]: Session(**{name: row[name] for name in SHOWN}) for row in found}


async def close(conn: Connection, session_id: int, *, tenant_id: str | None = None) -> bool:
    """End a session; returns whether there was one."""
    return bool(await call_value(conn, "close_session", session_id=session_id, tenant_id=tenant_id))


async def list_sessions(
    conn: Connection, *, tenant_id: str | None = None, before: int | None = None, most: int = 100
) -> list[Session]:
    """Return the sessions that still last, the newest first; `before` is the last id of the page before."""
    return await call_as(
        conn, class_row(Session), "list_sessions", _read=True, tenant_id=tenant_id, most=most, before=before
    )


async def prune(conn: Connection) -> int:
    """Delete sessions that ended, a set at a time; returns how many."""
    return int(await call_value(conn, "prune_sessions"))


def hash_of(text: str) -> bytes:
    """Return what the database knows of a text."""
    return hashlib.sha256(text.encode()).digest()

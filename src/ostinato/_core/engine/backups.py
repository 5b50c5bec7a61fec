"""Backups: which base backups of this server there are, and when each was verified.

The backups themselves are made by `db.backup`. The logic is in `sql/functions/backups.sql`.
"""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from ostinato._core.db.backup.repository import Base
from ostinato._core.db.call import Connection, call, call_as, call_value


@dataclass(frozen=True, slots=True)
class BackupLine:
    """A base backup, as the database knows it."""

    label: str
    repository: str
    """Where it is, as the machine that made it calls the place."""
    taken_at: datetime
    bytes: int
    verified_at: datetime | None
    """When it was verified; None: never, or it is no longer good."""
    timeline: int | None = None
    """Of the server's log when it was taken; None: not known."""


async def record(conn: Connection, repository: str, base: Base, *, verified: bool) -> None:
    """Record a base backup, as verified now or as not verified."""
    await call(
        conn,
        "record_backup",
        label=base.label,
        repository=repository,
        taken_at=base.finished_at,
        bytes=base.bytes,
        verified=verified,
        timeline=base.timeline,
    )


async def forget(conn: Connection, label: str) -> bool:
    """Forget a base backup that was pruned; returns whether it was known."""
    return bool(await call_value(conn, "forget_backup", label=label))


async def list_backups(conn: Connection, *, most: int = 100) -> list[BackupLine]:
    """Return the base backups that are known, the newest first."""
    return await call_as(conn, class_row(BackupLine), "list_backups", _read=True, most=most)

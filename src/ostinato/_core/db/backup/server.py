"""The server that is copied: what it is, the slot that keeps its log, and whether commits wait for a copy."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import sql
from psycopg.rows import class_row

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, Forbidden, NotConfigured, NotFound
from ostinato._core.db import pool
from ostinato._core.db.backup import programs
from ostinato._core.db.backup.programs import Source
from ostinato._core.db.call import Connection
from ostinato._core.db.embedded import Server
from ostinato._core.db.sqlfile import statement

LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Identity:
    """Which server it is, and what it can do."""

    system: str
    major: int
    segment_bytes: int
    standby: bool
    wal_level: str
    senders: int
    waits_for: str
    may_copy: bool
    role: str
    timeline: str | None
    now: datetime

    @property
    def timeline_number(self) -> int:
        """The timeline that the server writes; 0 for a standby."""
        return int(self.timeline or "0", 16)


async def source(url: str, server: Server | None = None) -> Source:
    """Return the server of a URL, or the embedded one, with the programs that fit it; it can be copied."""
    if server is not None:
        return Source(server.admin_url, server.cluster.folder_of_binaries, server.version, embedded=True)
    async with await connect(url) as conn:
        found = await identity(conn)
    check(found)
    return Source(url, programs.find(found.major), found.major, embedded=False)


async def connect(url: str) -> Connection:
    """Open a direct connection whose own writes wait for nobody."""
    conn = await pool.connect(url, role="backup")
    try:
        await conn.execute(named("act_alone"))
    except BaseException:
        await conn.close()
        raise
    return conn


async def identity(conn: Connection) -> Identity:
    """Return what the server is."""
    async with conn.cursor(row_factory=class_row(Identity)) as cursor:
        await cursor.execute(named("identity"))
        found = await cursor.fetchone()
    assert found is not None  # noqa: S101 - one row always
    return found


def check(found: Identity) -> None:
    """Refuse a server that cannot be copied, and say what is missing."""
    if not found.may_copy:
        raise Forbidden(
            f"{found.role} may not copy the server",
            hint=f"As an administrator: alter role {found.role} replication; or name another role in"
            " OSTINATO_BACKUP_URL. pg_hba.conf must let it in for `replication`.",
            role=found.role,
        )
    if found.wal_level == "minimal" or found.senders == 0:
        raise NotConfigured(
            f"the server has wal_level {found.wal_level} and max_wal_senders {found.senders}: nobody can copy it",
            hint="alter system set wal_level = replica; alter system set max_wal_senders = 10; then restart it.",
        )


def check_primary(found: Identity) -> None:
    """Refuse a server that takes no commits: nobody can wait for a copy of it, and its log has no timeline yet."""
    if found.standby:
        raise BackupFailed(
            "this server is a standby itself: it takes no commits",
            hint="Name the server that does (OSTINATO_BACKUP_URL, --data-dir). If that one is gone, promote this one"
            " first: ostinato standby promote FOLDER",
        )


async def ensure_slot(conn: Connection, name: str, taken: Conflict | None = None) -> bool:
    """Make the slot that keeps the log until it was received, unless it is there; returns whether it was made.

    `taken` is raised where somebody reads from it.
    """
    found = await (await conn.execute(named("slot"), {"name": name})).fetchone()
    if found is None:
        await conn.execute(named("create_slot"), {"name": name})
        return True
    active, status, _ = found
    if active:
        raise taken or Conflict(
            f"the log of this server is being received already: slot {name} has a reader",
            hint="One reader is enough. If it hangs, end that process.",
            slot=name,
        )
    if status == "lost":
        await conn.execute(named("drop_slot"), {"name": name})
        await conn.execute(named("create_slot"), {"name": name})
        return True
    return False


async def end_left_reader(conn: Connection, name: str) -> None:
    """End the reader of a slot on this machine: the caller holds the lock of the one reader, so no other reads."""
    await conn.execute(named("end_left_reader"), {"name": name})


async def check_slot(conn: Connection, name: str) -> None:
    """Refuse to go on without the slot that kept the log so far: what was logged since may be gone."""
    found = await (await conn.execute(named("slot"), {"name": name})).fetchone()
    if found is None or found[1] == "lost":
        raise NotFound(
            f"the replication slot {name} is gone: the server keeps its log for this copy no longer",
            hint="Start `ostinato backup stream` again, which makes a new slot. Then take a base backup, because the"
            " log may have a gap: ostinato backup run. If nobody dropped it: after a failover the new server has none,"
            " and one that keeps more than max_slot_wal_keep_size is given up.",
            slot=name,
        )


async def drop_slot(conn: Connection, name: str) -> bool:
    """Keep the log no longer for a reader that is gone; False: the server does not know yet that it is."""
    await conn.execute(named("drop_slot"), {"name": name})
    return await (await conn.execute(named("slot"), {"name": name})).fetchone() is None


async def let_commits_wait(conn: Connection, name: str) -> None:
    """Let every commit wait until a reader has it, and return once they do.

    Whether they wait is known to the checkpointer first: only when it has done a round of its own after
    the reader is seen as synchronous, every commit that begins waits.
    """
    await until(lambda: _reads(conn, name, ("streaming",)))
    waits_for = (await identity(conn)).waits_for
    if name not in waits_for:
        if waits_for:
            raise Conflict(
                f"commits wait for {waits_for} already: that is left alone",
                hint=f"To wait for both: alter system set synchronous_standby_names = 'FIRST 2 ({name}, …)', with the"
                " names that stand there now; then select pg_reload_conf()",
                waits_for=waits_for,
            )
        await conn.execute(sql.SQL(named("wait_for")).format(names=sql.Literal(name)))
        await conn.execute(named("reload"))
    await until(lambda: _reads(conn, name, ("sync", "quorum"), column=1))
    await conn.execute(named("checkpoint"))


async def let_commits_go(conn: Connection, name: str) -> bool:
    """Let commits wait no longer for a reader that is about to leave; what somebody else set stays."""
    if (await identity(conn)).waits_for != name:
        return False
    await conn.execute(named("wait_for_nobody"))
    await conn.execute(named("reload"))
    await conn.execute(named("checkpoint"))
    return True


async def reads(conn: Connection, name: str) -> bool:
    """Return whether a reader of this name is there."""
    return await _reads(conn, name, ("streaming", "catchup"))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that the server does by itself."""
    while not await condition():  # noqa: ASYNC110 - nobody tells us
        await asyncio.sleep(LOOK_SECONDS)


async def first(work: Coroutine[Any, Any, None], running: "asyncio.Task[None]") -> None:
    """Do some work, unless the program that it is about ends before."""
    doing = asyncio.create_task(work)
    try:
        await asyncio.wait({doing, running}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        await doing
    finally:
        doing.cancel()


async def _reads(conn: Connection, name: str, states: tuple[str, ...], column: int = 0) -> bool:
    rows = await (await conn.execute(named("reader"), {"name": name})).fetchall()
    return any(row[column] in states for row in rows)


def named(block: str) -> Any:  # noqa: ANN401 - a literal of the package's own file
    """Return a statement of `sql/replication.sql`."""
    return statement("ostinato._core.db", "sql/replication.sql", block)

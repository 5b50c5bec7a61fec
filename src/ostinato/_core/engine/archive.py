"""Archives what is past retention: each week of a table is a file of JSON lines, compressed, before it is dropped.

    done = await run(conn, Shelf("s3://company/ostinato"), retention_days=14)

The order makes it safe against a kill between any two lines: the file is whole, then stored, then recorded, then the
week may be dropped (`sql/functions/archive.sql`). Repeated, it skips what is recorded and still has as many rows.
"""

import gzip
import hashlib
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from psycopg import sql
from psycopg.rows import class_row

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import NotConfigured, NotFound
from ostinato._core.db.backup.shelf import Shelf
from ostinato._core.db.call import Connection, call, call_as
from ostinato._core.db.sqlfile import statement

Step = Callable[[str], None]

LEVEL = 6


@dataclass(frozen=True, slots=True)
class Archived:
    """A file of the archive."""

    name: str
    """The week of a table, such as job_20260108; or a range of late rows."""
    rows: int
    bytes: int
    sha256: str
    file: str
    place: str
    archived_at: datetime | None = None


async def require(conn: Connection, place: str | None) -> None:
    """Let upkeep drop only what is archived from now on; None: everything again."""
    await call(conn, "require_archive", place=place)


async def rule(conn: Connection) -> str | None:
    """Return where weeks are archived to before they are dropped; None: they are not."""
    found = await call(conn, "show_archive_rule", _read=True)
    return found[0][0] if found else None


async def list_archived(conn: Connection, *, after: str = "", most: int = 1000) -> list[Archived]:
    """Return what was archived, by name: one page of it."""
    return await call_as(conn, class_row(Archived), "list_archive", _read=True, after=after, most=most)


async def all_archived(conn: Connection) -> list[Archived]:
    """Return all that was archived, by name."""
    found: list[Archived] = []
    while more := await list_archived(conn, after=found[-1].name if found else ""):
        found += more
    return found


async def waiting(conn: Connection, retention_days: int, audit_days: int | None = None) -> list[str]:
    """Return the weeks that are past retention and not archived, by name: they are kept until they are."""
    weeks = await call(conn, "due_for_archive", _read=True, retention_days=retention_days, audit_days=audit_days)
    return [name for name, _, archived in weeks if archived is None]


async def run(
    conn: Connection, shelf: Shelf, retention_days: int, audit_days: int | None = None, step: Step = lambda _name: None
) -> list[Archived]:
    """Archive every week that is past retention and not archived as it is, and late rows; return the new files."""
    if await rule(conn) is None:
        raise NotConfigured("nothing asks for an archive: weeks are dropped as they are", hint="ostinato archive init")
    done = []
    weeks = await call(conn, "due_for_archive", _read=True, retention_days=retention_days, audit_days=audit_days)
    for name, keys, archived in weeks:
        table = sql.Identifier("ostinato_data", name)
        if archived is not None and archived == await _count(conn, table):
            continue
        by = sql.SQL(", ").join(sql.Identifier(key) for key in keys)
        done.append(await _stored(conn, shelf, name, _made("copy_week", table=table, keys=by), step))
        await _record(conn, "record_archive", done[-1])
        step("recorded")
    while late := await call(conn, "take_late"):
        for name, first, last in late:
            query = _made("copy_late", first=sql.Literal(first), last=sql.Literal(last))
            done.append(await _stored(conn, shelf, name, query, step))
            await _record(conn, "finish_late", done[-1])
            step("recorded")
    return done


async def read(conn: Connection, name: str) -> AsyncIterator[bytes]:
    """Yield the lines of a file, once all of it is known to be as it was written."""
    found = [each for each in await all_archived(conn) if each.name == name]
    if not found:
        raise NotFound(f"{name} was not archived", hint="`ostinato archive list` shows what was.")
    await check(found[0])
    with tempfile.TemporaryFile() as file:
        async for piece in Shelf(found[0].place).get(found[0].file):
            file.write(piece)
        file.seek(0)
        with gzip.open(file, "rb") as lines:
            for line in lines:
                yield line


async def check(archived: Archived) -> None:
    """Refuse a file that is not as it was written."""
    if await Shelf(archived.place).sum_of(archived.file) != archived.sha256:
        raise BackupFailed(
            f"{archived.file} in {archived.place} is damaged: its checksum is another",
            hint="Archive its week again, if it is there; else use a copy of the file.",
        )


async def _stored(conn: Connection, shelf: Shelf, name: str, query: sql.Composed, step: Step) -> Archived:
    try:
        return await _store(conn, shelf, name, query, step)
    except OSError as error:  # of the place, or of the folder for temporary files
        raise BackupFailed(
            f"{name} was not archived in {shelf.place}: {error}",
            hint="Nothing of it is dropped meanwhile. Make room, or name another place (ostinato archive init PLACE);"
            " then repeat it.",
            name=name,
        ) from error


async def _store(conn: Connection, shelf: Shelf, name: str, query: sql.Composed, step: Step) -> Archived:
    with tempfile.TemporaryDirectory(prefix="ostinato-archive-") as folder:
        path = Path(folder) / "lines.gz"
        rows = await _write(conn, query, path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        step("written")
        stored = f"{name}.{digest[:12]}.jsonl.gz"
        await shelf.put(path, stored)
        step("stored")
        return Archived(name, rows, path.stat().st_size, digest, stored, shelf.place)


async def _write(conn: Connection, query: sql.Composed, path: Path) -> int:
    rows = 0
    with path.open("wb") as raw, gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as file:
        async with conn.cursor() as cursor, cursor.copy(query) as copy:
            async for data in copy:
                rows += bytes(data).count(b"\n")
                file.write(data)
    return rows


async def _record(conn: Connection, function: str, done: Archived) -> None:
    await call(
        conn,
        function,
        name=done.name,
        rows=done.rows,
        bytes=done.bytes,
        sha256=done.sha256,
        file=done.file,
        place=done.place,
    )


async def _count(conn: Connection, table: sql.Identifier) -> int:
    row = await (await conn.execute(_made("count", table=table))).fetchone()
    return int(row[0]) if row else 0


def _made(block: str, **parts: sql.Composable) -> sql.Composed:
    text: Any = statement("ostinato._core.engine", "sql/archive.sql", block)
    return sql.SQL(text).format(**parts)

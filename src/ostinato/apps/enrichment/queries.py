"""Runs the named statements of `sql/queries.sql`."""

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row, tuple_row

from ostinato.database import statement, translated

__all__ = ["named_rows", "one", "rows", "run"]

Connection = AsyncConnection[Any]


async def run(conn: Connection, name: str, /, **values: object) -> int:
    """Run a statement; how many rows it was about."""
    with translated():
        return (await conn.execute(_text(name), values)).rowcount


async def rows(conn: Connection, name: str, /, **values: object) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with translated():
        async with conn.cursor(row_factory=tuple_row) as cursor:
            return await (await cursor.execute(_text(name), values)).fetchall()


async def named_rows(conn: Connection, name: str, /, **values: object) -> list[dict[str, Any]]:
    """The rows of a statement, by the names of their columns."""
    with translated():
        async with conn.cursor(row_factory=dict_row) as cursor:
            return await (await cursor.execute(_text(name), values)).fetchall()


async def one(conn: Connection, name: str, /, **values: object) -> tuple[Any, ...]:
    """The one row of a statement."""
    (found,) = await rows(conn, name, **values)
    return found


def _text(name: str) -> bytes:
    return statement("ostinato.apps.enrichment", "sql/queries.sql", name).encode()

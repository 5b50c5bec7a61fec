"""Runs the statements of `sql/queries.sql`."""

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from ostinato.database import statement, translated

__all__ = ["Connection", "Row", "one", "rows"]

Connection = AsyncConnection[Any]
Row = dict[str, Any]


async def rows(conn: Connection, name: str, **values: object) -> list[Row]:
    """The rows that a statement gives, by the names of their columns."""
    text = statement("ostinato.apps.capture", "sql/queries.sql", name)
    with translated():
        async with conn.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(text, values)
            return await cursor.fetchall() if cursor.description else []


async def one(conn: Connection, name: str, **values: object) -> Row | None:
    """The first row, if there is one."""
    found = await rows(conn, name, **values)
    return found[0] if found else None

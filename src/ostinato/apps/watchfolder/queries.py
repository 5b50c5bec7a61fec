"""Runs the named statements of `sql/queries.sql`."""

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from ostinato.database import statement, translated

__all__ = ["rows", "run"]

Connection = AsyncConnection[Any]


async def run(conn: Connection, name: str, /, **values: object) -> int:
    """Run a statement; how many rows it was about."""
    with translated():
        text = statement("ostinato.apps.watchfolder", "sql/queries.sql", name)
        return (await conn.execute(text, values)).rowcount


async def rows(conn: Connection, name: str, /, **values: object) -> list[dict[str, Any]]:
    """The rows of a statement, by the names of their columns."""
    text = statement("ostinato.apps.watchfolder", "sql/queries.sql", name)
    with translated():
        async with conn.cursor(row_factory=dict_row) as cursor:
            return await (await cursor.execute(text, values)).fetchall()

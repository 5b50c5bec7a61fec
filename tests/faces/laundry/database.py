"""The tables, and what is asked of them."""

from typing import Any

from psycopg import AsyncConnection

from ostinato.database import Component, statement

COMPONENT = Component.of("laundry", "tests.faces.laundry", "laundry")


async def count(conn: AsyncConnection[Any]) -> int:
    """How many baskets were washed, of those that this connection sees."""
    found = await conn.execute(statement("tests.faces.laundry", "sql/queries.sql", "count"))
    row = await found.fetchone()
    return int(row[0]) if row else 0


async def washed(conn: AsyncConnection[Any]) -> int:
    """How many baskets were washed, by all tenants together."""
    found = await conn.execute(statement("tests.faces.laundry", "sql/queries.sql", "washed"))
    row = await found.fetchone()
    return int(row[0]) if row else 0


async def add(conn: AsyncConnection[Any], tenant: str, speed: int) -> None:
    """Note a basket."""
    text = statement("tests.faces.laundry", "sql/queries.sql", "add")
    await conn.execute(text, {"tenant": tenant, "speed": speed})

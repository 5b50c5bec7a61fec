"""Rows of the engine's views of itself, each as a dict of its columns."""

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from ostinato.db.call import call_as

__all__ = ["row", "rows"]


async def rows(conn: AsyncConnection[Any], function: str, **params: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """What a function of `inspect.sql` or `why.sql` returns."""
    return await call_as(conn, dict_row, function, _read=True, **params)


async def row(conn: AsyncConnection[Any], function: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401
    """As `rows`, for a function that returns exactly one."""
    (found,) = await rows(conn, function, **params)
    return found

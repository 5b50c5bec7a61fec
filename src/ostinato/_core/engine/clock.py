"""The database's clock, the only one that jobs use."""

from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.db.call import call_value


async def now(conn: AsyncConnection[Any]) -> datetime:
    """Return the engine's time."""
    at: datetime = await call_value(conn, "now")
    return at

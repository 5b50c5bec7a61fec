"""Limits how long a transaction waits for its next statement, and reports when it waited too long.

An idle transaction keeps its locks, and keeps vacuum from cleaning up after everybody else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.errors import DatabaseUnavailable, OstinatoError, TransactionIdle
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import IDLE, left_idle


async def limit_idle(conn: AsyncConnection[Any], seconds: float) -> None:
    """Set how long the transaction of a connection may be idle; 0: as its role says."""
    if seconds:
        await conn.execute(*_limit(seconds))


def limit_idle_now(conn: psycopg.Connection[Any], seconds: float) -> None:
    """Limit idle time as `limit_idle` does, on a synchronous connection."""
    if seconds:
        conn.execute(*_limit(seconds))


@contextmanager
def told_limit(seconds: float) -> Iterator[None]:
    """Name the limit in the error of a transaction that was idle for longer; 0: that of its role."""
    try:
        yield
    except TransactionIdle as error:
        if seconds:
            raise left_idle(seconds) from error
        raise


def lost(conn: AsyncConnection[Any], before: str) -> OstinatoError:
    """Return the error for a connection that was found closed before something was sent."""
    if getattr(conn, "farewell", None) == IDLE:
        return left_idle()
    return DatabaseUnavailable(f"The connection was lost before {before}.", hint="Run the whole transaction again.")


def _limit(seconds: float) -> tuple[LiteralString, dict[str, str]]:
    text = statement("ostinato._core.db", "sql/calls.sql", "limit_idle")
    return text, {"limit": f"{round(seconds * 1000)}ms"}

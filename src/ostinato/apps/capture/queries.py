"""Runs the named statements of captures, which stand in `sql/queries.sql`."""

from typing import Any, Final

from psycopg import AsyncConnection

from ostinato.database import Queries

Connection = AsyncConnection[Any]
Row = dict[str, Any]

QUERIES: Final = Queries("ostinato.apps.capture")

"""Runs the named statements of enrichment, which stand in `sql/queries.sql`."""

from typing import Any, Final

from psycopg import AsyncConnection

from ostinato.database import Queries

Connection = AsyncConnection[Any]

QUERIES: Final = Queries("ostinato.apps.enrichment", json=frozenset({"metadata", "found", "more"}))

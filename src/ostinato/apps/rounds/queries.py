"""Runs the named statements of `sql/queries.sql`."""

from typing import Any

from psycopg import AsyncConnection

from ostinato.database import Queries

Connection = AsyncConnection[Any]

QUERIES = Queries("ostinato.apps.rounds")

"""The named statements of `sql/queries.sql`."""

from ostinato.database import Queries

__all__ = ["QUERIES"]

QUERIES = Queries("ostinato.apps.watchfolder", json={"metrics"})

"""Runs the named statements of `sql/queries.sql`."""

from ostinato.database import Queries

QUERIES = Queries("ostinato.apps.watchfolder", json={"metrics"})

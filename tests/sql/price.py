"""Counts what a verb reads: rows of tables read in sequence, and entries of indexes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import psycopg

from ostinato._core.db.embedded import Urls
from tests.sql.engine import Session

__all__ = ["BACKLOG", "OFTEN", "Meter", "Place"]

T = TypeVar("T")

BACKLOG = 5_000
OFTEN = 7  # from the sixth time on a plan is one for all values, and is kept
MOST_READ = 2_500  # `why` counts up to a thousand jobs, and a relay looks some lanes ahead

# In this transaction so far.
READ = """
select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::bigint as n
from pg_class c where c.relnamespace = 'ostinato_data'::regnamespace
"""


@dataclass(frozen=True)
class Place:
    """A database of its own: nothing else is read there, and no statistics are old."""

    urls: Urls

    @contextmanager
    def session(self) -> Iterator[Session]:
        session = Session.open(self.urls.worker)
        try:
            yield session
        finally:
            session.close()

    def take_statistics(self) -> None:
        """As autovacuum does when it comes by."""
        with psycopg.connect(self.urls.admin, autocommit=True) as conn:
            conn.execute("vacuum analyze")


@dataclass
class Meter:
    """A session, and what its verbs read when they were last called."""

    db: Session
    read: dict[str, int] = field(default_factory=dict)

    def measure(self, name: str, verb: Callable[[], T]) -> T:
        """Call a verb, count what it reads, and return its answer."""
        with self.db.transaction():
            before = self.db.value(READ)
            answer = verb()
            self.read[name] = self.db.value(READ) - before
        return answer

    def too_much(self) -> dict[str, int]:
        """The verbs that read about as much as there is."""
        return {name: n for name, n in self.read.items() if n > MOST_READ}

"""The place: an embedded server, one migrated database, its sessions and its clock."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg import sql

from ostinato._core.db import embedded
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.migrate import migrate
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine.schema import ENGINE
from tests.memory import folder_in_memory
from tests.simulation.session import Session
from tests.simulation.steps import Row

DATABASE = "simulation"
RENEW_RUNS = 50
LOOK_SECONDS = 0.003  # how long an answer may take before we look whether it waits for a lock


def world_sql(name: str) -> bytes:
    """A statement of sql/world.sql, or, as `file.name`, of another file beside it."""
    file, _, name = name.rpartition(".")
    return statement("tests.simulation", f"sql/{file or 'world'}.sql", name).encode()


class Arena:
    """The database, seen from outside: nothing here takes part in the game."""

    def __init__(self, urls: Urls) -> None:
        self._urls = urls
        self._free: list[Session] = []
        self._taken: list[Session] = []
        self._observer = Session(urls.admin)
        self._observer.run(world_sql("be_quick"))
        self.has_weeks = True
        """Whether there are partitions by week: those of the installation, or of upkeep."""
        self.has_coordination = False
        """Whether there is more to empty than what the job engine writes."""
        self._runs = 0
        self._clock = -1.0

    def close(self) -> None:
        for session in (self._observer, *self._free, *self._taken):
            session.close()

    def empty(self) -> None:
        """Start over with an empty database at second 0; all sessions are free again."""
        for session in self._taken:
            if session.in_transaction:  # a run broke off in the middle
                self.kill(session)
        self._free.extend(self._taken)
        self._taken.clear()
        if self.has_weeks:
            self._observer.run(world_sql("drop_weeks"))
            self.has_weeks = False
        self._runs += 1
        if self._runs % RENEW_RUNS == 0:
            self._observer.run(world_sql("renew"))
        self._observer.run(world_sql("empty"))
        if self.has_coordination:
            self._observer.run(world_sql("coordination.empty"))
            self.has_coordination = False
        self._clock = -1.0
        self.set_clock(0)

    def session(self) -> Session:
        session = self._free.pop() if self._free else Session(self._urls.worker)
        self._taken.append(session)
        return session

    def give_back(self, session: Session) -> None:
        self._taken.remove(session)
        self._free.append(session)

    def look(self, name: str, *params: object) -> list[Row]:
        """What is committed, by a named query."""
        return self._observer.run(world_sql(name), params)

    def set_clock(self, seconds: float) -> None:
        if seconds != self._clock:
            self._clock = seconds
            self.look("set_clock", f"{seconds:.3f}")

    def comes_to_an_end(self, session: Session) -> bool:
        """Wait until a statement is done; false as soon as it waits for somebody's lock.

        Only suspended transactions hold locks, so a statement that waits now waits until one of
        them ends: the answer does not depend on how fast the machine is.
        """
        while not session.answered(LOOK_SECONDS):
            if self.look("is_blocked", session.pid)[0][0]:
                return False
        return True

    def cancel(self, session: Session) -> None:
        self.look("cancel", session.pid)

    def kill(self, session: Session) -> None:
        """Cut a connection, and have it again: the transaction is gone, and its locks."""
        self.look("kill", session.pid)
        session.wait_for_end()
        session.connect()

    def replace(self, text: str) -> None:
        """Put another text in the place of a function."""
        self._observer.run(text.encode())


@contextmanager
def arena(folder: Path) -> Iterator[Arena]:
    """An arena on an embedded server of its own, in memory or else in a folder."""
    with folder_in_memory(otherwise=folder) as place, embedded.start(place) as server:
        made = Arena(_prepare(server))
        try:
            yield made
        finally:
            made.close()


def _prepare(server: Server) -> Urls:
    server.drop_database(DATABASE)
    urls = server.create_database(DATABASE)
    asyncio.run(migrate(urls.admin, [ENGINE]))
    admin = Session(urls.admin)
    for line in world_sql("settings").split(b";\n"):  # each must be a transaction of its own
        admin.run(line)
    admin.run(world_sql("reload"))
    admin.run(world_sql("prepare"))
    admin.run(world_sql("coordination.prepare"))
    text = sql.SQL(world_sql("database_settings").decode()).format(name=sql.Identifier(DATABASE))
    admin.run(text.as_bytes(None))
    admin.close()
    return urls

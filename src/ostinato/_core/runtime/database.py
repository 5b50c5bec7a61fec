"""Finds the database: the embedded one, or the one that a URL names; and says how it is reached.

Three ways to connect: direct; through a transaction pooler with a second, direct URL for the one
LISTEN connection; and through a pooler alone, polling only.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import ensure_key
from ostinato._core.db import embedded
from ostinato._core.db.guard import CALL_SECONDS, ThreadGuard
from ostinato._core.db.limit import LimitedConnection, limited
from ostinato._core.db.pool import conninfo, reported
from ostinato._core.db.sqlstate import belongs_to_us, translate, translated
from ostinato._core.engine.schema import install


@dataclass(frozen=True, slots=True)
class Database:
    """The addresses of a database."""

    url: str
    """For workers and callers."""
    admin_url: str
    """For migrations."""
    listen_url: str | None
    """For the doorbell, direct; None: polling only."""
    pooled: bool = False
    server: embedded.Server | None = None
    """The embedded server, when it is one."""
    api_url: str | None = None
    """For the API, of a role that is no worker; None: `url`."""

    @classmethod
    def embedded(cls, server: embedded.Server) -> "Database":
        """Return the addresses of an embedded server."""
        urls = server.urls()
        return cls(url=urls.worker, admin_url=urls.owner, listen_url=urls.worker, server=server, api_url=urls.api)

    @classmethod
    def configured(cls, settings: Settings) -> "Database":
        """Return the addresses that the settings give."""
        url = settings.database_url
        assert url is not None  # noqa: S101  # from_settings asked before
        direct = None if settings.pooled else url
        return cls(
            url=url,
            admin_url=settings.admin_url or url,
            listen_url=settings.listen_url or direct,
            pooled=settings.pooled,
            api_url=settings.api_database_url,
        )

    def for_api(self) -> "Database":
        """Return the same database as the API logs in to it."""
        return self if self.api_url is None else dataclasses.replace(self, url=self.api_url, listen_url=None)


@asynccontextmanager
async def from_settings(settings: Settings, *, migrated: bool = True) -> AsyncIterator[Database]:
    """Find the database of the settings, and start it if it is the embedded one.

    An embedded one is started, migrated, and stopped when the last user leaves; in its folder there
    is a key for secrets.
    """
    if settings.database_url is not None:
        yield Database.configured(settings)
        return
    server = await asyncio.to_thread(embedded.start, settings.data_dir)
    try:
        database = Database.embedded(server)
        ensure_key(settings)
        if migrated:
            await install(database.admin_url, retention_days=settings.retention_days)
        yield database
    finally:
        await asyncio.to_thread(server.stop)


@contextmanager
def thread_transaction(
    database: Database, seconds: float = CALL_SECONDS, statement_seconds: float | None = None
) -> Iterator[psycopg.Connection[Any]]:
    """Open a transaction on a synchronous connection of its own, for a handler that runs in a thread.

    Its commit ends within the seconds, and is never reported as done when that is not known; a
    statement takes `statement_seconds` at most. Errors are those of `pool.transaction`.
    """
    prepare: dict[str, Any] = {"prepare_threshold": None} if database.pooled else {}
    with translated():
        conn = LimitedConnection.connect(conninfo(database.url, "handler"), **prepare)
    with closing(conn):
        try:
            with limited(conn, statement_seconds):
                yield conn
        except psycopg.Rollback:
            return  # on purpose: closing the connection rolls back
        except psycopg.Error as error:
            if belongs_to_us(error):
                raise translate(error) from error
            raise
        with ThreadGuard(conn, seconds) as guard, reported(guard):
            conn.commit()

"""A real worker in the test's own event loop, on a database of its own, with short settings."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from ostinato import App, Client
from ostinato.db import migrate
from ostinato.db.embedded import Server
from ostinato.engine.schema import ENGINE
from ostinato.runtime.database import Database
from ostinato.testing import Engine
from tests.conftest import note_called_functions
from tests.runtime.lab import Lab

TEMPLATE = "runtime_template"

_names = itertools.count(1)


@pytest.fixture(scope="session")
def template(shared_server: Server) -> str:
    """A migrated database to copy: a tenth of the time that a migration takes."""
    urls = shared_server.create_database(TEMPLATE)
    asyncio.run(migrate.migrate(urls.admin, [ENGINE]))
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14)")
    return TEMPLATE


@pytest.fixture
async def lab(shared_server: Server, template: str) -> AsyncIterator[Lab]:
    """A database, an app without kinds, and the means to run workers on them and to look."""
    name = f"runtime_{next(_names)}"
    urls = shared_server.create_database(name, template=template)
    database = Database(
        url=urls.worker, admin_url=urls.admin, listen_url=urls.worker, server=shared_server
    )
    async with (
        await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin,
        Client(database) as client,
    ):
        yield Lab(Engine(database, client, admin), App("lab"))
        await note_called_functions(admin)
    shared_server.drop_database(name)


@pytest.fixture
def logs() -> Iterator[list[EventDict]]:
    """The lines that the engine logs during the test."""
    with capture_logs() as lines:
        yield lines

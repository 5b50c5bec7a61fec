"""A real worker in the test's own event loop, on an empty database, with short settings."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from ostinato import App, Client
from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.testing import KEY
from ostinato.testing import Engine
from tests.conftest import copy_of_engine, empty
from tests.runtime.lab import Lab

EMPTY = Path(__file__).with_name("empty.sql").read_bytes()


@pytest.fixture(scope="session")
def urls(shared_server: Server) -> Urls:
    """The addresses of a migrated database."""
    found = copy_of_engine(shared_server, "runtime")
    asyncio.run(migrate.migrate(found.admin, [ENGINE]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
    return found


@pytest.fixture
async def lab(shared_server: Server, urls: Urls) -> AsyncIterator[Lab]:
    """An empty database, an app without kinds, and the means to run workers and to look."""
    database = Database(url=urls.worker, admin_url=urls.admin, listen_url=urls.worker, server=shared_server)
    async with (
        await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin,
        Client(database, Settings(secret_key=KEY)) as client,
    ):
        await asyncio.to_thread(empty, urls.admin, EMPTY)
        yield Lab(Engine(database, client, admin), App("lab"))

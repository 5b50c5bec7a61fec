"""One database for all tests of rounds, on a clock to move; each test finds it empty."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psycopg
import pytest

from ostinato import Client
from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato.apps.rounds import APP
from ostinato.apps.rounds.schema import COMPONENT
from ostinato.testing import Engine
from tests.apps.rounds.town import Api, Town
from tests.conftest import copy_of_engine, empty

# The machine is part of the schema here, not of what a test leaves behind.
EMPTY = (
    (Path(__file__).parents[2] / "runtime" / "empty.sql")
    .read_bytes()
    .replace(b"'migration', ", b"'migration', 'machine', 'machine_table', 'machine_transition', ")
)
EMPTY_ROUNDS = b"""
    truncate rounds.groups, rounds.group_settings, rounds.members, rounds.group_prompts,
        rounds.daily_rounds, rounds.submissions, rounds.comments, rounds.votes, rounds.runs,
        rounds.failures;
    update rounds.job_state set known_since = ostinato.now(), last_ended_at = null;
"""


@pytest.fixture(scope="session")
def rounds_urls(shared_server: Server) -> Urls:
    """The addresses of a migrated database whose sessions read the clock in the table."""
    found = copy_of_engine(shared_server, "rounds")
    asyncio.run(migrate.migrate(found.admin, [ENGINE, COMPONENT]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.use_test_clock()")
    return found


@pytest.fixture
async def town(shared_server: Server, rounds_urls: Urls) -> AsyncIterator[Town]:
    """Groups of a tenant, jobs to run, and a clock."""
    urls = rounds_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)
    async with (
        await psycopg.AsyncConnection.connect(rounds_urls.admin, autocommit=True) as admin,
        Client(database) as client,
    ):
        await asyncio.to_thread(empty, urls.admin, EMPTY)
        made = Town(Engine(database, client, admin), rounds_urls)
        await made.at("2026-06-01T10:00:00Z")
        await asyncio.to_thread(empty, urls.admin, EMPTY_ROUNDS)
        yield made


@pytest.fixture
async def api(town: Town) -> AsyncIterator[Api]:
    """The real API with rounds, in the test's own event loop."""
    app = build(Parts(town.engine.database, Settings(), apps=(APP,)))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
    ):
        yield Api(town, app.state.parts, http)

"""Enrichment as it runs: the API, a worker and the sandbox of the sources, on an empty database."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.sandbox import Registers
from ostinato.apps.enrichment.schema import COMPONENT
from ostinato.lab.sandbox.running import Running, running
from ostinato.testing import Engine
from tests.api.conftest import Api
from tests.apps.enrichment.place import PARTITIONS, Place
from tests.conftest import copy_of_engine, empty
from tests.runtime.lab import Lab

FAR = 4_000_000_000.0  # the year 2096
EMPTY = Path(__file__).with_name("empty.sql").read_bytes()

QUICKLY = {
    "TIMEOUT_MS": "20000",  # a test that is about one says so
    "BACKOFF_MS": "5,10",
    "SYNC_MS": "0",  # a test that is about the wait says so
    "SEARCH_PER_SECOND": "1000",
    "INPI_PER_SECOND": "1000",
    "RCS_PER_SECOND": "1000",
}


@pytest.fixture(scope="session")
def enrichment_urls(shared_server: Server) -> Urls:
    """The addresses of a migrated database."""
    found = copy_of_engine(shared_server, "enrichment")
    asyncio.run(migrate.migrate(found.admin, [ENGINE, COMPONENT]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute(PARTITIONS)
        conn.execute("select ostinato.use_test_clock()")
    return found


@pytest.fixture(scope="session")
def registers() -> Iterator[Running]:
    """The sources, in a thread; quick, not limited, with tokens that outlive the test clock."""
    limits = (100_000, 100_000)
    with running(Registers(scale=0.05, limits=limits, wall=lambda: FAR)) as sandbox:
        yield sandbox


@pytest.fixture
def sources(registers: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """The sources, which have forgotten everything, and settings that lead there."""
    registers.sandbox.reset()
    (standing,) = registers.sandbox.standing
    assert isinstance(standing, Registers)
    for name, value in standing.settings(registers.url).items():
        monkeypatch.setenv(name, value)
    for name, value in QUICKLY.items():
        monkeypatch.setenv(f"OSTINATO_ENRICHMENT_{name}", value)
    return registers


@pytest.fixture
async def place(shared_server: Server, enrichment_urls: Urls, sources: Running) -> AsyncIterator[Place]:
    """Everything but a worker, which a test starts when it wants one."""
    urls = enrichment_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)
    # 500 requests at once share 20 connections: on a slow machine the last one waits for long. Of
    # each test its own, because a process reads the settings of its applications once.
    settings = Settings(api_rate_per_minute=1_000_000, call_timeout_seconds=60)
    parts = Parts(database, settings, apps=(APP,))
    app = build(parts)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin,
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
        Client(database, parts.settings) as worker,
    ):
        await asyncio.to_thread(empty, urls.admin, EMPTY, PARTITIONS)
        engine = Engine(database, worker, admin)
        yield Place(Api(app, parts, admin, http, worker), Lab(engine, APP), sources)

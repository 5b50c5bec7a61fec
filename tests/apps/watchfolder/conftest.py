"""Places to watch."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
import requests

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato.apps.watchfolder import APP
from ostinato.apps.watchfolder.schema import COMPONENT
from ostinato.testing import Engine
from tests.api.conftest import Api
from tests.apps.watchfolder.engine import Office
from tests.apps.watchfolder.place import Place, Services
from tests.conftest import copy_of_engine, empty
from tests.memory import folder_in_memory
from tests.runtime.lab import Lab

EMPTY = Path(__file__).with_name("empty.sql").read_bytes()


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Services:
    """PREP and OCR behind `requests.get` and `requests.post`, as the specification wants it."""
    made = Services()
    monkeypatch.setattr(requests, "get", made.get)
    monkeypatch.setattr(requests, "post", made.post)
    return made


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the machine has one: for tests that change very many files."""
    with folder_in_memory(otherwise=tmp_path) as made:
        yield made


@pytest.fixture
def place(memory_path: Path, services: Services) -> Place:
    """A place whose orchestrator has just started."""
    made = Place(memory_path / "place", services)
    made.start()
    return made


@pytest.fixture(scope="session")
def watchfolder_urls(shared_server: Server) -> Urls:
    """The addresses of a migrated database."""
    found = copy_of_engine(shared_server, "watchfolder")
    asyncio.run(migrate.migrate(found.admin, [ENGINE, COMPONENT]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
    return found


@pytest.fixture
async def office(
    shared_server: Server, watchfolder_urls: Urls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Office]:
    """The API and an empty database; folders are made below a root of the test's own."""
    for name, value in {
        "ROOT": str(tmp_path / "root"),
        "STABLE_SECONDS": "0",
        "TICK_SECONDS": "0.1",
        "MIN_FREE_BYTES": "0",
    }.items():
        monkeypatch.setenv(f"OSTINATO_WATCHFOLDER_{name}", value)
    urls = watchfolder_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)
    parts = Parts(database, Settings(api_rate_per_minute=1_000_000), apps=(APP,))
    app = build(parts)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin,
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
        Client(database, parts.settings) as worker,
    ):
        await asyncio.to_thread(empty, urls.admin, EMPTY)
        lab = Lab(Engine(database, worker, admin), APP)
        yield Office(Api(app, parts, admin, http, worker), lab, tmp_path / "root")

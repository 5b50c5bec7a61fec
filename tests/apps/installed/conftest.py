"""The API with every application that is installed, and rows of one tenant in each of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.testing import KEY
from ostinato._core.runtime.worker.enrol import declare_kinds
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato._faces.cli.frame.schema import components
from tests.api.conftest import Api
from tests.apps.installed.planting import Planted, plant
from tests.conftest import copy_of_engine, note_called_functions


@pytest.fixture(scope="session")
def installed_urls(shared_server: Server) -> Urls:
    """The addresses of a database with the schemas of all applications."""
    found = copy_of_engine(shared_server, "installed")
    asyncio.run(migrate.migrate(found.admin, components(installed_apps())))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
    return found


@pytest.fixture
async def api(
    shared_server: Server, installed_urls: Urls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    """The API; a test has tenants of its own, because no test empties the database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSTINATO_OUTBOUND_PHONE_VALIDATION", "possible")  # numbers that nobody has
    urls, apps = installed_urls, installed_apps()
    database = Database(urls.worker, urls.admin, listen_url=urls.worker, server=shared_server, api_url=urls.api)
    settings = Settings(secret_key=KEY, data_dir=str(tmp_path), api_rate_per_minute=1_000_000)
    app = build(parts := Parts(database, settings, apps=apps))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin,
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
        Client(database, settings) as worker,
    ):
        await declare_kinds(admin, apps)
        yield Api(app, parts, admin, http, worker)
        await note_called_functions(admin)


@pytest.fixture
async def planted(api: Api) -> Planted:
    """A tenant of the test's own, with rows of every sort."""
    return await plant(api, f"tenant-{uuid4().hex[:8]}")

"""The real API in the test's own event loop, over httpx, on an empty database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import keys
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.worker.enrol import declare_kinds
from ostinato._faces.api.metrics_page import metrics_app
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from tests.conftest import copy_of_engine, empty
from tests.opened import OPEN, opened

EMPTY = (Path(__file__).parents[1] / "runtime" / "empty.sql").read_bytes()


@dataclass
class Api:
    """A running API, and the means to call it as anybody."""

    app: FastAPI
    parts: Parts
    admin: psycopg.AsyncConnection[Any]
    http: httpx.AsyncClient
    worker: Client
    """What a worker may do, and the API may not."""
    _keys: dict[tuple[str, str, tuple[str, ...]], str] = field(default_factory=dict)

    async def key(self, tenant: str = "acme", *roles: str, subject: str = "tester") -> str:
        """The text of an API key, made once for each tenant, subject and set of roles."""
        wanted = roles or ("admin",)
        known = (tenant, subject, wanted)
        if known not in self._keys:
            async with self.worker.connection() as conn:
                made = await keys.create(conn, tenant_id=tenant, subject=subject, roles=wanted)
            self._keys[known] = made.key
        return self._keys[known]

    async def metrics(self) -> httpx.Response:
        """The page for Prometheus, which has an address of its own."""
        transport = httpx.ASGITransport(metrics_app(self.parts), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://metrics.test") as http:
            return await http.get("/metrics")

    async def call(
        self,
        method: str,
        path: str,
        *,
        tenant: str = "acme",
        roles: tuple[str, ...] = ("admin",),
        headers: dict[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - as httpx
    ) -> httpx.Response:
        """A request with a key of that tenant and those roles."""
        sent = {"Authorization": f"Bearer {await self.key(tenant, *roles)}"} | (headers or {})
        return await self.http.request(method, path, headers=sent, **options)


@pytest.fixture(scope="session")
def api_urls(shared_server: Server) -> Urls:
    """The addresses of a migrated database for the API."""
    found = copy_of_engine(shared_server, "api")
    asyncio.run(migrate.migrate(found.admin, [ENGINE]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
    return found


@pytest.fixture
def api_settings() -> Settings:
    """The settings of the API; a test module may have its own."""
    return Settings()


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    """The applications of the API; a test module may have its own."""
    return ()


@pytest.fixture
def api_database(shared_server: Server, api_urls: Urls) -> Database:
    """The database of the API; a test module may have its own way to it."""
    urls = api_urls
    return Database(urls.worker, urls.admin, listen_url=urls.worker, server=shared_server, api_url=urls.api)


@pytest.fixture
async def api(
    api_urls: Urls, api_database: Database, api_settings: Settings, api_apps: tuple[App, ...]
) -> AsyncIterator[Api]:
    """A running API on an empty database."""
    parts = Parts(api_database, api_settings, apps=api_apps)
    app = build(parts)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        await psycopg.AsyncConnection.connect(api_urls.admin, autocommit=True) as admin,
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
        Client(api_database, api_settings) as worker,
    ):
        await asyncio.to_thread(empty, api_urls.admin, EMPTY)
        await admin.execute(OPEN, opened("app.task", "app.other", "shop.ship", "shop.count", "till.ring", app_q="q"))
        await declare_kinds(admin, api_apps)
        yield Api(app, parts, admin, http, worker)

"""A migrated database that is empty at the start of each test, the API on it, and the world."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server
from ostinato._core.engine import keys
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato.apps.capture import APP, keyring
from ostinato.apps.capture.sandbox import CaptureWorld
from ostinato.apps.capture.schema import COMPONENT
from ostinato.lab.sandbox.running import Running, running
from ostinato.testing import Engine
from tests.apps.capture.vault import KEK, TENANT, USER, Vault
from tests.conftest import copy_of_engine, empty

# Many at once, one behind the other: on a slow machine the last one waits for long.
PATIENT = Settings(call_timeout_seconds=60)

# Everything but what a migration made. The audit log refuses to be emptied, except by a superuser
# who turns its triggers off.
EMPTY = """
set session_replication_role = replica;
do $$
declare
    v_table text;
begin
    for v_table in
        select c.oid::regclass::text from pg_class c
        where c.relnamespace in ('ostinato_data'::regnamespace, 'vault_secure'::regnamespace)
          and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname not in ('migration', 'tick', 'test_clock')
          and c.relname not like 'machine%'
    loop
        execute format('delete from %s', v_table);
    end loop;
    update ostinato_data.test_clock set frozen = null, shift = '0';
    update ostinato_data.tick set last = clock_timestamp(), grace_until = '-infinity';
end
$$;
set session_replication_role = origin;
"""


@pytest.fixture(scope="session")
def migrated(shared_server: Server) -> Database:
    """A migrated database, with a clock to move."""
    urls = copy_of_engine(shared_server, "capture")
    asyncio.run(migrate.migrate(urls.admin, [ENGINE, COMPONENT]))
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
        conn.execute("select ostinato.use_test_clock()")
    return Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)


@pytest.fixture
def database(migrated: Database) -> Database:
    """That database, empty."""
    empty(migrated.admin_url, EMPTY)
    return migrated


@pytest.fixture
async def vault(database: Database) -> AsyncIterator[Vault]:
    """Captures on that database."""
    async with (
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as admin,
        Client(database, PATIENT) as client,
    ):
        yield Vault(Engine(database, client, admin), database)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Objects in a folder, and a keyring with one key."""
    keyring.add_key(tmp_path / "keyring.json", KEK.id, KEK.key)
    folder = tmp_path / "objects"
    folder.mkdir()
    monkeypatch.setenv("OSTINATO_CAPTURE_KEYRING_FILE", str(tmp_path / "keyring.json"))
    monkeypatch.setenv("OSTINATO_CAPTURE_STORE", "folder")
    monkeypatch.setenv("OSTINATO_CAPTURE_FOLDER", str(folder))
    return folder


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Running]:
    """The outside world over HTTP."""
    with running(CaptureWorld()) as found:
        yield found


@pytest.fixture
def world(sandbox: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """That world, empty, and this process led to it."""
    for stand_in in sandbox.sandbox.standing:
        for name, value in stand_in.settings(sandbox.url).items():
            monkeypatch.setenv(name, value)
    sandbox.sandbox.reset()
    return sandbox


@dataclass
class Api:
    """A running API, and the means to call it as anybody."""

    vault: Vault
    http: httpx.AsyncClient
    _keys: dict[tuple[str, str, str], str] = field(default_factory=dict)

    async def call(
        self,
        method: str,
        path: str,
        *,
        tenant: str = TENANT,
        user: str = USER,
        role: str = "capture",
        headers: dict[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - as httpx
    ) -> httpx.Response:
        known = (tenant, user, role)
        if known not in self._keys:
            async with self.vault.client.connection() as conn:
                made = await keys.create(conn, tenant_id=tenant, subject=user, roles=[role])
            self._keys[known] = made.key
        bearer = {"Authorization": f"Bearer {self._keys[known]}"}
        return await self.http.request(method, path, headers=bearer | (headers or {}), **options)


@pytest.fixture
def api_settings() -> Settings:
    """The settings of the API; a test module may have its own."""
    return Settings()


@asynccontextmanager
async def serving_api(vault: Vault, settings: Settings) -> AsyncIterator[Api]:
    """The real API, in the test's own event loop."""
    app = build(Parts(vault.database, settings, apps=(APP,)))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("192.0.2.7", 1234))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
    ):
        yield Api(vault, http)


@pytest.fixture
async def api(vault: Vault, api_settings: Settings) -> AsyncIterator[Api]:
    """An API that serves this test."""
    async with serving_api(vault, api_settings) as found:
        yield found

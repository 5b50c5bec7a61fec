"""Outbound on a real database and over real HTTP: the API on a socket, the providers as sandbox."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate
from ostinato._core.db.call import call
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import keys
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.parts import Parts
from ostinato.apps.outbound import APP
from ostinato.apps.outbound.providers.whatsapp import Cloud
from ostinato.apps.outbound.sandbox import Providers
from ostinato.apps.outbound.schema import COMPONENT
from ostinato.lab.sandbox.running import Running, running
from ostinato.secrets import new_key
from ostinato.testing import Engine, Report
from tests.api.live import serving
from tests.conftest import copy_of_engine, empty
from tests.waiting import until_async

API = "/api/v1/outbound"
NOON = datetime(2026, 6, 10, 10, 0, tzinfo=UTC)  # a Wednesday, 12:00 in Paris
PHONE_NUMBER_ID = "100200300"
VAULT = Settings(secret_key=new_key()).vault
EMPTY = """
do $$
declare v_table text;
begin
    for v_table in
        select c.relname from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition and c.relname not in
            ('migration', 'tick', 'test_clock', 'machine', 'machine_transition', 'machine_table')
    loop execute format('delete from ostinato_data.%I', v_table); end loop;
    set local session_replication_role = replica;
    for v_table in select t.tablename from pg_tables t where t.schemaname = 'outbound' and t.tablename <> 'secret'
    loop execute format('delete from outbound.%I', v_table); end loop;
end $$
"""

SET_UP = """
with t as (select %s::text as tenant), s as (
    insert into outbound.sender (tenant_id, channel, provider, provider_key, display)
    select t.tenant, v.channel, v.provider, v.key, 'Atlas' from t, (values
        ('WHATSAPP', 'whatsapp', %s), ('SMS', 'twilio', %s), ('EMAIL', 'smtp', %s)
    ) v (channel, provider, key)
    returning tenant_id, provider, provider_key
), o as (
    insert into outbound.ownership (provider, key, tenant_id, proof, account, proven_by)
    select provider, lower(provider_key), tenant_id, 'GRANT', true, 'tests' from s)
insert into outbound.template
    (tenant_id, template_code, language, category, provider_name, body, subject, variables_schema)
select t.tenant, 'welcome', 'fr', 'UTILITY', 'welcome', 'Bonjour {{name}}', 'Bonjour {{name}}',
    '[{"name": "name", "required": true, "max_length": 50}]' from t
"""


@dataclass
class World:
    """A tenant's world: its API, its database, the providers."""

    engine: Engine
    http: httpx.AsyncClient
    providers: Providers
    sandbox: Running
    url: str
    settings: Settings = field(default_factory=Settings)
    """Those of the API."""
    _keys: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    _count: int = 0

    @property
    def cloud(self) -> Cloud:
        """WhatsApp, as the sandbox plays it."""
        found = self.providers.stand_ins["whatsapp"]
        assert isinstance(found, Cloud)
        return found

    async def key(self, tenant: str, *roles: str) -> str:
        if (tenant, roles) not in self._keys:
            async with self.engine.client.connection() as conn:
                made = await keys.create(conn, tenant_id=tenant, subject="tester", roles=roles)
            self._keys[tenant, roles] = made.key
        return self._keys[tenant, roles]

    async def call(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        tenant: str = "acme",
        roles: tuple[str, ...] = ("admin",),
        headers: dict[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - as httpx
    ) -> Any:  # noqa: ANN401 - whatever it answers
        sent = {"Authorization": f"Bearer {await self.key(tenant, *roles)}"} | (headers or {})
        answer = await self.http.request(method, f"{API}{path}", headers=sent, **options)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    async def consent(self, to: str = "+33639980001", **more: Any) -> dict[str, Any]:  # noqa: ANN401
        given = {
            "subjectId": "s-1",
            "channel": "WHATSAPP",
            "purpose": "TRANSACTIONAL",
            "status": "GRANTED",
            "address": to,
            "proof": {"wording": "J'accepte", "version": "1"},
        } | more
        tenant = given.pop("tenant", "acme")
        found: dict[str, Any] = await self.call("PUT", "/consents", json=given, tenant=tenant)
        return found

    def next_key(self) -> str:
        self._count += 1
        return f"key-{self._count}"

    async def message(
        self,
        to: str = "+33639980001",
        *,
        status: int = 201,
        key: str | None = None,
        **more: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        body = {
            "channel": "WHATSAPP",
            "to": to,
            "subjectId": "s-1",
            "dossierId": "D-1",
            "templateCode": "welcome",
            "variables": {"name": "Camille"},
        } | more
        tenant = body.pop("tenant", "acme")
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"Idempotency-Key": key or self.next_key()}
        found: dict[str, Any] = await self.call(
            "POST", "/messages", status=status, json=body, headers=headers, tenant=tenant
        )
        return found

    async def show(self, message: dict[str, Any], tenant: str = "acme") -> dict[str, Any]:
        found: dict[str, Any] = await self.call("GET", f"/messages/{message['id']}", tenant=tenant)
        return found

    def read_settings_again(self) -> None:
        """Have the API look at the environment again: it keeps what it has read."""
        self.settings._sections.clear()

    async def work(self, *, move_clock: bool = False) -> Report:
        """Run what can run now; with `move_clock`, what waits for its time too."""
        return await self.engine.run_until_idle(APP, move_clock=move_clock)

    async def quiet(self) -> None:
        """Wait until the providers have made their callbacks."""

        async def all_told() -> bool:
            return not self.providers.telling

        await until_async(all_told)

    async def settled(self) -> None:
        """Wait until the providers have made their callbacks, and work through them."""
        await self.quiet()
        await self.work()

    async def until_told(self, path: str, times: int) -> None:
        """Wait until a provider has called back so often."""

        async def told() -> bool:
            return len([each for each in self.providers.told if each[0] == path]) >= times

        await until_async(told)

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = await self.engine.admin.execute(statement.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []

    async def value(self, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever SQL says
        ((value,),) = await self.rows(statement, *values)
        return value

    async def set_up(self, tenant: str = "acme", phone: str = PHONE_NUMBER_ID) -> None:
        """Senders and a template, in one statement: over HTTP they cost more than most tests."""
        sms = "+33639980099" if tenant == "acme" else f"+3363998{phone[-4:]}"
        await self.rows(SET_UP, tenant, phone, sms, f"{tenant}@example.test")


@pytest.fixture(scope="session")
def outbound_urls(shared_server: Server) -> Urls:
    found = copy_of_engine(shared_server, "outbound")
    asyncio.run(migrate.migrate(found.admin, [ENGINE, COMPONENT]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.use_test_clock()")
    return found


@pytest.fixture(scope="session")
def providers() -> Iterator[Providers]:
    made = Providers(serves=True)
    yield made
    made.close()


@pytest.fixture(scope="session")
def sandbox(providers: Providers) -> Iterator[Running]:
    with running(providers) as found:
        yield found


@pytest.fixture(scope="session")
def outbound_database(shared_server: Server, outbound_urls: Urls) -> Database:
    urls = outbound_urls
    return Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)


@pytest.fixture(scope="session")
def api_settings() -> Settings:
    return Settings(api_rate_per_minute=10_000_000)


@pytest.fixture(scope="session")
def api(outbound_database: Database, api_settings: Settings) -> Iterator[str]:
    """One API for all tests: what it knows is in the database, and in its settings."""
    with serving(Parts(outbound_database, api_settings, apps=(APP,))) as url:
        yield url


@pytest.fixture
async def world(
    *,
    outbound_database: Database,
    api: str,
    api_settings: Settings,
    providers: Providers,
    sandbox: Running,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[World]:
    """An empty database at noon, a running API, and providers that know where it is."""
    database = outbound_database
    for name, value in providers.settings(sandbox.url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OSTINATO_OUTBOUND_TIMEOUT_SECONDS", "30")
    monkeypatch.setenv("OSTINATO_OUTBOUND_PUBLIC_URL", api)
    monkeypatch.setattr(Settings, "vault", VAULT)  # of the API, and of the worker in this process
    api_settings._sections.clear()
    providers.reset()
    providers.api = api
    providers.wall = time.time
    sandbox.sandbox.reset()
    async with (
        await psycopg.AsyncConnection.connect(database.admin_url, autocommit=True) as admin,
        Client(database) as client,
        httpx.AsyncClient(base_url=api, trust_env=False, timeout=30) as http,
    ):
        await asyncio.to_thread(empty, database.admin_url, EMPTY)
        engine = Engine(database, client, admin)
        await set_clock(engine, NOON)
        made = World(engine, http, providers, sandbox, api, api_settings)
        await made.set_up()
        yield made
        await made.quiet()


@pytest.fixture
def impatient(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """For those who wait for an answer that never comes."""
    monkeypatch.setenv("OSTINATO_OUTBOUND_TIMEOUT_SECONDS", "1")


async def set_clock(engine: Engine, at: datetime) -> None:
    """Move the engine's clock to an instant, forward or back."""
    now = await engine.clock.now()
    await call(engine.admin, "move_test_clock", by=at - now)


def sent_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this process sends to a database from now on: the text of statements, and `begin` of transactions."""
    sent: list[str] = []
    execute, enter = psycopg.AsyncCursor.execute, psycopg.AsyncTransaction.__aenter__

    async def noted(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as psycopg
        sent.append(query.decode() if isinstance(query, bytes) else str(query))
        return await execute(cursor, query, *args, **options)

    async def begun(transaction: Any) -> Any:  # noqa: ANN401 - as psycopg
        sent.append("begin")
        return await enter(transaction)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", noted)
    monkeypatch.setattr(psycopg.AsyncTransaction, "__aenter__", begun)
    return sent

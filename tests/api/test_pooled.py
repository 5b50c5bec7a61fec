"""Two tenants, a thousand requests, a few shared connections behind PgBouncer: nothing leaks."""

import asyncio
from collections.abc import Iterator

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.api.parts import Parts
from tests import bouncer
from tests.api import shop
from tests.api.conftest import Api
from tests.needs import needs

pytestmark = needs("pgbouncer", here=bouncer.program() is not None, reason="PgBouncer is not installed")


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (shop.APP,)


@pytest.fixture
def api_settings() -> Settings:
    return Settings(api_rate_per_minute=100_000)


@pytest.fixture
def api_database(shared_server: Server, api_urls: Urls) -> Iterator[Database]:
    with bouncer.own_folder() as folder, bouncer.in_front_of(shared_server, folder, connections=2) as port:
        pooled = bouncer.through(api_urls.worker, port)
        api_url = bouncer.through(api_urls.api, port)
        yield Database(url=pooled, admin_url=api_urls.admin, listen_url=None, pooled=True, api_url=api_url)


async def test_a_thousand_requests_of_two_tenants_leak_nothing(api: Api) -> None:
    assert isinstance(api.parts, Parts)
    tenants = ("acme", "zeta")
    for tenant in tenants:
        await api.key(tenant, "admin")
        await api.call("POST", "/shop/orders", json={"item": tenant}, tenant=tenant)

    async def ask(number: int) -> None:
        tenant = tenants[number % 2]
        headers = {"X-Correlation-Id": f"c-{number}"}
        if number % 5 == 0:
            listed = await api.call("GET", "/api/v1/engine/jobs", tenant=tenant, headers=headers)
            assert len(listed.json()["items"]) == 1
        elif number % 5 == 1:
            nothing = await api.call("GET", "/shop/forgetful", tenant=tenant, headers=headers)
            assert nothing.json() == 0
        else:
            seen = await api.call("GET", "/shop/whoami", tenant=tenant, headers=headers)
            assert (seen.json()["tenant"], seen.json()["correlation"]) == (tenant, f"c-{number}")

    for start in range(0, 1000, 20):
        await asyncio.gather(*(ask(start + n) for n in range(20)))

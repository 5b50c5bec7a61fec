"""Every request is its tenant's in the database, and leaves nothing behind on the connection."""

import asyncio

import pytest

from ostinato._core.runtime.handlers.app import App
from tests.api import shop
from tests.api.conftest import Api


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (shop.APP,)


async def test_a_request_acts_as_the_role_of_tenants(api: Api) -> None:
    seen = (await api.call("GET", "/shop/whoami", tenant="zeta")).json()
    assert (seen["role"], seen["tenant"], seen["user"]) == ("ostinato_tenant", "zeta", "tester")


async def test_who_forgets_to_say_the_tenant_sees_nothing(api: Api) -> None:
    await api.call("POST", "/shop/orders", json={"item": "tea"})
    seen = await api.call("GET", "/shop/forgetful")
    assert (seen.status_code, seen.json()) == (200, 0)


async def test_settings_never_leak_from_one_request_to_the_next(api: Api) -> None:
    async def ask(number: int) -> None:
        tenant = f"t{number % 7}"
        headers = {"X-Correlation-Id": f"c-{number}"}
        seen = await api.call("GET", "/shop/whoami", tenant=tenant, headers=headers)
        assert (seen.json()["tenant"], seen.json()["correlation"]) == (tenant, f"c-{number}")
        nothing = await api.call("GET", "/shop/forgetful", tenant=tenant)
        assert nothing.json() == 0

    await api.call("POST", "/shop/orders", json={"item": "tea"}, tenant="t1")
    for number in range(7):
        await api.key(f"t{number}", "admin")
    for start in range(0, 200, 20):
        await asyncio.gather(*(ask(start + n) for n in range(20)))
    async with api.worker.connection() as conn:
        left = await conn.execute("select current_user::text, coalesce(current_setting('app.tenant_id', true), '')")
        assert await left.fetchone() == ("ostinato_worker", "")

"""Every request is its tenant's in the database, and leaves nothing behind on the connection."""

import asyncio
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest
from fastapi import Request

from ostinato._core.base.errors import TooManyRequests
from ostinato._core.base.settings import Settings
from ostinato._core.engine.sessions import Session
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.seats import RETRY_SECONDS, Seats
from ostinato._core.web.caller import Caller
from ostinato._faces.api.desk import Desk
from ostinato._faces.api.parts import CONNECTIONS
from ostinato._faces.console.doorman import Visit
from ostinato._faces.console.mount import STAFF_CONNECTIONS
from ostinato._faces.console.view import Prefs, View
from tests.api import shop
from tests.api.conftest import Api
from tests.waiting import until_async


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


@pytest.fixture
def api_settings() -> Settings:
    return Settings(call_timeout_seconds=120)  # those who wait for a seat wait for the others, however slow


HELD = "select count(*) from pg_stat_activity where application_name = 'ostinato/api' and state = 'idle in transaction'"


async def test_a_tenant_that_asks_for_much_at_once_takes_no_connection_from_another(api: Api) -> None:
    """It held all connections of the process, and everybody else waited until it let go."""
    seats, many = api.parts.client.seats, CONNECTIONS + 5
    await api.key("other", "admin")

    async def all_are_there() -> bool:
        found = await (await api.admin.execute(HELD)).fetchone()
        waits = seats._benches["acme"].here if "acme" in seats._benches else 0
        return waits == many and found == (min(seats._most, CONNECTIONS),)

    def asked(number: int) -> "asyncio.Task[httpx.Response]":
        headers = {"Idempotency-Key": f"slow-{number}"}
        return asyncio.create_task(api.call("POST", "/shop/slow-orders", json={"item": "pen"}, headers=headers))

    shop.may_end.clear()
    slow = [asked(number) for number in range(many)]
    try:
        await until_async(all_are_there)
        other = await api.call("GET", "/shop/whoami", tenant="other")
    finally:
        shop.may_end.set()

    assert other.status_code == 200
    assert {answer.status_code for answer in await asyncio.gather(*slow)} == {202}
    assert seats._benches == {}


async def test_a_tenant_that_reads_much_at_once_takes_no_connection_from_another(api: Api) -> None:
    client, may_end = api.parts.client, asyncio.Event()
    await api.key("other", "admin")

    async def read() -> None:
        async with Caller("acme", "tester", frozenset(), client).reading():
            await may_end.wait()

    tasks = [asyncio.create_task(read(), context=Context()) for _ in range(CONNECTIONS + 5)]

    async def held() -> int:
        (count,) = await (await api.admin.execute(HELD)).fetchone() or (0,)
        return int(count)

    async def are_there() -> bool:
        return await held() == (client.seats._most if "acme" in client.seats._benches else CONNECTIONS)

    try:
        await until_async(are_there)
        assert await held() == client.seats._most
    finally:
        may_end.set()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("where", ["desk", "console"])
async def test_a_tenant_that_administers_much_at_once_takes_no_connection_from_another(api: Api, where: str) -> None:
    """By these connections people sign in, and the console of every tenant reads its figures."""
    staff, may_end = api.app.state.site.staff, asyncio.Event()
    caller = Caller("acme", "tester", frozenset(), api.parts.client)

    def of(tenant: str) -> AbstractAsyncContextManager[object]:
        if where == "desk":
            return Desk(replace(caller, tenant_id=tenant), staff).transaction()
        return view_of(api, tenant).administering()

    async def administer() -> None:
        async with of("acme"):
            await may_end.wait()

    tasks = [asyncio.create_task(administer(), context=Context()) for _ in range(STAFF_CONNECTIONS + 5)]

    async def are_there() -> bool:
        (count,) = await (await api.admin.execute(HELD.replace("/api", "/console"))).fetchone() or (0,)
        return bool(count == (staff.seats._most if "acme" in staff.seats._benches else STAFF_CONNECTIONS))

    try:
        await until_async(are_there)
        async with of("other"):
            pass
    finally:
        may_end.set()
        await asyncio.gather(*tasks, return_exceptions=True)


def view_of(api: Api, tenant: str) -> View:
    """The view of somebody who is signed in."""
    now = datetime.now(UTC)
    session = Session(1, tenant, "tester", [], None, now, now, now)
    request = Request({"type": "http", "app": api.app, "headers": [], "state": {"prefix": ""}})
    return View(request, Visit(session, ""), Prefs.of(request), api.app.state.site.language("en"))


async def test_who_waits_too_long_for_a_seat_is_told_when_to_come_again() -> None:
    seats = Seats(1, 0.01)
    async with seats.taken("acme"):
        async with seats.taken("acme"):  # within the same request
            pass
        with pytest.raises(TooManyRequests) as refused:
            await asyncio.create_task(_take(seats), context=Context())
    async with seats.taken("acme"):
        pass

    assert refused.value.values["retry_after"] == RETRY_SECONDS


async def _take(seats: Seats) -> None:
    async with seats.taken("acme"):
        pass

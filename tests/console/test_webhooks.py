"""Webhooks on the pages of operators: endpoints are added, get new secrets, and are found among many."""

import re

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Urls
from ostinato._core.engine import audit, webhooks
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.names import segment
from ostinato._faces.console.pages.webhooks import PAGE
from tests.api.conftest import Api
from tests.console import hostile
from tests.console.conftest import Console
from tests.sql.engine import Session

SECRET = re.compile(r'id="secret">(whsec_[^<]+)<')
URL = "https://partner.example.com/in"


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


async def add(api: Api, tenant: str, name: str) -> None:
    async with api.worker.connection() as conn:
        await webhooks.create_endpoint(conn, name, URL, tenant_id=tenant)


async def test_an_operator_adds_an_endpoint_and_rotates_its_secret_each_shown_once(console: Console, api: Api) -> None:
    ops = await console.visitor("acme", "ops", subject="lea")

    made = await ops.send("/webhooks-create", name="till", url=URL, types="order.paid")
    rotated = await ops.send("/webhooks/acme/till/rotate")

    first, second = SECRET.search(made.text), SECRET.search(rotated.text)
    assert first is not None
    assert second is not None
    assert first[1] != second[1]
    page = await ops.text("/webhooks/acme/till")
    assert "order.paid" in page
    assert first[1] not in page
    assert second[1] not in page
    async with api.worker.connection() as conn:
        found = await audit.list_entries(conn, tenant_id="acme")
    assert {("lea", "create"), ("lea", "rotate")} <= {(each.actor, each.verb) for each in found}


async def test_who_may_only_look_adds_and_rotates_nothing(console: Console, api: Api) -> None:
    await add(api, "acme", "ours")
    reader = await console.visitor("acme", "reader")

    answers = [
        await reader.send("/webhooks-create", name="x", url=URL),
        await reader.send("/webhooks/acme/ours/rotate"),
    ]

    assert [each.status_code for each in answers] == [403, 403]
    assert "Add an endpoint" not in await reader.text("/webhooks")


async def test_a_tenant_neither_adds_to_another_nor_rotates_there(console: Console, api: Api) -> None:
    await add(api, "globex", "theirs")
    ops = await console.visitor("acme", "ops")

    added = await ops.send("/webhooks-create", name="mine", url=URL, tenant="globex")
    rotated = await ops.send("/webhooks/globex/theirs/rotate")

    assert (added.status_code, rotated.status_code) == (404, 404)


async def test_the_installation_names_the_tenant_of_an_endpoint(console: Console, api: Api) -> None:
    everyone = await console.visitor("acme", "ops", "installation")

    nobody = await everyone.send("/webhooks-create", name="till", url=URL)
    named = await everyone.send("/webhooks-create", name="till", url=URL, tenant="initech")

    assert (nobody.status_code, named.status_code) == (422, 200)
    async with api.worker.connection() as conn:
        assert (await webhooks.show_endpoint(conn, "till", tenant_id="initech")).url == URL


async def test_many_endpoints_are_read_page_by_page_and_each_stands_on_one(console: Console, api: Api) -> None:
    names = [f"end/{n:03}" for n in range(PAGE + 2)]
    for name in names:
        await add(api, "many", name)
    ops = await console.visitor("many", "ops")

    first = (await ops.get("/webhooks")).text
    more = re.search(r'rel="next" href="/console([^"]+)"', first)
    assert more is not None
    second = (await ops.get(more[1].replace("&amp;", "&"))).text

    shown = [re.findall(r">end/(\d+)</a>", page) for page in (first, second)]
    assert shown[0] + shown[1] == [f"{n:03}" for n in range(PAGE + 2)]
    assert 'rel="next"' not in second


async def test_endpoints_that_are_not_sent_to_are_found_and_now_names_them(console: Console, api: Api) -> None:
    await add(api, "hurt", "well")
    await add(api, "hurt", "paused")
    async with api.worker.connection() as conn:
        await webhooks.pause(conn, "paused", tenant_id="hurt", reason="a test")
    everyone = await console.visitor("hurt", "ops", "installation")

    page = (await everyone.get("/webhooks", failing="true")).text
    now = (await everyone.get("/")).text

    assert "/webhooks/hurt/paused" in page
    assert "/webhooks/hurt/well" not in page
    assert "/webhooks/hurt/paused" in now


async def test_what_an_endpoint_answered_stands_beside_what_was_wrong(
    console: Console, api: Api, api_urls: Urls
) -> None:
    """Also in the portal: a customer who reads "answered 503" wants to know what the own server said."""
    await hostile.plant(api, api_urls)
    admin = Session.open(api_urls.admin)
    try:
        told = {"answered": "answered 503", "body": "the till is closed"}
        changed = "update ostinato_data.webhook_attempt set status = 503, error = %(answered)s, answer = %(body)s"
        admin.conn.execute(changed.encode(), told)
    finally:
        admin.close()
    ops = await console.visitor(hostile.TENANT, "ops")

    page = await ops.text(f"/webhooks/{segment(hostile.TENANT)}/{segment(hostile.script('endpoint'))}")

    assert "503 refused" in re.sub(r"\s+", " ", page)
    assert "the till is closed" in page
    assert "answered 503" not in page  # the status says so already


@pytest.mark.parametrize("path", ["/webhooks?after=%00", "/webhooks?after=" + "x" * 2000, "/webhooks?failing=perhaps"])
async def test_bad_input_gets_a_page(console: Console, path: str) -> None:
    ops = await console.visitor("acme", "ops")

    answer = await ops.get(path)

    assert answer.status_code in (200, 400, 422)
    assert "Traceback" not in answer.text

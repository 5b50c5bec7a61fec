"""The portal: a link for the endpoints of one tenant, which works once, ends, and can be revoked."""

import re

import httpx
import psycopg
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Urls
from ostinato._core.engine import audit, portals, webhooks
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.pages import portal
from tests.api.conftest import Api
from tests.console.conftest import TOKEN, Console, Visitor

SECRET = re.compile(r'id="secret">(whsec_[^<]+)<')


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


async def link(api: Api, tenant: str = "acme", seconds: float = 3600.0) -> str:
    async with api.worker.connection() as conn:
        return (await portals.open_portal(conn, tenant_id=tenant, seconds=seconds)).text


async def enter(console: Console, text: str) -> tuple[Visitor, httpx.Response]:
    customer = console.stranger()
    answer = await customer.http.post("/console/portal/enter", data={"ticket": text})
    return customer, answer


async def customer_of(console: Console, api: Api, tenant: str = "acme") -> Visitor:
    customer, answer = await enter(console, await link(api, tenant))
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/portal")
    return customer


async def send(customer: Visitor, path: str, **form: str) -> httpx.Response:
    found = TOKEN.search((await customer.get("/portal")).text)
    assert found is not None
    return await customer.http.post(f"/console{path}", data={"token": found[1], **form})


async def add(api: Api, tenant: str, name: str) -> None:
    async with api.worker.connection() as conn:
        await webhooks.create_endpoint(conn, name, "https://partner.example.com/in", tenant_id=tenant)


async def test_a_link_opens_the_endpoints_of_its_tenant_and_nothing_else(console: Console, api: Api) -> None:
    await add(api, "acme", "ours")
    await add(api, "globex", "theirs")
    customer = await customer_of(console, api)

    page = await customer.text("/portal")

    assert "ours" in page
    assert "theirs" not in page
    assert (await customer.get("/portal/endpoints/theirs")).status_code == 404
    assert (await send(customer, "/portal/endpoints/theirs/rotate")).status_code == 404
    for path in ("/", "/jobs", "/webhooks", "/access", "/events", "/alerts", "/webhooks/acme/ours"):
        assert (await customer.get(path)).status_code == 403, path


async def test_a_link_works_once(console: Console, api: Api) -> None:
    text = await link(api)
    first, _ = await enter(console, text)

    _, again = await enter(console, text)

    assert again.status_code == 401
    assert "used already" in again.text
    assert (await first.get("/portal")).status_code == 200


async def test_the_page_of_a_link_does_not_use_it_up(console: Console, api: Api) -> None:
    text = await link(api)

    preview = await console.stranger().get("/portal/enter", ticket=text)
    _, answer = await enter(console, text)

    assert preview.status_code == 200
    assert answer.status_code == 303


@pytest.mark.parametrize("text", ["", "x", "A" * 43, "é" * 43, "x" * 10_000])
async def test_a_text_that_is_no_link_opens_nothing(console: Console, text: str) -> None:
    _, answer = await enter(console, text)

    assert answer.status_code == 401
    assert (await console.stranger().get("/portal")).status_code == 401


async def test_a_link_ends_with_its_time(console: Console, api: Api, api_urls: Urls) -> None:
    text = await link(api, seconds=60)
    with psycopg.connect(api_urls.admin, autocommit=True) as conn:
        conn.execute("update ostinato_data.session set expires_at = ostinato.now()")

    _, answer = await enter(console, text)

    assert answer.status_code == 401


async def test_links_of_a_tenant_are_revoked_used_or_not(console: Console, api: Api) -> None:
    unused = await link(api)
    customer = await customer_of(console, api)
    other = await customer_of(console, api, "globex")
    ops = await console.visitor("acme", "ops")

    await ops.send("/webhooks-portal/close")
    api.app.state.site.doorman._known.clear()

    assert (await enter(console, unused))[1].status_code == 401
    assert (await customer.get("/portal")).status_code == 401
    assert (await other.get("/portal")).status_code == 200


async def test_a_customer_adds_an_endpoint_rotates_its_secret_and_stops_it(console: Console, api: Api) -> None:
    customer = await customer_of(console, api)

    made = await send(customer, "/portal/create", name="a/b", url="https://partner.example.com/in", types="order.*")
    turned = await send(customer, "/portal/endpoints/a%252Fb/rotate")
    await send(customer, "/portal/endpoints/a%252Fb/disable")
    page = await customer.text("/portal/endpoints/a%252Fb")
    await send(customer, "/portal/endpoints/a%252Fb/enable")

    first, second = SECRET.search(made.text), SECRET.search(turned.text)
    assert first is not None
    assert second is not None
    assert first[1] != second[1]
    assert first[1] not in page
    assert "paused" in page
    async with api.worker.connection() as conn:
        assert (await webhooks.show_endpoint(conn, "a/b", tenant_id="acme")).state == "active"
        found = await audit.list_entries(conn, tenant_id="acme", target="a/b")
    assert {entry.verb for entry in found} == {"create", "rotate", "pause", "resume"}
    assert {entry.actor.partition(":")[0] for entry in found} == {"portal"}


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"name": "inner", "url": "http://127.0.0.1/in"}, 422),
        ({"name": "inner", "url": "https://10.0.0.1/in"}, 422),
        ({"name": "", "url": "https://partner.example.com/in"}, 422),
        ({"name": "many", "url": "https://partner.example.com/in", "types": ",".join(map(str, range(60)))}, 422),
    ],
)
async def test_an_endpoint_that_cannot_be_is_refused(
    console: Console, api: Api, form: dict[str, str], status: int
) -> None:
    customer = await customer_of(console, api)

    assert (await send(customer, "/portal/create", **form)).status_code == status


async def test_a_customer_adds_no_endpoints_without_end(
    console: Console, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event of the tenant was written down for each of them, in one transaction for all tenants."""
    monkeypatch.setattr(portal, "MOST_ENDPOINTS", 2)
    await add(api, "acme", "ours")
    await add(api, "other", "theirs")
    customer = await customer_of(console, api)
    url = "https://partner.example.com/in"

    statuses = [(await send(customer, "/portal/create", name=name, url=url)).status_code for name in ("a", "b")]

    assert statuses == [200, 409]


async def test_a_form_of_another_site_or_session_changes_nothing(console: Console, api: Api) -> None:
    await add(api, "acme", "ours")
    customer = await customer_of(console, api)
    path = "/console/portal/endpoints/ours/disable"

    forged = await customer.http.post(path, data={"token": "0" * 64})
    elsewhere = await customer.http.post(path, data={"token": "0" * 64}, headers={"Origin": "https://evil.example"})

    assert (forged.status_code, elsewhere.status_code) == (403, 403)
    async with api.worker.connection() as conn:
        assert (await webhooks.show_endpoint(conn, "ours", tenant_id="acme")).state == "active"


async def test_an_operator_makes_a_link_on_the_page_and_over_http(console: Console, api: Api) -> None:
    ops = await console.visitor("acme", "ops", subject="olga")

    page = await ops.send("/webhooks-portal")
    made = await api.call("POST", "/api/v1/engine/webhooks/portals", json={"seconds": 600})
    for address in (re.findall(r'id="link">([^<]+)<', page.text)[0], made.json()["url"]):
        _, answer = await enter(console, address.partition("ticket=")[2])
        assert answer.status_code == 303

    closed = await api.call("POST", "/api/v1/engine/webhooks/portals/close")
    assert closed.json() == {"closed": 2}
    assert (await (await console.visitor("acme", "reader")).send("/webhooks-portal")).status_code == 403
    everyone = await console.visitor("acme", "ops", "installation")
    assert (await everyone.send("/webhooks-portal")).status_code == 422


async def test_resending_takes_deliveries_of_the_endpoint_only(console: Console, api: Api) -> None:
    await add(api, "acme", "ours")
    customer = await customer_of(console, api)

    nothing = await send(customer, "/portal/endpoints/ours/resend", delivery="1")
    wrong = await send(customer, "/portal/endpoints/ours/resend", delivery="' or 1")

    assert nothing.status_code == 303
    assert wrong.status_code == 422

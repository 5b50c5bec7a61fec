"""Access: tenants, keys, who did what; and arguments that are hidden until somebody looks, which is recorded."""

import re

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Urls
from ostinato._core.engine import audit, keys, sessions
from ostinato._core.engine.audit import Entry
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.pages.access import PAGE
from tests.api.conftest import Api
from tests.console import hostile
from tests.console.conftest import Console, Visitor
from tests.sql.engine import Session


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


async def entries(api: Api, verb: str) -> list[Entry]:
    async with api.worker.connection() as conn:
        return await audit.list_entries(conn, verb=verb)


async def test_arguments_are_hidden_until_somebody_looks_and_the_look_is_recorded(console: Console, api: Api) -> None:
    job = await api.parts.client.for_tenant("acme").enqueue("shop.ship", {"card": "secret-card"})
    olga = await console.visitor("acme", "ops", subject="olga")

    page = await olga.get(f"/jobs/{job}")
    before = await entries(api, "look")
    look = await olga.send(f"/jobs/{job}/arguments")

    assert "secret-card" not in page.text
    assert before == []
    assert "secret-card" in look.text
    (entry,) = await entries(api, "look")
    assert (entry.actor, entry.noun, entry.target, entry.tenant_id) == ("olga", "job", str(job), "acme")


async def test_a_reader_or_another_tenant_cannot_look(console: Console, api: Api) -> None:
    job = await api.parts.client.for_tenant("acme").enqueue("shop.ship", {"card": "secret-card"})

    reader = await (await console.visitor("acme", "reader")).send(f"/jobs/{job}/arguments")
    other = await (await console.visitor("globex", "admin")).send(f"/jobs/{job}/arguments")

    assert (reader.status_code, other.status_code) == (403, 404)
    assert "secret-card" not in reader.text + other.text
    assert await entries(api, "look") == []


async def test_a_look_without_the_token_of_the_session_shows_nothing(console: Console, api: Api) -> None:
    job = await api.parts.client.for_tenant("acme").enqueue("shop.ship", {"card": "secret-card"})
    olga = await console.visitor("acme", "ops")

    answer = await olga.http.post(f"/console/jobs/{job}/arguments", data={"token": "x" * 64})

    assert answer.status_code == 403
    assert "secret-card" not in answer.text


async def test_who_did_what_is_filtered_and_comes_in_pages(console: Console, api: Api) -> None:
    db = Session.open(api.parts.database.url)
    try:
        for number in range(60):
            db.rows(
                "select ostinato.act_as('ann@host', 'tidy'), ostinato.note_action('sort', 'shelf', %s)", str(number)
            )
    finally:
        db.close()
    lea = await console.visitor("acme", "admin", "installation", subject="lea")

    first = await lea.get("/access/audit", verb="sort")
    (older,) = re.findall(r'rel="next" href="/console([^"]+)"', first.text)
    second = await lea.get(older.replace("&amp;", "&"))
    nobody = await lea.text("/access/audit", actor="eve")
    future = await lea.text("/access/audit", since="2999-01-01")

    assert first.text.count("sort shelf") == 50
    assert second.text.count("sort shelf") == 10
    assert "verb=sort" in older
    assert "Nobody has acted yet." in nobody
    assert "Nobody has acted yet." in future


@pytest.mark.parametrize("query", ["since=yesterday", "since=0001-01-01", "before=x", "before=0", f"actor={'x' * 300}"])
async def test_a_filter_that_is_no_filter_is_refused_kindly(console: Console, query: str) -> None:
    lea = await console.visitor("acme", "admin", "installation")
    await lea.http.post("/console/prefer", data={"zone": "Asia/Tokyo"})

    answer = await lea.get(f"/access/audit?{query}")

    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")


async def test_a_tenants_administrator_sees_its_own_actions_and_no_tenants(console: Console, api: Api) -> None:
    await api.parts.client.for_tenant("globex").enqueue("shop.ship", {})
    ada = await console.visitor("acme", "admin")
    await (await console.visitor("globex", "admin", subject="otto")).send("/queues/x/pause")

    for path in ("/access", "/access/audit"):
        page = await ada.text(path)
        assert "globex" not in page
        assert "otto" not in page
    assert (await (await console.visitor("acme", "ops")).get("/access/audit")).status_code == 403


async def test_the_installation_sees_the_tenants_with_their_keys(console: Console, api: Api) -> None:
    await api.parts.client.for_tenant("globex").enqueue("shop.ship", {})
    lea = await console.visitor("acme", "admin", "installation")

    page = await lea.get("/access")

    assert re.search(r"<td>globex</td><td class=\"number\">0</td>", page.text)
    assert re.search(r"<td>acme</td><td class=\"number\">1</td>", page.text)


async def all_pages(visitor: Visitor, path: str, name: str) -> list[str]:
    """The pages of one list of the page, the first to the last."""
    found = [(await visitor.get(path)).text]
    while following := re.search(rf'rel="next" href="/console(/access\?{name}=\d+)"', found[-1]):
        found.append((await visitor.get(following[1])).text)
    return found


async def test_every_key_and_every_session_is_on_a_page(console: Console, api: Api) -> None:
    lea = await console.visitor("acme", "admin", subject="lea")
    async with api.worker.connection() as conn:
        for number in range(PAGE + 10):
            made = await keys.create(conn, tenant_id="acme", subject=f"till-{number:03}", roles=["reader"])
            await sessions.open_session(
                conn, tenant_id="acme", subject=f"till-{number:03}", roles=["reader"], key_id=made.record.id
            )

    listed = await all_pages(lea, "/access", "key_before")
    signed_in = await all_pages(lea, "/access", "session_before")

    tills = {f"till-{number:03}" for number in range(PAGE + 10)}
    for pages, part in ((listed, "API keys"), (signed_in, "Signed in")):
        shown = [re.findall(r"<td>(till-\d+|lea)\b", section(page, part)) for page in pages]
        assert [len(each) for each in shown] == [PAGE, 11]
        assert {name for each in shown for name in each} == tills | {"lea"}
    assert (await lea.get("/access", key_before="x")).status_code == 422


def section(page: str, title: str) -> str:
    """The part of a page under that title."""
    return page.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]


async def test_what_is_looked_at_is_never_a_part_of_the_page(console: Console, api: Api, api_urls: Urls) -> None:
    planted = await hostile.plant(api, api_urls)
    visitor = await console.visitor(hostile.TENANT, "admin")

    job = await visitor.send(f"/jobs/{planted.dead}/arguments")
    event = await visitor.send(f"/events/{planted.event}/payload")

    assert hostile.quoted("args") in job.text
    assert hostile.quoted("payload") in event.text
    assert "<script>" not in job.text + event.text


async def test_the_share_of_the_tenants_in_a_queue_is_for_those_who_see_them(console: Console, api: Api) -> None:
    for tenant in ("acme", "acme", "globex"):
        await api.parts.client.for_tenant(tenant).enqueue("shop.ship", {})

    every = await (await console.visitor("acme", "reader", "installation")).text("/queues/default/tenants")
    own = await (await console.visitor("acme", "admin")).text("/queues/default/tenants")

    assert "globex" in every
    assert "67 %" in every
    assert "globex" not in own


async def test_a_tenants_administrator_ends_no_key_of_the_installations_operators(console: Console, api: Api) -> None:
    operator = await console.visitor("acme", "installation", "admin", subject="operator")
    visitor = await console.visitor("acme", "admin")
    async with api.worker.connection() as conn:
        number = {key.subject: key.id for key in await keys.list_keys(conn, tenant_id="acme")}

    refused = await visitor.send(f"/access/keys/{number['operator']}/revoke")
    done = await operator.send(f"/access/keys/{number['tester']}/revoke")

    assert (refused.status_code, done.status_code) == (403, 303)
    async with api.worker.connection() as conn:
        ended = {key.subject: key.revoked_at for key in await keys.list_keys(conn, tenant_id="acme")}
    assert ended["operator"] is None
    assert ended["tester"] is not None

"""The inbox: what waits for a person, from every application, decided once and in somebody's name."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from ostinato._core.engine import audit
from ostinato._core.engine.inspect import show_job
from ostinato._core.runtime.handlers.app import App
from tests.api.conftest import Api
from tests.console import desk
from tests.console.conftest import Console

CHOICE = re.compile(r'action="/console(/apps/desk/do/\w+)">(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (desk.APP,)


async def parcel(api: Api, tenant: str) -> int:
    later = datetime.now(UTC) + timedelta(days=1)
    return await api.parts.client.for_tenant(tenant).enqueue("shop.ship", {"card": "x"}, run_at=later)


async def state(api: Api, job: int) -> str:
    async with api.worker.connection() as conn:
        return (await show_job(conn, job)).state


def choices(page: str) -> list[tuple[str, dict[str, str]]]:
    return [(path, dict(FIELD.findall(form))) for path, form in CHOICE.findall(page)]


async def test_what_waits_is_decided_by_a_button_and_the_next_one_comes(console: Console, api: Api) -> None:
    first, second = [await parcel(api, "acme") for _ in range(2)]
    ada = await console.visitor("acme", "ops", subject="ada")

    page = (await ada.get("/inbox")).text
    (path, form), (drop, _) = choices(page)
    decided = await ada.http.post(f"/console{path}", data=form)
    after = (await ada.http.get(decided.headers["location"])).text

    assert f"Parcel {first}" in page
    assert "1 of 2" in page
    assert 'data-key="1"' in page
    assert 'data-key="j"' in page
    assert page.count("<img") == 2
    assert (path, drop) == ("/apps/desk/do/send", "/apps/desk/do/drop")
    assert "The parcel is sent." in after
    assert f"Parcel {second}" in after
    assert [await state(api, each) for each in (first, second)] == ["ready", "scheduled"]
    async with api.worker.connection() as conn:
        noted = [(each.verb, each.noun, each.actor) for each in await audit.list_entries(conn, tenant_id="acme")]
    assert ("send", "desk", "ada") in noted


async def test_a_decision_that_somebody_else_took_meanwhile_is_refused(console: Console, api: Api) -> None:
    job = await parcel(api, "acme")
    ada = await console.visitor("acme", "ops", subject="ada")
    bob = await console.visitor("acme", "ops", subject="bob")
    page = (await bob.get("/inbox")).text
    (_, _), (drop, form) = choices((await ada.get("/inbox")).text)
    await ada.http.post(f"/console{drop}", data=form)

    (path, late), _ = choices(page)
    refused = await bob.http.post(f"/console{path}", data=late)
    gone = await bob.text("/inbox", item=f"desk/4/{job}")

    assert refused.status_code == 409
    assert "was decided already" in refused.text
    assert await state(api, job) == "cancelled"
    assert "Nothing waits for a person." in gone


async def test_a_tenant_neither_sees_nor_decides_what_is_another_s(console: Console, api: Api) -> None:
    job = await parcel(api, "globex")
    ada = await console.visitor("acme", "admin", subject="ada")

    page = await ada.text("/inbox")
    refused = await ada.send("/apps/desk/do/drop", job=str(job))
    named = await ada.send("/apps/desk/do/drop", job=str(job), tenant="globex")

    assert "Nothing waits for a person." in page
    assert (refused.status_code, named.status_code) == (404, 404)
    assert await state(api, job) == "scheduled"


async def test_the_installation_decides_for_the_tenant_of_the_item(console: Console, api: Api) -> None:
    job = await parcel(api, "globex")
    lea = await console.visitor("acme", "ops", "installation", subject="lea")

    page = (await lea.get("/inbox")).text
    _, (path, form) = choices(page)
    await lea.http.post(f"/console{path}", data=form)

    assert "globex" in page
    assert form["tenant"] == "globex"
    assert await state(api, job) == "cancelled"
    async with api.worker.connection() as conn:
        noted = [(each.verb, each.actor) for each in await audit.list_entries(conn, tenant_id="globex")]
    assert ("drop", "lea") in noted


async def test_who_may_only_look_has_no_buttons_and_who_may_not_sees_nothing(console: Console, api: Api) -> None:
    job = await parcel(api, "acme")
    clerk = await console.visitor("acme", "clerk", "reader", subject="carla")
    reader = await console.visitor("acme", "reader", subject="rita")

    assert [path for path, _ in choices((await clerk.get("/inbox")).text)] == ["/apps/desk/do/send"]
    assert (await clerk.send("/apps/desk/do/drop", job=str(job))).status_code == 403
    assert f"Parcel {job}" not in await reader.text("/inbox")
    assert (await reader.send("/apps/desk/do/send", job=str(job))).status_code == 403
    assert (await console.stranger().get("/inbox")).status_code == 303


async def test_the_number_is_in_the_menu_and_on_now_for_those_who_may_see_it(console: Console, api: Api) -> None:
    for _ in range(3):
        await parcel(api, "acme")
    ada = await console.visitor("acme", "ops", subject="ada")
    rita = await console.visitor("acme", "reader", subject="rita")

    mine, hers = (await ada.get("/")).text, (await rita.get("/")).text

    assert re.search(r'href="/console/inbox">Inbox <span class="badge warn">3</span>', mine)
    assert re.search(r'class="figure warn" href="/console/inbox".*?<b>3</b>', mine)
    assert "badge" not in hers[hers.index("/console/inbox") : hers.index("/console/inbox") + 100]


async def test_now_lists_what_waits_by_application_and_leads_to_the_first_of_it(console: Console, api: Api) -> None:
    first, *_ = [await parcel(api, "acme") for _ in range(3)]
    ada = await console.visitor("acme", "ops", subject="ada")
    rita = await console.visitor("acme", "reader", subject="rita")

    mine, hers = (await ada.get("/")).text, (await rita.get("/")).text
    listed = re.findall(r'<b>(\d+)</b> <a href="/console(/inbox[^"]+)">', mine)

    ((count, link),) = listed
    assert count == "3"
    assert f"Parcel {first}" in await ada.text(link)
    assert "decided meanwhile" not in await ada.text(link)
    assert "Waits for a person" not in hers


async def test_an_application_that_cannot_be_read_takes_nothing_from_the_others(console: Console, api: Api) -> None:
    job = await parcel(api, "acme")
    for roles in (("ops",), ("ops", "installation")):
        visitor = await console.visitor("acme", *roles)

        page = await visitor.text("/inbox")

        assert f"Parcel {job}" in page
        assert "What waits in desk cannot be read" in page

"""Who sees what, and who may act: readers, operators, tenants, the installation."""

import base64

import pytest

from ostinato._core.base.errors import DatabaseUnavailable
from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Urls
from ostinato._core.engine import queues, schedules, subscriptions
from ostinato._core.engine.inspect import list_queues, show_job
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.view import FLASH
from tests.api.conftest import Api
from tests.console import hostile
from tests.console.conftest import Console
from tests.console.test_portal import customer_of


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


async def enqueue(api: Api, tenant: str, card: str = "secret-card") -> int:
    return await api.parts.client.for_tenant(tenant).enqueue("shop.ship", {"card": card})


async def test_a_tenant_sees_nothing_of_another(console: Console, api: Api) -> None:
    job = await enqueue(api, "globex")
    visitor = await console.visitor("acme", "admin")

    shown = await visitor.get(f"/jobs/{job}")

    assert shown.status_code == 404
    assert "globex" not in shown.text
    for path in ("/", "/jobs", "/queues", "/dead-letters", "/events", "/access"):
        assert "globex" not in (await visitor.get(path)).text
    acted = await visitor.send(f"/jobs/{job}/cancel")
    assert acted.status_code == 404
    async with api.worker.connection() as conn:
        assert (await show_job(conn, job)).state == "ready"


async def test_the_installation_sees_all_tenants_or_one(console: Console, api: Api) -> None:
    await enqueue(api, "globex")
    await enqueue(api, "acme")
    visitor = await console.visitor("acme", "ops", "installation")

    every = await visitor.text("/jobs")
    await visitor.http.post("/console/prefer", data={"tenant": "globex"})
    one = await visitor.text("/jobs")

    assert "globex" in every
    assert "acme" in every
    assert one.count("shop.ship") == 1


async def test_a_tenant_cannot_choose_another_tenant(console: Console, api: Api) -> None:
    await enqueue(api, "globex")
    visitor = await console.visitor("acme", "admin")

    visitor.http.cookies.set("ostinato-tenant", "globex")

    assert "shop.ship" not in await visitor.text("/jobs")


async def test_a_reader_cannot_act_and_sees_no_arguments(console: Console, api: Api) -> None:
    job = await enqueue(api, "acme")
    reader = await console.visitor("acme", "reader")

    page = await reader.get(f"/jobs/{job}")
    acted = await reader.send(f"/jobs/{job}/cancel")

    assert page.status_code == 200
    assert "secret-card" not in page.text
    assert "Cancel" not in page.text
    assert acted.status_code == 403
    async with api.worker.connection() as conn:
        assert (await show_job(conn, job)).state == "ready"


async def test_an_operator_cancels_a_job_and_runs_it_again(console: Console, api: Api) -> None:
    job = await enqueue(api, "acme")
    operator = await console.visitor("acme", "ops")

    await operator.send(f"/jobs/{job}/cancel")

    assert "The job is cancelled." in await operator.text(f"/jobs/{job}")
    assert "The job is cancelled." not in await operator.text(f"/jobs/{job}")  # said once
    await operator.send(f"/jobs/{job}/retry")
    async with api.worker.connection() as conn:
        assert (await show_job(conn, job)).state == "ready"


async def test_only_the_installation_pauses_a_queue(console: Console, api: Api) -> None:
    await enqueue(api, "acme")
    async with api.worker.connection() as conn:
        await queues.configure(conn, queues.Queue("orders"))
    tenant = await console.visitor("acme", "admin")
    operator = await console.visitor("acme", "ops", "installation")

    refused = await tenant.send("/queues/orders/pause")
    taken = await operator.send("/queues/orders/pause")

    assert refused.status_code == 403
    assert taken.status_code == 303
    async with api.worker.connection() as conn:
        assert [queue.paused for queue in await list_queues(conn) if queue.name == "orders"] == [True]


async def test_the_installation_acts_on_its_own_while_it_looks_at_one_tenant(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        await subscriptions.subscribe(conn, "billing.heard", kind="billing.hear")
    operator = await console.visitor("acme", "ops", "installation")
    await operator.http.post("/console/prefer", data={"tenant": "globex"})

    paused = await operator.send("/subscriptions/billing.heard/pause")
    page = await operator.text("/subscriptions/billing.heard")
    queue = await operator.send("/queues/any/pause")

    assert (paused.status_code, queue.status_code) == (303, 303)
    assert "The subscription is paused." in page


async def test_only_an_administrator_sees_the_keys(console: Console) -> None:
    assert (await (await console.visitor("acme", "ops")).get("/access")).status_code == 403
    assert "ost_" in await (await console.visitor("acme", "admin")).text("/access")


@pytest.mark.parametrize("more", [(), ("installation",)], ids=["its tenant", "the installation"])
async def test_text_that_others_chose_is_never_a_part_of_the_page(
    console: Console, api: Api, api_urls: Urls, more: tuple[str, ...]
) -> None:
    planted = await hostile.plant(api, api_urls)
    visitor = await console.visitor(hostile.TENANT, "admin", *more, subject=hostile.script("visitor"))
    pages = hostile.pages(planted) | hostile.one_event(planted)
    if more:
        pages |= hostile.of_the_installation()
    too_long = await visitor.get("/find", q=hostile.script("asked") * 99)

    found = {path: await visitor.get(path) for path in pages}

    assert {path: page.status_code for path, page in found.items()} == dict.fromkeys(pages, 200)
    assert [path for path, page in found.items() if "<script>" in page.text] == []
    bare = {
        path: missing
        for path, texts in pages.items()
        if (missing := {text for text in {*texts, hostile.shown("visitor")} if text not in found[path].text})
    }
    assert bare == {}
    assert "<script>" not in too_long.text


async def test_text_that_a_server_of_a_customer_sent_is_never_a_part_of_the_portal(
    console: Console, api: Api, api_urls: Urls
) -> None:
    await hostile.plant(api, api_urls)
    customer = await customer_of(console, api, hostile.TENANT)
    pages = hostile.of_a_customer()

    found = {path: (await customer.get(path)).text for path in pages}

    assert [path for path, page in found.items() if "<script>" in page] == []
    assert {path: texts - {each for each in texts if each in found[path]} for path, texts in pages.items()} == {
        path: set() for path in pages
    }


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/jobs?state=gone", "no job is"),
        ("/jobs?before=x", "not valid"),
        ("/jobs?before=99999999999999999999999", "not valid"),
        ("/jobs/1", "no job 1"),
        ("/jobs/99999999999999999999999", "nothing at"),
        ("/schedules/acme/none", "none"),
        ("/webhooks/acme/none", "none"),
        ("/events/1", "event"),
        ("/nowhere", "nothing at"),
    ],
)
async def test_bad_input_gets_a_page_that_says_what_to_do(console: Console, path: str, said: str) -> None:
    visitor = await console.visitor("acme", "admin", "installation")

    answer = await visitor.get(path)

    assert 400 <= answer.status_code < 500
    assert answer.headers["content-type"].startswith("text/html")
    assert said in answer.text.lower()


@pytest.mark.parametrize(
    ("path", "field"),
    [("/dead-letters/redrive", "most"), ("/access/keys", "days"), ("/queues/mail/limits", "concurrency")],
)
async def test_a_number_of_thousands_of_digits_is_a_fault_of_the_form(console: Console, path: str, field: str) -> None:
    """Python refuses to read it, by an error of its own."""
    visitor = await console.visitor("acme", "admin", "ops", "installation")

    answer = await visitor.send(path, **{"role": "ops", "subject": "ann", "tenant": "acme", field: "9" * 5_000})

    assert (answer.status_code, answer.headers["content-type"]) == (422, "text/html; charset=utf-8")


@pytest.mark.parametrize("text", ["[" * 20_000, '["\\ud800", 1]', "[1]", '{"a": 1}'])
async def test_a_note_that_no_page_of_ours_left_in_a_browser_breaks_none(console: Console, text: str) -> None:
    stranger = console.stranger()
    stranger.http.cookies.set(FLASH, base64.urlsafe_b64encode(text.encode()).decode())

    assert (await stranger.get("/sign-in")).status_code == 200


async def test_what_was_done_is_said_by_the_next_page_that_can_be_shown(
    console: Console, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that a busy database did not answer is loaded again, and must not have taken the note with it."""

    async def busy(*_: object, **__: object) -> list[object]:
        raise DatabaseUnavailable("the database is busy")

    job = await enqueue(api, "acme")
    operator = await console.visitor("acme", "ops")
    await operator.send(f"/jobs/{job}/cancel")
    with monkeypatch.context() as patched:
        patched.setattr(schedules, "list_", busy)
        refused = await operator.get("/schedules")

    assert (refused.status_code, "The job is cancelled." in refused.text) == (503, False)
    assert "The job is cancelled." in await operator.text("/schedules")
    assert "The job is cancelled." not in await operator.text("/schedules")


async def test_ten_kilobytes_in_the_search_box_are_refused_kindly(console: Console) -> None:
    answer = await (await console.visitor()).get("/find", q="x" * 10_000)

    assert answer.status_code == 422
    assert "Write the id of a job" in answer.text

"""Every page of the console is there, for everybody who may see it."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from ostinato._core.engine import inspect, schedules, subscriptions, workers
from ostinato._core.engine.inspect import DeadLetterGroup
from ostinato._core.engine.schedules import Schedule
from tests.api.conftest import Api
from tests.console.conftest import Console
from tests.console.test_roles import enqueue

PAGES = (
    *("/", "/jobs", "/dead-letters", "/queues", "/workers", "/schedules", "/events", "/webhooks", "/trail"),
    *("/alerts", "/leases", "/machines", "/access", "/find"),
)


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_drawn_for_a_tenant_and_for_the_installation(console: Console, path: str) -> None:
    for roles in (("admin",), ("admin", "installation")):
        visitor = await console.visitor("acme", *roles)

        answer = await visitor.get(path)

        assert answer.status_code == 200, answer.text[:3000]
        assert "Ostinato" in answer.text


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_drawn_for_the_installation_that_looks_at_one_tenant(console: Console, path: str) -> None:
    visitor = await console.visitor("acme", "admin", "installation")
    await visitor.http.post("/console/prefer", data={"tenant": "acme"})

    answer = await visitor.get(path)

    assert answer.status_code == 200, answer.text[:3000]


@pytest.mark.parametrize("name", ["a/b", "..", "100%", "é ?#", "a%2Fb"])
async def test_a_schedule_is_found_and_paused_whatever_its_name(console: Console, api: Api, name: str) -> None:
    async with api.worker.connection() as conn:
        await schedules.upsert(conn, Schedule(name, "shop.ship", cron="0 8 * * *", tenant_id="acme/x"))
    visitor = await console.visitor("acme/x", "admin")
    shown = await visitor.get("/schedules")
    (link,) = re.findall(r'href="(/console/schedules/[^"]+)"', shown.text)

    page = await visitor.http.get(link)
    paused = await visitor.http.post(f"{link}/pause", data={"token": await visitor.token()})

    assert page.status_code == 200
    assert paused.headers["location"] == link
    async with api.worker.connection() as conn:
        assert (await schedules.show(conn, name, tenant_id="acme/x")).paused


async def test_the_search_box_finds_kinds_by_a_part_of_their_names(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        await workers.register(conn, "w1", ["default"], ["billing.invoice", "billing.remind", "mail.send"], 3600)
    visitor = await console.visitor("acme", "admin")

    listed = (await visitor.get("/find", q="BILL")).text
    whole = await visitor.get("/find", q="billing.remind")
    other = (await visitor.get("/find", q="order 7/a")).text
    job = await enqueue(api, "acme")
    number = await visitor.get("/find", q=str(job))

    assert re.findall(r'/console/jobs\?kind=([^"]+)"', listed) == ["billing.invoice", "billing.remind"]
    assert whole.headers["location"] == "/console/jobs?kind=billing.remind"
    assert "/console/trail?q=order%207%2Fa" in other
    assert "/console/jobs?correlation=order%207%2Fa" in other
    assert number.headers["location"] == f"/console/jobs/{job}"


@pytest.mark.parametrize("trail", ["order 7/a", "..", "a?b#c%41", "é&q=x"])
async def test_the_page_of_a_job_leads_to_its_trail_whatever_its_id(console: Console, api: Api, trail: str) -> None:
    later = datetime.now(UTC) + timedelta(days=30)
    job = await api.parts.client.for_tenant("acme").enqueue("shop.ship", {}, correlation_id=trail, run_at=later)
    visitor = await console.visitor("acme", "admin")

    link = re.search(r'class="mono" href="([^"]+)"', (await visitor.get(f"/jobs/{job}")).text)
    assert link is not None
    shown = await visitor.http.get(unescape(link[1]), headers={"Accept": "text/html"})
    typed = await visitor.get("/trail", q=f" {trail} ")

    assert f"/console/jobs/{job}" in shown.text
    assert f"/console/jobs/{job}" in typed.text


async def test_a_trail_names_the_day_of_what_is_to_come_and_draws_what_was(console: Console, api: Api) -> None:
    later = datetime.now(UTC) + timedelta(days=30)
    client = api.parts.client.for_tenant("acme")
    await client.enqueue("shop.ship", {"card": "x"}, correlation_id="order-8", run_at=later)
    visitor = await console.visitor("acme", "admin")

    shown = (await visitor.get("/trail/order-8")).text

    drawing = shown[shown.index('<svg class="timeline"') : shown.index("</svg>")]
    assert "enqueued" in drawing
    assert "scheduled" not in drawing
    assert re.search(rf"{later.year}.[0-9:.]{{12}}</td>", shown)


SEEN = datetime(2026, 3, 1, tzinfo=UTC)


async def test_a_count_that_goes_no_further_says_so(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    cause = DeadLetterGroup("E1", "shop.ship", "failed", 100_000, SEEN, SEEN, 7, "E1: it broke", capped=True)

    async def groups(*_: object, **__: object) -> list[DeadLetterGroup]:
        return [cause, replace(cause, signature="E2", count=41, capped=False)]

    async def counted(*_: object, preview: bool) -> int:
        assert preview
        return subscriptions.MOST_COUNTED

    monkeypatch.setattr(inspect, "dead_letter_groups", groups)
    monkeypatch.setattr(subscriptions, "replay", counted)
    visitor = await console.visitor("acme", "admin", "installation")

    causes = await visitor.text("/dead-letters")
    replay = await visitor.text("/subscriptions/mirror/replay", since="1")

    assert "≥ 100,000" in causes
    assert "≥ 41" not in causes
    assert "≥ 10,000 events" in replay

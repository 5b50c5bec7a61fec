"""Every page of the console is there, for everybody who may see it."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.api.conftest import Api
from tests.console.conftest import Console

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


async def test_the_trail_asks_for_an_id_and_leads_to_it(console: Console) -> None:
    visitor = await console.visitor("acme", "admin")

    answer = await visitor.get("/trail", q=" order 7/a ")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/console/trail/order%207%2Fa"
    assert (await visitor.http.get(answer.headers["location"])).status_code == 200


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

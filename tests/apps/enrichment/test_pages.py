"""Companies on the console: who said each field, what is stale, and what a person decides of those known in part."""

import re

import pytest

from ostinato.apps.enrichment import panel
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.console.conftest import Console

PARTLY = "999000086"
CHOICE = re.compile(r'action="/console(/apps/enrichment/do/\w+)">(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


async def test_a_card_says_who_said_each_field_and_what_is_stale(place: Place) -> None:
    request_id = await place.enriched()
    await place.pass_days(8)
    console = Console(place.api)
    agent = await console.visitor("acme", "agency_user", "reader", subject="agnes")
    consultant = await console.visitor("acme", "consultant", "reader", subject="carl")
    client = await console.visitor("acme", "client_user", "reader", subject="chloe")
    other = await console.visitor("globex", "admin", subject="gus")
    path = f"/apps/enrichment/company?id={request_id}"

    card = await agent.text(path)
    seen = [(await each.get(path)).status_code for each in (client, other)]

    assert "INPI_RNE" in card
    assert "stale" in card  # the activity of a company is good for a week
    assert "fresh" in card
    assert "Directors" in card
    assert "ENTERPRISE_SEARCH" in card
    of_consultant = await consultant.text(path)
    assert ALL_FINE in of_consultant
    assert "Directors" not in of_consultant
    assert "ENTERPRISE_SEARCH" not in of_consultant  # nor documents: M3C-api-4
    assert ALL_FINE in await agent.text("/apps/enrichment/companies")
    assert ALL_FINE not in await client.text("/apps/enrichment/companies")
    assert seen == [404, 404]


async def test_a_count_that_stopped_is_marked(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await place.enriched()
    agent = await Console(place.api).visitor("acme", "agency_user", "reader")

    whole = await agent.text("/apps/enrichment")
    monkeypatch.setattr(panel, "MOST_COUNTED", 1)
    capped = await agent.text("/apps/enrichment")

    assert "≥" not in whole
    assert "≥ 1 " in capped


async def test_a_company_known_in_part_is_taken_as_it_is_or_looked_up_again(place: Place) -> None:
    await place.enriched(PARTLY)
    console = Console(place.api)
    agent = await console.visitor("acme", "agency_user", "reader", subject="agnes")
    other = await console.visitor("globex", "admin", subject="gus")
    page = (await agent.get("/inbox")).text
    (again, fields), (accept, form) = CHOICE.findall(page)

    stolen = await other.send("/apps/enrichment/do/accept", **{**dict(FIELD.findall(form)), "tenant": "globex"})
    await agent.http.post(f"/console{accept}", data=dict(FIELD.findall(form)))
    after = await agent.text("/inbox")
    refreshed = await agent.http.post(f"/console{again}", data=dict(FIELD.findall(fields)))

    assert "is known in part" in page
    assert "Nothing waits for a person." in await other.text("/inbox")
    assert stolen.status_code in {403, 404}
    assert "Nothing waits for a person." in after
    assert refreshed.status_code == 303
    assert await place.lab.rows("select tenant_id, accepted_by from enrichment.accepted") == [("acme", "agnes")]
    async with place.worker():
        assert await place.ended(PARTLY) == "PARTIAL"
    assert "is known in part" in await agent.text("/inbox")  # of another snapshot

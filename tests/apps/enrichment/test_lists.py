"""Lists: pages that lose nothing, filters, tenants and roles, and the same as CSV."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest

from ostinato.apps.enrichment import lists
from ostinato.apps.enrichment.lists import FORMULA
from tests.apps.enrichment.place import ALL_FINE, Place

OTHER = "999000011"


async def listed(
    place: Place, what: str, query: str = "", *, tenant: str = "acme", roles: tuple[str, ...] = ("agency_user",)
) -> dict[str, Any]:
    answer = await place.api.call("GET", f"/v1/{what}{query}", tenant=tenant, roles=roles)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def paged(place: Place, what: str, size: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await listed(place, what, f"?limit={size}{cursor}")
        assert len(page["items"]) <= size
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        cursor = f"&cursor={page['next_cursor']}"


async def test_pages_have_every_request_once_newest_first(place: Place) -> None:
    made = [await place.made(f"99900{n:04}") for n in range(7)]
    await place.lab.rows("update enrichment.request set created_at = (select max(created_at) from enrichment.request)")
    made += [await place.made(ALL_FINE)]

    for size in (1, 3, 8, 50):
        found = await paged(place, "requests", size)
        assert sorted(one["id"] for one in found) == sorted(made)
        assert found[0]["id"] == made[-1]


async def test_pages_have_every_company_once_by_siren(place: Place) -> None:
    for siren in (OTHER, ALL_FINE, OTHER, "999000037"):
        await place.made(siren)

    for size in (1, 2, 3):
        assert [one["siren"] for one in await paged(place, "companies", size)] == [ALL_FINE, OTHER, "999000037"]


async def test_requests_are_found_by_status_siren_name_and_time(place: Place) -> None:
    first = await place.enriched()
    await place.lab.engine.clock.move(timedelta(hours=1))
    second = await place.made(OTHER)
    at = (await place.get(second)).json()["request"]["created_at"].replace("+00:00", "Z")

    async def ids(query: str) -> list[str]:
        return [one["id"] for one in (await listed(place, "requests", query))["items"]]

    assert await ids("") == [second, first]
    assert await ids("?status=SUCCESS") == [first]
    assert await ids("?status=PENDING") == [second]
    assert await ids(f"?siren={OTHER}") == [second]
    assert await ids("?name=des essais") == [first]
    assert await ids("?name=%25%25") == []  # no pattern
    assert await ids(f"?since={at}") == [second]
    assert await ids(f"?until={at}") == [first]
    (item,) = (await listed(place, "requests", "?status=SUCCESS"))["items"]
    assert (item["legal_name"], item["company_siren"]) == ("COMPAGNIE DES ESSAIS", ALL_FINE)


async def test_companies_are_found_by_status_siren_name_and_time(place: Place) -> None:
    await place.enriched()
    await place.made(OTHER)
    at = (await place.company())["updated_at"].replace("+00:00", "Z")

    async def sirens(query: str) -> list[str]:
        return [one["siren"] for one in (await listed(place, "companies", query))["items"]]

    assert await sirens("") == [ALL_FINE, OTHER]
    assert await sirens("?status=SUCCESS") == await sirens(f"?siren={ALL_FINE}") == [ALL_FINE]
    assert await sirens("?name=Compagnie") == await sirens(f"?since={at}") == [ALL_FINE]
    assert await sirens(f"?since={at}&until={at}") == []
    (item,) = (await listed(place, "companies", "?status=SUCCESS"))["items"]
    assert (item["legal_form_code"], item["city"]) == ("5710", "LYON 3EME")


async def test_a_tenant_lists_its_own_and_a_client_what_it_made(place: Place) -> None:
    await place.made(ALL_FINE)
    await place.made(OTHER, tenant="globex")
    await place.lab.rows("update enrichment.request set created_by = 'somebody else'")
    await place.post("999000037", roles=("client_user",))

    for what, key in (("requests", "company_siren"), ("companies", "siren")):
        of_acme = {one[key] for one in (await listed(place, what))["items"]}
        of_globex = {one[key] for one in (await listed(place, what, tenant="globex"))["items"]}
        of_client = {one[key] for one in (await listed(place, what, roles=("client_user",)))["items"]}
        assert (of_acme, of_globex) == ({ALL_FINE, "999000037"}, {OTHER})
        assert of_client == {"999000037"}


@pytest.mark.parametrize("what", ["requests", "companies"])
async def test_a_cursor_that_is_not_ours_is_refused(place: Place, what: str) -> None:
    for cursor in ("x", "????", "bm90IG91cnMgYXQgYWxs", "%FF"):
        answer = await place.api.call("GET", f"/v1/{what}?cursor={cursor}", roles=("agency_user",))

        assert answer.status_code == 400, cursor
        assert answer.json()["details"] == [{"field": "cursor", "reason": "expected_next_cursor"}]


@pytest.mark.parametrize("what", ["requests", "companies.csv"])
async def test_a_number_is_no_time(place: Place, what: str) -> None:
    for number in ("0.5", "-1", "1767225600"):
        answer = await place.api.call("GET", f"/v1/{what}?until={number}", roles=("agency_user",))

        assert answer.status_code == 422, number


async def test_an_export_has_every_row_and_no_formula(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.apps.enrichment.lists.EXPORTED_AT_ONCE", 2)
    await place.enriched()
    for siren in (OTHER, "999000037", ALL_FINE, OTHER):
        await place.made(siren)
    await place.lab.rows("update enrichment.company set legal_name = %s", "=cmd()|é\n")
    await place.made("999000045", tenant="globex")

    requests = await place.api.call("GET", "/v1/requests.csv", roles=("agency_user",))
    french = await place.api.call("GET", "/v1/requests.csv?separator=%3B", roles=("agency_user",))
    companies = await place.api.call("GET", "/v1/companies.csv?status=SUCCESS", roles=("agency_user",))

    assert requests.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(requests.text)))
    assert len(rows) == 5
    assert list(csv.DictReader(io.StringIO(french.content.decode("utf-8-sig")), delimiter=";")) == rows
    assert french.content.startswith(b"\xef\xbb\xbfid;created_at;")
    assert {row["company_siren"] for row in rows} == {ALL_FINE, OTHER, "999000037"}
    (company,) = csv.DictReader(io.StringIO(companies.text, newline=""))
    assert company["siren"] == ALL_FINE
    assert company["legal_name"] == "'=cmd()|é\n"
    assert not any(cell.startswith(FORMULA) for row in rows for cell in row.values())


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", " =1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20a"]
)
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(name: str) -> None:
    assert lists._cell(name) == f"'{name}"
    assert lists._cell("SARL =1") == "SARL =1"

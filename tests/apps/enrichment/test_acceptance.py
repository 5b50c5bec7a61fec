"""The twelve acceptance scenarios of the specification, S01 to S12, by their names."""

import io
import json

import pytest

from ostinato._core.base import log
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.apps.enrichment.turning import Deadlines

NO_RCS = "999000029"


async def test_s01_no_identifier_is_refused(place: Place) -> None:
    answer = await place.post()

    assert answer.status_code == 400
    told = answer.json()
    assert (told["error"], told["code"]) == ("validation_error", "MISSING_COMPANY_IDENTIFIER")
    assert set(told) == {"error", "code", "message", "details", "correlation_id", "request_id", "timestamp"}


async def test_s02_a_siren_of_five_digits_is_refused(place: Place) -> None:
    answer = await place.post("12345")

    assert answer.status_code == 400
    assert answer.json()["code"] == "INVALID_SIREN_FORMAT"
    assert answer.json()["details"] == [{"field": "siren", "reason": "expected_9_digits"}]


async def test_s03_a_siret_of_thirteen_digits_is_refused(place: Place) -> None:
    answer = await place.post(siret="1234567890123")

    assert answer.status_code == 400
    assert answer.json()["code"] == "INVALID_SIRET_FORMAT"
    assert answer.json()["details"] == [{"field": "siret", "reason": "expected_14_digits"}]


async def test_s04_a_siret_of_another_siren_is_refused(place: Place) -> None:
    answer = await place.post("123456789", siret="98765432100012")

    assert answer.status_code == 422
    told = answer.json()
    assert (told["error"], told["code"]) == ("business_rule_failed", "SIREN_SIRET_MISMATCH")


async def test_s05_a_fresh_company_is_answered_from_the_cache(place: Place) -> None:
    request_id = await place.enriched()
    called = len(place.calls())
    await place.pass_days(29)

    opened = await place.get(request_id)

    assert opened.status_code == 200
    assert opened.json()["enrichment_running"] is False
    assert opened.json()["company"]["legal_name"] == "COMPAGNIE DES ESSAIS"
    assert len(place.calls()) == called
    assert await place.jobs() == 1


async def test_s06_three_sources_lead_to_success(place: Place) -> None:
    async with place.worker():
        answer = await place.post(ALL_FINE)
        await place.ended()
        opened = await place.get(answer.json()["request"]["id"])

    told = opened.json()
    assert told["request"]["enrichment_status"] == "SUCCESS"
    assert told["request"]["enrichment_error"] is None
    company = told["company"]
    assert company["siren"] == ALL_FINE
    assert company["legal_name"] == "COMPAGNIE DES ESSAIS"
    assert company["city"] == "LYON 3EME"
    assert {one["source_api"]: one["last_status"] for one in told["source_retrievals"]} == {
        "API_RECHERCHE_ENTREPRISES": "SUCCESS",
        "INPI_RNE": "SUCCESS",
        "API_ENTREPRISE_RCS": "SUCCESS",
    }


async def test_s07_a_throttled_rcs_leads_to_partial(place: Place) -> None:
    request_id = await place.enriched(NO_RCS)

    told = (await place.get(request_id)).json()

    assert told["request"]["enrichment_status"] == "PARTIAL"
    assert told["request"]["enrichment_error"] == "API_ENTREPRISE_RCS:429:RATE_LIMIT"
    assert told["company"]["legal_name"] == "AUDIT IMAGINAIRE"


async def test_s08_three_failures_lead_to_failed(place: Place) -> None:
    place.sources.order("/registers/*", "500*")

    request_id = await place.enriched()

    for _ in range(3):
        told = (await place.get(request_id)).json()
        assert told["request"]["enrichment_status"] == "FAILED"
        assert told["request"]["enrichment_error"] == (
            "API_RECHERCHE_ENTREPRISES:500:UPSTREAM_5XX|INPI_RNE:500:UPSTREAM_5XX|API_ENTREPRISE_RCS:500:UPSTREAM_5XX"
        )
        assert told["company"] is None
        assert told["enrichment_running"] is False
    assert await place.status() == "FAILED"
    assert await place.jobs() == 1  # opening it asks nobody again today


async def test_s09_an_old_snapshot_is_stale_and_then_runs(place: Place) -> None:
    request_id = await place.enriched()
    await place.pass_days(31)

    stale = (await place.get(request_id)).json()
    async with place.worker():
        async with place.gate():
            await place.running()
            running = (await place.get(request_id)).json()
        await place.ended()

    assert stale["request"]["enrichment_status"] == "STALE"
    assert stale["company"]["legal_name"] == "COMPAGNIE DES ESSAIS"
    assert stale["enrichment_running"] is True
    assert running["request"]["enrichment_status"] == "RUNNING"
    assert await place.status() == "SUCCESS"


async def test_s10_two_requests_at_once_are_one_job(place: Place) -> None:
    async with place.worker():
        async with place.gate():
            first = await place.made()
            await place.running()
            leases = await place.lab.rows("select tenant_id, name from ostinato_data.lease")
            second = await place.made()
        await place.ended()

    assert leases == [("@enrichment", f"company_enrichment:{ALL_FINE}")]
    assert await place.jobs() == 1
    assert first != second
    assert len(place.calls("/search")) == 1


async def test_s11_a_second_refresh_within_a_minute_is_a_conflict(place: Place) -> None:
    request_id = await place.enriched()
    async with place.worker():
        accepted = await place.refresh(request_id)
        await place.ended()
        refused = await place.refresh(request_id)

    assert accepted.status_code == 202
    assert refused.status_code == 409
    assert refused.json()["error"] == "conflict"
    assert 0 < int(refused.headers["Retry-After"]) <= 60


async def test_s11_the_cooldown_is_the_tenants_own(place: Place) -> None:
    """A conflict would tell that another tenant refreshed the company."""
    async with place.worker():
        first, other = await place.made(), await place.made(tenant="globex")
        await place.ended()
        assert (await place.refresh(first)).status_code == 202
        await place.ended()
        of_other = await place.refresh(other, tenant="globex")
        await place.ended()

    assert of_other.status_code == 202
    assert (await place.refresh(first)).status_code == 409
    assert (await place.refresh(other, tenant="globex")).status_code == 409


async def test_s11_a_refresh_while_one_runs_joins_it(place: Place) -> None:
    """The cooldown is for runs that are over: one that runs is attached to, with 202."""
    request_id = await place.enriched()
    async with place.worker():
        async with place.gate():
            first, second = (await place.refresh(request_id), await place.refresh(request_id))
        await place.ended()

    assert (first.status_code, second.status_code) == (202, 202)
    assert await place.jobs() == 2


async def test_s12_a_timeout_is_logged_with_its_fields(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.sources.order("/registers/api/companies/*", "stall*")
    deadlines = Deadlines(monkeypatch)
    out = io.StringIO()
    log.configure("json", "info", stream=out)
    try:
        async with place.worker():
            request_id = await place.made("999000037")
            await place.timed_out(deadlines, "/companies/999000037")
            await place.ended("999000037")
    finally:
        log.be_quiet()

    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    timeouts = [line for line in lines if line.get("error_code") == "TIMEOUT"]
    assert {line["source_api"] for line in timeouts} == {"INPI_RNE"}
    for line in timeouts:
        assert line["request_id"] == request_id
        assert line["company_siren"] == "999000037"
        assert line["http_status"] is None
        assert line["correlation_id"]
        assert line["timestamp"]
    assert await place.status("999000037") == "PARTIAL"

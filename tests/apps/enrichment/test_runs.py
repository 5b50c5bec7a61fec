"""Runs: cache, events, documents, logs, tenants, roles, and what is asked for twice."""

import asyncio
import io
import json
from collections import Counter

import pytest

from ostinato.base import log
from tests.apps.enrichment.place import ALL_FINE, Place

FIELDS = {
    "timestamp", "level", "correlation_id", "tenant_id", "request_id", "job_id", "company_siren",
    "source_api", "event_type", "http_status", "error_code", "error_message", "duration_ms",
}  # fmt: skip


async def test_the_events_come_in_order_with_exactly_their_payloads(place: Place) -> None:
    async with place.worker():
        answer = await place.post(ALL_FINE, siret="99900000300015")
        await place.ended()
    request_id = answer.json()["request"]["id"]
    job_id = await place.lab.value(
        "select max(id) from ostinato_data.job where kind like %s", "%.enrich"
    )

    told = await place.events()
    for _, payload in told:
        payload.pop("duration_ms", None)
    fetched = [
        (
            "CompanyEnrichmentSourceFetched",
            {
                "job_id": job_id,
                "company_siren": ALL_FINE,
                "source_api": source,
                "status": "SUCCESS",
                "http_status": 200,
                "error_code": None,
            },
        )
        for source in ("API_RECHERCHE_ENTREPRISES", "INPI_RNE", "API_ENTREPRISE_RCS")
    ]
    assert told == [
        (
            "CompanyEnrichmentRequested",
            {
                "request_id": request_id,
                "company_siren": ALL_FINE,
                "company_siret": "99900000300015",
                "trigger": "REQUEST_CREATED",
            },
        ),
        (
            "CompanyEnrichmentStarted",
            {"job_id": job_id, "company_siren": ALL_FINE, "attempt": 1},
        ),
        *fetched,
        (
            "CompanyEnrichmentCompleted",
            {
                "job_id": job_id,
                "company_siren": ALL_FINE,
                "enrichment_status": "SUCCESS",
                "sources_success_count": 3,
                "sources_failed_count": 0,
                "core_identity_present": True,
                "required_sources_failed_count": 0,
                "optional_sources_failed_count": 0,
            },
        ),
    ]
    envelopes = await place.events("tenant_id", "correlation_id", "producer", "ordering_key")
    correlation = answer.headers["X-Correlation-Id"]
    assert set(envelopes) == {("acme", correlation, "M3", ALL_FINE)}


async def test_every_line_of_a_job_has_the_thirteen_fields(place: Place) -> None:
    out = io.StringIO()
    log.configure("json", "debug", stream=out)
    try:
        request_id = await place.enriched("999000045")
    finally:
        log.be_quiet()

    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    ours = [line for line in lines if line.get("source") == "enrichment" and line["job_id"]]
    assert {line["event_type"] for line in ours} >= {
        "enrichment_started",
        "source_call_failed",
        "source_fetched",
        "enrichment_completed",
    }
    for line in ours:
        assert set(line) >= FIELDS
        assert (line["request_id"], line["company_siren"]) == (request_id, "999000045")
        assert line["tenant_id"] == "acme"
    assert "CAMILLE" not in out.getvalue()  # a director's name


async def test_a_finished_run_within_1200_ms_is_201_and_a_longer_one_202(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "10000")
    async with place.worker():
        quick = await place.post(ALL_FINE)
        monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "50")
        async with place.gate():
            slow = await place.post("999000011")
        await place.ended("999000011")
        cached = await place.post(ALL_FINE)

    assert (quick.status_code, quick.json()["enrichment_running"]) == (201, False)
    assert quick.json()["company"]["legal_name"] == "COMPAGNIE DES ESSAIS"
    assert (slow.status_code, slow.json()["enrichment_running"]) == (202, True)
    assert slow.json()["request"]["enrichment_status"] in ("PENDING", "RUNNING")
    assert slow.json()["company"] is None
    assert cached.status_code == 201


async def test_a_stale_company_is_asked_for_once_a_day_by_opening_it(place: Place) -> None:
    request_id = await place.enriched()
    await place.pass_days(31)

    for _ in range(3):
        await place.get(request_id)

    assert await place.jobs() == 2
    assert (await place.types()).count("Requested") == 2


async def test_a_failed_company_is_not_asked_for_again_and_again(place: Place) -> None:
    place.sources.order("/registers/search", "404*")
    async with place.worker():
        for _ in range(3):
            await place.made()
            await place.ended()
        jobs = await place.jobs()
        request_id = await place.made()
        await place.refresh(request_id)
        await place.ended()

    assert jobs == 1  # the same day, the same company, the same trigger
    assert await place.jobs() == 2


async def test_the_night_catches_up_with_what_is_stale(place: Place) -> None:
    await place.enriched()
    await place.pass_days(31)
    told = set(await place.events("id"))

    async with place.worker():
        kind = place.lab.app.kinds["enrichment.catch_up"]
        await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
        await place.lab.until(
            "select updated_at > ostinato.now() - interval '1 day' from enrichment.company"
        )

    assert await place.status() == "SUCCESS"
    # The old events may be past their retention by now: only those of tonight count.
    tonight = [row for row in await place.events("id", "type") if (row[0],) not in told]
    new = Counter(kind.removeprefix("CompanyEnrichment") for _, kind in tonight)
    assert new.pop("Started") >= 1  # one for each attempt
    assert new == {"SourceFetched": 3, "Completed": 1}


async def test_old_documents_lose_their_content_and_keep_their_checksum(place: Place) -> None:
    await place.enriched()
    await place.pass_days(400)

    async with place.worker():
        # No run gets through to fill them again while we look.
        async with place.gate("API_RECHERCHE_ENTREPRISES"):
            kind = place.lab.app.kinds["enrichment.catch_up"]
            await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
            kept = await place.lab.rows(
                "select payload_json is null, length(checksum) from enrichment.company_document"
            )
        await place.ended()

    assert kept == [(True, 64)] * 3


async def test_a_run_whose_job_is_gone_is_failed_by_the_sweep(place: Place) -> None:
    async with place.worker(), place.gate():
        await place.made()
        await place.running()
        await place.lab.rows(
            "update enrichment.company set job_id = 1"  # a job that nobody knows any more
        )
        kind = place.lab.app.kinds["enrichment.sweep"]
        await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
        company = await place.company()

    assert company["enrichment_status"] == "FAILED"
    assert company["enrichment_error"] == "API_RECHERCHE_ENTREPRISES:-:INTERNAL_ERROR"


async def test_a_failed_refresh_takes_nothing_away(place: Place) -> None:
    request_id = await place.enriched()
    before = await place.company()
    place.sources.order("/registers/*", "500*")
    async with place.worker():
        await place.refresh(request_id)
        await place.ended()

    after = await place.company()
    assert after["enrichment_status"] == "FAILED"
    assert after["legal_name"] == before["legal_name"]
    assert after["updated_at"] == before["updated_at"]


async def test_documents_are_kept_once_and_never_shown(place: Place) -> None:
    request_id = await place.enriched()
    async with place.worker():
        await place.refresh(request_id)
        await place.ended()

    told = (await place.get(request_id)).json()
    assert len(told["documents"]) == 3
    assert {one["doc_type"] for one in told["documents"]} == {
        "ENTERPRISE_SEARCH",
        "RNE_FORMALITY",
        "RCS_EXTRACT",
    }
    assert "payload" not in str(told)
    assert "CAMILLE" not in json.dumps(told)


async def test_directors_are_shown_to_who_may_see_them_if_asked_for(place: Place) -> None:
    request_id = await place.enriched()
    include = "?include=dirigeants"

    shown = await place.get(request_id, query=include)
    default = await place.get(request_id)
    refused = await place.get(request_id, roles=("consultant",), query=include)

    assert shown.json()["dirigeants"][0]["nom"] == "CAMILLE ANNE EXEMPLE"
    assert default.json()["dirigeants"] is None
    assert refused.status_code == 403


async def test_the_roles_are_those_of_the_matrix(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "0")
    request_id = await place.made()
    roles = (
        "tenant_admin",
        "agency_user",
        "consultant",
        "client_user",
        "worker",
        "system",
        "admin",
    )

    found = {
        role: (
            (await place.post(ALL_FINE, roles=(role,))).status_code in (201, 202),
            (await place.get(request_id, roles=(role,))).status_code == 200,
            (await place.refresh(request_id, roles=(role,))).status_code == 202,
        )
        for role in roles
    }

    assert found == {
        "tenant_admin": (True, True, True),
        "agency_user": (True, True, True),
        "consultant": (False, True, False),
        "client_user": (True, True, False),
        "worker": (False, False, False),
        "system": (True, True, True),
        "admin": (True, True, True),
    }


async def test_a_client_sees_its_own_requests_and_a_consultant_no_documents(place: Place) -> None:
    request_id = await place.enriched()
    await place.lab.rows("update enrichment.request set created_by = 'somebody else'")

    client = await place.get(request_id, roles=("client_user",))
    consultant = await place.get(request_id, roles=("consultant",))

    assert client.status_code == 404
    assert consultant.json()["documents"] == consultant.json()["source_retrievals"] == []
    assert consultant.json()["company"]["legal_name"]


@pytest.mark.parametrize("request_id", ["nonsense", "b7d1c7f2-4d6f-4a3c-9a54-1f6b2b6f2f10"])
async def test_a_request_that_is_not_there_is_404(place: Place, request_id: str) -> None:
    for answer in (await place.get(request_id), await place.refresh(request_id)):
        assert answer.status_code == 404
        assert answer.json()["error"] == "not_found"


async def test_a_request_of_another_tenant_is_not_there(place: Place) -> None:
    request_id = await place.enriched()

    assert (await place.get(request_id, tenant="globex")).status_code == 404
    assert (await place.refresh(request_id, tenant="globex")).status_code == 404


async def test_two_tenants_who_ask_at_once_share_a_run_and_learn_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "0")
    async with place.worker():
        async with place.gate():
            ours, theirs = await asyncio.gather(
                place.made(tenant="acme"), place.made(tenant="globex")
            )
        await place.ended()

    assert await place.jobs() == 1
    told = await place.events("tenant_id", "type", "payload::text")
    completed = [tenant for tenant, kind, _ in told if kind.endswith("Completed")]
    assert sorted(completed) == ["acme", "globex"]
    for tenant, _, payload in told:
        assert (theirs if tenant == "acme" else ours) not in payload
    for tenant, request_id in (("acme", ours), ("globex", theirs)):
        opened = await place.get(request_id, tenant=tenant)
        assert opened.json()["request"]["enrichment_status"] == "SUCCESS"


async def test_the_same_key_is_one_request_and_one_answer(place: Place) -> None:
    key = {"Idempotency-Key": "once"}
    async with place.worker():
        first = await place.post(ALL_FINE, headers=key)
        await place.ended()
        again = await place.post(ALL_FINE, headers=key)
        other = await place.post("999000011", headers=key)

    assert again.content == first.content
    assert again.status_code == first.status_code
    assert again.headers["Idempotency-Replayed"] == "true"
    assert other.status_code == 422
    assert await place.lab.value("select count(*) from enrichment.request") == 1


async def test_a_call_that_died_before_its_answer_goes_on_with_its_request(place: Place) -> None:
    """The request was made, the process died, and the key was left: a retry makes no second one."""
    key = {"Idempotency-Key": "died"}
    first = await place.post(ALL_FINE, headers=key)
    await place.lab.rows(
        "update ostinato_data.idempotency set state = 'abandoned', answer = null,"
        " finished_at = null where key = 'died'"
    )

    again = await place.post(ALL_FINE, headers=key)

    assert again.json()["request"]["id"] == first.json()["request"]["id"]


@pytest.mark.slow
async def test_500_requests_for_50_companies_at_once_are_50_jobs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "0")
    sirens = [f"9981000{number:02}" for number in range(50)]
    tenants = ("acme", "globex")
    for tenant in tenants:
        await place.api.key(tenant, "agency_user")

    await asyncio.gather(
        *(place.made(sirens[n % 50], tenant=tenants[n % 2 if n < 250 else 0]) for n in range(500))
    )
    async with place.worker():
        for siren in sirens:
            await place.ended(siren)

    assert await place.jobs() == 50
    called = Counter(call.query for call in place.sources.faults.calls if "search" in call.path)
    assert len(called) == 50
    assert set(called.values()) == {1}
    assert (
        await place.lab.value(
            "select count(*) from enrichment.request where enrichment_status = 'SUCCESS'"
        )
        == 500
    )


async def test_the_overview_counts_and_names_the_sources(place: Place) -> None:
    await place.enriched("999000086")

    told = (await place.api.call("GET", "/v1/enrichment/overview", roles=("tenant_admin",))).json()

    assert told["requests"] == {
        "PENDING": 0, "RUNNING": 0, "SUCCESS": 0, "PARTIAL": 1, "FAILED": 0, "STALE": 0,
    }  # fmt: skip
    assert len(told["sources"]) == 3
    assert [one["siren"] for one in told["last_errors"]] == ["999000086"]


async def test_the_console_shows_each_tenant_its_own_requests(place: Place) -> None:
    await place.enriched("999000086")
    path = "/api/v1/engine/panels/enrichment"

    mine, theirs = [
        (await place.api.call("GET", path, tenant=tenant, roles=("ops",))).json()["panels"][0]
        for tenant in ("acme", "other")
    ]

    requests, sources, errors = mine["blocks"]
    assert (requests["values"]["PARTIAL"], theirs["blocks"][0]["values"]["PARTIAL"]) == (1, 0)
    assert len(sources["rows"]) == len(theirs["blocks"][1]["rows"]) == 3
    assert {row[1] for row in sources["rows"]} <= {"ok", "failing", "paused"}
    assert [row[0] for row in errors["rows"]] == ["999000086"]
    assert theirs["blocks"][2]["rows"] == []


async def test_provenance_says_who_said_so_and_fields_grow_stale(place: Place) -> None:
    request_id = await place.enriched()
    await place.pass_days(8)

    told = (await place.get(request_id)).json()["company"]

    assert told["provenance"]["legal_form"]["source_api"] == "INPI_RNE"
    assert told["provenance"]["rcs_city"]["source_api"] == "API_ENTREPRISE_RCS"
    assert told["creation_date"] == "2014-04-18"
    assert told["stale_fields"] == ["active_status"]

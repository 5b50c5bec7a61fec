"""Runs: cache, events, documents, logs, tenants, roles, and what is asked for twice."""

import asyncio
import io
import json
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any

import httpx
import pytest

from ostinato._core.base import log
from ostinato._core.runtime.observe.scenario import System
from ostinato.apps.enrichment import APP, upkeep
from ostinato.apps.enrichment.demo import SCENARIO
from ostinato.apps.enrichment.events import STARTED, Started, emit_each
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.slow import first_only

FIELDS = {
    "timestamp", "level", "correlation_id", "tenant_id", "request_id", "job_id", "company_siren",
    "source_api", "event_type", "http_status", "error_code", "error_message", "duration_ms",
}  # fmt: skip


async def test_the_events_come_in_order_with_exactly_their_payloads(place: Place) -> None:
    async with place.worker():
        answer = await place.post(ALL_FINE, siret="99900000300015")
        await place.ended()
    request_id = answer.json()["request"]["id"]
    job_id = await place.lab.value("select max(id) from ostinato_data.job where kind like %s", "%.enrich")

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
        ("CompanyEnrichmentStarted", {"job_id": job_id, "company_siren": ALL_FINE, "attempt": 1}),
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


async def test_an_event_is_in_the_transaction_of_what_it_is_about(place: Place) -> None:
    """M3C-event-1: what is undone was not told."""
    for number in (1, 2):
        with suppress(ZeroDivisionError):
            async with place.lab.client.transaction() as conn:
                await emit_each(conn, STARTED, ALL_FINE, [("acme", "flow", Started(number, ALL_FINE, 1))])
                assert 1 // (2 - number)  # the second is undone

    assert await place.events("(payload ->> 'job_id')::bigint") == [(1,)]


async def test_every_line_of_a_job_has_the_thirteen_fields(place: Place) -> None:
    out = io.StringIO()
    log.configure("json", "debug", stream=out)
    try:
        async with place.worker():
            async with place.failing_once():
                request_id = await place.made("999000045")
            await place.ended("999000045")
    finally:
        log.be_quiet()

    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    ours = [line for line in lines if line.get("source") == "enrichment" and line["job_id"]]
    assert {line["event_type"] for line in ours} >= {
        "enrichment_started",
        "enrichment_attempt_failed",
        "source_call_failed",
        "source_fetched",
        "enrichment_completed",
    }
    for line in ours:
        assert set(line) >= FIELDS
        assert (line["request_id"], line["company_siren"]) == (request_id, "999000045")
        assert line["tenant_id"] == "acme"
    assert "CAMILLE" not in out.getvalue()  # a director's name


async def test_the_lines_of_the_schedules_have_the_thirteen_fields_too(place: Place) -> None:
    await place.made()
    await place.lab.rows("update enrichment.company set job_id = 1")  # a job that nobody knows
    out = io.StringIO()
    log.configure("json", "info", stream=out)
    try:
        async with place.worker():
            for name in ("sweep", "catch_up"):
                kind = place.lab.app.kinds[f"enrichment.{name}"]
                await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
    finally:
        log.be_quiet()

    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    ours = {line["event_type"]: line for line in lines if line.get("source", "")[:11] == "enrichment."}
    assert set(ours) == {"abandoned_runs_ended", "stale_companies_asked_again"}
    for line in ours.values():
        assert set(line) >= FIELDS


async def test_the_lines_of_the_api_have_the_thirteen_fields_too(place: Place) -> None:
    out = io.StringIO()
    log.configure("json", "info", stream=out)
    try:
        request_id = await place.made("999000004")  # a wrong check digit
        await place.get(request_id)
        await place.refresh(request_id)
        await place.get("nobodys")
        await place.post("12")
    finally:
        log.be_quiet()

    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    ours = [line for line in lines if line["event_type"] in {"luhn_check_failed", "request"}]
    assert len(ours) == 6
    for line in ours:
        assert set(line) >= FIELDS
        assert line["tenant_id"] == "acme"
        assert line["correlation_id"]
    assert [(line["request_id"], line["company_siren"]) for line in ours] == [
        *[(request_id, "999000004")] * 4,
        ("nobodys", None),
        (None, None),
    ]
    assert [line["error_code"] for line in ours[-2:]] == ["NOT_FOUND", "INVALID_SIREN_FORMAT"]


async def test_a_run_that_ends_within_1200_ms_is_201(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "10000")
    async with place.worker():
        quick = await place.post(ALL_FINE)

    assert (quick.status_code, quick.json()["enrichment_running"]) == (201, False)
    assert quick.json()["company"]["legal_name"] == "COMPAGNIE DES ESSAIS"


async def test_a_longer_run_is_202_and_a_known_company_201(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "50")
    async with place.worker():
        async with place.gate():
            slow = await place.post("999000011")
        await place.ended("999000011")
        cached = await place.post("999000011")

    assert (slow.status_code, slow.json()["enrichment_running"]) == (202, True)
    assert slow.json()["request"]["enrichment_status"] in ("PENDING", "RUNNING")
    assert slow.json()["company"] is None
    assert cached.status_code == 201


async def test_a_snapshot_is_fresh_until_it_is_thirty_days_old(place: Place) -> None:
    await place.enriched()

    await place.pass_days(29.9)
    await place.made()
    known = await place.jobs()
    await place.pass_days(0.2)
    await place.made()

    assert (known, await place.jobs()) == (1, 2)


async def test_a_stale_company_is_asked_for_once_a_day_by_opening_it(place: Place) -> None:
    request_id = await place.enriched()
    await place.pass_days(31)

    for _ in range(3):
        await place.get(request_id)
    # Its run comes to nothing: that was the one of the day, and opening it again asks for no other.
    await place.lab.rows("select ostinato.cancel_job(job_id) from enrichment.company")
    async with place.lab.client.transaction() as conn:
        assert await upkeep.end_abandoned(conn) == [ALL_FINE]
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


async def test_a_failed_company_is_asked_for_again_by_opening_it_the_next_day(place: Place) -> None:
    place.sources.order("/registers/search", "404*")
    request_id = await place.enriched()
    same_day = (await place.get(request_id)).json()
    jobs = await place.jobs()
    await place.pass_days(1)

    next_day = (await place.get(request_id)).json()

    assert (same_day["request"]["enrichment_status"], jobs) == ("FAILED", 1)
    assert (next_day["request"]["enrichment_status"], await place.jobs()) == ("PENDING", 2)


async def test_a_bad_minute_of_the_search_does_not_cost_the_day(place: Place) -> None:
    """The key of the day was used for a run in which the required source was not well."""
    place.sources.order("/registers/search", "503*3")
    await place.lab.engine.clock.freeze()
    await place.enriched()
    await place.made()  # within the minute nobody is asked again
    failed = (await place.status(), await place.jobs())
    await place.lab.engine.clock.move(timedelta(seconds=61))

    await place.enriched()

    assert failed == ("FAILED", 1)
    assert await place.status() == "SUCCESS"


async def test_the_night_catches_up_with_what_is_stale(place: Place) -> None:
    await place.enriched()
    await place.pass_days(31)
    told = set(await place.events("id"))

    async with place.worker():
        kind = place.lab.app.kinds["enrichment.catch_up"]
        await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
        await place.lab.until("select updated_at > ostinato.now() - interval '1 day' from enrichment.company")

    assert await place.status() == "SUCCESS"
    # The old events may be past their retention by now: only those of tonight count.
    tonight = [row for row in await place.events("id", "type") if (row[0],) not in told]
    new = Counter(kind.removeprefix("CompanyEnrichment") for _, kind in tonight)
    assert new.pop("Started") >= 1  # one for each attempt
    assert new == {"SourceFetched": 3, "Completed": 1}


async def test_the_night_adds_a_run_for_what_is_stale(place: Place) -> None:
    await place.enriched()
    await place.pass_days(31)

    async with place.worker():
        async with place.gate("API_RECHERCHE_ENTREPRISES"):
            kind = place.lab.app.kinds["enrichment.catch_up"]
            await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
            is_running = await place.lab.value("select is_running from enrichment.company")
        await place.ended()

    assert is_running


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


async def test_all_documents_that_are_past_their_time_are_purged(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many, some in each transaction: three in two, here."""
    monkeypatch.setattr("ostinato.apps.enrichment.jobs.PURGED_AT_ONCE", 2)
    await place.enriched()
    await place.pass_days(400)
    await place.lab.rows("update enrichment.company set updated_at = ostinato.now()")

    async with place.worker():
        kind = place.lab.app.kinds["enrichment.catch_up"]
        await place.lab.becomes(await kind.enqueue(place.lab.client), "done")

    assert await place.lab.value("select count(*) from enrichment.company_document where payload_json is null") == 3


def test_the_sweep_does_not_wait_behind_the_backlog() -> None:
    assert APP.kinds["enrichment.sweep"].priority < APP.kinds["enrichment.enrich"].priority


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
    assert {one["doc_type"] for one in told["documents"]} == {"ENTERPRISE_SEARCH", "RNE_FORMALITY", "RCS_EXTRACT"}
    assert "payload" not in str(told)
    assert "CAMILLE" not in json.dumps(told)


async def test_what_a_source_said_is_in_no_step_of_the_job(place: Place) -> None:
    """Whoever may look at jobs sees how a call went, and neither names nor births."""
    ops = ("ops", "agency_user")
    async with place.worker():
        async with place.gate("API_ENTREPRISE_RCS"):
            await place.made()
            await place.lab.until("select exists (select from ostinato_data.step where name = %s)", "keep INPI_RNE")
            job_id = await place.last_job()
            stashed = await place.lab.value("select count(*) from enrichment.fetched")
            shown = await place.api.call("GET", f"/api/v1/engine/jobs/{job_id}", roles=ops)
            steps = await place.lab.value("select string_agg(result::text, ' ') from ostinato_data.step")
        await place.ended()

    assert stashed == 2
    assert len(shown.json()["steps"]) == 4
    for text in (shown.text, steps):
        for said in ("EXEMPLE", "CAMILLE", "1979-04", "payload", "RUE DES"):
            assert said not in text
    assert await place.lab.value("select count(*) from enrichment.fetched") == 0


async def test_directors_are_shown_to_who_may_see_them_if_asked_for(place: Place) -> None:
    request_id = await place.enriched()
    include = "?include=dirigeants"

    shown = await place.get(request_id, query=include)
    default = await place.get(request_id)
    refused = await place.get(request_id, roles=("consultant",), query=include)

    assert shown.json()["dirigeants"][0]["nom"] == "CAMILLE ANNE EXEMPLE"
    assert default.json()["dirigeants"] is None
    assert refused.status_code == 403


async def test_the_roles_are_those_of_the_matrix(place: Place) -> None:
    request_id = await place.made()
    roles = ("tenant_admin", "agency_user", "consultant", "client_user", "worker", "system", "admin")

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


async def test_two_tenants_who_ask_at_once_share_a_run_and_learn_nothing(place: Place) -> None:
    async with place.worker():
        async with place.gate():
            ours, theirs = await asyncio.gather(place.made(tenant="acme"), place.made(tenant="globex"))
        await place.ended()

    assert await place.jobs() == 1
    told = await place.events("tenant_id", "type", "payload::text")
    for tenant, _, payload in told:
        assert (theirs if tenant == "acme" else ours) not in payload
    for tenant, request_id in (("acme", ours), ("globex", theirs)):
        opened = await place.get(request_id, tenant=tenant)
        assert opened.json()["request"]["enrichment_status"] == "SUCCESS"


async def test_who_joins_a_run_of_another_tenant_knows_it_by_a_number_of_its_own(place: Place) -> None:
    """M3C-gap-4: no other tenant's ids."""
    await place.made(tenant="acme")
    await place.made(tenant="globex")
    tickets = "select ticket from enrichment.attachment where tenant_id = 'globex'"
    first = await place.lab.value(tickets)
    await place.made(tenant="globex")
    await place.made(tenant="acme")
    again = await place.lab.value(tickets)

    async with place.worker():
        await place.ended()

    job_id = await place.last_job()
    assert await place.completed() == {"acme": job_id, "globex": first}
    assert again == first != job_id
    assert await place.lab.rows("select from ostinato_data.job where id = %s", first) == []
    theirs = await place.events("tenant_id", "payload::text")
    assert not any(str(job_id) in payload for tenant, payload in theirs if tenant == "globex")


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"siren": ALL_FINE, "metadata": "text"}, "metadata", "expected_object"),
        ({"siren": ALL_FINE, "metadata": ["x"]}, "metadata", "expected_object"),
        ({"siren": ALL_FINE, "sirens": "?"}, "sirens", "unknown_field"),
    ],
)
async def test_a_body_of_another_shape_is_a_validation_error(
    place: Place, body: dict[str, Any], field: str, reason: str
) -> None:
    answer = await place.post(**body)

    assert answer.status_code == 400
    told = answer.json()
    assert told["error"] == "validation_error"
    assert told["details"] == [{"field": field, "reason": reason}]
    assert await place.lab.value("select count(*) from enrichment.request") == 0


@pytest.mark.parametrize("body", [b"[]", b"null", b"", b'"999000003"', b"[1, 2]", b"7"])
async def test_a_body_that_is_no_object_is_a_validation_error(place: Place, body: bytes) -> None:
    headers = {"Content-Type": "application/json"} if body else {}

    answer = await place.api.call("POST", "/v1/requests", roles=("agency_user",), headers=headers, content=body)

    told = answer.json()
    assert (answer.status_code, told["error"], told["code"]) == (400, "validation_error", "INVALID_REQUEST")
    assert told["details"] == [{"field": "body", "reason": "expected_object"}]


async def test_the_document_names_both_error_bodies(place: Place) -> None:
    paths = (await place.api.http.get("/openapi.json")).json()["paths"]

    told = paths["/v1/requests"]["post"]["responses"]
    for status in ("400", "422"):
        content = told[status]["content"]
        assert content["application/json"]["schema"]["$ref"].endswith("/EnrichmentErrorBody")
        assert content["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
    assert set(told["409"]["content"]) == {"application/json"}


async def test_blanks_are_no_number(place: Place) -> None:
    answer = await place.post(ALL_FINE, siret=" " * 200)

    assert answer.status_code == 202
    assert await place.lab.value("select siret_raw from enrichment.request") is None


async def test_a_key_that_cannot_be_taken_is_refused_as_the_contract_says(place: Place) -> None:
    key = {"Idempotency-Key": "once"}
    made = await place.post(ALL_FINE, headers=key, metadata={"a": 1})
    request_id = made.json()["request"]["id"]
    other = await place.post("999000011", headers=key, metadata={"a": 1})
    await place.refresh(request_id, headers=key)
    another = await place.made("999000011")
    others = await place.refresh(another, headers=key)
    await place.lab.rows(
        "update ostinato_data.idempotency set state = 'in_flight', answer = null, finished_at = null where key = 'once'"
    )
    busy = await place.post(ALL_FINE, headers=key, metadata={"a": 1})

    for answer, field in ((other, "siren"), (others, "path.request_id")):
        assert answer.status_code == 422
        told = answer.json()
        assert (told["error"], told["code"]) == ("business_rule_failed", "IDEMPOTENCY_CONFLICT")
        assert told["details"] == [{"field": field, "reason": "differs_from_first_request"}]
    assert busy.status_code == 409
    assert (busy.json()["error"], busy.json()["code"]) == ("conflict", "IDEMPOTENCY_IN_FLIGHT")
    assert int(busy.headers["Retry-After"]) > 0


async def test_the_same_refresh_twice_is_one_refresh(place: Place) -> None:
    request_id = await place.enriched()
    key = {"Idempotency-Key": "again"}

    first = await place.refresh(request_id, headers=key)
    again = await place.refresh(request_id, headers=key)

    assert (again.status_code, again.content) == (202, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"


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
        "update ostinato_data.idempotency set state = 'abandoned', answer = null, finished_at = null where key = 'died'"
    )

    again = await place.post(ALL_FINE, headers=key)

    assert again.json()["request"]["id"] == first.json()["request"]["id"]


@pytest.mark.slow
@pytest.mark.parametrize("count", first_only([5, 50]))
async def test_500_requests_for_50_companies_at_once_are_50_jobs(place: Place, count: int) -> None:
    sirens = [f"9981000{number:02}" for number in range(count)]
    tenants = ("acme", "globex")
    for tenant in tenants:
        await place.api.key(tenant, "agency_user")

    await asyncio.gather(
        *(place.made(sirens[n % count], tenant=tenants[n % 2 if n < 5 * count else 0]) for n in range(10 * count))
    )
    async with place.worker():
        for siren in sirens:
            await place.ended(siren)

    assert await place.jobs() == count
    called = Counter(call.query for call in place.sources.faults.calls if "search" in call.path)
    assert len(called) == count
    assert set(called.values()) == {1}
    done = await place.lab.value(
        "select count(*) from enrichment.request r join enrichment.company c on c.siren = r.company_siren"
        " where c.shown_status = 'SUCCESS'"
    )
    assert done == 10 * count


async def test_the_overview_counts_and_names_the_sources(place: Place) -> None:
    await place.enriched("999000086")

    told = (await place.api.call("GET", "/v1/enrichment/overview", roles=("tenant_admin",))).json()

    assert told["requests"] == {
        "PENDING": 0, "RUNNING": 0, "SUCCESS": 0, "PARTIAL": 1, "FAILED": 0, "STALE": 0,
    }  # fmt: skip
    assert len(told["sources"]) == 3
    assert [one["siren"] for one in told["last_errors"]] == ["999000086"]


async def test_the_panel_shows_each_tenant_its_own_requests(place: Place) -> None:
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


async def test_the_scenario_of_the_demo_holds(place: Place) -> None:
    bearer = {"Authorization": f"Bearer {await place.api.key('acme', 'admin')}"}
    transport = httpx.ASGITransport(place.api.app, raise_app_exceptions=False)
    async with place.worker(), httpx.AsyncClient(transport=transport, base_url="http://demo", headers=bearer) as http:
        system = System(http, "acme")
        await SCENARIO.run(system)

    assert len(system.proofs) == 6


async def test_provenance_says_who_said_so_and_fields_grow_stale(place: Place) -> None:
    request_id = await place.enriched()
    await place.pass_days(8)

    told = (await place.get(request_id)).json()["company"]

    assert told["provenance"]["legal_form"]["source_api"] == "INPI_RNE"
    assert told["provenance"]["rcs_city"]["source_api"] == "API_ENTREPRISE_RCS"
    assert told["creation_date"] == "2014-04-18"
    assert told["stale_fields"] == ["active_status"]

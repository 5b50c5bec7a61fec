"""The decisions of enrichment: identifiers, merge, verdicts, retries, keys, checksums."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ostinato._core.base.errors import SettingsError
from ostinato.apps import enrichment
from ostinato.apps.enrichment.extract import directors, extract
from ostinato.apps.enrichment.identifiers import Refused, fails_luhn, read
from ostinato.apps.enrichment.lock import LOCK_TENANT
from ostinato.apps.enrichment.merge import FIELDS, MATRIX, Stored, merge
from ostinato.apps.enrichment.model import ErrorCode, Fetched, Identifiers, SourceApi, SourceError, Status, Trigger
from ostinato.apps.enrichment.rules import (
    MOST_RECEIVED,
    cooldown_left,
    core_identity,
    enrichment_error,
    evaluate,
    idempotency_key,
    is_retryable,
    key_is_free,
    lock_name,
    next_pause,
    opens_again,
    stable_checksum,
)
from ostinato.apps.enrichment.sandbox.companies import invented
from ostinato.apps.enrichment.sandbox.inpi import record
from ostinato.apps.enrichment.sandbox.rcs import extract as rcs
from ostinato.apps.enrichment.sandbox.search import asked_blocks, refused, unit
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources import SOURCES
from ostinato.apps.enrichment.sources.inpi import life_of

NOW = datetime(2026, 2, 23, 12, 30, 15, tzinfo=UTC)
A, INPI, R = SourceApi.SEARCH, SourceApi.INPI, SourceApi.RCS


def error(
    source: SourceApi = INPI,
    code: ErrorCode = ErrorCode.TIMEOUT,
    status: int | None = None,
    *,
    after: float | None = None,
) -> SourceError:
    return SourceError(code, source, status, "it failed", is_retryable(code, status), after)


def said(source: SourceApi, **values: str) -> Fetched:
    return Fetched(source, 200, 1, None, values)


def failed(source: SourceApi, code: ErrorCode = ErrorCode.TIMEOUT) -> Fetched:
    return Fetched(source, None, 1, error(source, code))


@pytest.mark.parametrize(
    "typed",
    [
        "552032534",
        " 552 032 534 ",
        "552.032.534",
        "552-032-534",
        "552\u00a0032\u202f534",
        "552\u2009032 534",
        "５５２０３２５３４",  # noqa: RUF001 - full-width digits are the point
        "FR 27 552032534",
        "RCS PARIS 552 032 534",
        "RCS Paris B 552 032 534",
        "552 032 534 RCS Paris",
        "552\u2212032\u2060534",
        "552\u00ad032\u00ad534",
    ],
)
def test_a_siren_is_read_as_people_type_it(typed: str) -> None:
    found = read(typed, None)

    assert isinstance(found, Identifiers)
    assert (found.siren, found.company_siren, found.siren_raw) == ("552032534", "552032534", typed)


def test_a_siret_alone_says_its_siren_also_in_the_wrong_box() -> None:
    for given in ((None, "73282932000074"), ("732 829 320 00074", None)):
        found = read(*given)

        assert isinstance(found, Identifiers)
        assert (found.siret, found.company_siren) == ("73282932000074", "732829320")


@pytest.mark.parametrize(
    ("siren", "siret", "code"),
    [
        (None, None, "MISSING_COMPANY_IDENTIFIER"),
        ("", "  ", "MISSING_COMPANY_IDENTIFIER"),
        ("5572466", None, "INVALID_SIREN_FORMAT"),  # zeros that Excel dropped are not put back
        ("55203253A", None, "INVALID_SIREN_FORMAT"),
        (552032534, None, "INVALID_SIREN_FORMAT"),
        ("5" * 200, None, "INVALID_SIREN_FORMAT"),
        ("552032534", "5520325340001", "INVALID_SIRET_FORMAT"),
        (None, ["x"], "INVALID_SIRET_FORMAT"),
        ("12345", "98765432100012", "INVALID_SIREN_FORMAT"),
        ("123456789", "98765432100012", "SIREN_SIRET_MISMATCH"),
    ],
)
def test_identifiers_are_refused_in_order(siren: object, siret: object, code: str) -> None:
    found = read(siren, siret, "enforce")

    assert isinstance(found, Refused)
    assert found.code == code


def test_a_wrong_check_digit_is_refused_only_when_that_is_asked_for() -> None:
    warned, enforced = read("552032535", None, "warn"), read("552032535", None, "enforce")

    assert isinstance(warned, Identifiers)
    assert fails_luhn(warned) == ["siren"]
    assert isinstance(enforced, Refused)
    assert enforced.reason == "luhn_check_failed"


def test_blanks_of_any_length_are_not_kept() -> None:
    found = read("552032534", " " * 200)

    assert isinstance(found, Identifiers)
    assert (found.siret, found.siret_raw) == (None, None)


@pytest.mark.parametrize("siret", ["35600000000048", "35600000009075", "35600000049837"])
def test_the_establishments_of_la_poste_have_a_rule_of_their_own(siret: str) -> None:
    found = read("356000000", siret, "enforce")

    assert isinstance(found, Identifiers)


def test_merge_takes_the_first_source_in_the_order_of_each_field() -> None:
    values = {source: dict.fromkeys(FIELDS, str(source)) for source in (A, INPI, R)}
    for one in values.values():
        one["creation_date"] = "2014-05-02"

    merged = merge({}, [said(source, **found) for source, found in values.items()])

    assert merged.sources == {field: order[0] for field, order in MATRIX.items()}


def test_the_matrix_is_the_contracts() -> None:
    orders = {field: "".join({A: "A", INPI: "I", R: "R"}[s] for s in o) for field, o in MATRIX.items()}

    assert orders.pop("legal_form_code") == "IA"  # ours: M3C-gap-30
    assert orders == {
        "legal_name": "AIR",
        "trade_name": "AI",
        "brand_name": "AI",
        "legal_form": "IAR",
        "creation_date": "IAR",
        "active_status": "AIR",
        "address_line1": "AIR",
        "address_line2": "AI",
        "postal_code": "AIR",
        "city": "AIR",
        "country_code": "IA",
        "naf_code": "AI",
        "naf_label": "A",
        "headcount_range": "A",
        "rcs_city": "RI",
        "registry_name": "RI",
    }


@pytest.mark.parametrize("empty", ["", "   "])
def test_nothing_empty_replaces_something(empty: str) -> None:
    stored = {"legal_name": Stored("OLD", A)}

    merged = merge(stored, [said(A, legal_name=empty), said(INPI), said(R)])

    assert merged.values["legal_name"] == "OLD"
    assert "legal_name" not in merged.sources


def test_a_value_of_a_source_that_is_down_gives_way_to_a_better_one_only() -> None:
    stored = {"legal_form": Stored("SAS (INPI)", INPI), "legal_name": Stored("BY INPI", INPI)}

    merged = merge(stored, [said(A, legal_form="SAS (A)", legal_name="BY A"), failed(INPI)])

    assert merged.values["legal_form"] == "SAS (INPI)"  # INPI is before the search here
    assert merged.values["legal_name"] == "BY A"  # and behind it there


def test_a_better_source_that_comes_back_replaces_a_worse_one() -> None:
    stored = {"legal_form": Stored("SAS (A)", A)}

    merged = merge(stored, [said(A, legal_form="SAS (A)"), said(INPI, legal_form="SAS (INPI)")])

    assert merged.values["legal_form"] == "SAS (INPI)"
    assert merged.sources["legal_form"] is INPI


@pytest.mark.parametrize("date", ["31/12/2014", "2014-W01-1", "20140101", "2014-02-30"])
def test_an_invalid_date_is_passed_over(date: str) -> None:
    found = [said(INPI, creation_date=date), said(A, creation_date="2014-05-02")]

    merged = merge({}, found)

    assert merged.values["creation_date"] == "2014-05-02"


def test_a_masked_field_is_filled_by_no_other_source() -> None:
    masked = Fetched(A, 200, 1, None, {"city": "LYON"}, ("legal_name",))

    merged = merge({}, [masked, said(INPI, legal_name="CLAUDE DURAND")])

    assert merged.values["legal_name"] is None
    assert merged.masked == ("legal_name",)


@pytest.mark.parametrize(
    ("siren", "fields"),
    [
        ("999000060", {"legal_name", "trade_name", "address_line1", "postal_code"}),
        ("999000078", {"brand_name", "address_line1", "postal_code"}),
    ],
)
def test_masked_persons_and_companies_have_a_core_identity(siren: str, fields: set[str]) -> None:
    company = invented(siren)
    assert company is not None

    found = extract(A, {"results": [unit(company)]})

    assert fields <= set(found.masked)
    assert not any("NON-DIFFUSIBLE" in value for value in found.values.values())
    assert found.values["city"] == "LYON 3EME"
    assert core_identity(siren, found.values, found.masked)


def test_the_three_shapes_are_read() -> None:
    company = invented("999000011")
    assert company is not None

    of_a = extract(A, {"results": [unit(company)]}).values
    of_i = extract(INPI, record(company)).values
    of_r = extract(R, rcs(company)).values

    assert (of_a["naf_code"], of_a["headcount_range"], of_a["country_code"]) == ("62.01Z", "12", "FR")
    assert of_a["naf_label"] == "Programmation informatique"
    assert (of_a["legal_form_code"], of_a["legal_form"]) == ("5710", "SAS, société par actions simplifiée")
    assert (of_i["legal_form_code"], of_i["legal_form"]) == ("5710", "SAS, société par actions simplifiée")
    assert (of_i["naf_code"], of_i["country_code"]) == ("62.01Z", "FR")
    assert (of_i["creation_date"], of_i["address_line1"]) == ("2014-04-18", "12 B RUE DES EXEMPLES")
    assert (of_r["rcs_city"], of_r["registry_name"]) == ("LYON", "RCS LYON")
    assert of_r["creation_date"] == "2014-05-02"
    assert "city" not in of_r


@pytest.mark.parametrize("payload", [{}, {"results": [{}]}, {"formality": None}, {"data": None}, 7])
@pytest.mark.parametrize("source", [A, INPI, R])
def test_an_incomplete_answer_is_no_error(source: SourceApi, payload: object) -> None:
    assert extract(source, payload).masked == ()


def test_directors_are_named_without_births_and_homes() -> None:
    company = invented("999000011")
    assert company is not None

    found = directors({INPI: record(company)})

    assert [one["nom"] for one in found] == ["CAMILLE ANNE EXEMPLE", "AUDIT IMAGINAIRE"]
    assert all(set(one) == {"nom", "qualite", "type_dirigeant", "siren"} for one in found)
    assert directors({R: rcs(company)})[0]["nom"] == "Camille EXEMPLE"


@pytest.mark.parametrize("siren", ["999000060", "999000078"])
def test_persons_of_a_masked_company_are_not_named_by_any_source(siren: str) -> None:
    company = invented(siren)
    assert company is not None
    open_ = {R: rcs(company)}
    every = [
        directors({INPI: record(company)}),
        directors({A: {"results": [unit(company)]}}),
        directors({A: {"results": [unit(company, blocks=())]}} | open_),
        directors(open_, hidden=True),
    ]

    for found in every:
        assert found
        for one in found:
            assert (one["nom"] is None) is (one["type_dirigeant"] == "personne physique")


@pytest.mark.parametrize(
    ("known", "core"),
    [
        ({"legal_name": "ESSAIS", "city": "LYON"}, True),
        ({"legal_name": "ESSAIS", "postal_code": "69003"}, True),
        ({"legal_name": "ESSAIS", "address_line1": "1 RUE"}, True),
        ({"legal_name": "ESSAIS", "country_code": "FR", "city": ""}, False),
        ({"trade_name": "ESSAIS", "city": "LYON"}, False),
    ],
)
def test_a_core_identity_is_a_name_and_a_place(
    known: dict[str, str],
    core: bool,  # noqa: FBT001 - a case
) -> None:
    assert core_identity("999000003", known) is core
    assert not core_identity("", known)


@pytest.mark.parametrize(
    ("fetched", "core", "expected"),
    [
        ([said(A), said(INPI), said(R)], True, (Status.SUCCESS, 3, 0, 0)),
        ([said(A), failed(INPI), said(R)], True, (Status.PARTIAL, 2, 0, 1)),
        ([said(A), failed(INPI), failed(R)], True, (Status.PARTIAL, 1, 0, 2)),
        ([failed(A), said(INPI), said(R)], True, (Status.FAILED, 2, 1, 0)),
        ([failed(A, ErrorCode.NOT_FOUND), said(INPI), said(R)], True, (Status.FAILED, 2, 1, 0)),
        ([said(A), said(INPI), said(R)], False, (Status.FAILED, 3, 0, 0)),
    ],
)
def test_a_run_ends_as_the_machine_says(
    fetched: list[Fetched],
    core: bool,  # noqa: FBT001 - a case
    expected: tuple[Status, int, int, int],
) -> None:
    found = evaluate(fetched, core=core)

    assert (
        found.status,
        found.sources_success_count,
        found.required_sources_failed_count,
        found.optional_sources_failed_count,
    ) == expected
    assert (found.error is None) is (found.status is Status.SUCCESS)
    assert found.sources_failed_count == 3 - found.sources_success_count


def test_an_optional_source_that_knows_nothing_may_be_no_failure() -> None:
    fetched = [said(A), said(INPI), failed(R, ErrorCode.NOT_FOUND)]

    assert evaluate(fetched, core=True).status is Status.PARTIAL
    assert evaluate(fetched, core=True, optional_not_found_fails=False).status is Status.SUCCESS


def test_errors_are_joined_and_cut_at_a_boundary() -> None:
    two = [error(INPI), error(R, ErrorCode.RATE_LIMIT, 429)]
    many = enrichment_error(two * 100)

    assert enrichment_error(two) == "INPI_RNE:-:TIMEOUT|API_ENTREPRISE_RCS:429:RATE_LIMIT"
    assert many is not None
    assert 1900 < len(many) <= 2000
    assert set(many.split("|")) == {"INPI_RNE:-:TIMEOUT", "API_ENTREPRISE_RCS:429:RATE_LIMIT"}


@pytest.mark.parametrize(
    ("source", "status", "code", "expected", "again"),
    [
        (A, 400, None, "INTERNAL_ERROR", False),
        (A, 401, None, "AUTH_ERROR", False),
        (A, 403, None, "FORBIDDEN", False),
        (A, 404, None, "INTERNAL_ERROR", False),
        (A, 429, None, "RATE_LIMIT", True),
        (A, 500, None, "UPSTREAM_5XX", True),
        (INPI, 401, None, "AUTH_ERROR", False),
        (INPI, 404, None, "NOT_FOUND", False),
        (INPI, 503, None, "UPSTREAM_5XX", True),
        (R, 404, "02003", "NOT_FOUND", False),
        (R, 409, "00015", "SOURCE_UNAVAILABLE", False),
        (R, 422, "00201", "INTERNAL_ERROR", False),
        (R, 451, None, "FORBIDDEN", False),
        (R, 502, "02999", "UPSTREAM_5XX", True),
        (R, 503, "02020", "SOURCE_UNAVAILABLE", True),
        (R, 504, "02002", "TIMEOUT", True),
    ],
)
def test_statuses_have_their_canonical_codes(
    source: SourceApi,
    status: int,
    code: str | None,
    expected: str,
    again: bool,  # noqa: FBT001 - a case
) -> None:
    found = SOURCES[source].error_code(status, code)

    assert found == expected
    assert is_retryable(found, status) is again


def test_a_source_is_tried_again_twice_after_250_and_500_ms() -> None:
    backoff = (0.25, 0.5)

    assert [next_pause(error(), tries, backoff, 5) for tries in (1, 2, 3)] == [0.25, 0.5, None]
    assert next_pause(error(code=ErrorCode.NOT_FOUND, status=404), 1, backoff, 5) is None
    assert next_pause(error(code=ErrorCode.SOURCE_UNAVAILABLE), 1, backoff, 5) is None


def test_a_short_retry_after_is_waited_for_and_a_long_one_ends_the_source() -> None:
    limited = [error(code=ErrorCode.RATE_LIMIT, status=429, after=s) for s in (3.0, 5.0, 30.0)]

    assert [next_pause(one, 1, (0.25, 0.5), 5) for one in limited] == [3.0, 5.0, None]


def test_the_idempotency_key_has_a_bucket() -> None:
    keys = {trigger: idempotency_key("999000003", trigger, NOW) for trigger in Trigger}

    assert keys[Trigger.REQUEST_CREATED] == "999000003:REQUEST_CREATED:2026-02-23"
    assert keys[Trigger.REQUEST_OPENED] == "999000003:REQUEST_OPENED:2026-02-23"
    assert keys[Trigger.MANUAL_REFRESH] == "999000003:MANUAL_REFRESH:2026-02-23T12:30"


def test_a_refresh_by_hand_has_a_minute_behind_it() -> None:
    assert cooldown_left(None, NOW, 60) == 0
    assert cooldown_left(NOW - timedelta(seconds=20), NOW, 60) == 40


def test_a_checksum_does_not_change_with_what_is_volatile() -> None:
    company = invented("999000011")
    assert company is not None
    first, again = {"results": [unit(company)]}, {"results": [unit(company) | {"score": 1.0}]}
    extract_1, extract_2 = rcs(company), rcs(company)
    extract_2["data"]["date_extrait"] = "2026-03-01"
    extract_2["meta"] = {"at": 7}

    assert stable_checksum(first) == stable_checksum(again)
    volatile = SOURCES[R].volatile
    assert stable_checksum(extract_1, volatile) == stable_checksum(extract_2, volatile)
    assert stable_checksum(extract_1) != stable_checksum(extract_2)
    assert stable_checksum(first) != stable_checksum({"results": []})


def test_a_run_of_today_that_failed_is_not_asked_for_by_opening_it() -> None:
    morning, yesterday = NOW - timedelta(hours=12), NOW - timedelta(hours=13)

    def opens(status: Status, last_run: datetime | None, *, fresh: bool = False) -> bool:
        return opens_again(status, last_run, NOW, fresh=fresh)

    assert not opens(Status.FAILED, morning)
    assert opens(Status.FAILED, yesterday)
    assert opens(Status.FAILED, None)
    assert opens(Status.STALE, morning)
    assert opens(Status.PENDING, None)
    assert not opens(Status.SUCCESS, yesterday, fresh=True)


@pytest.mark.parametrize(
    ("trigger", "status", "failed_for", "seconds", "free"),
    [
        (Trigger.REQUEST_CREATED, "PENDING", None, 0, True),
        (Trigger.REQUEST_OPENED, "RUNNING", None, 0, True),
        (Trigger.REQUEST_CREATED, "FAILED", "UPSTREAM_5XX", 60, True),
        (Trigger.REQUEST_CREATED, "FAILED", "UPSTREAM_5XX", 59, False),
        (Trigger.REQUEST_CREATED, "FAILED", "SOURCE_UNAVAILABLE", 60, True),
        (Trigger.REQUEST_CREATED, "FAILED", "NOT_FOUND", 600, False),
        (Trigger.REQUEST_CREATED, "FAILED", "AUTH_ERROR", 600, False),
        (Trigger.REQUEST_OPENED, "FAILED", "TIMEOUT", 600, False),
        (Trigger.REQUEST_CREATED, "STALE", "TIMEOUT", 600, False),
    ],
)
def test_a_key_stands_for_a_run_that_said_something(
    trigger: Trigger,
    status: str,
    failed_for: str | None,
    seconds: float,
    free: bool,  # noqa: FBT001 - a case
) -> None:
    last_run = NOW - timedelta(seconds=seconds)

    assert key_is_free(trigger, status, failed_for, last_run, NOW, 60) is free


def test_the_lock_of_a_company_is_one_for_all_tenants() -> None:
    """M3C-lock-1; the trigger `check_company` guards it by the same names."""
    assert (lock_name("999000003"), LOCK_TENANT) == ("company_enrichment:999000003", "@enrichment")


def test_the_defaults_are_the_contracts() -> None:
    """M3C-lock-2 and 3, M3C-retry-1 to 3, M3C-cache-1, M3C-gap-6 and 8."""
    usual = EnrichmentSettings()

    assert (usual.lock_ttl_seconds, usual.lock_heartbeat_seconds) == (120, 30)
    assert (usual.timeout_ms, usual.backoff_seconds) == (5000, (0.25, 0.5))
    assert (usual.longest_retry_after, usual.freshness_ttl_days) == (5, 30)
    assert (usual.cooldown_seconds, usual.sync_ms, usual.document_days) == (60, 1200, 396)
    assert (usual.search_per_second, usual.inpi_per_day) == (6, 10_000)
    assert (usual.rcs_recipient, usual.search_directors) == ("", False)


@pytest.mark.parametrize(("name", "value"), [("rcs_recipient", "1300252650001"), ("rcs_object", "x" * 50)])
def test_settings_that_api_entreprise_would_refuse_are_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        EnrichmentSettings(**{name: value})  # type: ignore[arg-type]


def test_whatever_is_received_has_a_checksum() -> None:
    assert stable_checksum({"x": "\u00e9" * (MOST_RECEIVED // 2)})


def test_a_step_keeps_how_a_call_went_and_reads_those_of_earlier_releases() -> None:
    fetched = Fetched(A, 200, 7, None, {"city": "LYON"}, ("legal_name",), {"results": []}, "sum")
    kept = fetched.to_json()
    earlier = kept | {"values": {"city": "LYON"}, "masked": ["legal_name"], "payload": [1]}
    del earlier["configured"]

    assert Fetched.from_json(kept) == Fetched(A, 200, 7, None, {}, (), None, "sum")
    assert Fetched.from_json(earlier) == Fetched(A, 200, 7, None, {"city": "LYON"}, ("legal_name",), [1], "sum")


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ({"q": "999000011"}, True),
        ({"q": "999 000 011", "minimal": "TRUE", "include": "siege,score"}, True),
        ({"q": "999000011", "include": "siege"}, False),
        ({"q": "999000011", "minimal": "true", "include": "include_admin"}, False),
        ({"q": "999000011", "minimal": "yes"}, False),
        ({"q": "999000011", "per_page": "26"}, False),
        ({"q": "999000011", "page": "401", "per_page": "25"}, False),
        ({"q": "999.000.011"}, False),
        ({}, False),
    ],
)
def test_the_sandbox_refuses_what_the_search_refuses(
    query: dict[str, str],
    answers: bool,  # noqa: FBT001 - a case
) -> None:
    assert (refused(query) is None) is answers


def test_the_sandbox_has_the_blocks_that_are_asked_for() -> None:
    company = invented("999000011")
    assert company is not None
    secondary = {"siege", "dirigeants", "matching_etablissements", "finances", "complements", "tva"}
    plain = set(unit(company, blocks=()))

    whole = unit(company, siret="99900001100026")
    minimal = unit(company, blocks=asked_blocks({"minimal": "true", "include": "siege,score"}))

    assert set(whole) - plain == secondary == asked_blocks({})
    assert set(minimal) - plain == {"siege", "score"}
    assert asked_blocks({"minimal": "true"}) == set()
    assert whole["tva"] == ["FR66999000011"]
    (match,) = whole["matching_etablissements"]
    assert (match["siret"], match["est_siege"]) == ("99900001100026", False)
    assert set(match) - set(whole["siege"]) == {"ancien_siege"}
    assert unit(company)["matching_etablissements"] == []


def test_an_error_has_exactly_the_five_fields() -> None:
    assert error().to_json() == {
        "error_code": "TIMEOUT",
        "source_api": "INPI_RNE",
        "http_status": None,
        "message": "it failed",
        "retryable": True,
    }


def test_the_sources_are_called_in_the_order_of_the_contract() -> None:
    """M3C-pipeline-6; and what each lacks is said by the names of its settings."""
    assert list(SOURCES) == list(SourceApi) == [A, INPI, R]
    assert [source.missing(EnrichmentSettings()) for source in SOURCES.values()] == [
        None,
        "inpi_username or inpi_password is not set",
        "rcs_token or rcs_recipient is not set",
    ]


def test_every_rule_that_the_code_cites_stands_in_the_specification() -> None:
    code = [*Path(enrichment.__file__).parent.rglob("*.*"), *Path(__file__).parent.glob("*.py")]
    texts = [path.read_text() for path in code if path.suffix in {".py", ".sql"}]
    cited = {found for each in texts for found in re.findall(r"M3C-[a-z]+-[0-9]+", each)}
    spec = (Path(__file__).parents[3] / "docs" / "specs" / "enrichment.md").read_text()
    known = set(re.findall(r"M3C-[a-z]+-[0-9]+", spec))
    for kind, first, last in re.findall(r"`M3C-([a-z]+)-(\d+)` to `M3C-[a-z]+-(\d+)`", spec):
        known |= {f"M3C-{kind}-{number}" for number in range(int(first), int(last))}

    assert cited - known == set()


def test_a_token_lives_as_long_as_it_says() -> None:
    assert life_of("e30.eyJleHAiOiAxMDAwfQ.x", 0) == 940
    assert life_of("opaque", 0) == 3000

"""Batches: a verdict for each line, few statements for many lines, and the effects of single requests."""

import asyncio
from collections import Counter
from typing import Any

import httpx
import psycopg
import pytest

from tests.apps.enrichment.place import ALL_FINE, Place

OTHER = "999000011"


async def sent(
    place: Place, body: object, *, tenant: str = "acme", headers: dict[str, str] | None = None
) -> httpx.Response:
    return await place.api.call(
        "POST", "/v1/requests/batch", tenant=tenant, roles=("agency_user",), headers=headers, json=body
    )


async def sent_csv(place: Place, text: str | bytes) -> httpx.Response:
    headers = {"Content-Type": "text/csv"}
    return await place.api.call("POST", "/v1/requests/batch", roles=("agency_user",), headers=headers, content=text)


def verdicts(answer: httpx.Response) -> list[tuple[int, Any]]:
    assert answer.status_code == 202, answer.text
    return [(line["line"], line["decision"] or line["code"]) for line in answer.json()["lines"]]


async def test_each_line_has_a_verdict_and_good_ones_run(place: Place) -> None:
    await place.enriched()
    async with place.worker():
        answer = await sent(
            place,
            [
                {"siren": OTHER, "metadata": {"dossier": 7}},
                {"siren": "12"},
                {"siret": "99900001100018"},
                {"siren": ALL_FINE},
                {},
                [],
                {"siren": "999000003", "siret": "98765432100012"},
                {"siren": OTHER, "more": 1},
            ],
        )
        await place.ended(OTHER)

    assert verdicts(answer) == [
        (1, "started"),
        (2, "INVALID_SIREN_FORMAT"),
        (3, "attached"),
        (4, "cached"),
        (5, "MISSING_COMPANY_IDENTIFIER"),
        (6, "INVALID_REQUEST"),
        (7, "SIREN_SIRET_MISMATCH"),
        (8, "INVALID_REQUEST"),
    ]
    assert (answer.json()["accepted"], answer.json()["refused"]) == (3, 5)
    for line in answer.json()["lines"]:
        if line["accepted"]:
            told = (await place.get(line["request_id"])).json()["request"]
            assert (told["enrichment_status"], told["company_siren"]) == ("SUCCESS", line["company_siren"])
    assert await place.lab.value("select metadata from enrichment.request where metadata <> '{}'") == {"dossier": 7}
    assert Counter(await place.types(OTHER))["Requested"] == 2
    assert Counter(await place.types(OTHER))["Completed"] == 1
    await place.lab.until("select count(*) = 0 from enrichment.establishment where state = 'PENDING'")


async def test_a_company_that_failed_today_is_not_run_again(place: Place) -> None:
    async with place.worker():
        first = await sent(place, [{"siren": "123456782"}, {"siren": "123456782"}])
        await place.ended("123456782")
        again = await sent(place, [{"siren": "123456782"}, {"siren": "123456782"}])

    assert [what for _, what in verdicts(first)] == ["started", "attached"]
    assert [what for _, what in verdicts(again)] == ["repeated", "repeated"]
    assert await place.jobs() == 1


@pytest.mark.parametrize(
    "text",
    [
        "siren,siret\n999000003,\n,99900001100018\n",
        "siret;siren\r\n;999 000 003\r\n999 000 011 00018;\r\n;\r\n",
        "\ufeffSIREN;SIRET\n999000003\n;99900001100018",
    ],
)
async def test_csv_is_taken_as_spreadsheets_write_it(place: Place, text: str) -> None:
    answer = await sent_csv(place, text)

    assert verdicts(answer) == [(1, "started"), (2, "started")]
    assert [line["company_siren"] for line in answer.json()["lines"]] == [ALL_FINE, OTHER]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"siren": ALL_FINE}, "expected_list"),
        ([], "expected_list"),
        (None, "expected_list"),
        ([{"siren": ALL_FINE}] * 1001, "more_than_1000_lines"),
        (b"", "expected_columns_siren_siret"),
        (b"number\n999000003\n", "expected_columns_siren_siret"),
        (b"siren\n999000003,999000011\n", "expected_columns_siren_siret"),
        (b"siren\n", "expected_list"),
        (b"siren\n\xff\xfe", "expected_utf_8"),
        (b'siren\n"999000003"x\n', "expected_csv"),
        (b"siren\n" + b"999000003\n" * 1001, "more_than_1000_lines"),
    ],
)
async def test_a_batch_that_cannot_be_read_is_refused_as_a_whole(place: Place, body: Any, reason: str) -> None:  # noqa: ANN401
    answer = await (sent_csv(place, body) if isinstance(body, bytes) else sent(place, body))

    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    assert answer.json()["details"] == [{"field": "body", "reason": reason}]
    assert await place.lab.value("select count(*) from enrichment.request") == 0


async def test_another_type_is_refused(place: Place) -> None:
    headers = {"Content-Type": "application/xml"}
    answer = await place.api.call("POST", "/v1/requests/batch", roles=("agency_user",), headers=headers, content="<x/>")

    assert answer.status_code == 415


async def test_the_same_key_is_one_batch(place: Place) -> None:
    key = {"Idempotency-Key": "monday"}
    first = await sent(place, [{"siren": ALL_FINE}], headers=key)
    again = await sent(place, [{"siren": ALL_FINE}], headers=key)
    other = await sent(place, [{"siren": OTHER}], headers=key)

    assert first.content == again.content
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_CONFLICT")
    assert await place.lab.value("select count(*) from enrichment.request") == 1


async def test_a_batch_of_a_thousand_takes_a_few_statements(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_IDENTIFIER_LUHN", "off")
    counted: Counter[int] = Counter()
    execute = psycopg.AsyncCursor.execute

    async def counting(self: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as psycopg
        counted[turn] += 1
        return await execute(self, *args, **options)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", counting)
    turn = 0
    await sent(place, [{"siren": "998999999"}])  # what a first request prepares
    for turn, many in enumerate((2, 1000), 1):
        lines = [{"siret": f"998{turn}{n:05}00018"} for n in range(many)]
        assert (await sent(place, lines)).json()["accepted"] == many

    assert 0 < counted[1] < 40
    assert counted[2] < 40  # others may look at the database meanwhile
    assert await place.jobs() == 1003


async def test_two_batches_at_once_in_opposite_order_both_end(place: Place) -> None:
    """A third one holds the company in the middle until both wait: each has locked what comes first for it."""
    sirens = [f"9989{n:05}" for n in range(100)]
    await sent(place, [{"siren": siren} for siren in sirens], tenant="initech")
    waiting = (
        "select count(*) = 2 from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock' and query like %s"
    )
    async with await psycopg.AsyncConnection.connect(place.lab.engine.database.admin_url) as conn:
        await conn.execute("select from enrichment.company where siren = %s for no key update", [sirens[50]])
        both = asyncio.gather(
            sent(place, [{"siren": siren} for siren in sirens]),
            sent(place, [{"siren": siren} for siren in reversed(sirens)], tenant="globex"),
        )
        await place.lab.until(waiting, "%look_at%")
    answers = await both

    assert [answer.json().get("accepted") for answer in answers] == [100, 100], [answer.text for answer in answers]
    assert await place.jobs() == 100

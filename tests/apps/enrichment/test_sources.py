"""The sources over real HTTP: retries, limits, the breaker, the token of INPI, what is masked."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.runtime import sealing
from ostinato._core.runtime.testing import KEY
from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.model import SourceApi
from ostinato.apps.enrichment.queries import Connection
from ostinato.apps.enrichment.sandbox.world import Window
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources import SOURCES
from ostinato.apps.enrichment.wire import Wire
from ostinato.secrets import key_id_of, new_key
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.apps.enrichment.turning import Deadlines, WorkerTime, searches, strict
from tests.waiting import until_async

SEARCH, INPI, RCS = "/registers/search", "/registers/api/companies/*", "/registers/v3/*"
SHORT = 0.2  # a turn comes within milliseconds


def nobody() -> AbstractAsyncContextManager[Connection]:
    raise AssertionError("no connection is needed")


async def error_of(place: Place, siren: str = ALL_FINE) -> str | None:
    found: str | None = (await place.company(siren))["enrichment_error"]
    return found


async def test_inpi_that_fails_twice_and_then_answers_is_a_success(place: Place) -> None:
    await place.enriched("999000045")

    assert await place.status("999000045") == "SUCCESS"
    assert len(place.calls("/companies/999000045")) == 3


async def answered(
    place: Place, monkeypatch: pytest.MonkeyPatch, *words: str
) -> dict[str, tuple[str, str | None, int]]:
    """What becomes of a company whose extract is answered with a fault, and how often it is asked.

    One company for each word, one worker for all of them, and no breaker in between.
    """
    monkeypatch.setenv("OSTINATO_ENRICHMENT_BREAKER_FAILURES", "100")
    found = {}
    async with place.worker():
        for number, word in enumerate(words):
            siren = f"99800002{number}"
            place.sources.order(f"/registers/v3/*/{siren}/*", f"{word}*")
            await place.made(siren)
            status = await place.ended(siren)
            calls = len(place.calls(f"/{siren}/extrait_kbis"))
            found[word] = (status, await error_of(place, siren), calls)
    return found


async def test_errors_of_ours_are_not_tried_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answered(place, monkeypatch, "400", "401", "403", "404", "422")

    assert found == {
        status: ("PARTIAL", f"API_ENTREPRISE_RCS:{status}:{code}", 1)
        for status, code in (
            ("400", "INTERNAL_ERROR"),
            ("401", "AUTH_ERROR"),
            ("403", "FORBIDDEN"),
            ("404", "NOT_FOUND"),
            ("422", "INTERNAL_ERROR"),
        )
    }


async def test_timeouts_are_tried_three_times(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.sources.order(RCS, "stall*")
    deadlines = Deadlines(monkeypatch)
    async with place.worker():
        await place.made()
        await place.timed_out(deadlines, "/extrait_kbis")
        status = await place.ended()

    assert (status, await error_of(place)) == ("PARTIAL", "API_ENTREPRISE_RCS:-:TIMEOUT")
    assert len(place.calls("/extrait_kbis")) == 3


async def test_a_call_has_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """M3C-retry-1, at default settings: the time for the whole exchange, and not for each byte."""
    given: list[float | None] = []
    timeout = asyncio.timeout

    def noted(seconds: float | None) -> asyncio.Timeout:
        given.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", noted)
    answers = httpx.MockTransport(lambda _: httpx.Response(200, json={}))
    async with httpx.AsyncClient(transport=answers) as http:
        reply = await Wire(http, EnrichmentSettings(), nobody).get(SourceApi.RCS, "http://rcs.test/")

    assert (reply.status, given) == (200, [5.0])


async def test_the_pauses_between_tries_are_slept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """M3C-retry-2 and 3, at default settings."""
    monkeypatch.delenv("OSTINATO_ENRICHMENT_BACKOFF_MS")
    slept: list[float] = []

    async def noted(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("ostinato.apps.enrichment.fetch.asyncio", SimpleNamespace(sleep=noted))
    place.sources.order(RCS, "503*")

    await place.enriched()

    assert len(place.calls("/extrait_kbis")) == 3
    assert [seconds for seconds in slept if seconds > SHORT] == [0.25, 0.5]


async def test_429_and_5xx_are_tried_three_times(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answered(place, monkeypatch, "500", "503", "429:0")

    assert found == {
        "500": ("PARTIAL", "API_ENTREPRISE_RCS:500:UPSTREAM_5XX", 3),
        "503": ("PARTIAL", "API_ENTREPRISE_RCS:503:SOURCE_UNAVAILABLE", 3),
        "429:0": ("PARTIAL", "API_ENTREPRISE_RCS:429:RATE_LIMIT", 3),
    }


async def test_a_source_that_speaks_no_sense_is_unavailable(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answered(place, monkeypatch, "reset", "close", "garbage", "empty", "truncated")

    for status, error, calls in found.values():
        assert (status, calls) == ("PARTIAL", 1)
        assert error is not None
        assert error.endswith(":SOURCE_UNAVAILABLE")


async def test_one_failed_source_does_not_keep_the_next_from_being_called(place: Place) -> None:
    place.sources.order(INPI, "500*")

    await place.enriched()

    assert await place.status() == "PARTIAL"
    assert len(place.calls("/extrait_kbis")) == 1
    assert (await place.company())["rcs_city"] == "LYON"


async def test_a_required_source_that_fails_is_failed_and_the_others_are_asked(place: Place) -> None:
    await place.enriched("999000052")

    assert await place.status("999000052") == "FAILED"
    assert await error_of(place, "999000052") == "API_RECHERCHE_ENTREPRISES:503:UPSTREAM_5XX"
    assert len(place.calls("/extrait_kbis")) == 1


@pytest.mark.parametrize("siren", ["000000000", "999000110"])
async def test_an_unknown_company_and_another_one_are_not_found(place: Place, siren: str) -> None:
    await place.enriched(siren)

    assert await place.status(siren) == "FAILED"
    error = await error_of(place, siren)
    assert error is not None
    assert error.startswith("API_RECHERCHE_ENTREPRISES:200:NOT_FOUND")


async def test_a_cut_connection_fails_at_once(place: Place) -> None:
    await place.enriched("999000136")

    assert await error_of(place, "999000136") == (
        "API_RECHERCHE_ENTREPRISES:-:SOURCE_UNAVAILABLE|INPI_RNE:-:SOURCE_UNAVAILABLE"
        "|API_ENTREPRISE_RCS:-:SOURCE_UNAVAILABLE"
    )
    assert len(place.calls("/search")) == 1


async def test_a_refused_connection_is_unavailable(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_RCS_URL", "http://127.0.0.1:1")

    await place.enriched()

    assert await error_of(place) == "API_ENTREPRISE_RCS:-:SOURCE_UNAVAILABLE"


async def test_three_failed_fetches_pause_a_source_and_a_probe_opens_it_again(place: Place) -> None:
    place.sources.order(RCS, "reset*3")
    await place.lab.engine.clock.freeze()
    async with place.worker():
        for number in range(3):
            await place.made(f"99800000{number}")
            await place.ended(f"99800000{number}")
        await place.made("998000003")
        await place.asleep("998000003")
        called = len(place.calls("/extrait_kbis"))
        await place.lab.engine.clock.move(timedelta(seconds=61))
        await place.ended("998000003")

    assert called == 3  # the fourth company was not even asked for
    assert await place.status("998000003") == "SUCCESS"
    assert len(place.calls("/ping/infogreffe/rcs")) == 1


async def test_a_long_retry_after_keeps_everybody_away_from_the_source(place: Place) -> None:
    await place.lab.engine.clock.freeze()
    await place.enriched("999000029")
    called = len(place.calls("/extrait_kbis"))

    async with place.worker():
        await place.made()
        await place.asleep()

    assert called == 1
    assert len(place.calls("/extrait_kbis")) == 1
    assert await place.status() == "PENDING"


async def test_calls_keep_to_the_rate_of_a_source(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine companies at once against a search that allows four calls a second: one has its turn at once."""
    time = WorkerTime(monkeypatch)
    sirens = [f"9980000{number:02}" for number in range(9)]
    await place.lab.engine.clock.freeze()
    with strict(monkeypatch, time, per_second=4) as sandbox:
        async with place.worker():
            for siren in sirens:
                await place.made(siren)
            await until_async(lambda: len(time.waiting) + len(searches(sandbox)) == 9)
            turns = time.waiting
            assert turns == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
            for count, at in enumerate(turns, 2):
                time.pass_until(at)
                await until_async(lambda n=count: len(searches(sandbox)) == n)  # type: ignore[misc]
            for siren in sirens:
                await place.ended(siren)
        refused = [call.path for call in sandbox.faults.calls if call.status == 429]

    assert refused == []


def test_the_sandbox_tells_when_its_window_ends() -> None:
    at = [100.0]
    window = Window(2, 60, lambda: at[0])
    window.take()
    at[0] += 20
    window.take()

    assert (window.left, window.ends_in) == (0, 40)
    assert window.take() == 40


async def test_inpis_token_is_got_once_and_renewed_once_on_401(place: Place) -> None:
    async with place.worker():
        for siren in (ALL_FINE, "999000094", "999000011"):
            await place.made(siren)
            await place.ended(siren)

    assert [await place.status(s) for s in (ALL_FINE, "999000094", "999000011")] == ["SUCCESS"] * 3
    assert len(place.calls("/sso/login")) == 2
    assert len(place.calls("/companies/999000094")) == 2


STORED = "select token from enrichment.source where source_api = 'INPI_RNE'"


async def test_inpis_token_is_stored_sealed_and_a_rotation_seals_it_anew(place: Place) -> None:
    """Whoever reads the database, or a copy of it, cannot use the account."""
    old, new = str(KEY), new_key()
    await place.enriched()
    first = await place.lab.value(STORED)
    async with place.lab.client.connection() as conn:
        await sealing.rotate(conn, Settings(secret_key=f"{new} {old}").vault, [APP])
    second = await place.lab.value(STORED)
    async with place.worker(secret_key=new):
        await place.made("999000011")
        await place.ended("999000011")

    assert [key_id_of(first), key_id_of(second)] == [Settings(secret_key=key).vault.key_ids[0] for key in (old, new)]
    assert first.startswith("ost1:")
    assert await place.status("999000011") == "SUCCESS"
    assert len(place.calls("/sso/login")) == 1


async def test_a_stored_token_that_does_not_open_is_replaced_by_a_login(place: Place) -> None:
    """The key is gone, or a row was copied or changed."""
    await place.enriched()
    async with place.worker(secret_key=new_key()):
        await place.made("999000011")
        await place.ended("999000011")

    assert await place.status("999000011") == "SUCCESS"
    assert len(place.calls("/sso/login")) == 2


async def test_without_a_secret_key_no_token_is_stored_and_the_worker_remembers_its_own(
    place: Place, tmp_path: Path
) -> None:
    async with place.worker(secret_key=None, secret_key_file=str(tmp_path / "none")):
        for siren in (ALL_FINE, "999000094", "999000011"):
            await place.made(siren)
            await place.ended(siren)
            assert await place.lab.value(STORED) is None
            assert await place.status(siren) == "SUCCESS"

    assert len(place.calls("/sso/login")) == 2  # the second because 999000094 refuses the first


async def test_a_wrong_password_is_an_auth_error_and_is_not_tried_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_INPI_PASSWORD", "wrong")

    await place.enriched()

    assert await error_of(place) == "INPI_RNE:401:AUTH_ERROR"
    assert len(place.calls("/sso/login")) == 1


async def test_a_sixth_login_in_thirty_seconds_is_never_tried(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_INPI_PASSWORD", "wrong")
    await place.lab.engine.clock.freeze()
    async with place.worker():
        for number in range(5):
            await place.made(f"99800001{number}")
            await place.ended(f"99800001{number}")
        await place.made("998000015")
        await place.asleep("998000015")

    assert len(place.calls("/sso/login")) == 5
    assert await error_of(place, "998000014") == "INPI_RNE:401:AUTH_ERROR"


async def test_five_may_log_in_within_thirty_seconds(place: Place) -> None:
    """As the database says to all workers together: the sixth would be banned."""
    verdicts = []
    await place.lab.engine.clock.freeze()
    for _ in range(6):
        verdicts.append(await place.lab.value("select verdict from enrichment.ask_token()"))
        await place.lab.rows("select enrichment.keep_token(null, 0)")

    assert verdicts == ["login"] * 5 + ["limited"]


@pytest.mark.parametrize("unset", ["RCS_TOKEN", "RCS_RECIPIENT"])
async def test_a_source_without_credentials_is_not_part_of_the_pipeline(
    place: Place, monkeypatch: pytest.MonkeyPatch, unset: str
) -> None:
    """M3C-gap-14: optional failures are counted on optional sources that are actually called."""
    monkeypatch.delenv("OSTINATO_ENRICHMENT_INPI_USERNAME")
    monkeypatch.delenv(f"OSTINATO_ENRICHMENT_{unset}")

    await place.enriched()

    assert await place.status() == "SUCCESS"
    assert place.calls("/sso/login") == place.calls("/extrait_kbis") == []
    assert (await place.types()).count("SourceFetched") == 1
    counts = await place.lab.rows("select sources_success_count, optional_sources_failed_count from enrichment.company")
    assert counts == [(1, 0)]
    overview = await place.api.call("GET", "/v1/enrichment/overview")
    assert {one["source_api"]: one["state"] for one in overview.json()["sources"]} == {
        "API_RECHERCHE_ENTREPRISES": "ok",
        "INPI_RNE": "not configured",
        "API_ENTREPRISE_RCS": "not configured",
    }


async def test_a_login_that_is_limited_is_a_ban_for_everybody(place: Place) -> None:
    """A ban of ten minutes, and no loop of logins."""
    place.sources.order("/registers/api/sso/login", "429:600*")
    async with place.worker():
        await place.made()
        await place.ended()
        await place.made("999000011")
        await place.asleep("999000011")

    assert await error_of(place) == "INPI_RNE:429:RATE_LIMIT"
    assert await place.status("999000011") == "PENDING"
    assert len(place.calls("/sso/login")) == 1
    paused = await place.lab.value(
        "select extract(epoch from paused_until - last_error_at) from enrichment.source where source_api = 'INPI_RNE'"
    )
    assert 599 < paused <= 600


async def test_a_login_that_is_limited_is_not_tried_again(place: Place) -> None:
    """Also if it does not say for how long: a second one makes the ban longer."""
    place.sources.order("/registers/api/sso/login", "429*")
    async with place.worker():
        await place.made()
        await place.ended()

    assert await error_of(place) == "INPI_RNE:429:RATE_LIMIT"
    assert len(place.calls("/sso/login")) == 1


async def test_a_short_retry_after_is_kept_by_everybody(place: Place) -> None:
    """Not only by the run that was told: the others would be banned for going on."""
    place.sources.order(RCS, "429:1")
    async with place.worker():
        await place.made()
        await place.lab.until(
            "select held_until is not null from enrichment.source where source_api = %s", "API_ENTREPRISE_RCS"
        )
        await place.made("999000011")
        await place.ended()
        await place.ended("999000011")

    at = [call.at for call in place.sources.faults.calls if "/extrait_kbis" in call.path]
    assert len(at) == 3
    assert at[1] - at[0] > 0.99  # the clock of the database and that of the sandbox
    assert await place.status() == await place.status("999000011") == "SUCCESS"


async def test_nobody_has_a_turn_before_a_short_retry_after_is_over(place: Place) -> None:
    """The same, as the database says it to all workers."""
    await place.lab.engine.clock.freeze()
    turn = "select verdict, wait from enrichment.take_turn('API_ENTREPRISE_RCS', 4)"
    await place.lab.rows("select enrichment.hold_back('API_ENTREPRISE_RCS', 3)")

    assert await place.lab.rows(turn) == [("go", 3)]
    assert await place.lab.rows(turn) == [("go", 3.25)]


async def test_a_token_that_has_ended_is_got_anew_before_it_is_refused(place: Place) -> None:
    asked = "select verdict from enrichment.ask_token()"
    await place.lab.rows("select enrichment.keep_token('sealed', 60)")
    before = await place.lab.value(asked)

    await place.lab.rows("update enrichment.source set token_until = ostinato.now() where source_api = 'INPI_RNE'")

    assert (before, await place.lab.value(asked)) == ("token", "login")


async def test_an_answer_in_between_begins_the_count_of_failures_anew(place: Place) -> None:
    """Three in a row open the breaker, not three in all."""
    note = "select enrichment.note_fetch('INPI_RNE', %s, %s, null, 3, 60)"
    paused = []

    for failed in (True, True, False, True, True, True):
        await place.lab.rows(note, failed, "TIMEOUT" if failed else None)
        paused.append(await place.lab.value("select paused_until from enrichment.source where source_api = 'INPI_RNE'"))

    assert [at is not None for at in paused] == [False] * 5 + [True]


async def test_an_answer_that_was_under_way_does_not_lift_a_pause(place: Place) -> None:
    note = (
        "select enrichment.note_fetch('INPI_RNE', false, {}, 3, 60),"
        " (select paused_for from enrichment.source where source_api = 'INPI_RNE')"
    )
    turn = "select verdict, reason from enrichment.take_turn('INPI_RNE', 5)"
    await place.lab.engine.clock.freeze()
    await place.lab.rows(note.format("'RATE_LIMIT', 30"))

    await place.lab.rows(note.format("null, null"))  # a success
    held = await place.lab.rows(turn)
    await place.lab.rows("select enrichment.note_fetch('INPI_RNE', true, 'TIMEOUT', null, 1, 10)")
    after_failure = await place.lab.rows(turn)
    await place.lab.rows("update enrichment.source set paused_until = ostinato.now() where source_api = 'INPI_RNE'")
    await place.lab.rows(note.format("null, null"))  # a probe's

    assert held == after_failure == [("paused", "RATE_LIMIT")]
    assert await place.lab.rows(turn) == [("go", None)]


async def test_a_turn_waits_for_a_source_that_is_held(place: Place) -> None:
    await place.lab.engine.clock.freeze()
    await place.lab.rows("select enrichment.hold_back('INPI_RNE', 4)")
    await place.lab.rows("select enrichment.hold_back('INPI_RNE', 1)")  # not shorter

    ((wait, held),) = await place.lab.rows(
        "select t.wait, enrichment.is_held('INPI_RNE') from enrichment.take_turn('INPI_RNE', 5) t"
    )

    assert (wait, held) == (4, True)


async def test_a_second_pass_asks_the_search_for_directors_if_that_is_wanted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M3C-gap-17: no fourth SourceFetched, and no failure of the source."""
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SEARCH_DIRECTORS", "true")
    monkeypatch.delenv("OSTINATO_ENRICHMENT_INPI_USERNAME")
    monkeypatch.delenv("OSTINATO_ENRICHMENT_RCS_TOKEN")
    request_id = await place.enriched()
    named = (await place.get(request_id, query="?include=dirigeants")).json()["dirigeants"]
    place.sources.order(SEARCH, "ok,503*")
    await place.enriched("999000011")

    assert [one["nom"] for one in named] == ["CAMILLE ANNE EXEMPLE", "AUDIT IMAGINAIRE"]
    assert (await place.types(ALL_FINE)).count("SourceFetched") == 1
    assert await place.status("999000011") == "SUCCESS"
    passes = [call.query for call in place.sources.faults.calls if call.path == SEARCH]
    assert ["dirigeants" in query for query in passes] == [False, True, False, True, True, True]


async def test_the_database_knows_every_source_and_its_documents(place: Place) -> None:
    rows = await place.lab.rows("select source_api from enrichment.source")
    checks = await place.lab.rows(
        "select string_agg(pg_get_constraintdef(c.oid), ' ') from pg_constraint c"
        " where c.conrelid = 'enrichment.company_document'::regclass"
    )

    assert {row[0] for row in rows} == set(SOURCES)
    for source in SOURCES.values():
        assert f"'{source.api}'" in checks[0][0]
        assert f"'{source.doc_type}'" in checks[0][0]


async def test_the_search_and_the_rcs_are_asked_as_they_want_to_be(place: Place) -> None:
    await place.enriched()

    search = next(call for call in place.sources.faults.calls if call.path == SEARCH)
    extract = next(call for call in place.sources.faults.calls if "extrait" in call.path)
    assert f"q={ALL_FINE}&minimal=true&include=siege" in search.query
    assert search.headers["user-agent"].startswith("ostinato-enrichment")
    assert all(f"{name}=" in extract.query for name in ("context", "object", "recipient"))


@pytest.mark.parametrize("siren", ["999000060", "999000078"])
async def test_what_is_masked_is_neither_kept_nor_shown(place: Place, siren: str) -> None:
    request_id = await place.enriched(siren)

    told = (await place.get(request_id)).json()["company"]
    assert await place.status(siren) == "SUCCESS"
    assert told["data_masked"] is True
    assert told["address_line1"] is None
    assert "NON-DIFFUSIBLE" not in str(told)
    assert (told["legal_name"] is None) is (siren == "999000060")
    named = (await place.get(request_id, query="?include=dirigeants")).json()["dirigeants"]
    persons = [one for one in named if one["type_dirigeant"] == "personne physique"]
    assert [one["nom"] for one in persons] == [None]
    assert all(one["nom"] for one in named if one not in persons)


async def test_a_company_that_was_masked_later_is_shown_no_more(place: Place) -> None:
    request_id = await place.enriched()
    before = (await place.get(request_id)).json()["company"]
    place.registers.masked.add(ALL_FINE)
    async with place.worker():
        await place.refresh(request_id)
        await place.ended()

    told = (await place.get(request_id, query="?include=dirigeants")).json()

    assert before["address_line1"] is not None
    assert told["company"]["address_line1"] is told["company"]["postal_code"] is None
    assert told["company"]["data_masked"] is True
    assert told["dirigeants"][0]["nom"] is None

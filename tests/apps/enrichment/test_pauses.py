"""Pauses, turns and lines: a job sleeps until it may call, keeps the rate, and costs nothing meanwhile."""

from datetime import UTC, timedelta
from itertools import pairwise

import pytest

from tests.apps.enrichment.place import ALL_FINE, Place
from tests.apps.enrichment.turning import WorkerTime, searches, strict
from tests.waiting import until_async

SEARCH, RCS = "/registers/search", "/registers/v3/*"
THEIRS = ("998000000", "998000001", "998000002")
ASLEEP = "select attempt, run_at from ostinato_data.scheduled where reason = 'snooze' order by run_at"
OURS = ("998000010", "998000011", "998000012")


async def pass_seconds(place: Place, seconds: float) -> None:
    await place.lab.engine.clock.move(timedelta(seconds=seconds))


async def test_a_pause_of_the_search_that_others_caused_is_slept_through(place: Place) -> None:
    place.sources.order(SEARCH, "reset*3")
    await place.lab.engine.clock.freeze()
    async with place.worker():
        for siren in THEIRS:
            await place.made(siren, tenant="globex")
            await place.ended(siren)
        called = len(place.calls())
        requests = [await place.made(siren) for siren in OURS]
        for siren in OURS:
            await place.asleep(siren)
        meanwhile = len(place.calls()) - called
        told = [(await place.get(each)).json() for each in requests]
        jobs = [
            row[0] for row in await place.lab.rows("select job_id from enrichment.company where job_id is not null")
        ]
        await pass_seconds(place, 61)
        for siren in OURS:
            await place.ended(siren)

    assert meanwhile == 0
    assert [(each["request"]["enrichment_status"], each["enrichment_running"]) for each in told] == [
        ("PENDING", True)
    ] * 3
    assert [await place.status(siren) for siren in OURS] == ["SUCCESS"] * 3
    assert [await place.lab.outcomes(job) for job in jobs] == [["done"]] * 3  # no attempt failed


async def test_a_day_that_is_used_up_is_slept_through(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_INPI_PER_DAY", "1")
    async with place.worker():
        await place.made()
        await place.ended()
        await place.made("999000011")
        await place.asleep("999000011")
        wakes = await place.lab.value("select min(run_at) from ostinato_data.scheduled where reason = 'snooze'")
        asked = len(place.calls("/companies/"))
        await place.pass_days(1)
        await place.ended("999000011")

    midnight = wakes.astimezone(UTC)
    assert (midnight.hour, midnight.minute) == (0, 0)
    assert asked == 1
    assert await place.status("999000011") == "SUCCESS"


async def test_a_pause_that_begins_during_a_run_is_slept_through_with_the_lock(place: Place) -> None:
    lease = "select renewed_at + make_interval(secs => ttl_seconds) > ostinato.now() + interval '600 s' from {}"
    async with place.worker():
        async with place.gate():
            await place.made()
            await place.running()
            await place.lab.until(
                "select exists (select from ostinato_data.step where name = %s)", "keep API_RECHERCHE_ENTREPRISES"
            )
            await place.lab.engine.clock.freeze()
            await place.lab.rows(
                "update enrichment.source set paused_until = ostinato.now() + interval '10 minutes',"
                " paused_for = 'RATE_LIMIT' where source_api = 'API_ENTREPRISE_RCS'"
            )
        await place.asleep()
        status = await place.status()
        locked = await place.lab.value(lease.format("ostinato_data.lease"))
        await pass_seconds(place, 601)
        await place.ended()

    assert (status, locked) == ("RUNNING", True)  # M3C-invariant-1
    assert await place.status() == "SUCCESS"
    started = [p["attempt"] for kind, p in await place.events() if kind.endswith("Started")]
    assert started == [1]
    assert len(place.calls("/search")) == len(place.calls("/companies/")) == len(place.calls("/extrait_kbis")) == 1


async def test_a_worker_that_was_stopped_sends_no_call_whose_turn_went_by(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six companies, four turns a second, and a worker that stands still until the turns of five have gone by."""
    time = WorkerTime(monkeypatch)
    sirens = [f"9980000{number:02}" for number in range(6)]
    await place.lab.engine.clock.freeze()
    with strict(monkeypatch, time, per_second=4) as sandbox:

        async def all_called_or_wait() -> None:
            await until_async(lambda: len(time.waiting) + len(searches(sandbox)) == 6)

        async with place.worker():
            for siren in sirens:
                await place.made(siren)
            await all_called_or_wait()
            missed = time.waiting
            await pass_seconds(place, 10)
            time.pass_until(10)
            await all_called_or_wait()
            turns = time.waiting
            assert turns == [10.25, 10.5, 10.75, 11.0]
            for at in turns:
                time.pass_until(at)
                await all_called_or_wait()
            for siren in sirens:
                await place.ended(siren)
        refused = [call.path for call in sandbox.faults.calls if call.status == 429]

    assert missed == [0.25, 0.5, 0.75, 1.0, 1.25]
    assert refused == []


async def test_a_job_that_waits_for_its_turn_is_claimed_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sleeps until a time of its own: nobody asks again and again."""
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SEARCH_PER_SECOND", "0.05")
    sirens = [f"9980000{number:02}" for number in range(30)]
    await place.made()
    async with place.worker():
        await place.ended()
        await place.lab.engine.clock.freeze()
        await place.lab.rows(
            "update enrichment.source set next_at = ostinato.now() + interval '20 s' where source_api"
            " = 'API_RECHERCHE_ENTREPRISES'"
        )
        for siren in sirens:
            await place.made(siren)
        for siren in sirens:
            await place.asleep(siren)
        found = await place.lab.rows(ASLEEP)
        await pass_seconds(place, 21)
        await place.lab.until("select count(*) = %s from enrichment.company where job_id is null", 2)
        left = await place.lab.rows(ASLEEP)

    apart = {(after - before).total_seconds() for (_, before), (_, after) in pairwise(found)}
    assert apart == {20}
    assert (len(found), len(left)) == (30, 29)
    # Claimed once, when it was added; the second time will be when it is its turn.
    assert {attempt for attempt, _ in found + left} == {2}


async def test_who_sleeps_is_woken_when_a_probe_was_answered(place: Place) -> None:
    """Not all at once when the pause is over: one probes the source, and the others sleep on."""
    await place.lab.engine.clock.freeze()
    await place.lab.rows(
        "update enrichment.source set paused_until = ostinato.now() + interval '60 s', paused_for = 'RATE_LIMIT'"
        " where source_api = 'API_ENTREPRISE_RCS'"
    )
    async with place.worker():
        for siren in OURS:
            await place.made(siren)
        for siren in OURS:
            await place.asleep(siren)
        wakes = [at for _, at in await place.lab.rows(ASLEEP)]
        # The time of the first one only: the others sleep on, unless they are woken with the end of the pause.
        now = await place.lab.engine.clock.freeze(wakes[0] + timedelta(seconds=1))
        await place.lab.until(
            "select paused_until is null from enrichment.source where source_api = 'API_ENTREPRISE_RCS'"
        )
        assert [at for _, at in await place.lab.rows(ASLEEP) if at > now] == []
        for siren in OURS:
            await place.ended(siren)

    assert [(at - wakes[0]).total_seconds() for at in wakes] == [0, 5, 10]
    assert [await place.status(siren) for siren in OURS] == ["SUCCESS"] * 3


async def test_a_failed_company_shows_pending_until_its_next_run_has_started(place: Place) -> None:
    """One that is known shows what is known meanwhile."""
    requests = {siren: await place.enriched(siren) for siren in (ALL_FINE, "000000000")}

    async def shown(siren: str) -> tuple[str, bool]:
        request = (await place.get(requests[siren])).json()["request"]
        return request["enrichment_status"], request["enrichment_error"] is None

    before = [await shown(siren) for siren in requests]
    for request_id in requests.values():
        await place.refresh(request_id)

    assert before == [("SUCCESS", True), ("FAILED", False)]
    assert [await shown(siren) for siren in requests] == [("SUCCESS", True), ("PENDING", True)]
    assert [await place.status(siren) for siren in requests] == ["SUCCESS", "FAILED"]


async def test_a_run_writes_no_request_but_those_that_wait_for_it(place: Place) -> None:
    """As many as were ever made for the company read its state, and are not written."""
    request_id = await place.enriched()
    await place.lab.rows(
        "insert into enrichment.request (tenant_id, id, siren, company_siren, created_at, created_by, correlation_id)"
        " select 'acme', gen_random_uuid(), %s, %s, ostinato.now(), 'x', 'x' from generate_series(1, 500)",
        ALL_FINE,
        ALL_FINE,
    )
    rows = "select id, xmin::text from enrichment.request order by id"
    before = dict(await place.lab.rows(rows))
    async with place.worker():
        await place.refresh(request_id)
        await place.ended()
    after = dict(await place.lab.rows(rows))

    written = [str(each) for each in after if after[each] != before[each]]
    assert written == [request_id]
    overview = await place.api.call("GET", "/v1/enrichment/overview", roles=("tenant_admin",))
    assert overview.json()["requests"]["SUCCESS"] == 501

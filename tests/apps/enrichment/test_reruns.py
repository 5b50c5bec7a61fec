"""Results whose errors pass are run again: by themselves with a back-off, and many by an operator."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from datetime import timedelta

import pytest

from tests.apps.enrichment.place import ALL_FINE, Place

RCS = "/registers/v3/*"


async def due(place: Place, minutes: float) -> None:
    """Let time pass, and the schedule run again what is due then."""
    await place.lab.engine.clock.move(timedelta(minutes=minutes))
    kind = place.lab.app.kinds["enrichment.rerun"]
    await place.lab.becomes(await kind.enqueue(place.lab.client), "done")
    await place.lab.until("select count(*) = %s from enrichment.company where job_id is not null", 0)


async def plan(place: Place, siren: str = ALL_FINE) -> tuple[int, float | None]:
    """How often a company was run again, and in how many minutes it will be."""
    ((reruns, minutes),) = await place.lab.rows(
        "select reruns, round(extract(epoch from rerun_at - enrichment_last_run_at) / 60) from enrichment.company"
        " where siren = %s",
        siren,
    )
    return reruns, None if minutes is None else float(minutes)


@pytest.mark.parametrize("fault", ["503", "429:600", "reset"])
async def test_what_passes_is_run_again_by_itself(place: Place, fault: str) -> None:
    place.sources.order(RCS, f"{fault}*1" if fault != "503" else "503*3")
    async with place.worker():
        async with place.gate():
            for tenant in ("acme", "globex"):
                await place.made(tenant=tenant)
        first = await place.ended()
        planned = await plan(place)
        await due(place, 4)
        early = await place.jobs()
        await due(place, 7)
        job = await place.last_job()

    assert (first, planned, early) == ("PARTIAL", (0, 5), 1)
    assert await place.status() == "SUCCESS"
    assert await plan(place) == (0, None)
    told = await place.events("tenant_id", "type", "payload ->> 'job_id'", "payload ->> 'enrichment_status'")
    ends = [row for row in told if row[1].endswith("Completed")]
    assert sorted((tenant, status) for tenant, _, _, status in ends) == [
        ("acme", "PARTIAL"),
        ("acme", "SUCCESS"),
        ("globex", "PARTIAL"),
        ("globex", "SUCCESS"),
    ]
    # Whose job it is knows it by its id, the other one by a number of its own.
    assert [number == str(job) for _, _, number, status in ends if status == "SUCCESS"].count(True) == 1
    assert sum(row[1].endswith("Requested") for row in told) == 2


async def test_reruns_wait_longer_and_longer_and_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_BREAKER_FAILURES", "100")
    place.sources.order(RCS, "500*")
    seen = []
    async with place.worker():
        request_id = await place.made()
        await place.ended()
        for _ in range(8):
            reruns, minutes = await plan(place)
            seen.append((reruns, minutes))
            await due(place, minutes or 2000)
        jobs = await place.jobs()
        await place.refresh(request_id)
        await place.ended()

    assert seen == [(0, 5), (1, 15), (2, 60), (3, 240), (4, 720), (5, 1440), (6, None), (6, None)]
    assert jobs == 7
    assert await plan(place) == (0, 5)  # somebody asked: it counts anew


async def test_refused_credentials_are_tried_again_and_an_unknown_company_is_not(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as wrong:
        wrong.setenv("OSTINATO_ENRICHMENT_INPI_PASSWORD", "expired")
        await place.enriched()
    await place.enriched("999000086")
    await place.enriched("000000000")
    planned = [await plan(place, siren) for siren in (ALL_FINE, "999000086", "000000000")]

    async with place.worker():
        await due(place, 6)

    assert planned == [(0, 5), (0, None), (0, None)]
    assert await place.status() == "SUCCESS"


async def unwell(place: Place) -> None:
    """Two companies of acme and one of globex, which nobody runs again by himself any more."""
    place.sources.order(RCS, "reset*2,404*1")
    async with place.worker():
        for siren, tenant in (("998000001", "acme"), ("998000002", "globex"), ("998000003", "acme")):
            await place.made(siren, tenant=tenant)
            await place.ended(siren)
    await place.lab.rows("update enrichment.company set rerun_at = null, reruns = 6")


async def ran(place: Place) -> list[str]:
    found = await place.lab.rows("select siren from enrichment.company where job_id is not null order by siren")
    return [siren for (siren,) in found]


async def test_an_operator_runs_many_again_of_its_own_tenant(place: Place) -> None:
    await unwell(place)
    path = "/v1/enrichment/rerun"

    refused = await place.api.call("POST", path, roles=("agency_user",), json={})
    odd = await place.api.call("POST", path, roles=("ops",), json={"status": ["SUCCESS"]})
    none = await place.api.call("POST", path, roles=("ops",), json={"status": ["FAILED"]})
    some = await place.api.call("POST", path, roles=("ops",), json={})
    again = await place.api.call("POST", path, roles=("ops",), json={})
    first = await ran(place)
    named = {"status": ["PARTIAL"], "error": ["NOT_FOUND", "SOURCE_UNAVAILABLE"]}
    more = await place.api.call("POST", path, roles=("ops",), json=named)

    assert (refused.status_code, odd.status_code) == (403, 422)
    assert none.json() == again.json() == {"companies": 0, "more": False}
    assert (some.status_code, some.json()) == (202, {"companies": 1, "more": False})
    assert first == ["998000001"]
    assert more.json()["companies"] == 1
    assert await ran(place) == ["998000001", "998000003"]
    async with place.worker():
        for siren in ("998000001", "998000003"):
            await place.ended(siren)
            assert await place.status(siren) == "SUCCESS"


async def test_the_command_runs_all_tenants_again_so_many_at_once(place: Place) -> None:
    await unwell(place)
    env = os.environ | {"OSTINATO_DATABASE_URL": place.lab.engine.database.url, "COLUMNS": "160"}

    async def typed(*args: str, code: int = 0) -> str:
        command = (sys.executable, "-m", "ostinato", "enrichment", "rerun", *args)
        process = await asyncio.create_subprocess_exec(*command, env=env, stdout=PIPE, stderr=STDOUT)
        said, _ = await process.communicate()
        assert process.returncode == code, said
        return said.decode()

    odd = await typed("--status", "STALE", code=1)
    one = json.loads(await typed("--status", "partial", "--error", "source_unavailable", "--most", "1", "--json"))
    rest = await typed("--tenant", "globex")

    assert "companies that are STALE are not run again" in odd
    assert one == {"companies": 1, "more": True}
    assert "1 company will be run again." in rest
    assert await ran(place) == ["998000001", "998000002"]
    entries = await place.lab.rows("select verb, noun, count from ostinato_data.audit_entry where verb = 'rerun'")
    assert entries == [("rerun", "companies", 1)] * 2

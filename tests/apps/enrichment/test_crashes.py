"""Workers that die, or wake up late: no committed call again, no event lost or told twice."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from ostinato.apps.enrichment.lock import LOCK_TENANT
from ostinato.base.errors import LeaseLost
from ostinato.cli.torture_crew import Crew, Hand
from ostinato.engine import leases
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.runtime.lab import until

SEARCH, INPI, RCS = "/registers/search", "/registers/api/companies/*", "/registers/v3/*"
SOURCES = ("/search", "/companies/", "/extrait_kbis")
ONCE = {"Requested": 1, "SourceFetched": 3, "Completed": 1}


@pytest.fixture
def crew(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    """Real worker processes, whose calls may take long, so that they can be caught at one."""
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "0")
    ours = {
        name.removeprefix("OSTINATO_").lower(): value
        for name, value in os.environ.items()
        if name.startswith("OSTINATO_ENRICHMENT_")
    }
    quick = {"beat_seconds": 0.25, "expiry_seconds": 1.0, "poll_seconds": 0.2}
    settings = ours | quick | {"enrichment_timeout_ms": 60_000}
    url = place.lab.engine.database.url
    with Crew("ostinato.apps.enrichment:APP", url, tmp_path, settings) as made:
        yield made


async def caught(place: Place, hand: Hand, part: str) -> None:
    """Wait until a worker is in the middle of a call."""
    await until(lambda: place.calls(part) or not hand.alive)
    assert hand.alive, hand.log_path.read_text()[-3000:]


async def finished(place: Place) -> None:
    """Let another worker do the rest."""
    async with place.worker():
        await place.ended()


async def check(place: Place, *, again: str | None = None) -> None:
    """Everything happened once; a call that was not committed may have been made again."""
    assert await place.status() == "SUCCESS"
    told = Counter(await place.types())
    told.pop("Started")
    assert told == ONCE
    attempts = [
        payload["attempt"]
        for kind, payload in await place.events()
        if kind == "CompanyEnrichmentStarted"
    ]
    assert attempts == [1, 2]
    for part in SOURCES:
        assert len(place.calls(part)) == (2 if part == again else 1), part


@asynccontextmanager
async def end_held_up(place: Place) -> AsyncIterator[None]:
    """No run can end: the table that only the end writes is locked."""
    url = place.lab.engine.database.admin_url
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await conn.execute("lock table enrichment.company_field_provenance in share mode")
        yield


@pytest.mark.parametrize(
    ("path", "part"), [(SEARCH, "/search"), (INPI, "/companies/"), (RCS, "/extrait_kbis")]
)
async def test_a_crash_during_each_call_costs_that_call_only(
    place: Place, crew: Crew, path: str, part: str
) -> None:
    """After the lock, after the search, after INPI."""
    place.sources.order(path, "stall")
    hand = crew.start()
    await place.made()
    await caught(place, hand, part)

    hand.kill()
    await finished(place)

    await check(place, again=part)


async def test_a_crash_after_the_last_source_calls_nobody_again(place: Place, crew: Crew) -> None:
    async with end_held_up(place):
        hand = crew.start()
        await place.made()
        await place.lab.until(
            "select count(*) = 3 from ostinato_data.event where type like '%%SourceFetched' and %s",
            True,  # noqa: FBT003 - a condition that takes a parameter
        )
        hand.kill()
    await finished(place)

    await check(place)


async def test_a_worker_that_wakes_up_late_writes_nothing(place: Place, crew: Crew) -> None:
    place.sources.order(INPI, "ok@2")
    hand = crew.start()
    await place.made()
    await caught(place, hand, "/companies/")
    hand.pause()
    await finished(place)
    before = (
        await place.lab.rows("select c, c.xmin::text from enrichment.company c"),
        await place.lab.rows("select r, r.xmin::text from enrichment.request r"),
        await place.events("id"),
    )

    hand.resume()
    await until(lambda: hand.said("declared_dead") or not hand.alive)
    hand.terminate()
    hand.wait()

    after = (
        await place.lab.rows("select c, c.xmin::text from enrichment.company c"),
        await place.lab.rows("select r, r.xmin::text from enrichment.request r"),
        await place.events("id"),
    )
    assert after == before
    await check(place, again="/companies/")


async def test_an_expired_lock_is_taken_over_with_the_next_attempt_and_a_new_token(
    place: Place,
) -> None:
    async with place.lab.client.connection() as conn:
        zombie = await leases.acquire(
            conn,
            f"company_enrichment:{ALL_FINE}",
            holder="a worker that is gone",
            ttl=0.05,
            tenant=LOCK_TENANT,
        )

    await place.enriched()

    (started,) = [p for kind, p in await place.events() if kind.endswith("Started")]
    assert started["attempt"] == 2
    with pytest.raises(LeaseLost):
        async with place.lab.client.transaction() as conn:
            await leases.guard(conn, zombie)


async def test_an_attempt_that_failed_with_the_lock_does_not_hold_up_the_next(place: Place) -> None:
    """It fails between the lock and RUNNING: the next attempt of the job takes its lock at once."""
    await place.lab.rows("create sequence public.tries")
    await place.lab.rows("grant usage on sequence public.tries to public")
    await place.lab.rows(
        "create function public.fail_once() returns trigger language plpgsql as"
        " $$ begin if nextval('public.tries') = 1 then raise 'for once'; end if; return new; end $$"
    )
    await place.lab.rows(
        "create trigger fail_once before update of enrichment_status on enrichment.company"
        " for each row execute function public.fail_once()"
    )
    try:
        await place.enriched()
    finally:
        await place.lab.rows("drop function public.fail_once() cascade")
        await place.lab.rows("drop sequence public.tries")

    job_id = await place.lab.value(
        "select id from ostinato_data.job where kind = 'enrichment.enrich'"
    )
    assert await place.lab.outcomes(job_id) == ["failed", "done"]


async def test_a_lock_that_is_held_is_waited_for(place: Place) -> None:
    async with place.lab.client.connection() as conn:
        other = await leases.acquire(
            conn, f"company_enrichment:{ALL_FINE}", holder="another", ttl=120, tenant=LOCK_TENANT
        )
    async with place.worker():
        await place.made()
        called = place.calls()
        async with place.lab.client.connection() as conn:
            await leases.release(conn, other)
        await place.ended()

    assert called == []
    assert await place.status() == "SUCCESS"


async def test_a_long_run_renews_its_lock(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """25 s in all, at a twentieth of it; the lock would not last without its heartbeat."""
    monkeypatch.setenv("OSTINATO_ENRICHMENT_LOCK_HEARTBEAT_SECONDS", "0.1")
    monkeypatch.setenv("OSTINATO_ENRICHMENT_SYNC_MS", "0")
    async with place.worker():
        await place.made("999000128")
        await place.lab.until(
            "select exists (select from ostinato_data.lease where renewed_at > acquired_at and %s)",
            True,  # noqa: FBT003 - a condition that takes a parameter
        )
        assert await place.ended("999000128") == "SUCCESS"

    assert len(place.calls("/search")) == 3
    assert await place.lab.rows("select from ostinato_data.lease") == []

"""Workers that die, or wake up late: no committed call again, no event lost or told twice."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from ostinato._core.base.errors import LeaseLost
from ostinato._core.engine import leases
from ostinato.apps.enrichment.lock import LOCK_TENANT, Lock
from ostinato.lab.torture.crew import Crew, Hand
from tests.apps.enrichment.place import ALL_FINE, Place
from tests.slow import first_only
from tests.waiting import until_async

SEARCH, INPI, RCS = "/registers/search", "/registers/api/companies/*", "/registers/v3/*"
SOURCES = ("/search", "/companies/", "/extrait_kbis")
EXPIRY_SECONDS = 20.0
"""Without a beat, of the engine's clock, which the tests move: so long that no busy machine is a death."""
ONCE = {"Requested": 1, "SourceFetched": 3, "Completed": 1}


@pytest.fixture
def crew(place: Place, tmp_path: Path) -> Iterator[Crew]:
    """Real worker processes, whose calls may take long, so that they can be caught at one."""
    ours = {
        name.removeprefix("OSTINATO_").lower(): value
        for name, value in os.environ.items()
        if name.startswith("OSTINATO_ENRICHMENT_")
    }
    quick = {"beat_seconds": 0.25, "expiry_seconds": EXPIRY_SECONDS, "poll_seconds": 0.2}
    settings = ours | quick | {"enrichment_timeout_ms": 60_000}
    url = place.lab.engine.database.url
    with Crew("ostinato.apps.enrichment:APP", url, tmp_path, settings) as made:
        yield made


async def caught(place: Place, hand: Hand, part: str) -> None:
    """Wait until a worker is in the middle of a call."""
    await until_async(lambda: place.calls(part) or not hand.alive)
    assert hand.alive, hand.log_path.read_text()[-3000:]


async def finished(place: Place) -> None:
    """Let the time of a worker be over that beats no more, and another one do the rest."""
    await place.lab.engine.clock.move(EXPIRY_SECONDS + 1)
    async with place.worker():
        await place.ended()


async def check(place: Place, *, again: str | None = None, attempts: tuple[int, ...] = (1, 2)) -> None:
    """Everything happened once; a call that was not committed may have been made again."""
    assert await place.status() == "SUCCESS"
    told = Counter(await place.types())
    told.pop("Started")
    assert told == ONCE
    started = [payload["attempt"] for kind, payload in await place.events() if kind == "CompanyEnrichmentStarted"]
    assert started == list(attempts)
    for part in SOURCES:
        assert len(place.calls(part)) == (2 if part == again else 1), part
    assert await place.lab.rows("select from enrichment.fetched") == []


AT_THE_END = "lock table enrichment.company_field_provenance in share mode"
AT_A_DOCUMENT = "lock table enrichment.company_document in share mode"
AT_THE_COMPANY = "select from enrichment.company for update"


@asynccontextmanager
async def held_up(place: Place, statement: str) -> AsyncIterator[None]:
    """No run gets on: what it writes next is locked."""
    url = place.lab.engine.database.admin_url
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await conn.execute(statement.encode())
        yield


@pytest.mark.parametrize(
    ("path", "part"), first_only([(SEARCH, "/search"), (INPI, "/companies/"), (RCS, "/extrait_kbis")])
)
async def test_a_crash_during_each_call_costs_that_call_only(place: Place, crew: Crew, path: str, part: str) -> None:
    """After the lock, after the search, after INPI."""
    place.sources.order(path, "stall")
    hand = crew.start()
    await place.made()
    await caught(place, hand, part)

    hand.kill()
    await finished(place)

    await check(place, again=part)


@pytest.mark.proof
async def test_a_crash_between_a_call_and_what_is_kept_of_it_calls_nobody_again(place: Place, crew: Crew) -> None:
    """The call is committed, its document and its event are not: why these are two steps."""
    async with held_up(place, AT_A_DOCUMENT):
        hand = crew.start()
        await place.made()
        await place.lab.until(
            "select exists (select from ostinato_data.step where name = %s)", "call API_RECHERCHE_ENTREPRISES"
        )
        hand.kill()
    await finished(place)

    await check(place)


@pytest.mark.proof
async def test_a_crash_between_the_lock_and_started_begins_anew(place: Place, crew: Crew) -> None:
    await place.made()
    async with held_up(place, AT_THE_COMPANY):
        hand = crew.start()
        await place.lab.until(
            "select exists (select from ostinato_data.lease where name = %s)", f"company_enrichment:{ALL_FINE}"
        )
        hand.kill()
    await finished(place)

    await check(place, attempts=(1,))


async def test_a_crash_after_the_last_source_calls_nobody_again(place: Place, crew: Crew) -> None:
    async with held_up(place, AT_THE_END):
        hand = crew.start()
        await place.made()
        await place.lab.until(
            "select count(*) = 3 from ostinato_data.event where type like '%%SourceFetched' and %s",
            True,  # noqa: FBT003 - a condition that takes a parameter
        )
        hand.kill()
    await finished(place)

    await check(place)


@pytest.mark.proof
async def test_a_worker_that_wakes_up_late_writes_nothing(place: Place, crew: Crew) -> None:
    place.sources.order(INPI, "ok@6")
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
    await until_async(lambda: hand.said("declared_dead") or not hand.alive)
    hand.terminate()
    hand.wait()

    after = (
        await place.lab.rows("select c, c.xmin::text from enrichment.company c"),
        await place.lab.rows("select r, r.xmin::text from enrichment.request r"),
        await place.events("id"),
    )
    assert after == before
    await check(place, again="/companies/")


async def test_an_expired_lock_is_taken_over_with_the_next_attempt_and_a_new_token(place: Place) -> None:
    async with place.lab.client.connection() as conn:
        zombie = await leases.acquire(
            conn, f"company_enrichment:{ALL_FINE}", holder="a worker that is gone", ttl=0.05, tenant=LOCK_TENANT
        )

    await place.enriched()

    (started,) = [p for kind, p in await place.events() if kind.endswith("Started")]
    assert started["attempt"] == 2
    with pytest.raises(LeaseLost):
        async with place.lab.client.transaction() as conn:
            await leases.guard(conn, zombie)


async def test_an_attempt_that_failed_with_the_lock_does_not_hold_up_the_next(place: Place) -> None:
    """It fails between the lock and RUNNING: the next attempt of the job takes its lock at once."""
    async with place.worker():
        async with place.failing_once():
            await place.made()
        await place.ended()

    assert await place.lab.outcomes(await place.last_job()) == ["failed", "done"]


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
    """The lock outlives its 120 seconds by its heartbeat alone."""
    monkeypatch.setenv("OSTINATO_ENRICHMENT_LOCK_HEARTBEAT_SECONDS", "0.1")
    await place.lab.engine.clock.freeze()
    async with place.worker():
        async with place.gate():
            await place.made("999000128")
            await place.running("999000128")
            for _ in range(2):
                now = await place.lab.engine.clock.move(100)
                await place.lab.until(
                    "select exists (select from ostinato_data.lease where acquired_at < renewed_at"
                    " and renewed_at = %s)",
                    now,
                )
        assert await place.ended("999000128") == "SUCCESS"

    started = [p["attempt"] for kind, p in await place.events() if kind.endswith("Started")]
    assert started == [1]
    assert len(place.calls("/search")) == 3
    assert await place.lab.rows("select from ostinato_data.lease") == []


async def test_a_lock_lives_120_seconds_and_is_renewed_every_30(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """M3C-lock-2 and 3, at default settings; that renewing prolongs it is the test above."""
    beats: list[float] = []
    monkeypatch.setattr(Lock, "beat", lambda _self, _ctx, seconds, _log: beats.append(seconds))
    async with place.worker():
        async with place.gate():
            await place.made()
            await place.running()
            lives = await place.lab.value("select ttl_seconds from ostinato_data.lease")
        await place.ended()

    assert (lives, beats) == (120, [30])


async def test_a_lock_that_is_taken_away_lets_the_run_begin_again(place: Place) -> None:
    """By hand, with `ostinato leases release --force`: at once, and not when a claim expires."""
    async with place.worker():
        async with place.gate():
            await place.made()
            await place.running()
            await place.lab.rows("delete from ostinato_data.lease")
        assert await place.ended() == "SUCCESS"

    started = [p["attempt"] for kind, p in await place.events() if kind.endswith("Started")]
    assert started == [1, 2]
    assert await place.lab.outcomes(await place.last_job()) == ["done"]
    assert len(place.calls("/search")) == 1


def test_a_run_whose_lock_is_lost_calls_nobody_any_more() -> None:
    lock = Lock(leases.Lease("company_enrichment:999000003", LOCK_TENANT, 7, 1, None, "time"))
    lock.check()

    lock.lost = True

    with pytest.raises(LeaseLost):
        lock.check()


async def test_who_waited_for_a_job_that_died_is_told_by_the_next_one(place: Place) -> None:
    await place.made(tenant="acme")
    await place.made(tenant="globex")
    dead = await place.last_job()
    await place.lab.rows("select ostinato.cancel_job(%s)", dead)

    await place.enriched(tenant="acme")

    told = await place.completed()
    assert set(told) == {"acme", "globex"}
    assert told["acme"] == await place.last_job() != dead
    assert told["globex"] not in (dead, told["acme"])
    assert await place.lab.rows("select from enrichment.attachment") == []


async def test_the_lock_of_a_job_that_died_is_not_waited_for(place: Place) -> None:
    await place.made()
    dead = await place.last_job()
    async with place.lab.client.connection() as conn:
        await leases.acquire(
            conn,
            f"company_enrichment:{ALL_FINE}",
            holder="a job that is over",
            ttl=120,
            job_id=dead,
            tenant=LOCK_TENANT,
        )
    await place.lab.rows("select ostinato.cancel_job(%s)", dead)

    await place.enriched()

    assert await place.lab.outcomes(await place.last_job()) == ["done"]


async def test_a_job_that_its_company_does_not_wait_for_writes_nothing(place: Place) -> None:
    """A dead letter that is run again after the sweep: what its steps kept would be old."""
    request_id = await place.enriched()
    before = await place.lab.rows("select c, c.xmin::text from enrichment.company c")
    told = await place.events("id")

    async with place.worker():
        kind = place.lab.app.kinds["enrichment.enrich"]
        again = await kind.options(tenant="acme").enqueue(
            place.lab.client, siren=ALL_FINE, request_id=request_id, trigger="MANUAL_REFRESH"
        )
        await place.lab.becomes(again, "done")

    assert await place.lab.rows("select c, c.xmin::text from enrichment.company c") == before
    assert await place.events("id") == told
    assert await place.lab.rows("select from ostinato_data.lease") == []

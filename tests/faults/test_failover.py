"""A primary that dies, is cut off or is demoted: workers follow, and nothing that was acknowledged is lost."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ostinato._core.db.embedded import Server
from ostinato.lab.torture.crew import Crew
from tests.faults.replicas import STANDBY, Replicated, configure, copied, kill_server, way_to
from tests.faults.site import Site
from tests.faults.talking import doctor
from tests.waiting import until

pytestmark = pytest.mark.proof

# A busy machine is no dead worker: what is tried here is the database's trouble alone.
ALIVE: dict[str, Any] = {"beat_seconds": 1, "expiry_seconds": 60}

SYNC_WAITS = "select exists (select from pg_stat_activity where wait_event = 'SyncRep')"
LONG_WAITS = (
    "select exists (select from pg_stat_activity where wait_event = 'SyncRep' and usename = 'ostinato_worker'"
    " and clock_timestamp() - state_change > interval '3 seconds')"
)


@pytest.fixture
def primary(seed: Path) -> Iterator[Server]:
    with copied(seed) as server:
        yield server


@pytest.fixture
def pair(primary: Server) -> Iterator[Replicated]:
    with Replicated(primary) as made:
        yield made


def follow(site: Site, pair: Replicated) -> None:
    """Look at the standby from now on."""
    site.urls = pair.standby.urls(pair.urls)
    site.leave()


def until_moved(crew: Crew) -> None:
    """Wait until each worker says that it has left: one with nothing to do notices later than the other."""
    until(lambda: all(hand.said("database_moved") for hand in crew.hands))


def test_the_death_of_a_primary_with_a_synchronous_standby_loses_nothing(pair: Replicated, tmp_path: Path) -> None:
    with Site(pair.primary, pair.urls, tmp_path) as site:
        crew = site.crew(pair.both, **ALIVE)
        site.ready(crew.start(), crew.start())
        pair.wait_for_standby()
        ids = site.enqueue("effect", 60, seconds=0.5)
        until(lambda: site.ended() >= 10)
        kill_server(pair.primary)
        pair.standby.promote()
        follow(site, pair)
        release(site)
        site.until_idle()
        until_moved(crew)

        site.check(ids, ids)
        assert {hand.alive for hand in crew.hands} == {True}


def test_an_asynchronous_failover_tells_that_commits_may_be_lost_and_work_goes_on(
    primary: Server, tmp_path: Path
) -> None:
    """What the standby never got is gone; what it got is worked on, and no effect is doubled."""
    with way_to(primary) as way, Replicated(primary, way.folder) as pair, Site(primary, pair.urls, tmp_path) as site:
        crew = site.crew(pair.both, **ALIVE)
        site.ready(crew.start())
        kept = site.enqueue("slow_at_first", 5) + site.enqueue("effect", 5)
        site.until("select count(*) = 5 from effect")
        site.until("select bool_and(replay_lsn >= pg_current_wal_lsn()) from pg_stat_replication")
        with way.away():
            gone = site.enqueue("effect", 5)
            site.until("select count(*) = 10 from effect")
            kill_server(primary)
            pair.standby.promote()
        follow(site, pair)
        fresh = site.enqueue("effect", 5)
        site.until("select count(*) = 10 from effect")

        (moved, *_) = [line for line in crew.hands[0].lines() if line["event_type"] == "database_moved"]
        assert "the last ones before it may be" in moved["hint"]
        # Their attempts ended on the primary that died: they are held until their worker gives them back.
        assert [site.state(job_id) for job_id in gone] == [None] * 5
        effects = {job_id for (job_id,) in site.rows("select job_id from effect")}
        assert effects == set(kept[5:] + fresh)
        site.check_fence()


def test_a_commit_waits_while_the_standby_is_cut_off_and_goes_on_after(primary: Server, tmp_path: Path) -> None:
    with way_to(primary) as way, Replicated(primary, way.folder) as pair, Site(primary, pair.urls, tmp_path) as site:
        crew = site.crew(pair.both, **ALIVE)
        site.ready(crew.start())
        pair.wait_for_standby()
        site.rows("set synchronous_commit = local")
        ids: list[int] = []
        with way.away():
            site.until("select not exists (select from pg_stat_replication)")
            adding = threading.Thread(target=lambda: ids.extend(added(pair.urls.worker, 20)))
            adding.start()
            # Somebody asks for the commit and gets no answer, which is what keeps the promise.
            site.until(SYNC_WAITS)
            assert ids == []
        adding.join()
        site.until_idle()

        site.check(ids, ids)
        assert site.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]


def added(url: str, count: int) -> list[int]:
    """Jobs that were added in one transaction, once the server said that it was committed."""
    with psycopg.connect(url) as conn:
        call = "select ostinato.enqueue_job('faults.effect') from generate_series(1, %s)"
        rows = conn.execute(call, [count]).fetchall()
    return [row[0] for row in rows]


def test_an_isolated_primary_acknowledges_nothing_that_its_successor_does_not_have(
    primary: Server, tmp_path: Path
) -> None:
    """Workers and the standby are on one side, the primary and a client of its own on the other."""
    with (
        way_to(primary) as way,
        way_to(primary) as door,
        Replicated(primary, way.folder) as pair,
        Site(primary, pair.urls, tmp_path) as site,
    ):
        crew = site.crew(pair.standby.after(door.url(pair.urls.worker)), **ALIVE)
        site.ready(crew.start(), crew.start())
        pair.wait_for_standby()
        ids = site.enqueue("effect", 40, seconds=0.5)
        until(lambda: site.ended() >= 5)
        alone: list[int] = []
        with way.away(), door.away():
            adding = threading.Thread(target=lambda: alone.extend(added_or_not(pair.urls.worker)))
            adding.start()
            site.until(SYNC_WAITS)
            pair.standby.promote()
            follow(site, pair)
            release(site)
            site.until_idle()
            # Its client still waits for an answer. Then the old primary is taken out of service.
            assert adding.is_alive()
            kill_server(primary)
            adding.join()

        assert alone == []
        site.check(ids, ids)


def added_or_not(url: str) -> list[int]:
    try:
        return added(url, 3)
    except psycopg.OperationalError:
        return []


def release(site: Site) -> None:
    """What whoever promotes a server does: it must not wait for a standby of its own."""
    site.rows("set synchronous_commit = local")
    site.rows("alter system reset synchronous_standby_names")
    site.rows("select pg_reload_conf()")


def test_a_promoted_server_that_waits_for_a_standby_is_named_and_work_goes_on_once_it_does_not(
    pair: Replicated, tmp_path: Path
) -> None:
    """It inherits synchronous_standby_names: every call ends in time, unknown, and none is doubled."""
    with Site(pair.primary, pair.urls, tmp_path) as site:
        pair.wait_for_standby()
        # As a base backup has it that is made from now on.
        configure(pair.standby.cluster.pgdata, synchronous_standby_names=STANDBY)
        kill_server(pair.primary)
        pair.standby.promote()
        follow(site, pair)
        site.rows("set synchronous_commit = local")
        site.rows("select pg_reload_conf()")
        ids = site.enqueue("effect", 5)
        site.crew(pair.both, **ALIVE).start()
        site.until(LONG_WAITS)
        found = doctor(site.urls.worker, "replication")
        release(site)
        site.until_idle()

        assert found["level"] == "fail"
        assert "alter system reset synchronous_standby_names" in found["hint"]
        site.check(ids, ids)


def test_a_demoted_primary_is_left_for_the_new_one(pair: Replicated, tmp_path: Path) -> None:
    """Its connections stay open and can only read: to keep them would be to wait for ever."""
    with Site(pair.primary, pair.urls, tmp_path) as site:
        crew = site.crew(pair.both, **ALIVE)
        site.ready(crew.start(), crew.start())
        pair.wait_for_standby()
        ids = site.enqueue("effect", 20, seconds=0.5)
        until(lambda: site.ended() >= 5)
        pair.set("default_transaction_read_only", "on")
        site.leave()
        pair.standby.promote()
        follow(site, pair)
        ids += site.enqueue("effect", 20)  # the others may have been done before the demotion
        site.until_idle()
        until_moved(crew)

        site.check(ids, ids)

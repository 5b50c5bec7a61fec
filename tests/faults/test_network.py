"""A network that is gone, in one direction or both, or that loses packets."""

from typing import Any

import pytest

from tests.faults.site import Site
from tests.proxy import Way, between
from tests.waiting import until

SOON: dict[str, Any] = {"beat_seconds": 1, "expiry_seconds": 10, "call_timeout_seconds": 2}


@pytest.mark.proof
@pytest.mark.parametrize("ways", [("to server", "to client"), ("to server",), ("to client",)], ids=" and ".join)
def test_a_worker_that_is_cut_off_is_followed_and_writes_nothing_when_it_is_back(
    site: Site, ways: tuple[Way, ...]
) -> None:
    """Nobody says goodbye: the connections stand, and nothing comes."""
    with between(site.urls.worker, site.folder) as proxy:
        crew = site.crew(**SOON)
        lost = crew.start(database_url=proxy.url(site.urls.worker))
        site.ready(lost)
        ids = site.enqueue("effect_when_told", 5)
        site.until("select sum(cardinality(job_ids)) = 5 from ostinato_data.claim")
        heir = crew.start()
        site.ready(heir)
        with proxy.dark(*ways):
            until(lambda: lost.said("heart_lost_connection"))
            site.until("select count(*) >= 5 from ostinato_data.outcome where outcome = 'lost'")
            site.rows("insert into started values (0, 0)")  # which lets both of them write
            site.until_idle()
        # It comes back under another id, and works on.
        until(lambda: lost.said("declared_dead"))
        site.ready(lost, heir)

        site.check(ids, ids)
        assert heir.said("rescued") > 0


@pytest.mark.proof
def test_a_lossy_way_to_the_database_costs_time_and_nothing_else(site: Site) -> None:
    with between(site.urls.worker, site.folder) as proxy:
        proxy.trickle(400, [0.0, 0.0, 0.01, 0.1])
        crew = site.crew(proxy.url(site.urls.worker), beat_seconds=1, expiry_seconds=60, call_timeout_seconds=30)
        site.ready(crew.start(), crew.start())
        ids = site.enqueue("effect", 10) + site.enqueue("threaded", 5) + site.enqueue("flaky", 5, failures=1)
        site.until_idle()

    site.check(ids, ids)
    assert crew.said("fenced") == crew.said("rescued") == crew.said("declared_dead") == 0


@pytest.mark.proof
def test_a_peer_of_a_few_bytes_a_second_holds_nobody_for_longer_than_a_call_may_take(site: Site) -> None:
    """Calls of one worker end in time, and leave no connection; another works as if nothing were."""
    with between(site.urls.worker, site.folder) as proxy:
        crew = site.crew(beat_seconds=1, expiry_seconds=4)
        slow = crew.start(database_url=proxy.url(site.urls.worker))
        site.ready(slow)
        proxy.trickle(1, [1.0])
        until(lambda: slow.said("heart_lost_connection"))
        well = crew.start()
        site.ready(well)
        ids = site.enqueue("effect", 10)
        site.until_idle()
        proxy.trickle(0, [0.0])
        site.ready(slow, well)

        site.check(ids, ids)
        most = "select count(*) < 40 from pg_stat_activity where datname = current_database()"
        site.until(most)

"""The database's trouble is the database's: jobs that have one attempt survive it."""

from typing import Any

import pytest

from ostinato._core.base.backoff import Retry
from tests.faults.app import ONCE
from tests.faults.site import Site
from tests.proxy import between

# A busy machine is no dead worker: what is tried here is the database's trouble alone.
ALIVE: dict[str, Any] = {"beat_seconds": 1, "expiry_seconds": 60}

# How a handler gets a transaction: for its job, in a thread, beside, as a step, for a batch, of a client of its own.
FORMS = ("", "_threaded", "_fenced", "_step", "_batch", "_client")

IN_TRANSACTION = (
    "select count(*) = %s from pg_stat_activity where datname = current_database()"
    " and state = 'idle in transaction' and query like '%%effect%%'"
)


def check_unharmed(site: Site, ids: list[int]) -> None:
    """Every job is done, by an attempt that left exactly one effect, and none was given up."""
    site.check(ids, ids)
    assert site.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]
    assert site.value("select count(*) from ostinato_data.dead_letter") == 0


def test_a_fast_restart_makes_no_dead_letters_of_jobs_with_one_attempt(site: Site) -> None:
    assert Retry(max_attempts=1) == ONCE
    site.ready(site.crew(**ALIVE).start())
    ids = site.enqueue("once_only", 5, seconds=2) + site.enqueue("once_only_threaded", 5, seconds=2)
    site.until(IN_TRANSACTION, 10)

    site.server.restart("fast")
    site.until_idle()

    check_unharmed(site, ids)


@pytest.mark.proof
def test_no_connection_free_for_long_buries_nothing(site: Site) -> None:
    crew = site.crew(**ALIVE)
    site.ready(crew.start())
    # The heart is connected: without it the worker would be declared dead.
    site.until(
        "select count(*) = 1 from pg_stat_activity where datname = current_database()"
        " and application_name = 'ostinato/heart'"
    )
    database = site.value("select current_database()")
    site.rows(f"alter database {database} connection limit 1")

    ids = site.enqueue("once_only", 20) + site.enqueue("once_only_threaded", 5)
    site.until("select count(*) = 25 from ostinato_data.deferral where times >= 2")
    site.rows(f"alter database {database} connection limit -1")
    site.until_idle()

    check_unharmed(site, ids)
    assert crew.said("attempt_deferred") >= 50


@pytest.mark.proof
def test_a_handler_leaves_a_server_that_froze_under_it(site: Site) -> None:
    """The worker reaches the database on other connections, as after a failover."""
    with between(site.urls.worker, site.folder) as proxy:
        crew = site.crew(proxy.url(site.urls.worker), statement_seconds=5, **ALIVE)
        site.ready(crew.start())
        left = ["swallow"] * len(FORMS)
        proxy.decide = lambda text: left.pop() if left and "into effect" in text else None  # type: ignore[assignment,return-value]
        ids = [job_id for form in FORMS for job_id in site.enqueue(f"once_only{form}")]
        site.until_idle()

    assert len(proxy.faults) == len(FORMS)
    check_unharmed(site, ids)
    assert site.value("select count(*) from ostinato_data.claim") == 0

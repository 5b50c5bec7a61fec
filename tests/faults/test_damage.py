"""Rows that are missing or cannot be read: real workers set them aside and go on."""

import pytest

from tests.faults.site import Site

BACKLOG = "select count(ostinato.enqueue_job(%s, tenant_id => %s)) from generate_series(1, %s)"
SET_ASIDE = "select count(*) = %s from ostinato_data.quarantine"


def lose(site: Site, job_id: int) -> None:
    site.rows("delete from ostinato_data.job where id = %s", job_id)


def quarantined(site: Site) -> list[int]:
    return [row[0] for row in site.rows("select job_id from ostinato_data.quarantine order by 1")]


def test_a_ready_job_without_its_row_does_not_stop_its_queue(site: Site) -> None:
    gone, *others = site.enqueue("effect", 5)
    lose(site, gone)

    hand = site.crew().start()
    site.until_idle()

    site.check(others, others)
    assert quarantined(site) == [gone]
    assert hand.said("set_aside") == 1


@pytest.mark.proof
def test_a_job_whose_arguments_are_no_text_does_not_stop_its_queue(site: Site) -> None:
    bad, *others = site.enqueue("effect", 5)
    site.rows("create cast (bytea as json) without function")
    site.rows("update ostinato_data.job set args = '\\x7b22ff'::bytea::json where id = %s", bad)

    site.crew().start()
    site.until_idle()

    site.check(others, others)
    assert quarantined(site) == [bad]


@pytest.mark.proof
def test_the_claim_of_a_dead_worker_is_rescued_beside_a_job_without_its_row(site: Site) -> None:
    crew = site.crew()
    victim = crew.start()
    site.ready(victim)
    gone, *others = site.enqueue("slow_at_first", 5)
    site.until("select sum(cardinality(job_ids)) = 5 from ostinato_data.claim")
    lose(site, gone)
    victim.kill()
    site.ready(crew.start())
    fresh = site.enqueue("effect", 5)
    site.until_idle()

    site.check(others + fresh, others + fresh)
    assert quarantined(site) == [gone]


@pytest.mark.proof
def test_a_verdict_of_a_job_without_its_row_holds_up_no_other_verdict(site: Site) -> None:
    site.ready(site.crew().start())
    (gone,) = site.enqueue("flaky", failures=1)
    blocker = site.enqueue("slow_failure")[0]
    site.until("select exists (select from started where job_id = %s)", blocker)
    lose(site, blocker)
    site.rows("insert into started values (0, 0)")  # which lets it fail
    site.until(SET_ASIDE, 1)
    others = site.enqueue("effect", 5)
    site.until_idle()

    site.check([gone, *others], [gone, *others])
    assert quarantined(site) == [blocker]


@pytest.mark.proof
def test_a_row_that_is_missing_behind_the_backlog_of_another_tenant_does_not_stop_its_queue(site: Site) -> None:
    site.rows(BACKLOG, "faults.plain", "a", 20_500)  # more than anybody looks through
    gone, last = (site.value("select ostinato.enqueue_job('faults.plain', tenant_id => 'b')") for _ in range(2))
    lose(site, gone)

    hand = site.crew().start()
    site.until("select ostinato.job_state(%s) = 'done'", last)

    assert quarantined(site) == [gone]
    assert hand.said("set_aside") == 1

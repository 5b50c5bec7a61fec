"""Processes that die at the edges of steps: what was committed is not done again."""

import pytest

from tests.faults.site import Site
from tests.waiting import until

EDGES = ("before", "during", "after the effect", "after the save")


@pytest.mark.proof
def test_kill_9_at_each_edge_of_each_step_repeats_no_committed_one(site: Site) -> None:
    site.rows("create table died (job_id bigint primary key)")
    site.rows("create table ran (job_id bigint, name text, at timestamptz default clock_timestamp())")
    site.rows("grant select, insert on died, ran to ostinato_worker")
    crew = site.crew()
    jobs = [
        job
        for step in ("one", "two", "three")
        for edge in EDGES
        for job in site.enqueue("stepped", step=step, edge=edge)
    ]

    def all_done() -> bool:
        while len(crew.alive) < 2:
            crew.start()
        return site.ended() == len(jobs)

    until(all_done)

    assert site.value("select count(*) from died") == len(jobs)
    steps = site.rows("select job_id, name from ostinato_data.step")
    assert sorted(steps) == sorted((job, name) for job in jobs for name in ("one", "two", "three"))
    again = site.rows(
        "select r.job_id, r.name from ran r join ostinato_data.step s using (job_id, name) where r.at > s.finished_at"
    )
    assert again == []

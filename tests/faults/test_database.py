"""A database that crashes, freezes, loses connections or changes its shape under running work."""

import asyncio
import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest

from ostinato._core.db import migrate
from ostinato._core.db.bundle import Component
from ostinato._core.db.sqlstate import translate
from ostinato._core.engine.schema import ENGINE
from ostinato._core.engine.workers import CONTRACT
from ostinato.lab.torture.nemesis import frozen
from tests.faults.site import Site, say
from tests.proxy import Fault, between
from tests.slow import first_only
from tests.waiting import until

ENGINE_SQL = Path(migrate.__file__).parents[1] / "engine" / "sql"

HELD_UP = (
    "select exists (select from pg_stat_activity where wait_event_type = 'Lock'"
    " and datname = current_database() and usename = 'ostinato_worker')"
)


def passed(seconds: float) -> None:
    """Wait until some time is over: for faults that have to last."""
    over = time.monotonic() + seconds
    until(lambda: time.monotonic() > over)


def mixed_work(site: Site) -> tuple[list[int], list[int]]:
    """Jobs of many kinds; those of the second list leave an effect."""
    plain = site.enqueue("plain", 100) + site.enqueue("traced", 10, seconds=0.1)
    written = site.enqueue("effect", 40) + site.enqueue("effect", 20, seconds=0.2)
    written += site.enqueue("threaded", 10, seconds=0.05) + site.enqueue("flaky", 10, failures=1)
    written += site.enqueue("long_transaction", 15, seconds=0.1)
    return plain, written


def test_a_crash_of_the_database_under_load_loses_nothing_and_work_resumes_by_itself(site: Site) -> None:
    crew = site.crew(concurrency=5)
    site.ready(crew.start(), crew.start())
    plain, written = mixed_work(site)
    for mark in (20, 100):
        until(lambda mark=mark: site.ended() >= mark)  # type: ignore[misc]
        site.server.restart("immediate")
    site.until_idle()

    site.check(plain + written, written)
    assert len(crew.alive) == 2


@pytest.mark.proof
def test_a_backend_that_is_killed_takes_all_sessions_along_and_work_resumes_by_itself(site: Site) -> None:
    """PostgreSQL ends every other session then, because the shared memory may be damaged."""
    crew = site.crew(concurrency=5, beat_seconds=1, expiry_seconds=60)
    site.ready(crew.start(), crew.start())
    plain, written = mixed_work(site)
    until(lambda: site.ended() >= 20)
    started = site.value("select pg_postmaster_start_time()")
    (pid,) = site.rows(
        "select min(pid) from pg_stat_activity where datname = current_database() and usename = 'ostinato_worker'"
    )[0]
    os.kill(pid, signal.SIGKILL)
    site.until("select true")
    site.until_idle()

    site.check(plain + written, written)
    assert len(crew.alive) == 2
    assert site.value("select pg_postmaster_start_time()") == started  # it recovered by itself


@pytest.mark.proof
def test_an_outage_longer_than_the_expiry_takes_no_job_from_a_living_worker(site: Site) -> None:
    """The tick gap: after it every lease looks expired, and none is. What the database remembers is made an hour old,
    because an outage of that length is the same to it.
    """
    crew = site.crew(beat_seconds=0.9, expiry_seconds=60)
    site.ready(crew.start(), crew.start())
    ids = site.enqueue("traced", 10, seconds=7)
    site.until("select count(*) = 10 from started")
    site.rows(
        "with aged as (update ostinato_data.worker set beat_at = beat_at - interval '1 hour')"
        " update ostinato_data.tick set last = last - interval '1 hour'"
    )
    site.server.cluster.halt("immediate")
    site.server.restart()
    site.until_idle()

    assert site.rows("select job_id, attempt from started order by 1") == [(n, 1) for n in ids]
    assert [site.outcomes(job_id) for job_id in ids] == [["done"]] * 10
    assert crew.said("rescued") == crew.said("declared_dead") == crew.said("fenced") == 0


@pytest.mark.proof
def test_a_worker_that_dies_in_an_outage_is_found_out_after_it(site: Site) -> None:
    crew = site.crew(beat_seconds=1, expiry_seconds=10)  # and as long a grace after the outage
    victim = crew.start()
    site.ready(victim)
    ids = site.enqueue("slow_at_first", 5)
    site.until("select sum(cardinality(job_ids)) = 5 from ostinato_data.claim")
    site.ready(crew.start())
    site.server.cluster.halt("immediate")
    victim.kill()
    passed(1)
    site.server.restart()
    site.until_idle()

    site.check(ids, ids)
    assert [site.outcomes(job_id) for job_id in ids] == [["lost", "done"]] * 5


@pytest.mark.proof
def test_a_start_that_an_outage_cuts_short_begins_again(site: Site) -> None:
    ids = site.enqueue("plain", 5)
    site.rows("begin")
    site.rows("lock table ostinato_data.kind")
    hand = site.crew(call_timeout_seconds=60).start()
    with psycopg.connect(site.urls.admin, autocommit=True) as other:
        until(lambda: other.execute(HELD_UP).fetchone() == (True,))
        assert other.execute("select count(*) from ostinato_data.worker").fetchone() == (0,)
    site.server.cluster.halt("immediate")
    site.server.restart()
    site.until_idle()

    site.check(ids, [])
    assert hand.said("start_cut_short") == 1
    assert site.value("select count(*) from ostinato_data.worker") == 1


@pytest.mark.proof
def test_a_frozen_database_holds_up_everything_and_breaks_nothing(site: Site) -> None:
    crew = site.crew(concurrency=5, call_timeout_seconds=3, beat_seconds=1, expiry_seconds=5)
    site.ready(crew.start(), crew.start())
    plain, written = mixed_work(site)
    until(lambda: site.ended() >= 30)
    pid = site.server.pid
    assert pid is not None
    with frozen(pid):
        passed(6)  # longer than a call may take, and than a worker may be silent
    site.until_idle()

    site.check(plain + written, written)


@pytest.mark.parametrize("seed", first_only([11, 12]))
def test_connections_cut_around_a_commit_leave_exact_effects(site: Site, seed: int) -> None:
    say(f"seed {seed}")
    rng = random.Random(seed)
    verbs = ("COMMIT", "complete_job", "fail_jobs", "snooze_jobs", "release_jobs", "poll_jobs")

    def decide(statement: str) -> Fault | None:
        if rng.random() < 0.2 and any(verb in statement for verb in verbs):
            return rng.choice(["before", "after"])
        return None

    with between(site.urls.worker, site.folder) as proxy:
        crew = site.crew(proxy.url(site.urls.worker), concurrency=5)
        site.ready(crew.start(), crew.start())
        proxy.decide = decide
        plain, written = mixed_work(site)
        until(lambda: len(proxy.faults) >= 20)
        proxy.decide = lambda _: None
        site.until_idle()

    kinds = {fault for fault, _ in proxy.faults}
    cut = {statement for _, statement in proxy.faults}
    assert kinds == {"before", "after"}
    assert "COMMIT" in cut
    site.check(plain + written, written)


def test_a_claim_whose_answer_is_lost_is_given_back_and_its_jobs_run(site: Site) -> None:
    with between(site.urls.worker, site.folder) as proxy:
        # From the start: a claim that is under way when the jobs come may get them all.
        proxy.decide = lambda text: "rows" if "claim_jobs" in text and not proxy.lost else None
        crew = site.crew(proxy.url(site.urls.worker), call_timeout_seconds=2, beat_seconds=1, expiry_seconds=30)
        hand = crew.start()
        site.ready(hand)
        ids = site.enqueue("effect", 10)
        site.until_idle()

    assert len(proxy.lost) == 1
    assert hand.said("claim_never_heard_of") >= 1
    site.check(ids, ids)
    # Nobody died and nothing failed: no attempt was used up.
    assert {tuple(site.outcomes(job_id)) for job_id in ids} == {("done",)}


@pytest.mark.proof
def test_terminated_backends_are_replaced_and_nothing_is_lost(site: Site) -> None:
    crew = site.crew(concurrency=5)
    site.ready(crew.start(), crew.start())
    plain, written = mixed_work(site)
    for mark in (20, 60, 120):
        until(lambda mark=mark: site.ended() >= mark)  # type: ignore[misc]
        site.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and application_name like 'ostinato/%'"
        )
    site.until_idle()

    site.check(plain + written, written)


@pytest.mark.parametrize(
    ("contract", "said"), [((4, 3), "Upgrade"), ((1, 1), "ostinato db migrate")], ids=["code too old", "code too new"]
)
def test_a_worker_that_does_not_fit_the_schema_stops_with_a_sentence_and_its_own_code(
    site: Site, contract: tuple[int, int], said: str
) -> None:
    site.rows(
        "create or replace function ostinato.contract(out current integer, out oldest integer)"
        f" language sql immutable as 'select {contract[0]}, {contract[1]}'"
    )
    (job_id,) = site.enqueue("plain")
    hand = site.crew().start()

    assert hand.wait() == 78
    text = hand.log_path.read_text()
    assert f"contract {CONTRACT}" in text
    assert said in text
    assert "Traceback" not in text
    assert site.state(job_id) == "ready"


def test_a_worker_without_a_schema_says_so(site: Site) -> None:
    bare = site.server.create_database("faults_bare").worker
    try:
        hand = site.crew(bare).start("--wait-seconds=0")
        code = hand.wait()
    finally:
        site.server.drop_database("faults_bare")

    assert code == 78
    assert "ostinato db migrate" in hand.log_path.read_text()


def changed_engine(folder: Path) -> Component:
    """The engine's schema of a next version: one more column, and other function bodies."""
    shutil.copytree(ENGINE_SQL, folder)
    steps = sorted((folder / "tables").glob("*.sql"))
    next_step = int(steps[-1].name[:4]) + 1
    (folder / "tables" / f"{next_step:04}_later.sql").write_text(
        "alter table ostinato_data.ready add column later text;\n"
        "alter table ostinato_data.claim add column later text;\n"
    )
    for file in (folder / "functions").glob("*.sql"):
        file.write_text(file.read_text() + "\n-- the next version\n")
    return Component("engine", folder, ENGINE.schemas)


@pytest.mark.proof
def test_a_migration_under_running_workers_fails_no_job_and_stalls_no_claim(site: Site, tmp_path: Path) -> None:
    component = changed_engine(tmp_path / "next")
    crew = site.crew(concurrency=5, beat_seconds=1, expiry_seconds=30)
    site.ready(crew.start(), crew.start())
    over = threading.Event()
    ids: list[int] = []

    def keep_busy() -> None:
        with psycopg.connect(site.urls.worker, autocommit=True) as conn:
            while not over.wait(0.01):
                row = conn.execute("select ostinato.enqueue_job('faults.effect')").fetchone()
                assert row is not None
                ids.append(row[0])

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        until(lambda: site.ended() > 20)
        with psycopg.connect(site.urls.admin) as reader:
            # Somebody looks at a table for long: the migration has to wait, but nobody behind it.
            reader.execute("select count(*) from ostinato_data.ready")
            migrating = threading.Thread(target=lambda: asyncio.run(migrate.migrate(site.urls.admin, [component])))
            migrating.start()
            site.until(
                "select exists (select from pg_stat_activity where application_name ="
                " 'ostinato/migrate' and wait_event_type = 'Lock')"
            )
            before = site.ended()
            until(lambda: site.ended() > before + 50)
            assert migrating.is_alive()
        migrating.join()
        after = site.ended()
        until(lambda: site.ended() > after + 50)
    finally:
        over.set()
        busy.join()
    site.until_idle()

    site.check(ids, ids)
    assert site.rows("select distinct outcome from ostinato_data.outcome") == [("done",)]
    assert site.rows("select max(attempt) from ostinato_data.outcome") == [(1,)]
    assert (
        site.value(
            "select count(*) from information_schema.columns"
            " where table_schema = 'ostinato_data' and column_name = 'later'"
        )
        == 2
    )


def test_workers_of_this_release_start_on_the_schema_of_the_next(site: Site, tmp_path: Path) -> None:
    """A release is taken back after its migration: its schema stays, and its predecessor runs on it."""
    asyncio.run(migrate.migrate(site.urls.admin, [changed_engine(tmp_path / "next")]))
    crew = site.crew(beat_seconds=1, expiry_seconds=60)
    site.ready(crew.start())
    plain, written = mixed_work(site)
    site.until_idle()

    site.check(plain + written, written)


def test_what_the_proxy_loses_is_what_it_says(site: Site) -> None:
    """The tool itself: before is not committed, after is, and both look the same to the client."""
    site.rows("grant all on effect to ostinato_worker")
    for fault, count in (("before", 0), ("after", 1)):
        site.rows("delete from effect")
        with between(site.urls.worker, _folder(site, fault)) as proxy:
            conn = psycopg.connect(proxy.url(site.urls.worker))
            conn.execute("insert into effect values (1, 1)")
            proxy.once(fault, "COMMIT")  # type: ignore[arg-type]
            with pytest.raises(psycopg.OperationalError) as caught:
                conn.commit()
            conn.close()

        assert site.value("select count(*) from effect") == count
        assert translate(caught.value).code == "database_unavailable"


def _folder(site: Site, name: str) -> Path:
    folder = site.folder / name
    folder.mkdir()
    return folder

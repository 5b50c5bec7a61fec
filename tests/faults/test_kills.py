"""Workers that die, or seem to: nothing is lost, and nothing is written twice."""

import faulthandler
import os
import random
import signal
from datetime import timedelta

import psutil  # type: ignore[import-untyped]
import pytest

from ostinato._core.base.settings import Settings
from ostinato.lab.torture.crew import Crew, Hand
from tests.faults.site import QUICK, Site, say
from tests.slow import first_only
from tests.waiting import until

SOME_KILLS = 20
BEGUN = "select exists (select from ostinato_data.claim where waiting < cardinality(job_ids))"


@pytest.mark.parametrize("seed", first_only([1, 2]))
def test_kill_9_at_random_moments_loses_no_job_and_repeats_no_effect(site: Site, seed: int) -> None:
    say(f"seed {seed}")
    rng = random.Random(seed)
    crew = site.crew()
    for _ in range(3):
        crew.start()
    plain = site.enqueue("plain", 100)
    written = site.enqueue("effect", 40) + site.enqueue("effect", 15, seconds=0.3)
    written += site.enqueue("threaded", 15, seconds=0.05) + site.enqueue("flaky", 15, failures=2)
    written += site.enqueue("long_transaction", 5, seconds=0.3)

    marks = sorted(rng.sample(range(5, len(plain) + len(written) - 20), 5))
    for mark in marks:
        until(lambda mark=mark: site.ended() >= mark)  # type: ignore[misc]
        rng.choice(crew.alive).kill()
        crew.start()
    site.until_idle()

    site.check(plain + written, written)


def defaults(site: Site) -> Crew:
    """Workers at default settings."""
    return site.crew(**{name: getattr(Settings(), name) for name in QUICK})


def one_that_runs(site: Site, crew: Crew) -> tuple[Hand, int]:
    """A worker, and a job that it runs for an hour."""
    hand = crew.start()
    site.ready(hand)
    (job_id,) = site.enqueue("traced", seconds=3600)
    site.until("select exists (select from started)")
    return hand, job_id


def kill_with_warden(hand: Hand) -> None:
    """As the death of its machine, or of its container."""
    for child in psutil.Process(hand.pid).children():
        child.kill()
    hand.kill()


def test_a_job_of_a_killed_worker_starts_again_within_the_promised_time(site: Site) -> None:
    """At default settings. Judged by when it is due, which a busy machine cannot move: one expiry after the last beat,
    without a grace, and at that time the other worker polls. How long it took is printed.
    """
    crew = defaults(site)
    first, job_id = one_that_runs(site, crew)
    site.ready(crew.start())
    site.rows("update ostinato_data.tick set grace_until = '-infinity'")  # nobody had polled here before

    kill_with_warden(first)
    killed_at = site.now()
    ((beat_at, due, grace),) = site.rows(
        "select beat_at, beat_at + make_interval(secs => expiry_seconds), grace_until > clock_timestamp()"
        " from ostinato_data.worker, ostinato_data.tick where name = %s",
        first.name,
    )
    asked_at = site.now()
    ((next_due, answered_at),) = site.rows(
        "select p.next_due, clock_timestamp() from ostinato_data.worker w"
        " cross join lateral ostinato.poll_jobs(w.id, '{}') p where w.name <> %s",
        first.name,
    )
    site.until("select count(*) = 2 from started")

    ((attempt, claimed_at),) = site.rows(
        "select attempts[1], claimed_at from ostinato_data.claim where job_ids = array[%s::bigint]", job_id
    )
    waited = (claimed_at - killed_at).total_seconds()
    say(f"started again after {waited:.2f} s, {(claimed_at - due).total_seconds():.2f} s after it was due")
    assert attempt == 2
    assert due - beat_at == timedelta(seconds=Settings().expiry_seconds)
    assert beat_at <= killed_at
    assert not grace
    assert answered_at >= due or asked_at + timedelta(seconds=next_due) <= due
    assert site.outcomes(job_id) == ["lost"]


@pytest.mark.proof
def test_a_process_that_dies_alone_is_unregistered_by_its_warden(site: Site) -> None:
    """Others need not wait for its expiry: here it would be an hour."""
    crew = site.crew(expiry_seconds=3600)
    first, job_id = one_that_runs(site, crew)
    crew.start()

    first.kill()
    site.until("select count(*) = 2 from started")

    assert site.outcomes(job_id) == ["lost"]


@pytest.mark.proof
def test_the_only_worker_killed_and_replaced_later_has_its_job_back_at_once(site: Site) -> None:
    """Nobody polled for long, which looks like an outage; that grace is for the living only."""
    crew = site.crew(expiry_seconds=3600)
    first, job_id = one_that_runs(site, crew)
    first.kill()
    site.until("select not exists (select from ostinato_data.worker)")
    site.rows("update ostinato_data.tick set last = last - interval '2 hours'")
    crew.start()
    site.until("select count(*) = 2 from started")

    assert site.value("select grace_until > now() from ostinato_data.tick")
    assert site.outcomes(job_id) == ["lost"]


@pytest.mark.proof
def test_a_worker_stopped_past_its_expiry_writes_nothing_when_it_wakes(site: Site) -> None:
    crew = site.crew(expiry_seconds=3600)
    sleeper = crew.start()
    site.ready(sleeper)
    # Each is in the middle of something else when the worker stops.
    ids = site.enqueue("effect_when_told", 10)
    ids += site.enqueue("threaded_when_told", 5)
    site.until("select sum(cardinality(job_ids)) = 15 from ostinato_data.claim")
    sleeper.pause()
    other = crew.start()
    until(lambda: site.expired(sleeper))
    site.until("select count(*) = 15 from ostinato_data.outcome where outcome = 'lost'")
    sleeper.resume()
    site.tell()
    site.until_idle()
    # It says what was refused to it, and goes on under another id.
    until(lambda: sleeper.said("fenced") >= 15)
    until(lambda: sleeper.said("declared_dead"))
    site.ready(sleeper, other)

    assert other.said("fenced") == 0
    site.check(ids, ids)
    for job_id in ids:
        assert site.outcomes(job_id) == ["lost", "done"]


@pytest.mark.proof
def test_a_transaction_that_is_open_when_its_worker_stops_holds_its_job(site: Site) -> None:
    """Nobody takes a job whose completion is on its way; it ends one way or the other, once."""
    crew = site.crew()
    hands = [crew.start(), crew.start()]
    site.ready(*hands)
    ids = site.enqueue("long_transaction", 4, seconds=10)
    site.until("select sum(cardinality(job_ids)) = 4 from ostinato_data.claim")
    for hand in hands[:1]:
        hand.pause()
        site.until(
            "select clock_timestamp() > beat_at + 2 * make_interval(secs => expiry_seconds)"
            " from ostinato_data.worker where name = %s"
            " union all select true"
            " where not exists (select from ostinato_data.worker where name = %s) limit 1",
            hand.name,
            hand.name,
        )
        hand.resume()
    site.until_idle()

    site.check(ids, ids)


@pytest.mark.proof
def test_a_worker_stopped_for_less_than_its_expiry_keeps_its_jobs(site: Site) -> None:
    crew = site.crew(expiry_seconds=60, beat_seconds=0.5)
    hands = [crew.start(), crew.start()]
    site.ready(*hands)
    (job_id,) = site.enqueue("effect", seconds=10)
    until(lambda: site.holder(job_id))
    (sleeper,) = (hand for hand in hands if hand.name == site.holder(job_id))
    sleeper.pause()
    site.until(
        "select clock_timestamp() > beat_at + interval '1.5 seconds' from ostinato_data.worker where name = %s",
        sleeper.name,
    )
    sleeper.resume()
    site.until_idle()

    assert site.outcomes(job_id) == ["done"]
    assert crew.said("rescued") == crew.said("fenced") == 0


@pytest.mark.proof
def test_a_healthy_job_of_several_expiries_is_not_started_twice_even_if_it_blocks_the_loop(site: Site) -> None:
    crew = site.crew(expiry_seconds=120)
    hands = [crew.start() for _ in range(2)]
    site.ready(*hands)
    ids = site.enqueue("traced", 2, seconds=20) + site.enqueue("blocking", 1, seconds=20)
    site.until("select count(*) = 3 from started")
    # Expiries pass, as far as the database can tell: at each step nobody is left who did not beat since.
    for _ in range(6):
        site.rows("update ostinato_data.worker set beat_at = beat_at - make_interval(secs => expiry_seconds / 2)")
        site.until(
            "select bool_and(beat_at > now() - make_interval(secs => expiry_seconds / 2)) from ostinato_data.worker"
        )
    site.until_idle()

    assert site.rows("select job_id, attempt from started order by 1") == [(n, 1) for n in ids]
    assert [site.outcomes(job_id) for job_id in ids] == [["done"]] * 3
    assert crew.said("rescued") == crew.said("declared_dead") == 0
    blocked = [line for hand in hands for line in hand.lines() if line["event_type"] == "event_loop_blocked"]
    assert "faults.blocking" in {line["handler"] for line in blocked}


@pytest.mark.proof
@pytest.mark.parametrize("how", ["kill", "segfault"])
def test_a_poison_job_is_buried_and_its_neighbours_are_not(site: Site, how: str) -> None:
    """At the default of `max_crashes`: two deaths make it suspect, three alone bury it."""
    crew = site.crew(expiry_seconds=3600)  # who dies is unregistered by its warden
    site.ready(*(crew.start() for _ in range(2)))
    (poison,) = site.enqueue("poison", how=how)
    neighbours = site.enqueue("effect", 20, seconds=0.1)

    def buried() -> bool:
        while len(crew.alive) < 2:  # as a supervisor does
            crew.start()
        return site.state(poison) == "dead" and site.ended() == len(neighbours)

    until(buried)

    ((reason, attempt),) = site.rows("select reason, attempt from ostinato_data.dead_letter")
    assert reason == "worker_lost"
    assert site.outcomes(poison) == ["lost"] * 4 + ["dead"]
    assert attempt == 5
    site.check(neighbours, neighbours)


@pytest.mark.proof
def test_no_healthy_job_is_buried_by_kills_at_default_settings(site: Site) -> None:
    """Workers are killed again and again while they run jobs, and hold many that have not begun.

    Four kills bury nobody now, and would if every death counted. TEST_KILLS=500 is the long run of docs/faults.md.
    """
    kills, rng = int(os.environ.get("TEST_KILLS", "4")), random.Random(7)
    if kills > SOME_KILLS:
        faulthandler.cancel_dump_traceback_later()  # so many take longer than a test may without a word
    crew = defaults(site)
    site.ready(*(crew.start() for _ in range(3)))
    jobs: list[int] = []
    for _ in range(kills):
        # The first of a batch are done and others run: so the kills are spread over all that happens.
        most = len(jobs) - 20
        until(lambda most=most: site.ended() >= most)  # type: ignore[misc]
        jobs += site.enqueue("effect", 20, seconds=0.2)
        until(lambda: site.value(BEGUN))
        until(lambda: registered(site, crew))
        rng.choice(registered(site, crew)).kill()
        crew.start()
    site.until_idle()

    assert site.rows("select * from ostinato_data.dead_letter") == []
    site.check(jobs, jobs)
    hit = site.value("select count(*) from ostinato_data.outcome where outcome = 'lost'")
    say(f"{kills} kills, {len(jobs)} jobs, of which {hit} attempts were killed, none buried")
    assert hit > 0


def registered(site: Site, crew: Crew) -> list[Hand]:
    """The workers that have started."""
    names = site.rows("select name from ostinato_data.worker")
    return [hand for hand in crew.alive if (hand.name,) in names]


def test_sigterm_gives_back_what_cannot_end_in_time_without_using_up_anything(site: Site) -> None:
    crew = site.crew(drain_seconds=0.3, concurrency=5, beat_seconds=1, expiry_seconds=30)
    hand = crew.start()
    site.ready(hand)
    long = site.enqueue("traced", 5, seconds=3600)
    short = site.enqueue("plain", 10)
    site.until("select count(*) = 5 from started")
    hand.terminate()

    assert hand.wait() == 0
    assert site.rows("select distinct failures, crashes from ostinato_data.ready") == [(0, 0)]
    assert site.value("select count(*) from ostinato_data.ready") == len(long) + len(short)
    assert site.rows("select * from ostinato_data.claim") == []
    assert site.rows("select * from ostinato_data.worker") == []
    assert site.rows("select * from ostinato_data.outcome") == []


def test_sigterm_lets_jobs_end_that_can(site: Site) -> None:
    crew = site.crew(drain_seconds=300, expiry_seconds=60)
    hand = crew.start()
    site.ready(hand)
    ids = site.enqueue("effect_when_told", 10)
    site.until("select sum(cardinality(job_ids)) = 10 from ostinato_data.claim")
    hand.terminate()
    until(lambda: hand.said("worker_draining"))
    site.tell()

    assert hand.wait() == 0
    site.check(ids, ids)


@pytest.mark.proof
def test_a_handler_that_never_ends_does_not_keep_the_process(site: Site) -> None:
    crew = site.crew(drain_seconds=0.3, expiry_seconds=60)
    hand = crew.start()
    site.ready(hand)
    ids = site.enqueue("unstoppable", 2) + site.enqueue("stuck", 2)
    site.until("select sum(cardinality(job_ids)) = 4 from ostinato_data.claim")
    site.until("select count(*) = 2 from started")
    hand.terminate()

    assert hand.wait() == 0
    assert [site.state(job_id) for job_id in ids] == ["ready"] * 4
    assert site.rows("select distinct failures, crashes from ostinato_data.ready") == [(0, 0)]


def test_a_second_sigterm_ends_the_process_at_once(site: Site) -> None:
    crew = site.crew(drain_seconds=3600)
    hand, heir = crew.start(), crew.start()
    site.ready(hand, heir)
    (job_id,) = site.enqueue("traced", seconds=3600)
    site.until("select count(*) = 1 from started")
    holder = hand if site.holder(job_id) == hand.name else heir
    holder.terminate()
    until(lambda: holder.said("worker_draining"))
    holder.terminate()

    assert holder.wait() == 128 + signal.SIGTERM
    site.until("select count(*) = 2 from started")
    assert site.outcomes(job_id) == ["lost"]

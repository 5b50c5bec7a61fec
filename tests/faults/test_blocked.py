"""A handler that blocks its process: its time is kept by the warden, from outside."""

import math
import os
import re
import select
import signal
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from ostinato._core.base.settings import Settings
from ostinato.lab.torture.crew import Crew, Hand
from ostinato.lab.torture.nemesis import frozen
from tests.faults.site import QUICK, Site, say
from tests.slow import first_only
from tests.waiting import until

# The defaults but for what makes a test short: how long a handler gets to stop.
DEFAULTS = {name: getattr(Settings(), name) for name in QUICK} | {"cancel_grace_seconds": 1}


def crew_of(site: Site, **settings: object) -> Crew:
    return site.crew(**DEFAULTS | settings)


def started(site: Site, count: int) -> None:
    site.until("select count(*) >= %s from started", count)


def held(site: Site, ids: list[int]) -> list[tuple[int, int, int]]:
    """Attempt, failures and crashes of jobs that are held or ready, each combination once."""
    return site.rows(
        "select h.attempt, h.failures, h.crashes from ostinato_data.claim c"
        " cross join unnest(c.job_ids, c.attempts, c.failures, c.crashes)"
        " h (job_id, attempt, failures, crashes) where h.job_id = any (%s)"
        " union select attempt, failures, crashes from ostinato_data.ready where job_id = any (%s)",
        ids,
        ids,
    )


def wardens(hand: Hand) -> list[psutil.Process]:
    """The processes beside a worker that watch over it."""
    return [child for child in psutil.Process(hand.pid).children() if watches(child)]


def watches(process: psutil.Process) -> bool:
    try:
        return "warden" in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that nobody writes into."""
    os.mkfifo(path := tmp_path / "pipe")
    return path


def let_go(pipe: Path) -> None:
    with pipe.open("r+b", buffering=0) as file:
        file.write(b".")
        # Its reader takes it before we close, or there would be nothing to read.
        until(lambda: not _readable(file.fileno()))


def _readable(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


@pytest.mark.parametrize("kind", first_only(["blocks_once", "backtracks_once"]))
def test_past_its_timeout_a_handler_that_blocks_its_process_ends_with_it(site: Site, kind: str) -> None:
    """Once by a sleep, which lets other threads run, and once by a regex, which does not."""
    crew = crew_of(site)
    first = crew.start()
    site.ready(first)
    beside = site.enqueue("traced", 5, seconds=3600) + site.enqueue("patient", 5, seconds=3600)
    started(site, 10)
    (job_id,) = site.enqueue(kind)

    assert first.wait() == -signal.SIGKILL
    site.ready(crew.start())
    started(site, 22)

    until(lambda: site.outcomes(job_id)[-1:] == ["done"])
    assert site.outcomes(job_id)[0] == "failed"
    error = site.value(
        "select error ->> 'message' from ostinato_data.outcome where job_id = %s and attempt = 1", job_id
    )
    assert error.startswith(f"faults.{kind} took longer than its timeout of 5 s and blocked its")
    assert held(site, beside) == [(2, 0, 0)]
    (line,) = [line for line in first.lines() if line["event_type"] == "process_ended"]
    assert (line["handler"], line["reason"]) == (f"faults.{kind}", "timeout")


@pytest.mark.parametrize("kind", first_only(["blocks_once", "backtracks_once"]))
def test_a_database_that_froze_keeps_no_blocked_process_from_its_end(site: Site, kind: str) -> None:
    """Nothing can be given back then; what the process held is rescued when the database is there again."""
    crew = crew_of(site)
    first = crew.start()
    site.ready(first)
    (job_id,) = site.enqueue(kind)
    started(site, 1)
    pid = site.server.pid
    assert pid is not None

    with frozen(pid):
        assert first.wait() == -signal.SIGKILL
    crew.start()

    until(lambda: site.outcomes(job_id)[-1:] == ["done"])
    assert site.rows("select attempt from started order by 1") == [(1,), (2,)]
    assert first.said("process_ended") == 1


def test_a_handler_that_blocks_the_loop_can_be_cancelled(site: Site) -> None:
    crew = crew_of(site)
    first = crew.start()
    site.ready(first)
    (job_id,) = site.enqueue("blocks_without_timeout")
    started(site, 1)
    beside = site.enqueue("plain", 3)

    site.rows("select ostinato.cancel_job(%s)", job_id)

    assert first.wait() == -signal.SIGKILL
    assert site.outcomes(job_id) == ["cancelled"]
    # Some were in its claim and come back, others were not: nothing is counted against either.
    assert set(held(site, beside)) <= {(1, 0, 0), (2, 0, 0)}


@pytest.mark.proof
def test_a_worker_whose_loop_is_blocked_ends_after_sigterm_and_gives_everything_back(site: Site) -> None:
    crew = crew_of(site, drain_seconds=1)
    first = crew.start()
    site.ready(first)
    beside = site.enqueue("traced", 3, seconds=3600)
    started(site, 3)
    ids = [*beside, *site.enqueue("blocks_without_timeout")]
    started(site, 4)

    first.terminate()

    assert first.wait() == -signal.SIGKILL
    assert held(site, ids) == [(2, 0, 0)]
    assert site.rows("select * from ostinato_data.worker") == []


AT_ONCE = {-signal.SIGKILL, 128 + signal.SIGTERM}
"""By its warden, or by its own handler of signals: whichever comes to it first."""


def test_a_second_sigterm_ends_a_worker_whose_loop_is_blocked_at_once(site: Site) -> None:
    """At once: it has an hour to drain and no timeout, so that nothing else could have ended it."""
    first = crew_of(site, drain_seconds=3600).start()
    site.ready(first)
    site.enqueue("blocks_without_timeout")
    started(site, 1)

    first.terminate()
    until(lambda: not _pending(first))
    first.terminate()

    assert first.wait() in AT_ONCE


@pytest.mark.proof
def test_a_second_sigterm_ends_a_worker_whose_gil_is_held_at_once(site: Site) -> None:
    first = crew_of(site, drain_seconds=3600).start()
    site.ready(first)
    site.enqueue("never_lets_go")
    started(site, 1)

    first.terminate()
    until(lambda: not _pending(first))
    first.terminate()

    assert first.wait() in AT_ONCE


def _pending(hand: Hand) -> bool:
    """Whether a signal has not been delivered yet: two of the same would be one."""
    status = Path("/proc", str(hand.pid), "status").read_text()
    (mask,) = [line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd")]
    return bool(int(mask, 16))


def test_a_handler_that_holds_the_gil_for_longer_than_the_expiry_is_started_once(site: Site, pipe: Path) -> None:
    crew = crew_of(site)
    first = crew.start()
    site.ready(first)
    (job_id,) = site.enqueue("holds_gil", path=str(pipe))
    started(site, 1)
    site.ready(first, crew.start())
    site.until(
        "select clock_timestamp() - claimed_at > 1.5 * make_interval(secs => expiry_seconds)"
        " from ostinato_data.claim c join ostinato_data.worker w on w.id = c.worker_id"
        " union all select false where not exists (select from ostinato_data.claim)"
    )
    blocked = site.rows("select label, value from ostinato.observe() where name = 'blocked_workers'")
    ((message,),) = site.rows("select message from ostinato.why(%s) where code = 'loop_blocked'", job_id)
    let_go(pipe)
    until(lambda: site.outcomes(job_id))

    assert site.outcomes(job_id) == ["done"]
    assert site.value("select count(*) from started") == 1
    assert first.alive
    assert blocked == [("faults.holds_gil", 1)]
    assert message.startswith("A handler of faults.holds_gil blocks the event loop of worker hand-1")


@pytest.mark.proof
def test_a_regex_of_a_minute_starts_once_at_the_default_expiry(site: Site) -> None:
    """The pattern doubles with each letter, so a machine that became quicker meanwhile gets one more."""
    crew = site.crew(**{name: getattr(Settings(), name) for name in QUICK})
    site.ready(crew.start(), crew.start())
    length, took = length_for(60), 0.0
    jobs: list[int] = []
    while took < 2 * Settings().expiry_seconds:
        (job,) = site.enqueue("backtracks", length=length)
        site.until("select exists (select from ostinato_data.outcome where job_id = %s)", job)
        took = float(site.value("select duration_ms / 1000.0 from ostinato_data.outcome where job_id = %s", job))
        jobs.append(job)
        length += 1
    say(f"a regex of {took:.0f} s")

    assert site.rows("select job_id, attempt from started order by 1") == [(job, 1) for job in jobs]
    assert [site.outcomes(job) for job in jobs] == [["done"]] * len(jobs)
    assert crew.said("rescued") == crew.said("declared_dead") == 0


def length_for(seconds: float) -> int:
    """The length of text at which the pattern takes so long here."""
    length, took = 18, 0.0
    while took < 1:
        length += 1
        begun = time.perf_counter()
        re.match(r"(a+)+$", "a" * length + "!")
        took = time.perf_counter() - begun
    return length + math.ceil(math.log2(seconds / took))


@pytest.mark.proof
def test_nobody_beats_for_a_worker_that_is_stopped_while_it_holds_the_gil(site: Site, pipe: Path) -> None:
    crew = site.crew()
    first = crew.start()
    site.ready(first)
    (job_id,) = site.enqueue("holds_gil", path=str(pipe))
    started(site, 1)
    until(lambda: first.said("gil_held"))
    first.pause()
    crew.start()
    started(site, 2)

    assert site.outcomes(job_id)[0] == "lost"


@pytest.mark.proof
def test_the_beats_of_a_warden_end_with_its_worker(site: Site, pipe: Path) -> None:
    crew = site.crew()
    first = crew.start()
    site.ready(first)
    (job_id,) = site.enqueue("holds_gil", path=str(pipe))
    started(site, 1)
    until(lambda: first.said("gil_held"))
    (warden,) = wardens(first)
    first.kill()
    crew.start()
    started(site, 2)
    until(lambda: not warden.is_running() or warden.status() == psutil.STATUS_ZOMBIE)

    assert site.outcomes(job_id)[0] == "lost"


@pytest.mark.proof
def test_a_warden_that_dies_is_replaced_and_the_next_one_knows_what_runs(site: Site) -> None:
    crew = crew_of(site)
    first = crew.start()
    site.ready(first)
    until(lambda: wardens(first))
    (old,) = wardens(first)
    old.kill()
    until(lambda: [each for each in wardens(first) if each.pid != old.pid])
    site.enqueue("blocks_once")

    assert first.wait() == -signal.SIGKILL
    assert first.said("warden_died") == 1


@pytest.mark.parametrize("how", first_only([signal.SIGKILL, signal.SIGTERM]))
def test_what_a_handler_started_ends_with_its_worker(site: Site, how: signal.Signals) -> None:
    first = crew_of(site, drain_seconds=0).start()
    site.ready(first)
    site.enqueue("starts_child")
    site.until("select exists (select from ostinato_data.job_progress)")
    child = psutil.Process(int(site.value("select done from ostinato_data.job_progress")))

    first.send(how)
    first.wait()

    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_what_a_handler_started_ends_with_its_worker_though_nothing_tells_whose_it_is(site: Site) -> None:
    """Without its environment, group and session the kernel knows only who started it, until that one is gone."""
    first = crew_of(site).start()
    site.ready(first)
    site.enqueue("starts_forgetful_child")
    site.until("select exists (select from ostinato_data.job_progress)")
    child = psutil.Process(int(site.value("select done from ostinato_data.job_progress")))
    (warden,) = [each for each in psutil.Process(first.pid).children() if "warden" in " ".join(each.cmdline())]
    looks = warden.num_ctx_switches().voluntary
    until(lambda: warden.num_ctx_switches().voluntary >= looks + 3)

    first.kill()
    first.wait()

    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)

"""Failovers of a cluster under load: jobs are added and done all the time, and every acknowledgement is remembered.

`run` is used by test_patroni.py for a few, and by `python -m bench.failover` for twenty.
"""

import itertools
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.site import Site, say
from tests.patroni import Fault, Trio
from tests.waiting import until

# A busy machine is no dead worker: what is tried is the database's trouble alone.
ALIVE: dict[str, Any] = {"beat_seconds": 1, "expiry_seconds": 60}
ENQUEUE = "select ostinato.enqueue_job('faults.effect')"
THREADS = 2
PAUSE_SECONDS = 0.02
AFTERWARDS = 50


class Writers:
    """Threads that add jobs, each in a commit of its own, and connect again when they have to."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self.acknowledged: list[tuple[int, float]] = []
        """The job, and when its commit was acknowledged."""
        self.unknown = 0
        """Commits without an answer."""
        self._threads = [threading.Thread(target=self._run) for _ in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as conn:
                    self._add(conn)
            except psycopg.OperationalError:
                self.unknown += 1
                self._stop.wait(PAUSE_SECONDS)

    def _add(self, conn: psycopg.Connection[Any]) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            ((job_id,),) = conn.execute(ENQUEUE).fetchall()
            self.acknowledged.append((int(job_id), time.monotonic()))

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def after(self, at: float) -> int:
        """How many were acknowledged since."""
        return sum(1 for _ in itertools.takewhile(lambda each: each[1] > at, reversed(self.acknowledged)))

    def wait(self, since: float) -> None:
        """Wait until some were acknowledged since."""
        until(lambda: self.after(since) >= AFTERWARDS)

    def gap(self, at: float) -> float:
        """The longest time without an acknowledgement, around that moment."""
        times = sorted(when for _, when in self.acknowledged)
        first = max((number for number, when in enumerate(times) if when <= at), default=0)
        return max(after - before for before, after in itertools.pairwise(times[first:]))


@dataclass
class Story:
    """What happened."""

    gaps: list[tuple[Fault, float]] = field(default_factory=list)
    acknowledged: int = 0
    lost: int = 0
    unknown: int = 0
    done: int = 0
    doubled: int = 0
    missing: int = 0

    def line(self) -> str:
        return (
            f"{len(self.gaps)} failovers: {self.acknowledged} jobs acknowledged, {self.lost} lost; {self.done} done,"
            f" {self.doubled} effects doubled, {self.missing} missing; {self.unknown} calls without an answer"
        )


def run(cluster: Trio, folder: Path, faults: list[Fault]) -> Story:
    """Fail over again and again while jobs are added and done; then count."""
    story = Story()
    with Site(None, cluster.urls(), folder) as site:
        crew = site.crew(cluster.url("ostinato_worker"), **ALIVE)
        site.ready(crew.start(), crew.start())
        writers = Writers(cluster.url("ostinato_worker"))
        try:
            until(lambda: len(writers.acknowledged) >= AFTERWARDS)
            for number, fault in enumerate(faults, 1):
                cluster.wait()
                began = time.monotonic()
                node = cluster.fail(fault)
                writers.wait(began)
                story.gaps.append((fault, writers.gap(began)))
                say(f"{number}. {fault} of {node.name}: nothing was acknowledged for {story.gaps[-1][1]:.1f} s")
                if not node.processes:
                    node.start()
        finally:
            writers.stop()
        site.leave()
        site.until_idle()
        _count(site, writers, story)
        site.check_fence()
        assert [hand.alive for hand in crew.hands] == [True, True]
    return story


def _count(site: Site, writers: Writers, story: Story) -> None:
    acknowledged = {job_id for job_id, _ in writers.acknowledged}
    done = dict(site.rows("select job_id, count(*) from ostinato_data.outcome where outcome = 'done' group by 1"))
    effects = dict(site.rows("select job_id, count(*) from effect group by 1"))
    story.acknowledged, story.unknown = len(acknowledged), writers.unknown
    story.lost = len(acknowledged - done.keys())
    story.done = len(done)
    story.doubled = sum(count > 1 for count in [*effects.values(), *done.values()])
    story.missing = len(done.keys() - effects.keys())

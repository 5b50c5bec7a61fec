"""The limits of a queue as the model counts them: held jobs, and starts within a time."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.simulation.config import Limits
from tests.simulation.steps import Broken

MICROSECOND = 1e-6


class Start(NamedTuple):
    """A job that was started, in a transaction that may still be open."""

    at: float
    time: float
    """The true time, that no jump of the clock moves."""
    job_id: int
    key: str | None
    session: int
    """Which session's transaction; 0 when it is committed."""
    limited: bool
    """Whether the queue had limits when it was claimed: only then was it counted."""
    by_key: bool


@dataclass(slots=True)
class QueueModel:
    """A queue: paused or not, its limits, and what was started since they were set."""

    name: str
    paused: bool = False
    limits: Limits = field(default_factory=Limits)
    starts: list[Start] = field(default_factory=list)

    def configure(self, limits: Limits) -> None:
        self.limits = limits
        # Starts are only written down for the limits of their time, so a new window starts empty.
        self.starts = [start for start in self.starts if start.session]

    def check_claim(self, new: list[Start], held: Iterable[str | None]) -> None:
        """New starts must fit beside what is held (by key) and what others are about to hold."""
        if self.paused and new:
            raise Broken("a paused queue yields nothing", f"{self.name}: {len(new)} jobs")
        if not self.limits.any or not new:
            return
        keys = list(held)
        opened = [start for start in self.starts if start.session and start.limited]
        running = len(keys) + len(opened) + len(new)
        self._check("concurrency", running, self.limits.concurrency)
        for key in {start.key for start in new if start.key is not None}:
            mine = sum(start.key == key for start in new)
            others = sum(start.key == key and start.by_key for start in opened)
            count = keys.count(key) + others + mine
            self._check(f"concurrency of key {key}", count, self.limits.key_concurrency)
            rate = self._recent(new, self.limits.key_rate_seconds, key)
            self._check(f"rate of key {key}", rate, self.limits.key_rate_count)
        self._check("rate", self._recent(new, self.limits.rate_seconds, None), self.limits.rate_count)

    def note(self, new: list[Start]) -> None:
        """A claim notes its starts and forgets those outside the window of its time.

        So no rate is promised for a start that somebody forgot while the clock was elsewhere: when
        it comes back, the start lies in the window again, but nothing tells of it any more.
        """
        seconds = max(self.limits.rate_seconds or 0.0, self.limits.key_rate_seconds or 0.0)
        if new and seconds:
            at = new[0].at
            self.starts = [s for s in self.starts if s.session or at - seconds < s.at <= at + seconds]
        self.starts.extend(new)

    def end_transaction(self, session: int, *, committed: bool) -> None:
        mine = [start for start in self.starts if start.session == session]
        if mine:
            self.starts = [start for start in self.starts if start.session != session]
            self.starts += [start._replace(session=0) for start in mine if committed]

    def _recent(self, new: list[Start], seconds: float | None, key: str | None) -> int:
        if seconds is None:
            return 0
        clock, time = new[0].at, new[0].time
        recent = [
            start
            for start in self.starts
            # After a jump the two times differ; the promise is for what lies in the window by both.
            if clock - seconds + MICROSECOND < start.at <= clock
            and time - seconds + MICROSECOND < start.time
            and start.limited
        ]
        return sum(key is None or start.key == key for start in recent + new)

    def _check(self, what: str, count: int, limit: int | None) -> None:
        if limit is not None and count > limit:
            raise Broken("limits are never exceeded", f"{what} of {self.name}: {count} > {limit}")

"""Decides what a silent worker's warden does: who is to blame, and whether the time is up.

Pure: it reads no clock and touches no process. Only the standard library is imported here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ostinato._core.runtime.worker.board import Running

FRAME = re.compile(r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+) in (?P<name>[^\n]+)$', re.MULTILINE)
AT_ONCE = 2  # signals


class Silence:
    """How long a pulse did not move, as far as that was watched without a pause."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._pulse = self._since = 0.0

    def feel(self, pulse: float, now: float, *, counts: bool) -> None:
        """Take the pulse; one that moved, or time that does not count, starts over."""
        if pulse != self._pulse or not counts:
            self._pulse, self._since = pulse, now
        self.seconds = now - self._since


class Stack(str):
    """Where the threads of a process stand, as `faulthandler` writes it; may be empty."""

    __slots__ = ()

    def kinds(self, kinds: Sequence[Mapping[str, Any]]) -> set[int]:
        """Return which kinds have their handler on a stack."""
        found = set()
        for frame in FRAME.finditer(self):
            for n, kind in enumerate(kinds):
                same = (kind["file"], kind["function"]) == (frame["file"], frame["name"])
                if same and kind["first"] <= int(frame["line"]) <= kind["last"]:
                    found.add(n)
        return found


class Ending(NamedTuple):
    """How a process is to be ended, and why."""

    reason: str
    """timeout, cancel or stop."""
    job: Running | None
    """The job that is to blame."""
    at_once: bool = False
    """Give nothing back first."""


def blamed(
    running: Sequence[Running], known: int | None, stack: Stack, kinds: Sequence[Mapping[str, Any]], now: float
) -> Running | None:
    """Return the job that keeps everything else from running; None if that is not known.

    `known` is the job that the heart saw in the event loop, 0 if it saw none. It is None when the
    heart cannot look, because the GIL is held: then it is the only job that runs, or among those
    whose handler is on a stack the one whose timeout was over first.
    """
    if known is not None:
        return next((job for job in running if job.job_id == known), None)
    if len(running) > 1:
        on_stack = stack.kinds(kinds)
        running = [job for job in running if job.kind in on_stack]
    return min(running, key=lambda job: job.deadline or now + job.started, default=None)


def ending(
    job: Running | None, card: Mapping[str, Any], now: float, *, asked: Sequence[float], cancels: Mapping[int, float]
) -> Ending | None:
    """Return whether a process whose event loop is blocked must end now.

    `asked` are the times at which it was asked to stop, `cancels` the jobs to be cancelled with
    the times at which that was learned.
    """
    grace = card["grace_seconds"]
    if len(asked) >= AT_ONCE:
        return Ending("stop", job, at_once=True)
    if job is not None and job.is_overdue(now, grace):
        return Ending("timeout", job)
    if job is not None and now >= cancels.get(job.job_id, now) + grace and job.job_id in cancels:
        return Ending("cancel", job)
    if asked and now >= asked[0] + card["drain_seconds"] + grace:
        return Ending("stop", job)
    return None

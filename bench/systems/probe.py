"""What a no-op job does when it runs: report to a probe, and nothing else.

A probe is called once per job from inside the handler, so it costs a fraction of a microsecond:
a counter whose `next` is atomic (some peers run handlers in threads), and little more.
"""

import itertools
import mmap
import threading
import time
from pathlib import Path
from typing import Protocol

Payload = dict[str, int]


class Probe(Protocol):
    """Called by every system's handler with the job's payload."""

    def hit(self, payload: Payload) -> None: ...


class DrainProbe:
    """Counts to a target, and notes when the first job started."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.count = 0
        self.first_ns = 0
        self.first_cpu = 0.0
        self.all_run = threading.Event()
        self._next = itertools.count(1).__next__

    def hit(self, _payload: Payload) -> None:
        count = self._next()
        if count == 1:
            self.first_ns = time.monotonic_ns()
            self.first_cpu = time.process_time()
        self.count = count
        if count == self.target:
            self.all_run.set()


class OrderProbe(DrainProbe):
    """A drain that also remembers in which order the jobs of interest started."""

    def __init__(self, target: int, small_from: int) -> None:
        super().__init__(target)
        self.small_from = small_from
        self.small_positions: list[int] = []

    def hit(self, payload: Payload) -> None:
        if payload["n"] >= self.small_from:
            self.small_positions.append(self.count)
        super().hit(payload)


class LatencyProbe:
    """Notes, for each job, the time from just before its enqueue to its start."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.latencies_ns: dict[int, int] = {}
        self.knocked = threading.Event()
        self.all_run = threading.Event()

    def hit(self, payload: Payload) -> None:
        now = time.monotonic_ns()
        if payload["n"] < 0:
            self.knocked.set()
            return
        self.latencies_ns[payload["n"]] = now - payload["t"]
        if len(self.latencies_ns) == self.expected:
            self.all_run.set()


class SharedProbe:
    """Counts in a file that all workers of a run map: jobs, and the start of the first one.

    The time is noted whenever it stands at zero, so that a warm-up can be wiped from the outside.
    """

    SLOT_BYTES = 16

    def __init__(self, path: Path, slot: int) -> None:
        with path.open("r+b") as file:
            self._view = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
        self._at = slot * 2
        self._next = itertools.count(1).__next__

    def hit(self, _payload: Payload) -> None:
        if not self._view[self._at + 1]:
            self._view[self._at + 1] = time.monotonic_ns()
        self._view[self._at] = self._next()

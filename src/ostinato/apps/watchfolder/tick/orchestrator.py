"""The orchestrator of one folder: it recovers what a crash left, then ticks until it is stopped.

A tick has eight steps, in the order of the specification, and may be cut off at any point. The
files are the truth: an orchestrator that starts anew reads all that it needs from them.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ostinato.apps.watchfolder.core import make_empty_metrics, write_metrics
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import Document, Index, InFlight
from ostinato.apps.watchfolder.tick import arrivals, decisions, recovery, stages
from ostinato.apps.watchfolder.tick.context import Hooks, Tick, log
from ostinato.apps.watchfolder.tick.finishing import sweep_finished
from ostinato.apps.watchfolder.tick.memory import Memory
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.apps.watchfolder.tick.profile import Profile

BUSY_TICK_SECONDS = 0.2
LOOK_SECONDS = 0.03
"""Between two ticks it is looked so often whether a job has ended: its slot is not to stand empty."""


def run(tick: Tick) -> Document:
    """Run one tick and return what it did; one file that fails never keeps others waiting."""
    if tick.profile is None:
        tick.summary["degraded"] = "services"
    recovery.recover_rest(tick)
    with tick.guarded("decisions"):
        decisions.apply_decisions(tick)  # 1
    with tick.guarded("discovery"):
        arrivals.discover(tick)  # 2
    stages.schedule(tick, stages.PREP)  # 3
    stages.poll(tick, stages.PREP)  # 4
    stages.schedule(tick, stages.OCR)  # 5
    stages.poll(tick, stages.OCR)  # 6
    for step in (stages.OCR, stages.PREP):
        stages.schedule(tick, step)  # what came free is taken at once
    stages.finish_pending(tick)
    with tick.guarded("stale_jobs"):
        _check_stale(tick)  # 7
    with tick.guarded("index_not_saved"):
        if tick.save_index() or not tick.memory.dirty:
            sweep_finished(tick)
    _gauge(tick)
    with tick.guarded("metrics_not_written"):
        write_metrics(tick.metrics, tick.folders.index)  # 8
    return tick.summary


def _check_stale(tick: Tick) -> None:
    stages.check_stale(
        tick.in_flight,
        tick.options.job_timeout_s,
        tick.folders.work,
        now=tick.now(),
        write=lambda job_key, patch: tick.state(job_key, **patch),
    )


def _gauge(tick: Tick) -> None:
    metrics, degraded = tick.metrics, tick.summary.get("degraded")
    running = sum(meta["stage"].endswith("_RUNNING") for meta in tick.in_flight.values())
    metrics["running"], metrics["queued"] = running, len(tick.in_flight) - running
    blocked = {name: sight.why for name, sight in tick.memory.sights.items() if sight.failed}
    tick.summary["blocked"] = blocked
    metrics["waiting"], metrics["blocked"] = len(tick.memory.sights), len(blocked)
    metrics.pop("degraded", None)
    if degraded is not None:
        metrics["degraded"] = degraded


@dataclass
class Orchestrator:
    """One folder as a process watches it: options, jobs in flight, and what it remembers."""

    folders: Folders
    options: Options = field(default_factory=Options)
    hooks: Hooks = field(default_factory=Hooks)
    in_flight: InFlight = field(default_factory=dict)
    index: Index = field(default_factory=dict)
    metrics: Document = field(default_factory=make_empty_metrics)
    memory: Memory = field(default_factory=Memory)
    heard: set[tuple[str, str]] = field(default_factory=set)
    """Jobs that are known to have ended."""

    def begin(self, profile: Document | None = None) -> None:
        """Make the folders, load the index, and redo what was left half done."""
        self.folders.make()
        for folder in self.folders.scattered():
            log.warning("folder_on_another_file_system", folder=str(folder))
        self.index = recovery.load_index(self.folders)
        recovery.recover(self.new_tick(profile))

    def new_tick(self, profile: Document | None) -> Tick:
        """Return the context of the next tick."""
        return Tick(
            self.folders,
            self.options,
            self.in_flight,
            self.index,
            str(self.folders.index_file),
            profile,
            self.metrics,
            self.memory,
            self.hooks,
        )

    def tick(self, profile: Document | None) -> Document:
        """Run one tick and return what it did."""
        return run(self.new_tick(profile))

    @property
    def pause(self) -> float:
        """Seconds until the next tick: few while a job is in flight."""
        busy = self.in_flight or self.memory.staged
        return min(self.options.tick_s, BUSY_TICK_SECONDS) if busy else self.options.tick_s

    def has_news(self) -> bool:
        """Return whether a job has ended since the last call; one that a tick cannot take up counts once."""
        known, self.heard = self.heard, stages.ended(self.folders, self.in_flight)
        return not self.heard <= known

    def loop(self, stop: threading.Event, on_tick: Callable[[dict[str, Any]], None] = lambda _summary: None) -> None:
        """Tick until `stop` is set; the current tick is finished first."""
        with self.folders.locked():
            self.begin()
            profile = Profile(self.options)
            try:
                while not stop.is_set():
                    on_tick(self.tick(profile.get()))
                    end = time.monotonic() + self.pause
                    while (left := end - time.monotonic()) > 0 and not self.has_news():
                        if stop.wait(min(left, LOOK_SECONDS)):
                            break
            finally:
                self.memory.close()
                last = self.new_tick(None)
                with last.guarded("index_not_saved"):
                    last.save_index(force=self.memory.dirty)
                    sweep_finished(last)

"""The figures of the jobs, for Prometheus: run time, failures, lateness, groups a minute."""

from collections.abc import Mapping, Sequence
from typing import Any

import prometheus_client

from ostinato.apps.rounds.service import Figures
from ostinato.base.metrics import Collector, Gauge, Recorder

__all__ = ["METRICS", "render"]

RUNS = Gauge("ostinato_rounds_runs", "Runs that ended in the period.", ("job",))
SECONDS = Gauge("ostinato_rounds_run_seconds", "How long a run took, on average.", ("job",))
WORST = Gauge("ostinato_rounds_run_seconds_worst", "How long the longest run took.", ("job",))
GROUPS = Gauge("ostinato_rounds_groups", "Groups handled in the period.", ("job",))
PER_MINUTE = Gauge(
    "ostinato_rounds_groups_per_minute", "Groups handled in a minute of work.", ("job",)
)
LATENESS = Gauge(
    "ostinato_rounds_lateness_seconds",
    "Time between when a round was due and when it was done, at worst.",
    ("job",),
)
FAILURES = Gauge("ostinato_rounds_failures", "Groups that failed, by error.", ("job", "error"))
METRICS = (RUNS, SECONDS, WORST, GROUPS, PER_MINUTE, LATENESS, FAILURES)


def render(figures: Sequence[Figures], failures: Sequence[Mapping[str, Any]]) -> bytes:
    """The figures as a page for Prometheus to scrape."""
    recorder = Recorder()
    for each in figures:
        recorder.set(RUNS, each.runs, each.job)
        recorder.set(SECONDS, each.seconds, each.job)
        recorder.set(WORST, each.worst_seconds, each.job)
        recorder.set(GROUPS, each.groups, each.job)
        recorder.set(PER_MINUTE, each.groups_per_minute, each.job)
        recorder.set(LATENESS, each.worst_lateness, each.job)
    for failure in failures:
        recorder.set(FAILURES, failure["count"], failure["job"], failure["error"])
    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(Collector([recorder], METRICS))
    return prometheus_client.generate_latest(registry)

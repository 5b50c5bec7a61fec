"""Records the figures of the jobs for Prometheus: run time, failures, lateness, rate."""

from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection

from ostinato.apps.rounds import service
from ostinato.observe import Figures, Gauge, Recorder

PERIOD = timedelta(hours=1)

RUNS = Gauge("ostinato_rounds_runs", "Runs that ended in the period.", ("job",))
SECONDS = Gauge("ostinato_rounds_run_seconds", "How long a run took, on average.", ("job",))
WORST = Gauge("ostinato_rounds_run_seconds_worst", "How long the longest run took.", ("job",))
GROUPS = Gauge("ostinato_rounds_groups", "Groups handled in the period.", ("job",))
PER_MINUTE = Gauge("ostinato_rounds_groups_per_minute", "Groups handled in a minute of work.", ("job",))
LATENESS = Gauge(
    "ostinato_rounds_lateness_seconds", "Time between when a round was due and when it was done, at worst.", ("job",)
)
FAILURES = Gauge("ostinato_rounds_failures", "Groups, or whole runs, that failed.", ("job", "error"))
METRICS = (RUNS, SECONDS, WORST, GROUPS, PER_MINUTE, LATENESS, FAILURES)


async def record(conn: AsyncConnection[Any]) -> Recorder:
    """Return what the jobs did in the last hour, for all tenants together."""
    recorder = Recorder()
    for each in await service.figures(conn, PERIOD):
        recorder.set(RUNS, each.runs, each.job)
        recorder.set(SECONDS, each.seconds, each.job)
        recorder.set(WORST, each.worst_seconds, each.job)
        recorder.set(GROUPS, each.groups, each.job)
        recorder.set(PER_MINUTE, each.groups_per_minute, each.job)
        recorder.set(LATENESS, each.worst_lateness, each.job)
    for failure in await service.failures_by_type(conn, PERIOD):
        recorder.set(FAILURES, failure["count"], failure["job"], failure["error"])
    return recorder


FIGURES = Figures(METRICS, record)

"""Metrics: declared once as objects, counted in plain dictionaries (`prometheus` exports them).

Counting happens for every job, so it costs one dictionary update and takes no lock: a `Recorder`
belongs to one thread. A second thread (the heartbeat) has a recorder of its own, and the
`prometheus.Collector` adds them up when someone asks.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from ostinato._core.base.errors import InvalidInput

Labels = tuple[str, ...]

_FROM_A_MILLISECOND = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_TO_AN_HOUR = (*_FROM_A_MILLISECOND, 30, 60, 300, 900, 3600)


# eq=False: metrics are compared and hashed by identity, which makes recording cheap
@dataclass(frozen=True, eq=False)
class Metric:
    """A declared metric: its name for Prometheus, its meaning, and its labels."""

    name: str
    help: str
    labels: Labels = ()


class Counter(Metric):
    """Only ever goes up."""


class Gauge(Metric):
    """Goes up and down."""


@dataclass(frozen=True, eq=False)
class Histogram(Metric):
    """How often a value fell into which bucket; `buckets` are upper bounds."""

    buckets: tuple[float, ...] = _FROM_A_MILLISECOND


JOBS_FINISHED = Counter("ostinato_jobs_finished_total", "Attempts that ended, by outcome.", ("kind", "outcome"))
JOB_RUN_SECONDS = Histogram("ostinato_job_run_seconds", "Time that handlers ran.", ("kind",), _TO_AN_HOUR)
START_LATENCY_SECONDS = Histogram(
    "ostinato_start_latency_seconds",
    "Time from when a job could run until its first attempt started.",
    ("queue",),
    _TO_AN_HOUR,
)
CLAIMS = Counter("ostinato_claims_total", "Claims made, empty ones included.", ("queue",))
CLAIMED_JOBS = Counter("ostinato_claimed_jobs_total", "Jobs taken by claims.", ("queue",))
FENCED_WRITES = Counter(
    "ostinato_fenced_writes_total", "Writes refused because the attempt no longer owned its job.", ("verb",)
)
RESCUED_JOBS = Counter("ostinato_rescued_jobs_total", "Jobs taken back from dead workers.")
LOOP_BLOCKED_SECONDS = Counter(
    "ostinato_loop_blocked_seconds_total", "Time that handlers blocked the event loop.", ("kind",)
)
DOORBELL_RINGS = Counter("ostinato_doorbell_rings_total", "Wake-ups received by notification.")
BUFFER_JOBS = Gauge("ostinato_worker_buffer_jobs", "Jobs claimed by this worker, not yet started.")
DATABASE_ERRORS = Counter("ostinato_database_errors_total", "Calls to the database that failed, by error.", ("code",))
EVENTS_SEQUENCED = Counter("ostinato_events_sequenced_total", "Events that this worker gave their positions.")

SCHEDULE_LATENESS_SECONDS = Histogram(
    "ostinato_schedule_lateness_seconds",
    "Time from when a slot of a schedule was due until its job was added.",
    (),
    _TO_AN_HOUR,
)
SCHEDULE_MISSED = Counter("ostinato_schedule_missed_total", "Slots that were missed in an outage and did not fire.")
SCHEDULE_BROKEN = Counter("ostinato_schedule_broken_total", "Schedules paused because their rule cannot be computed.")

WEBHOOK_ATTEMPTS = Counter(
    "ostinato_webhook_attempts_total", "Attempts to deliver a webhook, by outcome.", ("outcome",)
)
WEBHOOK_SECONDS = Histogram("ostinato_webhook_seconds", "Time that receivers of webhooks took to answer.")

MESSAGES_TAKEN = Counter(
    "ostinato_messages_taken_total",
    "Messages taken from brokers: new ones, repeated ones, and ones that could not be read.",
    ("intake", "outcome"),
)

ALERTS_FIRED = Counter("ostinato_alerts_fired_total", "Alerts that this process found to fire.", ("alert", "severity"))
ALERTS_RESOLVED = Counter(
    "ostinato_alerts_resolved_total", "Alerts that this process found to be over.", ("alert", "severity")
)
ALERT_FAILURES = Counter("ostinato_alert_failures_total", "Alerts whose source could not be asked.", ("alert",))

HTTP_REQUESTS = Counter(
    "ostinato_http_requests_total",
    "Requests answered by this API process, by the pattern of their path.",
    ("method", "path", "status"),
)
HTTP_SECONDS = Histogram("ostinato_http_request_seconds", "Time until requests were answered.", ("method", "path"))
HTTP_REFUSED_KEYS = Counter(
    "ostinato_http_unauthenticated_total", "Requests whose key or token was refused.", ("reason",)
)

FIGURE_FAILURES = Counter(
    "ostinato_figure_failures_total",
    "Times that this API process could not ask an application for its figures.",
    ("app",),
)
REPLICA_LAG = Gauge(
    "ostinato_replica_lag_seconds", "How far behind the replica is that this page was read from; absent: the primary."
)

# Read from the database: `ostinato.observe()` returns them by these names without their prefix.
QUEUE_READY = Gauge("ostinato_queue_ready_jobs", "Jobs that could start now.", ("queue",))
"""Jobs that could start now, by queue."""
QUEUE_SCHEDULED = Gauge("ostinato_queue_scheduled_jobs", "Jobs that wait for their time or a retry.", ("queue",))
QUEUE_RUNNING = Gauge("ostinato_queue_running_jobs", "Jobs that workers hold.", ("queue",))
QUEUE_DEAD = Gauge("ostinato_queue_dead_letters", "Dead letters.", ("queue",))
"""Dead letters, by queue."""
QUEUE_OLDEST = Gauge("ostinato_queue_oldest_ready_seconds", "How long the oldest ready job has waited.", ("queue",))
QUEUE_WORKERS = Gauge("ostinato_queue_workers", "Living workers that serve it.", ("queue",))
QUEUE_PAUSED = Gauge("ostinato_queue_paused", "1 while it is paused.", ("queue",))
QUEUE_STARTED = Gauge(
    "ostinato_queue_started_per_minute", "Jobs whose first attempt ended, a minute, over the last five.", ("queue",)
)
"""Jobs whose first attempt ended, a minute, by queue."""
QUEUE_DONE = Gauge("ostinato_queue_done_per_minute", "Jobs that were done a minute, over the last five.", ("queue",))
"""Jobs that were done a minute, by queue."""
QUEUE_FAILED = Gauge(
    "ostinato_queue_failed_per_minute", "Attempts that failed a minute, over the last five.", ("queue",)
)
"""Attempts that failed a minute, by queue."""
QUEUE_P50 = Gauge(
    "ostinato_queue_start_latency_p50_seconds",
    "How long half of the jobs waited at the most for their start, of those of the last five minutes.",
    ("queue",),
)
"""The start latency that half of the jobs did not exceed, by queue."""
QUEUE_P95 = Gauge("ostinato_queue_start_latency_p95_seconds", "The same for 95 of 100 jobs.", ("queue",))
"""The start latency that 95 of 100 jobs did not exceed, by queue."""
QUEUE_P99 = Gauge("ostinato_queue_start_latency_p99_seconds", "The same for 99 of 100 jobs.", ("queue",))
"""The start latency that 99 of 100 jobs did not exceed, by queue."""
WORKERS = Gauge("ostinato_workers", "Living workers.")
EXPIRED_WORKERS = Gauge("ostinato_expired_workers", "Workers that are silent for too long.")
BLOCKED_WORKERS = Gauge(
    "ostinato_blocked_workers",
    "Workers in which nothing moves, because a handler of this kind blocks the event loop.",
    ("kind",),
)
XMIN_AGE = Gauge(
    "ostinato_xmin_age_transactions", "Age of the oldest snapshot: what keeps dead rows from being removed."
)
DEAD_TUPLES = Gauge("ostinato_dead_tuples", "Dead rows of a table, not yet removed.", ("table",))
DEFAULT_BYTES = Gauge("ostinato_default_partition_bytes", "Size of the default partitions; grows without upkeep.")
SUBSCRIPTION_BEHIND = Gauge(
    "ostinato_subscription_behind_events", "Positions that a subscription has not looked at.", ("subscription",)
)
SUBSCRIPTION_LAG = Gauge(
    "ostinato_subscription_lag_seconds",
    "Age of the oldest event that a subscription has not settled.",
    ("subscription",),
)
SUBSCRIPTION_BURIED = Gauge(
    "ostinato_subscription_buried_events", "Events that a subscription could not deliver.", ("subscription",)
)
UNSEQUENCED = Gauge("ostinato_unsequenced_events", "Events that have no position yet.")
SCHEDULE_OVERDUE = Gauge("ostinato_schedule_overdue_seconds", "How long the most overdue schedule waits for its fire.")
LEASES = Gauge("ostinato_leases", "Names that are held, or whose holder is gone unnoticed.")
LEASES_TAKEN_OVER = Gauge(
    "ostinato_leases_taken_over", "Of these, names whose holder took them over from one that was gone."
)
QUARANTINED = Gauge("ostinato_quarantined_jobs", "Jobs set aside because their row is missing or damaged.")
FAULTS = Gauge("ostinato_faults", "Parts of the workers' polls that failed in the last 5 minutes.")
ALERTS_FIRING = Gauge("ostinato_alerts_firing", "Labels for which a declared alert fires; 0: it is quiet.", ("alert",))

METRICS: tuple[Metric, ...] = tuple(value for value in globals().copy().values() if isinstance(value, Metric))
"""Every metric that is declared above; applications have theirs, see `runtime.figures`."""
ENGINE_GAUGES: tuple[Gauge, ...] = tuple(
    metric for metric in METRICS if isinstance(metric, Gauge) and metric not in (BUFFER_JOBS, REPLICA_LAG)
)
"""The gauges read from the database: an alert may watch each of them (`Alert(figure=…)`)."""
API_METRICS = (HTTP_REQUESTS, HTTP_SECONDS, HTTP_REFUSED_KEYS, FIGURE_FAILURES, REPLICA_LAG)
"""The metrics that a process of the API counts by itself."""
WORKER_METRICS = tuple(metric for metric in METRICS if metric not in (*ENGINE_GAUGES, *API_METRICS))
"""The metrics that a worker counts by itself."""


class Recorder:
    """Records the metrics of one thread."""

    __slots__ = ("_buckets", "_sums", "_values")

    def __init__(self) -> None:
        self._values: dict[tuple[Metric, Labels], float] = {}
        self._buckets: dict[tuple[Metric, Labels], list[int]] = {}
        self._sums: dict[tuple[Metric, Labels], float] = {}

    def add(self, metric: Counter, *labels: str, by: float = 1) -> None:
        """Count `by` more."""
        key = (metric, labels)
        try:
            self._values[key] += by
        except KeyError:
            _check_labels(metric, labels)
            self._values[key] = by

    def set(self, metric: Gauge, value: float, *labels: str) -> None:
        """Set the present value."""
        key = (metric, labels)
        if key not in self._values:
            _check_labels(metric, labels)
        self._values[key] = value

    def observe(self, metric: Histogram, value: float, *labels: str) -> None:
        """Put one value into its bucket."""
        key = (metric, labels)
        try:
            counts = self._buckets[key]
        except KeyError:
            _check_labels(metric, labels)
            counts = self._buckets[key] = [0] * (len(metric.buckets) + 1)
            self._sums[key] = 0
        counts[bisect_left(metric.buckets, value)] += 1
        self._sums[key] += value

    def include(self, metric: Metric, labels: Labels, counts: list[int], value: float) -> None:
        """Take over one series of another recorder, as its `series` yields it."""
        key = (metric, labels)
        _check_labels(metric, labels)
        if isinstance(metric, Histogram):
            self._buckets[key], self._sums[key] = list(counts), value
        else:
            self._values[key] = value

    def value(self, metric: Metric, *labels: str) -> float:
        """Return the count so far, the present value, or how many values were observed."""
        key = (metric, labels)
        if isinstance(metric, Histogram):
            return sum(self._buckets.get(key, ()))
        return self._values.get(key, 0)

    def series(self, metric: Metric) -> Iterator[tuple[Labels, list[int], float]]:
        """Yield each label combination with its bucket counts and its sum, or its value."""
        # copies, because another thread may be recording
        for key, counts in self._buckets.copy().items():
            if key[0] is metric:
                yield key[1], list(counts), self._sums[key]
        for key, value in self._values.copy().items():
            if key[0] is metric:
                yield key[1], [], value


def _check_labels(metric: Metric, labels: Labels) -> None:
    if len(labels) != len(metric.labels):
        raise InvalidInput(
            f"metric {metric.name} has labels {metric.labels}, got values {labels}",
            hint="Pass one value per label, in the order of its labels.",
        )

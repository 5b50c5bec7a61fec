"""Computes what a rate of jobs takes: connections, memory, disk and log, for `ostinato doctor --plan`.

The constants were measured, with no-op jobs at default settings on Linux; `python -m bench.footprint` prints them.
"""

from dataclasses import dataclass
from math import ceil

WORKER_CONNECTIONS = 10
"""Of a worker process that runs handlers without a connection: its heart, its doorbell, its services."""
WORKER_BYTES = 60 << 20
"""Memory of a worker process and its warden, without what handlers take."""
BACKEND_BYTES = 7 << 20
"""Memory of a connection in the server, beside shared_buffers."""
STORED_BYTES = 400
"""On disk for a finished job, with its indexes, beside its arguments and result."""
LOG_BYTES = 730
"""Of the write-ahead log, from enqueue to completion, in batches."""
WORKER_RATE = 5_000
"""No-op jobs a second that a process does with a tenth of a core to spare for handlers; it can do ten times as many."""
FEWEST_WORKERS = 2
"""So that another one is there when one dies or is replaced."""
MARGIN = 1.2
"""What the figures are rounded up by: dead rows, pages that are not full."""
FOOTPRINT, BENCH = "python -m bench.footprint", "make bench"
DAY_SECONDS = 86_400
TEN, THOUSAND = 10, 1000


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the installation."""

    rate: float
    """Jobs a second."""
    run_seconds: float
    """How long a job runs."""
    args_bytes: int
    """Bytes of the arguments and the result of a job."""
    concurrency: int
    """Jobs that one process runs at once."""
    handler_connections: int
    """Connections for the handlers of one process at most; 0: one for each job."""
    retention_days: int
    """Days that finished jobs are kept."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the plan."""

    name: str
    value: float
    unit: str
    how: str
    command: str


def plan(load: Load) -> list[Figure]:
    """Compute the figures for a load."""
    at_once = load.rate * load.run_seconds
    workers = max(ceil(at_once / load.concurrency), ceil(load.rate / WORKER_RATE), FEWEST_WORKERS)
    most = workers * min(load.handler_connections or load.concurrency, load.concurrency)
    handlers = min(ceil(at_once), most)
    connections = workers * WORKER_CONNECTIONS + handlers
    stored = load.rate * DAY_SECONDS * load.retention_days * (STORED_BYTES + load.args_bytes) * MARGIN
    log = load.rate * (LOG_BYTES + 2 * load.args_bytes)
    return [
        Figure("jobs at once", at_once, "", "rate x run time", ""),
        Figure("worker processes", workers, "", f"{load.concurrency} jobs at once each, two at least", BENCH),
        Figure("connections", connections, "", f"{WORKER_CONNECTIONS} a process, one a job that holds one", FOOTPRINT),
        Figure("memory of workers", workers * WORKER_BYTES, "bytes", "without what handlers take", FOOTPRINT),
        Figure("memory of connections", connections * BACKEND_BYTES, "bytes", "beside shared_buffers", FOOTPRINT),
        Figure("history on disk", stored, "bytes", f"{load.retention_days} days of finished jobs", FOOTPRINT),
        Figure("write-ahead log a second", log, "bytes", "enqueue to completion, in batches", FOOTPRINT),
    ]


def shown(figure: Figure) -> str:
    """Return the value as people write it."""
    if figure.unit != "bytes":
        return f"{ceil(figure.value):,}"
    value, units = figure.value, ["B", "kB", "MB", "GB", "TB"]
    while value >= THOUSAND and len(units) > 1:
        value, units = value / THOUSAND, units[1:]
    return f"{value:,.1f} {units[0]}" if value < TEN else f"{value:,.0f} {units[0]}"

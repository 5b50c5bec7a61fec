"""Ostinato: durable jobs in PostgreSQL."""

from typing import TYPE_CHECKING, Any

from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import (
    CommitUnknown,
    InvalidInput,
    LeaseLost,
    OstinatoError,
    RetryAfter,
    UniqueConflict,
)
from ostinato._core.engine.claims import Job
from ostinato._core.engine.jobs import Unique
from ostinato._core.engine.queues import Queue, Rate
from ostinato._core.runtime.client import Client, connect
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context, SyncContext
from ostinato._core.runtime.handlers.outcomes import Cancel, Done, Snooze

if TYPE_CHECKING:
    from ostinato._core.runtime.worker.worker import Worker

__all__ = [
    "App",
    "Cancel",
    "Client",
    "CommitUnknown",
    "Context",
    "Done",
    "InvalidInput",
    "Job",
    "LeaseLost",
    "OstinatoError",
    "Queue",
    "Rate",
    "Retry",
    "RetryAfter",
    "Snooze",
    "SyncContext",
    "Unique",
    "UniqueConflict",
    "Worker",
    "connect",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - as the name has it
    """Import `Worker` when it is asked for: programs that only add jobs need none of it."""
    if name != "Worker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ostinato._core.runtime.worker.worker import Worker  # noqa: PLC0415 - see above

    globals()[name] = Worker
    return Worker

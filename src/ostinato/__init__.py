"""Ostinato: durable jobs in PostgreSQL."""

import typing as _typing

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

if _typing.TYPE_CHECKING:
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

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        """Import `Worker` when it is asked for: programs that only add jobs need none of it."""
        if name != "Worker":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ostinato._core.runtime.worker.worker import Worker  # noqa: PLC0415 - see above

        return Worker

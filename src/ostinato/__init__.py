"""Ostinato: durable jobs in PostgreSQL."""

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

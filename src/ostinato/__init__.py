"""Ostinato: durable jobs in PostgreSQL."""

from ostinato.base.backoff import Retry
from ostinato.base.errors import (
    CommitUnknown,
    InvalidInput,
    LeaseLost,
    OstinatoError,
    RetryAfter,
    UniqueConflict,
)
from ostinato.engine.claims import Job
from ostinato.engine.jobs import Unique
from ostinato.engine.queues import Queue, Rate
from ostinato.runtime.app import App
from ostinato.runtime.client import Client, connect
from ostinato.runtime.context import Context, SyncContext
from ostinato.runtime.outcomes import Cancel, Done, Snooze
from ostinato.runtime.worker import Worker

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

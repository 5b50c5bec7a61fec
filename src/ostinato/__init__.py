"""Ostinato: durable jobs, events, schedules and leases in the PostgreSQL you already have.

    from ostinato import App, Context, connect

    app = App("billing")

    @app.job(queue="mail", timeout=30)
    async def send_invoice(ctx: Context, invoice_id: int) -> None: ...

    async with connect() as client:
        await send_invoice.enqueue(client, invoice_id=7)

These are the names that nearly every program needs. There is one module for each concept beside
them: `ostinato.jobs`, `.steps`, `.outbox`, `.webhooks`, `.idempotency`, `.leases`, `.machines`,
`.schedules`, `.brokers`, `.alerts`, `.audit`, `.erasure`, `.secrets`, `.tenants`, `.errors`, `.settings`,
`.testing`; and for applications `.web`, `.database`, `.observe` and `.commands`. What begins with an
underscore may change at any time.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
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

_CORE = "ostinato._core."
_PLACES = {
    "App": "runtime.handlers.app",
    "Cancel": "runtime.handlers.outcomes",
    "Client": "runtime.client",
    "CommitUnknown": "base.errors",
    "Context": "runtime.handlers.context",
    "Done": "runtime.handlers.outcomes",
    "InvalidInput": "base.errors",
    "Job": "engine.claims",
    "LeaseLost": "base.errors",
    "OstinatoError": "base.errors",
    "Queue": "engine.queues",
    "Rate": "engine.queues",
    "Retry": "base.backoff",
    "RetryAfter": "base.errors",
    "Snooze": "runtime.handlers.outcomes",
    "SyncContext": "runtime.handlers.context",
    "Unique": "engine.jobs",
    "UniqueConflict": "base.errors",
    "Worker": "runtime.worker.worker",
    "connect": "runtime.client",
}
"""The module of `_core` that makes each name."""

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        """Import a name when it is asked for: a command, or a program that only adds jobs, needs few of them."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as the names: only when one is asked for

        globals()[name] = found = getattr(import_module(_CORE + _PLACES[name]), name)
        return found

    def __dir__() -> list[str]:
        """Return the names, imported or not: for editors and shells."""
        return [*globals(), *_PLACES]

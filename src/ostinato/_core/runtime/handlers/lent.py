"""A worker lends its services to the contexts of its jobs."""

from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol

from psycopg import AsyncConnection, Connection

from ostinato._core.base.settings import Settings
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.handlers.shared import Shared
from ostinato._core.runtime.worker.saver import Saver

AsyncTransaction = AbstractAsyncContextManager[AsyncConnection[Any]]
ThreadTransaction = AbstractContextManager[Connection[Any]]
Limit = float | None


class Services(Protocol):
    """The services that a worker lends to the contexts of its jobs."""

    @property
    def saver(self) -> Saver:
        """The store of steps."""

    @property
    def shared(self) -> Shared:
        """The objects that its jobs share."""

    @property
    def settings(self) -> Settings:
        """The settings that the worker runs with."""

    def transaction(self, statement_seconds: Limit = None) -> AsyncTransaction:
        """Open a transaction on a connection of the worker's pool."""

    def connection(self) -> AsyncTransaction:
        """Lend a connection of the worker's pool, for single statements that commit by themselves."""

    def transaction_in_thread(self, statement_seconds: Limit = None) -> ThreadTransaction:
        """Open a transaction for a plain function, on a connection of its own."""

    def set_apart(self, job: Job) -> Awaitable[None]:
        """Give a job a claim of its own, so that a transaction that holds it holds up no other."""

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        """Keep the last progress of a job, and write it soon; safe from any thread."""

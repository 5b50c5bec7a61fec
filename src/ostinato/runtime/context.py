"""What a handler gets: the job, and the few things it may do with the engine."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, NamedTuple, Protocol

from psycopg import AsyncConnection, Connection

from ostinato.base.log import FilteringBoundLogger, get_logger
from ostinato.base.signature import storable
from ostinato.engine import claims
from ostinato.engine.claims import Job
from ostinato.runtime.results import dump_result

__all__ = ["Context", "Services", "SyncContext", "Token"]

NOTE_LENGTH = 1000


class Token(NamedTuple):
    """The fencing token of an attempt: no two holders of a job ever have the same."""

    job_id: int
    attempt: int


class Services(Protocol):
    """What a worker lends to the contexts of its jobs."""

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A transaction on a connection of the worker's pool."""

    def transaction_in_thread(self) -> AbstractContextManager[Connection[Any]]:
        """The same for a plain function, on a connection of its own."""

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        """Keep the last word on how far a job is, and write it soon; safe from any thread."""


class Context:
    """The context of one attempt, for an `async def` handler."""

    __slots__ = (
        "_ending",
        "_log",
        "_services",
        "abandoned",
        "cancelled",
        "deadline",
        "interrupted",
        "job",
        "result",
        "settled",
        "started",
    )

    def __init__(self, job: Job, services: Services) -> None:
        self.job = job
        """The job: id, kind, queue, tenant_id, correlation_id, attempt, failures."""
        self.cancelled = False
        """Somebody asked for this job to be cancelled; a handler that sees it should stop soon."""
        self.result: object = None
        """Set it before the end of `transaction()` to keep a result with the completion."""
        self.settled = False
        self.abandoned = False
        self.interrupted: str | None = None
        self.started = time.perf_counter()
        self.deadline: float | None = None
        self._services = services
        self._ending: AsyncConnection[Any] | None = None
        self._log: FilteringBoundLogger | None = None

    @property
    def token(self) -> Token:
        """The fencing token.

        Hand it to your own tables or to other systems to refuse late writes.
        """
        return Token(self.job.id, self.job.attempt)

    @property
    def correlation_id(self) -> str:
        """What this job is part of: its correlation id, or one made from its own id."""
        return self.job.correlation_id or f"job-{self.job.id}"

    @property
    def log(self) -> FilteringBoundLogger:
        """A logger whose every line names the job, its attempt, tenant and correlation id."""
        if self._log is None:
            job = self.job
            self._log = get_logger(
                job.kind,
                job_id=job.id,
                attempt=job.attempt,
                queue=job.queue,
                tenant_id=job.tenant_id,
                correlation_id=self.correlation_id,
            )
        return self._log

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction that ends the job: its writes and the completion commit together.

        It is the last thing that a handler does. Raises `LeaseLost`, and writes nothing, when
        another worker has the job by now.
        """
        async with self._services.transaction() as conn:
            self._ending = conn
            yield conn
            await claims.complete_one(conn, self.job, dump_result(self.result), self.milliseconds())
        self.settled = True

    async def fence(self, conn: AsyncConnection[Any]) -> None:
        """Hold the job until the end of this connection's transaction, or raise `LeaseLost`.

        Guards your own writes in a transaction that does not end the job. `transaction()` needs no
        fence: it ends with one.
        """
        if conn is not self._ending:
            await claims.fence(conn, self.job)

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Say how far the job is. Cheap: only the last word is written, about once a second."""
        text = None if note is None else storable(str(note))[:NOTE_LENGTH]
        whole = None if total is None else float(total)
        self._services.note_progress(self.job, float(done), whole, text)

    def milliseconds(self) -> int:
        """How long the handler has been running."""
        return int((time.perf_counter() - self.started) * 1000)


class SyncContext:
    """The context of one attempt, for a plain function, which runs in a thread."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    job = property(lambda self: self._ctx.job, doc="The job.")
    token = property(lambda self: self._ctx.token, doc="The fencing token.")
    correlation_id = property(
        lambda self: self._ctx.correlation_id, doc="What this job is part of."
    )
    log = property(lambda self: self._ctx.log, doc="A logger bound to the job.")
    cancelled = property(
        lambda self: self._ctx.cancelled, doc="Whether the job is to be cancelled."
    )

    @contextmanager
    def transaction(self, result: Callable[[], object] | None = None) -> Iterator[Connection[Any]]:
        """As `Context.transaction`, on a synchronous connection.

        `result` is asked for at the end.
        """
        ctx = self._ctx
        with ctx._services.transaction_in_thread() as conn:  # noqa: SLF001
            yield conn
            claims.complete_one_now(
                conn, ctx.job, dump_result(result() if result else None), ctx.milliseconds()
            )
        ctx.settled = True

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Say how far the job is."""
        self._ctx.progress(done, total, note)

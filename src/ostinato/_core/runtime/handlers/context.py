"""A handler gets a context: its job, and the few things that it may do with the engine."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, TypeVarTuple, overload

from psycopg import AsyncConnection, Connection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.events import Event
from ostinato._core.base.flow import Flow
from ostinato._core.base.log import FilteringBoundLogger, get_logger
from ostinato._core.base.sections import Section
from ostinato._core.base.signature import storable
from ostinato._core.base.vault import Vault
from ostinato._core.db.guard import leave
from ostinato._core.engine import claims
from ostinato._core.engine import steps as engine_steps
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.handlers.children import Parent, SyncParent
from ostinato._core.runtime.handlers.lent import Limit, Services
from ostinato._core.runtime.handlers.results import dump_result
from ostinato._core.runtime.handlers.steps import Steps, value_of

__all__ = ["Context", "Services", "SyncContext", "Token"]

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
L = TypeVar("L", bound=Section)
NOTE_LENGTH = 1000


class Token(NamedTuple):
    """The fencing token of an attempt: no two holders of a job ever have the same."""

    job_id: int
    attempt: int


class Context(Parent):
    """The context of one attempt, for an `async def` handler. Made by the worker."""

    __slots__ = (
        "_apart",
        "_ending",
        "_log",
        "_open",
        "_services",
        "abandoned",
        "cancelled",
        "deadline",
        "event",
        "interrupted",
        "job",
        "opened",
        "place",
        "result",
        "settled",
        "started",
        "steps",
        "stopping",
    )

    def __init__(self, job: Job, services: Services) -> None:
        self.job = job
        """The job: id, kind, queue, tenant_id, correlation_id, attempt, failures."""
        self.cancelled = False
        """Somebody asked for this job to be cancelled; a handler that sees it should stop soon."""
        self.stopping = False
        """The worker drains: a handler that goes on and on should return `Snooze(0)` soon."""
        self.event: Event[Any] | None = None  # that the job delivers
        self.result: object = None
        """Set it before the end of `transaction()` to keep a result with the completion."""
        self.opened: tuple[str, ...] = ()  # secret arguments, which no error may show
        self.settled = False
        self.abandoned = False
        self.interrupted: str | None = None
        self.started = time.perf_counter()
        self.place = 0
        self.deadline: float | None = None
        self.steps: Steps | None = None
        self._services = services
        self._apart = job.apart
        self._ending: AsyncConnection[Any] | Connection[Any] | None = None
        self._open: AsyncConnection[Any] | Connection[Any] | None = None
        self._log: FilteringBoundLogger | None = None

    @property
    def token(self) -> Token:
        """The fencing token: your own tables and other systems refuse late writes by it."""
        return Token(self.job.id, self.job.attempt)

    @property
    def correlation_id(self) -> str:
        """The correlation id of the job, or one made from its own id."""
        return self.job.correlation_id or f"job-{self.job.id}"

    @property
    def flow(self) -> Flow:
        """The tenant, correlation id and subject of the job; what the handler adds inherits them."""
        return Flow(self.job.tenant_id, self.correlation_id, self.job.subject)

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

    def settings(self, of: type[L]) -> L:
        """Return the settings of an application, as this worker has read them."""
        return self._services.settings.section(of)

    @property
    def vault(self) -> Vault:
        """The vault that seals and opens secrets with the keys of this worker."""
        return self._services.settings.vault

    @asynccontextmanager
    async def transaction(self, statement_seconds: Limit = None) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction that ends the job: its writes and the completion commit together.

        It is the last thing that a handler does. Raises `LeaseLost`, and writes nothing, when
        another worker has the job by now. `statement_seconds` replaces the setting of that name.
        """
        await self.set_apart()
        completed = False  # nor is it, if the handler rolls back on purpose
        async with self._services.transaction(statement_seconds) as conn:
            self._ending = self._open = conn
            try:
                yield conn
                self._check_steps()
                await claims.complete_one(conn, self.job, dump_result(self.result), self.milliseconds())
                completed = True
            finally:
                self._ending = self._open = None
        self.settled = completed

    @overload
    def step(
        self, name: str, fn: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]: ...

    @overload
    def step(self, name: str, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]: ...

    def step(self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """`await ctx.step("charge", charge, order)`: run a function, once and for all attempts.

        Its result is committed before the handler goes on; later attempts get it without running
        the function. A plain function runs here, in the event loop: it should be quick. If it
        raises, nothing is kept, and the attempt fails by the retry policy.
        """
        steps = self._open_steps(name)
        return steps.run(steps.take(name), name, fn, args, kwargs)

    async def step_in_transaction(
        self,
        name: str,
        fn: Callable[Concatenate[AsyncConnection[Any], P], Awaitable[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a step whose writes commit together with it, exactly once; its function gets a connection first."""
        steps = self._open_steps(name)
        position = steps.take(name)
        await steps.load()
        found = steps.find(position, name, "call")
        if found is not None:
            result: T = value_of(found)
            return result
        started = time.perf_counter()
        await self.set_apart()
        with steps.running():
            async with self._services.transaction() as conn:
                result = await fn(conn, *args, **kwargs)
                await engine_steps.save_one(conn, steps.made(position, name, result, started))
        return result

    async def sleep(self, seconds: float) -> None:
        """Sleep for any time; the job leaves the worker meanwhile, and another process may go on with it.

        The handler is started anew afterwards and comes by here again, so it must have its work
        before in steps. Counts as no failure.
        """
        await self._open_steps("sleep").sleep(seconds)

    async def wait_for(self, event: str, key: str, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - whatever was emitted; the time is the database's
        """Wait for the next event of this type and ordering key, and return its payload; the job leaves meanwhile.

        Events count from the creation of the job on, each for one wait. Raises `TimeoutError` when
        none came within `timeout` seconds.
        """
        return await self._open_steps("wait_for").wait_for(event, key, timeout)

    def _open_steps(self, what: str) -> Steps:
        if self._ending is not None or self.settled:
            where = "after" if self.settled else "inside"
            raise InvalidInput(
                f"{what!r} was called {where} ctx.transaction(), which ends the job",
                hint="Take all steps before it. For writes that commit together with a step:"
                " ctx.step_in_transaction().",
            )
        steps = self.steps
        if steps is None:
            steps = self.steps = Steps(self.job, self._services.saver)
        return steps

    def _check_steps(self) -> None:
        if self.steps is not None:
            self.steps.check_all_taken()

    @asynccontextmanager
    async def fenced(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction that does not end the job; it commits if this attempt still owns the job.

        Raises `LeaseLost`, and writes nothing, when another worker has the job by now. The fence
        comes last, so that rows of the handler are locked before the claim, as in `transaction()`.
        """
        await self.set_apart()
        async with self._services.transaction() as conn:
            self._open = conn
            try:
                yield conn
                await claims.fence(conn, self.job)
            finally:
                self._open = None

    async def fence(self, conn: AsyncConnection[Any]) -> None:
        """Hold the job until the end of this connection's transaction, or raise `LeaseLost`.

        It guards your writes in a transaction that does not end the job; `transaction()` has it.
        """
        if conn is not self._ending:
            await self.set_apart()
            await claims.fence(conn, self.job)

    async def set_apart(self) -> None:
        """Give the job a claim of its own: a transaction that holds it then holds up no other.

        Whatever this context fences does so by itself. Call it before a transaction of your own
        that is fenced in another way: `transition(…, fence=ctx.token)`, say.
        """
        if not self._apart:
            await self._services.set_apart(self.job)
            self._apart = True

    async def shared(self, make: Callable[[*Ts], AbstractAsyncContextManager[T]], *args: *Ts) -> T:
        """Return what `make(*args)` opens, once for all jobs of this worker; it is closed when the worker ends.

        For what is costly to make, such as a pool of HTTP connections.
        """
        return await self._services.shared.get(make, *args)

    def progress(self, done: float, total: float | str | None = None, note: str | None = None) -> None:
        """Report the progress of the job: `ctx.progress(3, 8)`, or `ctx.progress(0.4, "page 3 of 8")`.

        Cheap: only the last report is written, about once a second.
        """
        if self.abandoned:
            return
        if isinstance(total, str):
            total, note = None, total
        text = None if note is None else storable(str(note))[:NOTE_LENGTH]
        whole = None if total is None else float(total)
        self._services.note_progress(self.job, float(done), whole, text)

    def milliseconds(self) -> int:
        """Return how long the handler has been running."""
        return int((time.perf_counter() - self.started) * 1000)


class SyncContext(SyncParent):
    """The context of one attempt, for a plain function in a thread. Made by the worker."""

    __slots__ = ("_ctx", "_loop")

    def __init__(self, ctx: Context, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._ctx = ctx
        self._loop = loop

    job = property(lambda self: self._ctx.job, doc="The job.")
    token = property(lambda self: self._ctx.token, doc="The fencing token.")
    correlation_id = property(lambda self: self._ctx.correlation_id, doc="What this job is part of.")
    event = property(lambda self: self._ctx.event, doc="The event that the job delivers, or None.")
    log = property(lambda self: self._ctx.log, doc="A logger bound to the job.")
    cancelled = property(lambda self: self._ctx.cancelled, doc="Whether the job is to be cancelled.")
    stopping = property(lambda self: self._ctx.stopping, doc="Whether the worker drains.")
    vault = property(lambda self: self._ctx.vault, doc="What seals and opens secrets.")

    def settings(self, of: type[L]) -> L:
        """Return the settings of an application, as this worker has read them."""
        return self._ctx.settings(of)

    @contextmanager
    def transaction(
        self, result: Callable[[], object] | None = None, statement_seconds: Limit = None
    ) -> Iterator[Connection[Any]]:
        """Open a transaction that ends the job, as `Context.transaction`; `result` is asked for last."""
        ctx = self._ctx
        self._set_apart()
        completed = False  # nor is it, if the handler rolls back on purpose
        with ctx._services.transaction_in_thread(statement_seconds) as conn:  # noqa: SLF001
            ctx._ending = ctx._open = conn  # noqa: SLF001
            try:
                yield conn
                ctx._check_steps()  # noqa: SLF001
                claims.complete_one_now(conn, ctx.job, dump_result(result() if result else None), ctx.milliseconds())
                completed = True
            finally:
                ctx._ending = ctx._open = None  # noqa: SLF001
        ctx.settled = completed

    def step(self, name: str, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function once and for all attempts, as `Context.step` does; it runs in this thread."""
        steps, position, found = self._find_step(name)
        if found is not None:
            stored: T = value_of(found)
            return stored
        started = time.perf_counter()
        with steps.running():
            result = fn(*args, **kwargs)
        self._wait(steps.save(steps.made(position, name, result, started)))
        return result

    def step_in_transaction(
        self, name: str, fn: Callable[Concatenate[Connection[Any], P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a step whose writes commit together with it, as `Context.step_in_transaction`, on a sync connection."""
        steps, position, found = self._find_step(name)
        if found is not None:
            stored: T = value_of(found)
            return stored
        started = time.perf_counter()
        self._set_apart()
        with steps.running(), self._ctx._services.transaction_in_thread() as conn:  # noqa: SLF001
            result = fn(conn, *args, **kwargs)
            engine_steps.save_one_now(conn, steps.made(position, name, result, started))
        return result

    def sleep(self, seconds: float) -> None:
        """Sleep as `Context.sleep` does: the job leaves the worker meanwhile."""
        self._wait(self._ctx._open_steps("sleep").sleep(seconds))  # noqa: SLF001

    def wait_for(self, event: str, key: str, timeout: float | None = None) -> Any:  # noqa: ANN401 - whatever was emitted
        """Wait for an event as `Context.wait_for` does."""
        return self._wait(self._ctx._open_steps("wait_for").wait_for(event, key, timeout))  # noqa: SLF001

    def _find_step(self, name: str) -> tuple[Steps, int, engine_steps.StoredStep | None]:
        """Take the position of a step, and find what an earlier attempt stored there."""
        steps = self._ctx._open_steps(name)  # noqa: SLF001
        position = steps.take(name)
        if not steps.loaded:
            self._wait(steps.load())
        return steps, position, steps.find(position, name, "call")

    def _set_apart(self) -> None:
        if not self._ctx._apart:  # noqa: SLF001
            self._wait(self._ctx.set_apart())

    def _parent(self) -> Context:
        return self._ctx

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the worker's event loop, and wait for it here."""
        assert self._loop is not None  # noqa: S101  # given by the worker, which runs handlers in threads
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def progress(self, done: float, total: float | str | None = None, note: str | None = None) -> None:
        """Report as `Context.progress` does."""
        self._ctx.progress(done, total, note)


def abandon(ctx: Context) -> None:
    """Abandon the handler of an attempt: its verdict is written without it."""
    ctx.abandoned = True
    leave_transaction(ctx)


def leave_transaction(ctx: Context) -> None:
    """Leave the connection of the transaction that a handler has open, if it has one.

    The transaction may hold the job by its fence, and the verdict would wait for it: the server
    rolls it back as soon as its statement has ended and the connection is gone.
    """
    conn = ctx._open  # noqa: SLF001
    if conn is not None:
        leave(conn)

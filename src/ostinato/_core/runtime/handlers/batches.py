"""A batch is several jobs of a kind that one call of the handler works on; each has its own verdict.

    @dataclass
    class Mail:
        to: str
        text: str

    @app.job(batch=100)
    async def send(batch: Batch[Mail]) -> None:
        async with batch.transaction() as conn:       # ends all of them together
            await conn.executemany("insert …", [(item.args.to, *item.ctx.token) for item in batch])

    await send.enqueue(conn, to="ana@example.org", text="Bonjour")

Each job is claimed, begun, timed, cancelled and finished as any other, in a lane of its own, which
waits for the batch: limits, tenants in turn, fences and figures hold for each. A batch is what the
lanes start at the same moment, up to its size, and while another one of the kind is under way what they
start within a twentieth of a second. Nobody waits for it to fill up.

What may go wrong, and then: the handler raises (each job without a verdict fails by its own policy);
one job is cancelled, or late (it leaves with its verdict, the others go on); the last one has left (the
handler is cancelled); the process dies (all come again).
"""

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, overload

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput, LeaseLost
from ostinato._core.base.flow import enter, leave
from ostinato._core.engine import claims
from ostinato._core.runtime.handlers.outcomes import Snooze
from ostinato._core.runtime.handlers.results import dump_result
from ostinato._core.runtime.handlers.shared import Shared

if TYPE_CHECKING:
    from ostinato._core.runtime.handlers.context import Context
    from ostinato._core.runtime.handlers.kinds import JobKind
    from ostinato._core.runtime.handlers.lent import Limit

A = TypeVar("A")
LINGER_SECONDS = 0.05
"""How long jobs gather while another batch of their kind is under way."""


class Raised(NamedTuple):
    """An error as it was raised: each job that fails by it begins with the same traceback."""

    error: BaseException
    trace: TracebackType | None


class Item(Generic[A]):
    """One job of a batch: its context, and its arguments."""

    __slots__ = ("_ended", "args", "ctx")

    def __init__(self, ctx: "Context", args: A) -> None:
        self.ctx = ctx
        """The context of the job; `ctx.transaction()` is for batches of one, `batch.transaction()` for all."""
        self.args = args
        self._ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    @property
    def is_open(self) -> bool:
        """Whether the job is still here, and has no verdict."""
        return not self._ended.done()

    def settle(self, outcome: object = None) -> None:
        """Decide about this job, once: what a handler would return, or the error that it would raise.

        The verdict is written at once, and the worker goes on to other jobs.
        """
        if not self._ended.done():
            self._ended.set_result(
                Raised(outcome, outcome.__traceback__) if isinstance(outcome, BaseException) else outcome
            )

    @property
    def is_gone(self) -> bool:
        """Whether the job has left: it was cancelled, took too long, or its worker stops."""
        return self._ended.cancelled()

    @contextmanager
    def flow(self) -> Iterator[None]:
        """Run a block in the flow of this job: what it adds gets its tenant and its correlation id."""
        token = enter(self.ctx)
        try:
            yield
        finally:
            leave(token)

    async def ended(self) -> object:
        """Wait for the verdict; raises the error that it is."""
        found = await self._ended
        if isinstance(found, Raised):
            raise found.error.with_traceback(found.trace)
        return found


class Batch(Sequence[Item[A]]):
    """The jobs that one call of a handler works on."""

    def __init__(self, items: Sequence[Item[A]]) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> Item[A]: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Item[A], ...]: ...

    def __getitem__(self, index: int | slice) -> Item[A] | tuple[Item[A], ...]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    @property
    def open(self) -> "Batch[A]":
        """The jobs that are still here, and have no verdict."""
        return Batch([item for item in self._items if item.is_open])

    def part(self, items: "Sequence[Item[A]]") -> "Batch[A]":
        """Return some of the jobs as a batch, for a transaction of their own."""
        return Batch(items)

    @asynccontextmanager
    async def transaction(self, statement_seconds: "Limit" = None) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction that ends the open jobs: its writes and their completions commit together.

        Each with `item.ctx.result`. When another worker has one of them by now nothing is written, and `LeaseLost`
        is raised: try again with those that are open, or let it out, and they come again at once.
        """
        items = self.open
        completed = False  # nor are they, if the handler rolls back on purpose
        async with self._held(items, statement_seconds) as conn:
            yield conn
            results = [dump_result(item.ctx.result) for item in items]
            times = [item.ctx.milliseconds() for item in items]
            _check(items, await claims.complete(conn, _jobs(items), times, results, in_transaction=True))
            completed = True
        for item in items if completed else ():
            item.ctx.settled = True
            item.settle()

    @asynccontextmanager
    async def fenced(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction that ends no job; it commits if the open ones are all still held here.

        Raises `LeaseLost` as `transaction()` does.
        """
        items = self.open
        async with self._held(items, None) as conn:
            yield conn
            _check(items, await claims.fence_all(conn, _jobs(items)))

    @asynccontextmanager
    async def _held(self, items: Sequence[Item[A]], seconds: "Limit") -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction of some jobs, each with a claim of its own.

        A job that leaves meanwhile stays part of it: its writes are there, so its fence is too.
        """
        if not items:
            raise InvalidInput("every job of the batch has a verdict", hint="Look at batch.open first.")
        await asyncio.gather(*(item.ctx.set_apart() for item in items))
        async with items[0].ctx._services.transaction(seconds) as conn:  # noqa: SLF001 - the worker's
            for item in items:
                item.ctx._open = conn  # noqa: SLF001 - cut, if the handler is abandoned
            try:
                yield conn
            finally:
                for item in items:
                    item.ctx._open = None  # noqa: SLF001


def _jobs(items: Sequence[Item[Any]]) -> list[claims.Job]:
    return [item.ctx.job for item in items]


def _check(items: Sequence[Item[Any]], stale: Sequence[int]) -> None:
    """Refuse to commit for jobs of which another worker has one; that one has left with it."""
    if not stale:
        return
    for item in items:
        job = item.ctx.job
        if job.id in stale:
            item.settle(LeaseLost(f"job {job.id} is not held by attempt {job.attempt} any more", job_id=job.id))
    raise LeaseLost(f"{len(stale)} of {len(items)} jobs of a batch are not held any more", job_ids=list(stale))


class Gathering:
    """The jobs of a kind that start at this moment; then the task that works on them."""

    def __init__(self, kind: "JobKind[Any]", shared: Shared) -> None:
        self._kind = kind
        self._shared = shared
        self._items: list[Item[Any]] = []
        self._task: asyncio.Task[None] | None = None
        shared.gatherings[kind.name] = self
        loop = asyncio.get_running_loop()
        if shared.batches[kind.name]:  # the lanes that it leaves one by one would make ever smaller batches
            loop.call_later(LINGER_SECONDS, self.start)
        else:  # lanes that are free are woken all at once: they are here before this is called
            loop.call_soon(self.start)

    def add(self, item: Item[Any]) -> None:
        """Add a job; the last one that fits starts the batch."""
        self._items.append(item)
        if len(self._items) == self._kind.batch:
            self.start()

    def start(self) -> None:
        """Start the handler, in no job's flow."""
        if self._task is None:
            del self._shared.gatherings[self._kind.name]
            self._shared.batches[self._kind.name] += 1
            loop = asyncio.get_running_loop()
            self._task = self._shared.keep(loop.create_task(self._work(), context=contextvars.Context()))

    async def leave(self) -> None:
        """Stop the handler when nobody waits for it any more; who leaves last waits until it has stopped."""
        if self._task is not None and not any(item.is_open for item in self._items):
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        batch = Batch([item for item in self._items if not item.is_gone])
        try:
            if batch:
                _settle(batch, await self._kind.handler(batch))
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises is a failed attempt of each
            others = isinstance(error, LeaseLost) and "job_ids" in error.values  # lost their transaction, and no more
            for item in batch:
                item.settle(Snooze(0) if others else error)
        finally:
            self._ended()

    def _ended(self) -> None:
        """Let those start who gather behind the last batch."""
        name, shared = self._kind.name, self._shared
        shared.batches[name] -= 1
        if not shared.batches[name] and name in shared.gatherings:
            shared.gatherings[name].start()


def _settle(batch: Batch[Any], outcomes: object) -> None:
    """Give each job what the handler returned for it; one that has a verdict keeps it."""
    if outcomes is None:
        outcomes = [None] * len(batch)
    if not isinstance(outcomes, list | tuple) or len(outcomes) != len(batch):
        raise TypeError(
            f"the handler of a batch of {len(batch)} returns None or as many outcomes, not {outcomes!r:.100}"
        )
    for item, outcome in zip(batch, outcomes, strict=True):
        item.settle(outcome)


async def run(kind: "JobKind[Any]", ctx: "Context", arguments: dict[str, Any]) -> object:
    """Run a job in the batch that gathers now; returns what its handler has for it, or raises it."""
    shared = ctx._services.shared  # noqa: SLF001 - the worker's
    gathering: Gathering = shared.gatherings.get(kind.name) or Gathering(kind, shared)
    item: Item[Any] = Item(ctx, None if kind.item is None else kind.item(**arguments))
    gathering.add(item)
    try:
        return await item.ended()
    except asyncio.CancelledError:
        await gathering.leave()
        raise


def item_of(kind: str, handler: Callable[..., Any], most: int) -> type[Any] | None:
    """Return the type of the arguments of a batch's jobs, as its handler names it: `Batch[Mail]`."""
    if most < 1:
        raise InvalidInput(f"a batch of {kind} has at most {most} jobs", hint="Say 1 or more.", kind=kind)
    parameters = list(inspect.signature(handler, eval_str=True).parameters.values())
    hint = parameters[0].annotation if len(parameters) == 1 else None
    if get_origin(hint) is not Batch or not inspect.iscoroutinefunction(inspect.unwrap(handler)):
        raise InvalidInput(
            f"{kind} has a batch, so it must be an async function that takes one",
            hint="Write: async def handler(batch: Batch[Mail]) -> None, where Mail is a dataclass of the arguments.",
            kind=kind,
        )
    (found,) = get_args(hint)
    return None if found in (None, type(None)) else found


def described(item: type[Any] | None) -> Callable[..., Any]:
    """Return a function that takes a context and the arguments of one job, for what reads signatures."""

    def handler(ctx: object) -> None:
        """Do nothing: it is never called."""

    fields = [] if item is None else list(inspect.signature(item, eval_str=True).parameters.values())
    first = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in fields]
    handler.__signature__ = inspect.Signature([first, *named])  # type: ignore[attr-defined]
    return handler

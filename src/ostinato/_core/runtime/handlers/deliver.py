"""One event in a handler's hands: the contexts, the call, and what came of it.

In mode "job" an event is a job: `event_job` is its handler, and the job's own fence, retries and
steps are those of the event. The event is settled in the transaction that completes the job; one
that has failed for the last time is buried in it. In mode "relay" `run` calls the handler and says
how to settle the delivery.
"""

import asyncio
import contextvars
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Executor
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Protocol

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.errors import LeaseLost
from ostinato._core.base.events import Event
from ostinato._core.base.flow import Flow, enter, leave
from ostinato._core.base.log import FilteringBoundLogger, get_logger
from ostinato._core.engine import subscriptions
from ostinato._core.engine.claims import Job
from ostinato._core.engine.jobs import added_queues
from ostinato._core.engine.subscriptions import Delivery, Settlement
from ostinato._core.runtime.handlers.context import Context, SyncContext
from ostinato._core.runtime.handlers.events import Subscriber
from ostinato._core.runtime.handlers.outcomes import Cancel, Snooze
from ostinato._core.runtime.worker.execute import Failed, judge_error
from ostinato._core.runtime.worker.threads import Threads

__all__ = ["EventContext", "JobEventContext", "Lender", "event_job", "run"]


class Lender(Protocol):
    """What lends connections to handlers: a worker, or what stands for one in a test."""

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A transaction on a connection of the pool for handlers."""

    def transaction_in_thread(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """The same for a plain function, on a connection of its own."""


class EventContext:
    """What a handler in the relay gets beside its event."""

    def __init__(self, subscription: str, delivery: Delivery, lender: Lender) -> None:
        self.subscription = subscription
        self.delivery = delivery
        """The fencing token is `(delivery.position, delivery.attempt)`."""
        self.settled = False
        self._lender = lender

    @property
    def attempt(self) -> int:
        """How often the event was handed out, this time included."""
        return self.delivery.attempt

    @property
    def log(self) -> FilteringBoundLogger:
        """A logger whose every line names the event, its subscription, tenant and correlation."""
        found = self.delivery
        return get_logger(
            self.subscription,
            event_id=found.event_id,
            position=found.position,
            attempt=found.attempt,
            tenant_id=found.tenant_id,
            correlation_id=found.correlation_id,
        )

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction that ends the delivery: its writes take effect exactly once.

        Raises `LeaseLost`, and writes nothing, when somebody else has the event by now.
        """
        async with self._lender.transaction() as conn:
            yield conn
            await subscriptions.finish(conn, self.subscription, *self.delivery[:2])
        self.settled = True

    async def fence(self, conn: AsyncConnection[Any]) -> None:
        """Hold the delivery until the end of the transaction, or raise `LeaseLost`."""
        await subscriptions.fence(conn, self.subscription, *self.delivery[:2])


class SyncEventContext(EventContext):
    """The same for a plain function, which runs in a thread."""

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:  # type: ignore[override]
        """As `EventContext.transaction`, on a synchronous connection."""
        with self._lender.transaction_in_thread() as conn:
            yield conn
            subscriptions.finish_now(conn, self.subscription, *self.delivery[:2])
        self.settled = True


class JobEventContext:
    """The context of the job that an event is, whose `transaction` ends the delivery too."""

    def __init__(self, ctx: Context, subscription: str, delivery: Delivery) -> None:
        object.__setattr__(self, "ctx", ctx)
        object.__setattr__(self, "subscription", subscription)
        object.__setattr__(self, "delivery", delivery)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the job's context has
        return getattr(self.ctx, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.ctx, name, value)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction that ends the job and the delivery with what it writes."""
        async with self.ctx.transaction() as conn:
            yield conn
            await subscriptions.finish(conn, self.subscription, *self.delivery[:2])


class SyncJobEventContext(SyncContext):
    """The same for a plain function, which runs in a thread."""

    __slots__ = ("_delivery", "_subscription")

    def __init__(
        self,
        ctx: Context,
        loop: asyncio.AbstractEventLoop,
        subscription: str,
        delivery: Delivery,
    ) -> None:
        super().__init__(ctx, loop)
        self._subscription = subscription
        self._delivery = delivery

    @contextmanager
    def transaction(
        self, result: Callable[[], object] | None = None
    ) -> Iterator[psycopg.Connection[Any]]:
        """As `JobEventContext.transaction`, on a synchronous connection."""
        with super().transaction(result) as conn:
            yield conn
            subscriptions.finish_now(conn, self._subscription, *self._delivery[:2])


async def run(
    subscriber: Subscriber,
    delivery: Delivery,
    lender: Lender,
    threads: Executor,
    rng: random.Random,
) -> Settlement:
    """Call the handler of a subscription in the relay, in the flow of its event.

    Says how to settle the delivery. Raises only what stops it from outside.
    """
    token = enter(Flow(delivery.tenant_id, delivery.correlation_id))
    kind = EventContext if subscriber.is_async else SyncEventContext
    ctx = kind(subscriber.name, delivery, lender)
    try:
        event = subscriber.known.event(delivery)
        async with asyncio.timeout(subscriber.timeout):
            if subscriber.is_async:
                await subscriber.handler(ctx, event)
            else:
                await _in_thread(threads, subscriber, ctx, event)
    except BaseException as error:
        # Whatever a handler raises is a failed delivery, SystemExit included.
        task = asyncio.current_task()
        stopped = (
            isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling()
        )
        if stopped and not ctx.settled:
            raise
        if not ctx.settled:
            return _failed(error, subscriber, delivery, rng)
        ctx.log.warning("error_after_completion", exc_info=error)
    finally:
        leave(token)
    return Settlement(delivery.position, delivery.attempt, "done")


def _failed(
    error: BaseException, subscriber: Subscriber, delivery: Delivery, rng: random.Random
) -> Settlement:
    verdict = judge_error(error, _as_job(subscriber, delivery), subscriber.retry, rng)
    if not isinstance(
        verdict, Failed
    ):  # somebody else has it: settling will be refused, and counted
        return Settlement(delivery.position, delivery.attempt, "released")
    delay, text, signature, reason = verdict.failure
    return Settlement(delivery.position, delivery.attempt, "failed", delay, text, signature, reason)


def _as_job(subscriber: Subscriber, delivery: Delivery) -> Job:
    """A delivery as the retry policy sees a job."""
    return Job(
        queue="",
        id=delivery.event_id,
        attempt=delivery.attempt,
        failures=delivery.failures,
        crashes=delivery.crashes,
        claim_id=0,
        kind=subscriber.name,
        args=delivery.payload,
        tenant_id=delivery.tenant_id,
        correlation_id=delivery.correlation_id,
        max_attempts=None,
        waited=0,
    )


def event_job(
    subscriber: Subscriber, queue: str
) -> Callable[[Context, str, int, int], Awaitable[object]]:
    """The handler of the jobs that events of a subscription are."""
    threads = Threads("ostinato-event")
    rng = random.Random()  # noqa: S311  # only asked whether there is a next attempt

    async def deliver(ctx: Context, subscription: str, position: int, delivery: int) -> object:
        async with ctx._services.transaction() as conn:  # noqa: SLF001
            held = await subscriptions.load(conn, subscription, position, delivery)
        if held is None:
            return Cancel("the event was settled, or its subscription is gone")
        outcome = None
        try:
            outcome = await _call(ctx, subscriber, held, threads)
            if not ctx.settled and not isinstance(outcome, Snooze):
                async with JobEventContext(ctx, subscription, held).transaction():
                    pass
        except Exception as error:
            if ctx.settled:
                ctx.log.warning("error_after_completion", exc_info=error)
            elif not await _buried(ctx, subscriber, held, error, rng):
                raise
        if ctx.settled:
            await _clear(ctx, subscription, Settlement(position, delivery, "done"), queue)
            return None
        return outcome

    return deliver


async def _call(ctx: Context, subscriber: Subscriber, held: Delivery, threads: Executor) -> object:
    event = subscriber.known.event(held)
    if subscriber.is_async:
        return await subscriber.handler(JobEventContext(ctx, subscriber.name, held), event)
    loop = asyncio.get_running_loop()
    inner = SyncJobEventContext(ctx, loop, subscriber.name, held)
    return await _in_thread(threads, subscriber, inner, event)


async def _buried(
    ctx: Context, subscriber: Subscriber, held: Delivery, error: Exception, rng: random.Random
) -> bool:
    """Bury an event that has failed for the last time, in the transaction that ends its job.

    False: its job has a future, or is lost.
    """
    if isinstance(error, LeaseLost) and error.values.get("subscription") == subscriber.name:
        async with ctx.transaction():  # the job is ours; the delivery is somebody else's by now
            ctx.result = {"settled": held.position}
        return True
    if ctx.steps is not None and ctx.steps.leaving is not None:
        return False
    verdict = judge_error(error, ctx.job, subscriber.retry, rng)
    if not isinstance(verdict, Failed) or verdict.failure.delay is not None:
        return False
    ended = Settlement(held.position, held.attempt, "failed", *verdict.failure)
    ctx.result = {"buried": held.position}
    async with ctx.transaction() as conn:
        await subscriptions.settle(conn, subscriber.name, [ended])
    ctx.log.error("event_buried", event_id=held.event_id, position=held.position, exc_info=error)
    return True


async def _clear(ctx: Context, subscription: str, ended: Settlement, queue: str) -> None:
    """Clear away what the transaction has ended, and make jobs of what waited behind it.

    When this fails, or never happens, the janitor does it.
    """
    async with ctx._services.transaction() as conn:  # noqa: SLF001
        await subscriptions.settle(conn, subscription, [ended])
        made = await subscriptions.dispatch(conn, subscription)
        added = added_queues.get()
        if made and added is not None:
            added.add(queue)


async def _in_thread(
    threads: Executor, subscriber: Subscriber, ctx: object, event: Event[Any]
) -> object:
    context = contextvars.copy_context()

    def call() -> object:
        try:
            return context.run(subscriber.handler, ctx, event)
        except (StopIteration, GeneratorExit) as error:
            raise RuntimeError(f"the handler raised {type(error).__name__}") from error

    return await asyncio.get_running_loop().run_in_executor(threads, call)

"""Makes one set of the requests that wait at the same moment, so that they share a statement and a commit.

    together = Together[NewInvoice, int]()

    async def add(news: list[NewInvoice]) -> list[int]:              # one statement for all, results in their order
        ((numbers,),) = await caller.call("billing.add_invoices_as", invoices=Jsonb(news))
        return numbers

    number = await together.add((caller.tenant_id, caller.subject, caller.key_id), new, add)

A request that comes alone is worked on at once, and waits for nothing. What comes while a set of the same key is under
way waits for its end, and goes as the next set: the busier it is, the larger the sets. The key has to name everything
that the requests of a set share: the tenant, and the caller.

A set is all or nothing, so one request could spoil it for others: if a set fails, each of its requests is tried by
itself, but where the database is away or nobody knows whether it has committed, because then all share the answer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable

T = TypeVar("T")
R = TypeVar("R")

MOST = 100
"""So many go in one set at the most, unless a caller says another number."""


class Together(Generic[T, R]):
    """What is under way and what waits, by key."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._waiting: dict[Hashable, list[tuple[T, asyncio.Future[R]]]] = {}
        self._sets: set[asyncio.Task[None]] = set()

    async def add(self, key: Hashable, item: T, work: Callable[[list[T]], Awaitable[list[R]]]) -> R:
        """Work on an item, with others of the same key that wait at that moment; return its own result."""
        if (waiting := self._waiting.get(key)) is not None:
            future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            waiting.append((item, future))
            return await future
        self._waiting[key] = []
        try:
            (result,) = await work([item])
        finally:
            self._go_on(key, work)
        return result

    def _go_on(self, key: Hashable, work: Callable[[list[T]], Awaitable[list[R]]]) -> None:
        """Begin the next set of a key, in a task of its own: no request that leaves ends it for the others."""
        waiting = [each for each in self._waiting[key] if not each[1].done()]  # who has left is not worked for
        if not waiting:
            del self._waiting[key]
            return
        self._waiting[key] = waiting[self._most :]
        task = asyncio.create_task(self._work(key, waiting[: self._most], work))
        self._sets.add(task)
        task.add_done_callback(self._sets.discard)

    async def _work(
        self, key: Hashable, part: list[tuple[T, asyncio.Future[R]]], work: Callable[[list[T]], Awaitable[list[R]]]
    ) -> None:
        try:
            await self._answer(part, work)
        finally:
            self._go_on(key, work)

    async def _answer(
        self, part: list[tuple[T, asyncio.Future[R]]], work: Callable[[list[T]], Awaitable[list[R]]]
    ) -> None:
        try:
            results = await work([item for item, _ in part])
        except Exception as error:  # noqa: BLE001 - raised by those who wait
            if len(part) > 1 and not isinstance(error, CommitUnknown | DatabaseUnavailable):
                for each in part:
                    await self._answer([each], work)
                return
            for _, future in part:
                if not future.done():
                    future.set_exception(error)
            return
        except BaseException:  # the process ends
            for _, future in part:
                future.cancel()
            raise
        for (_, future), result in zip(part, results, strict=True):
            if not future.done():
                future.set_result(result)

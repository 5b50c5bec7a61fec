"""The jobs of one worker share objects: made when first asked for, closed when the worker ends.

    @asynccontextmanager
    async def pooled() -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient() as http:
            yield http

    http = await ctx.shared(pooled)      # the same client for every job of this worker

For what costs to make and lives as long as the process: a pool of connections to another service.
What it is made with follows: `ctx.shared(opened, settings)` has one for each value of `settings`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self, TypeVar, TypeVarTuple

LAST_SECONDS = 1.0
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Shared:
    """The shared objects, by the functions that make them."""

    def __init__(self) -> None:
        self._made: dict[object, Any] = {}
        self.gatherings: dict[str, Any] = {}
        """The batches that gather now, by kind (`batches`)."""
        self.batches: Counter[str] = Counter()
        """How many are under way, by kind."""
        self._making = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_SECONDS)
        self._made.clear()
        await self._stack.aclose()

    def keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        """Keep a task until it ends, or is cancelled because the worker does."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def get(self, make: Callable[[*Ts], AbstractAsyncContextManager[T]], *args: *Ts) -> T:
        """Return what `make` makes of these values, made once however many ask at the same time."""
        key = (make, args)
        if key not in self._made:
            async with self._making:
                if key not in self._made:
                    self._made[key] = await self._stack.enter_async_context(make(*args))
        found: T = self._made[key]
        return found

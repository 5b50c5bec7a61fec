"""What the jobs of one worker have in common: made when it is first asked for, closed at the end.

    @asynccontextmanager
    async def pooled() -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient() as http:
            yield http

    http = await ctx.shared(pooled)      # the same client for every job of this worker

For what costs to make and lives as long as the process: a pool of connections to another service.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self, TypeVar

__all__ = ["Shared"]

T = TypeVar("T")


class Shared:
    """Things by what makes them."""

    def __init__(self) -> None:
        self._made: dict[object, Any] = {}
        self._making = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._made.clear()
        await self._stack.aclose()

    async def get(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """What `make` makes, made once however many ask at the same time."""
        if make not in self._made:
            async with self._making:
                if make not in self._made:
                    self._made[make] = await self._stack.enter_async_context(make())
        found: T = self._made[make]
        return found

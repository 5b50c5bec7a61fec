"""Looks keys up in sets: one query at a time, for all the texts that wait.

A client that sends wrong keys by the thousand makes the sets longer and takes one connection; a good key
among them waits for the query before its own, and is never refused because of its neighbours.
"""

import asyncio
from collections import deque

from ostinato._core.base.errors import Unauthenticated
from ostinato._core.engine import keys
from ostinato._core.runtime.client import Client

MOST_AT_ONCE = 500

_Asked = tuple[str, "asyncio.Future[keys.Key | Unauthenticated]"]


class Matcher:
    """Finds the keys of texts, by as few queries as there can be."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: deque[_Asked] = deque()
        self._working: asyncio.Task[None] | None = None

    async def match(self, text: str) -> keys.Key:
        """Return the key of a text; raises `Unauthenticated`, as `keys.authenticate` does."""
        future: asyncio.Future[keys.Key | Unauthenticated] = asyncio.get_running_loop().create_future()
        self._waiting.append((text, future))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        found = await future
        if isinstance(found, Unauthenticated):
            raise found
        return found

    async def close(self) -> None:
        """Stop looking; callers that still wait are cancelled."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def _work(self) -> None:
        batch: list[_Asked] = []
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]
                await self._look_up(batch)
        finally:
            self._working = None
            for _, future in (*batch, *self._waiting):
                future.cancel()  # nobody is left to answer; one that is done stays as it is

    async def _look_up(self, batch: list[_Asked]) -> None:
        try:
            async with self._client.connection() as conn:
                found = await keys.match(conn, [text for text, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait get it
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), each in zip(batch, found, strict=True):
            if not future.done():
                future.set_result(each)

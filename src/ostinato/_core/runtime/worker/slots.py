"""The connections that the handlers of a worker may use at once, and who waits for one.

A handler waits for its turn for as long as connections come back: that all are in use is no trouble
of the database. It gives up when none came back for a minute, because handlers that each hold one
and want a second wait for ever.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from ostinato._core.base.errors import DatabaseUnavailable

PATIENCE_SECONDS = 60.0


class Slots:
    """Counts connections; the first who waits gets the next one."""

    def __init__(self, most: int, on_free: Callable[[], None] = lambda: None) -> None:
        self.most = most
        self._on_free = on_free
        """Called when there is room again."""
        self._taken = 0
        self._returned = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def room(self) -> int:
        """Return how many more handlers may come for one.

        A few may wait, so that a connection that comes back is used at once.
        """
        return self.most + self.most // 4 + 1 - self._taken - len(self._waiting)

    async def take(self) -> None:
        """Wait for a turn, and take it; raises `DatabaseUnavailable` when nothing moves."""
        if self._taken < self.most and not self._waiting:
            self._taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await self._wait(turn)
        except BaseException:
            if turn.done():
                self.give_back()
            else:
                self._waiting.remove(turn)
            raise

    def give_back(self) -> None:
        """End a turn."""
        had_room = self.room() > 0
        self._returned += 1
        self._taken -= 1
        while self._waiting and self._taken < self.most:
            self._taken += 1
            self._waiting.popleft().set_result(None)
        if not had_room:
            self._on_free()

    async def _wait(self, turn: "asyncio.Future[None]") -> None:
        while not turn.done():
            returned = self._returned
            await asyncio.wait({turn}, timeout=PATIENCE_SECONDS)
            if not turn.done() and self._returned == returned:
                raise DatabaseUnavailable(
                    f"All {self.most} connections for handlers were in use for {PATIENCE_SECONDS:g} s.",
                    hint="Raise handler_connections, or keep transactions short; a handler that"
                    " opens a second one inside of the first needs two.",
                )

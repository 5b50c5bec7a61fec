"""The bell of a client: it rings for each commit, and coalesces rings only under load.

A ring wakes a worker that rests, so the first one is sent at once. Commits that come while it is
on its way, or within a short pause after it, share the next one. While each pause brings such
commits, the pauses grow to 50 ms: a client that commits that often keeps the workers awake, and
they find its jobs without a ring. No ring is dropped, so no job waits longer than the pause.
"""

import asyncio
from collections.abc import Awaitable, Callable

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.05


class Bell:
    """Sends the rings of one client, by queue."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        self._pauses: dict[str, float] = {}
        """The queues that were rung just now, and how long they pause."""
        self._again: set[str] = set()
        self._sending: set[asyncio.Task[None]] = set()

    def ring(self, queue: str) -> None:
        """Wake idle workers: at once, or after the pause of the ring before."""
        if queue in self._pauses:
            self._again.add(queue)
        else:
            self._start(queue, FIRST_PAUSE)

    async def close(self) -> None:
        """Send what is left."""
        while self._sending or self._again:
            for queue in self._again:
                self._start(queue, FIRST_PAUSE)
            self._again.clear()
            await asyncio.wait(self._sending)

    def _start(self, queue: str, pause: float) -> None:
        self._pauses[queue] = pause
        task = asyncio.create_task(self._ring(queue))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _ring(self, queue: str) -> None:
        try:
            await self._send(queue)
        finally:
            asyncio.get_running_loop().call_later(self._pauses.get(queue, FIRST_PAUSE), self._rested, queue)

    def _rested(self, queue: str) -> None:
        pause = self._pauses.pop(queue, FIRST_PAUSE)
        if queue in self._again:
            self._again.discard(queue)
            self._start(queue, min(2 * pause, LONGEST_PAUSE))

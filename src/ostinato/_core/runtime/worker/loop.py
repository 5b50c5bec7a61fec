"""The loop of every service: a service implements `tick`, and the loop decides when to call it.

`tick` does one round of work and returns the seconds until the next one. `wake` calls it sooner.
When it fails, the pauses grow, with jitter, and the loop continues: a worker outlives its database.
"""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable
from ostinato._core.base.log import get_logger

FOREVER = math.inf
"""Returned by a tick that waits to be woken."""

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0

log = get_logger("loop")


class Loop:
    """Calls a tick again and again until it is stopped."""

    def __init__(
        self,
        name: str,
        tick: Callable[[], Awaitable[float]],
        *,
        on_error: Callable[[BaseException], None] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.name = name
        self._tick = tick
        self._on_error = on_error
        self._rng = rng or random.Random()  # noqa: S311  # spreads load, guards nothing
        self._woken = asyncio.Event()
        self._stopping = False
        self._failures = 0

    def wake(self) -> None:
        """Call the tick soon. Other threads must use `call_soon_threadsafe`."""
        self._woken.set()

    def stop(self) -> None:
        """Let the round under way end, then stop."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Tick until stopped."""
        while not self._stopping:
            self._woken.clear()
            pause = await self._round()
            if pause > 0 and not self._stopping:
                await self._rest(pause)

    async def _round(self) -> float:
        try:
            pause = await self._tick()
        except Exception as error:  # noqa: BLE001  # a service must not die of one bad round
            return self._failed(error)
        if self._failures:
            log.info("recovered", loop=self.name, after_failures=self._failures)
            self._failures = 0
        return pause

    def _failed(self, error: Exception) -> float:
        self._failures += 1
        if self._on_error is not None:
            self._on_error(error)
        if not isinstance(error, DatabaseUnavailable | CommitUnknown):
            log.error("round_failed", loop=self.name, failures=self._failures, exc_info=error)
        elif self._failures in (1, 10, 100):  # an outage is logged once
            log.warning("database_unavailable", loop=self.name, failures=self._failures, error=error.message)
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures, 10))
        return self._rng.uniform(longest / 2, longest)

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(None if seconds == FOREVER else seconds):
                await self._woken.wait()
        except TimeoutError:
            pass

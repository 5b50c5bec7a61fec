"""A worker's connection to a broker: opened when it is needed, and again when it broke.

While a broker is away one job at a time tries to connect, after ever longer pauses, and the others wait for it.
None waits longer than `HOLD_SECONDS`: then it is snoozed, so that a worker that stops is not held up. The queue of
the relays limits how many wait at once, so an outage costs the database a few rows a second, however long the
backlog is, and other queues keep their lanes.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ostinato._core.base.cloudevents import Outgoing
from ostinato._core.base.errors import NoAnswer
from ostinato._core.base.log import get_logger
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.brokers.broker import (
    CONNECT_SECONDS,
    PUBLISH_SECONDS,
    Address,
    Publisher,
    away,
    close_quietly,
    url_of,
)

HOLD_SECONDS = 5.0
"""A job waits so long for a connection, in its lane, before it is snoozed."""
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 4.0
NOTE_SECONDS = 60.0

log = get_logger("brokers")


class Link:
    """The connection of one worker to one broker, for all its relays."""

    def __init__(self, address: type[Address], settings: Settings) -> None:
        self.kind = address.kind
        self._address = address
        self._settings = settings
        self._url = url_of(address.kind, settings)
        self._noted = -math.inf
        self._open: Publisher | None = None
        self._opening = asyncio.Lock()
        self._failures = 0
        self._next_try = 0.0
        self._last = away(self.kind, self._url, TimeoutError("no answer yet"))

    async def publish(self, to: Address, message: Outgoing) -> None:
        """Publish one message. Raises NoAnswer when it is to be held, InvalidInput when it never goes."""
        connection = self._open or await self._connected()
        try:
            async with asyncio.timeout(PUBLISH_SECONDS):
                await connection.publish(to, message)
        except TimeoutError as error:
            await self._drop(connection)
            raise away(self.kind, self._url, error) from None
        except NoAnswer as error:
            if error.values.get("outcome") == "away":
                await self._drop(connection)
            raise

    def is_to_be_noted(self) -> bool:
        """Return whether a fault is to be noted in the database: an outage is, about once a minute."""
        now = asyncio.get_running_loop().time()
        due = now >= self._noted + NOTE_SECONDS
        self._noted = now if due else self._noted
        return due

    async def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            await self._drop(self._open)

    async def _connected(self) -> Publisher:
        try:
            async with asyncio.timeout(HOLD_SECONDS), self._opening:
                while self._open is None:
                    await self._try()
                return self._open
        except TimeoutError:
            raise self._last from None

    async def _try(self) -> None:
        """Try to connect, not before the pause since the last time is over."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._next_try - loop.time()))
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
        self._next_try = loop.time() + pause
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                self._open = await self._address.publisher(self._settings)
        except (NoAnswer, TimeoutError) as error:
            self._last = error if isinstance(error, NoAnswer) else away(self.kind, self._url, error)
            self._failures += 1
            if self._failures == 1:  # an outage is logged once
                log.warning("broker_away", broker=self.kind, error=self._last.message)
        else:
            if self._failures:
                log.info("broker_back", broker=self.kind, after_failures=self._failures)
            self._failures = 0

    async def _drop(self, broken: Publisher) -> None:
        """Give up a connection that broke; only the first caller to notice closes it."""
        if self._open is broken:
            self._open = None
            # The next one is opened when this one can send nothing any more: a late message would be out of order.
            async with self._opening:
                await close_quietly(broken.close())


@asynccontextmanager
async def linked(address: type[Address], settings: Settings) -> AsyncIterator[Link]:
    """Make a link that is closed at the end."""
    link = Link(address, settings)
    try:
        yield link
    finally:
        await link.close()

"""Lets a few callbacks of each account be worked on at once; others wait, and too many are refused.

A callback takes a connection of the API, and may wait for rows of its tenant. Without a limit one
tenant that posts many at once would take the connections of all. Who waits holds none, so a burst is
only slower. Meta, SNS, Postmark and Mailgun repeat what they are refused; Twilio, which posts each status
by itself, does not by default: so many small ones may wait.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ostinato.errors import TooManyRequests

AT_ONCE: Final = 4
"""Of the 20 connections of an API process."""
INSTALLATION_AT_ONCE: Final = 12
"""The account of the installation speaks for all tenants that were lent it, and no tenant can sign with it."""
MOST_WAITING: Final = 256
MOST_WAITING_BYTES: Final = 32 * 2**20
RETRY_SECONDS: Final = 5


@dataclass(slots=True)
class _Line:
    """The callbacks of one account: how many are here, and how many of them wait for their turn."""

    turns: asyncio.Semaphore
    here: int = 0
    waiting: int = 0
    waiting_bytes: int = 0

    async def wait(self, size: int) -> None:
        """Wait for a turn, unless too many do."""
        is_full = self.waiting >= MOST_WAITING or self.waiting_bytes + size > MOST_WAITING_BYTES
        if self.turns.locked() and is_full:
            raise TooManyRequests(
                f"{self.waiting} callbacks of this account wait already",
                hint="Post it again after the seconds of the header Retry-After, and fewer at once.",
                retry_after=RETRY_SECONDS,
            )
        self.waiting += 1
        self.waiting_bytes += size
        try:
            await self.turns.acquire()
        finally:
            self.waiting -= 1
            self.waiting_bytes -= size


class Unsigned(Enum):
    """Who signed nothing: all of them are one."""

    ANYBODY = "anybody"


class Turns:
    """The turns of an API process, by tenant: one tenant may have any number of accounts."""

    def __init__(self) -> None:
        self._lines: dict[str | Unsigned | None, _Line] = {}

    @asynccontextmanager
    async def turn(self, whose: str | Unsigned | None, size: int) -> AsyncIterator[None]:
        """Wait for a turn of a tenant, None being the installation; raises `TooManyRequests`."""
        at_once = INSTALLATION_AT_ONCE if whose is None else AT_ONCE
        line = self._lines.setdefault(whose, _Line(asyncio.Semaphore(at_once)))
        line.here += 1
        try:
            await line.wait(size)
            try:
                yield
            finally:
                line.turns.release()
        finally:
            line.here -= 1
            if not line.here:
                del self._lines[whose]

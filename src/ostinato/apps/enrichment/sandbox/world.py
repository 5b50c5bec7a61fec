"""Shares companies, windows of calls, bans and faults among the services of the sandbox."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from fastapi import Response

from ostinato.apps.enrichment.sandbox.companies import Invented, invented

HOUR: Final = 3600
BAN_AFTER: Final = 20
"""Calls that ignore a 429 until the caller is banned."""
CUT: Final = "999000136"

Script = tuple[tuple[int, float], ...]
"""What calls for a SIREN meet, in turn and again from the start: a status, seconds before it."""


class Window:
    """So many calls in so many seconds, as the real services count them."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self.most = most
        self.seconds = seconds
        self._clock = clock
        self._calls: deque[float] = deque()
        self.ignored = 0

    def take(self) -> float | None:
        """Return the seconds until there is room; None: there is."""
        now = self._clock()
        while self._calls and self._calls[0] <= now - self.seconds:
            self._calls.popleft()
        if len(self._calls) < self.most:
            self._calls.append(now)
            self.ignored = 0
            return None
        self.ignored += 1
        return self._calls[0] + self.seconds - now

    @property
    def left(self) -> int:
        """Calls that are left now."""
        return max(0, self.most - len(self._calls))

    @property
    def ends_in(self) -> float:
        """Seconds until the window that the first call opened ends."""
        opened = self._calls[0] if self._calls else self._clock()
        return max(0.0, opened + self.seconds - self._clock())


class World:
    """The companies and the clocks, and who has called so far."""

    def __init__(self, clock: Callable[[], float], wall: Callable[[], float], scale: float) -> None:
        self.clock = clock
        self.wall = wall
        self._scale = scale
        self.reset()

    def reset(self) -> None:
        """Forget who called."""
        self._banned_until = defaultdict[str, float](float)
        self._turns = defaultdict[tuple[str, str], int](int)
        self.masked: set[str] = set()
        """Companies that asked for their data to be withheld, since the sandbox began."""

    def company(self, siren: str) -> Invented | None:
        """Return the company of a SIREN, as it is by now."""
        found = invented(siren)
        masked = found is not None and siren in self.masked
        return replace(found, masked=True) if found is not None and masked else found

    async def turn(self, service: str, siren: str, scripts: Mapping[str, Script]) -> int:
        """Return the status that this call meets, by the script of its company."""
        script = scripts.get(siren, ((200, 0),))
        number = self._turns[service, siren]
        self._turns[service, siren] += 1
        status, seconds = script[number % len(script)]
        await asyncio.sleep(seconds * self._scale)
        return status

    def is_banned(self, service: str) -> bool:
        """Return whether a service answers nobody now."""
        return self.clock() < self._banned_until[service]

    def ban(self, service: str, seconds: float) -> None:
        """Let a service answer nobody for some time."""
        self._banned_until[service] = self.clock() + seconds

    def ban_if_ignored(self, service: str, window: Window) -> None:
        """Ban callers who go on although they were asked to wait."""
        if window.ignored >= BAN_AFTER:
            self.ban(service, 12 * HOUR)


def cut() -> Response:
    """Make an answer that the server turns into a connection that is reset."""
    return Response(headers={"x-sandbox-fault": "reset"})


def after(seconds: float) -> dict[str, str]:
    """Return the header Retry-After."""
    return {"Retry-After": str(max(1, round(seconds + 0.499)))}

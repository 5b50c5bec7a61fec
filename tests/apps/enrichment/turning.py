"""Time that passes only when a test lets it: until a worker's turn at a source, and until a call is given up."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from ostinato.apps.enrichment.sandbox import Registers
from ostinato.lab.sandbox.running import Running, running

AT_ONCE = 0.1
"""Seconds that are not waited for: what a turn takes at a source that is called a thousand times a second."""


class WorkerTime:
    """The clock of `turns.py`, and who waits by it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, asyncio.Event]] = []
        monkeypatch.setattr("ostinato.apps.enrichment.turns.time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr("ostinato.apps.enrichment.turns.asyncio", SimpleNamespace(sleep=self._sleep))

    @property
    def waiting(self) -> list[float]:
        """Until when each waits that does, the first one first."""
        return sorted(until for until, _ in self._waiting)

    def pass_until(self, at: float) -> None:
        """Let time pass; who waited until then goes on."""
        self.now = at
        over = [one for one in self._waiting if one[0] <= at]
        self._waiting = [one for one in self._waiting if one[0] > at]
        for _, event in over:
            event.set()

    async def _sleep(self, seconds: float) -> None:
        if seconds < AT_ONCE:
            return
        over = asyncio.Event()
        self._waiting.append((self.now + seconds, over))
        await over.wait()


@contextmanager
def strict(monkeypatch: pytest.MonkeyPatch, time: WorkerTime, per_second: int) -> Iterator[Running]:
    """Sources of which the search refuses more calls in a second of that time, and workers that keep to it."""
    standing = Registers(lambda: time.now, limits=(per_second, 250))
    with running(standing) as sandbox:
        for name, value in standing.settings(sandbox.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OSTINATO_ENRICHMENT_SEARCH_PER_SECOND", str(per_second))
        yield sandbox


def searches(sandbox: Running) -> list[str]:
    """The calls that the search was sent."""
    return [call.path for call in list(sandbox.faults.calls) if call.path == "/registers/search"]


class Deadlines:
    """The time that a call has, which is over when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._last: asyncio.Timeout | None = None
        monkeypatch.setattr("ostinato.apps.enrichment.wire.asyncio", SimpleNamespace(timeout=self._made))

    def end(self) -> None:
        """Let the time of the last call be over."""
        assert self._last is not None
        self._last.reschedule(asyncio.get_running_loop().time())

    def _made(self, seconds: float) -> asyncio.Timeout:
        self._last = asyncio.timeout(seconds)
        return self._last

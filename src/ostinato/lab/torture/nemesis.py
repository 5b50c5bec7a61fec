"""Breaks workers and the database for `ostinato torture`, at random from a seed."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

import psutil  # type: ignore[import-untyped]
import psycopg

from ostinato._core.db.sqlfile import statement
from ostinato.lab.torture.crew import Crew, Hand

FILE = ("ostinato.lab.torture", "sql/torture.sql")
LONGEST_CALM = 1.5
LONGEST_FREEZE = 1.0
MOST_CUT = 8


@dataclass(frozen=True, slots=True)
class Death:
    """A worker that was killed, by the database's clock."""

    worker_id: UUID
    at: datetime


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Freeze a server during the block: its processes are stopped."""
    postmaster = psutil.Process(pid)
    stopped: list[psutil.Process] = []
    try:
        postmaster.suspend()  # first, so that it starts no others
        stopped.append(postmaster)
        for child in postmaster.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.suspend()
                stopped.append(child)
        yield
    finally:
        for process in reversed(stopped):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


class Breakable(Protocol):
    """A server that can be crashed and frozen."""

    @property
    def pid(self) -> int | None:
        """Its process id, None when it is dead."""

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop it and start it again."""


class Nemesis:
    """Breaks one thing after the other until it is cancelled."""

    def __init__(
        self, crew: Crew, server: Breakable, admin_url: str, rng: random.Random, expiry_seconds: float
    ) -> None:
        self._crew = crew
        self._server = server
        self._admin_url = admin_url
        self._rng = rng
        self._expiry = expiry_seconds
        self._naps: set[asyncio.Task[None]] = set()
        self.done: Counter[str] = Counter()
        """How often each thing was done."""
        self.deaths: list[Death] = []
        self._deeds: dict[str, tuple[float, Callable[[], Awaitable[None]]]] = {
            "worker killed": (6, self._kill),
            "worker paused": (4, self._pause),
            "worker restarted": (2, self._terminate),
            "connections cut": (3, self._cut),
            "database crashed": (1, self._crash),
            "database frozen": (1, self._freeze),
        }

    async def run(self) -> None:
        """Do harm until cancelled."""
        names = list(self._deeds)
        weights = [weight for weight, _ in self._deeds.values()]
        try:
            while True:
                (name,) = self._rng.choices(names, weights)
                calm = self._rng.uniform(0, LONGEST_CALM)
                await self._deeds[name][1]()
                self.done[name] += 1
                await asyncio.sleep(calm)
        finally:
            for nap in self._naps:
                nap.cancel()
            for hand in self._crew.alive:
                hand.resume()

    def _victim(self) -> Hand | None:
        awake = [hand for hand in self._crew.alive if not hand.paused]
        return self._rng.choice(awake) if awake else None

    async def _kill(self) -> None:
        hand = self._victim()
        if hand is None:
            return
        with contextlib.suppress(psycopg.Error):  # the database may be on its way back
            async with await self._connect() as conn:
                found = await conn.execute(statement(*FILE, "worker_of"), [hand.name])
                row = await found.fetchone()
            if row is not None and row[0] is not None:
                self.deaths.append(Death(*row))
        await asyncio.to_thread(hand.kill)

    async def _pause(self) -> None:
        hand = self._victim()
        if hand is not None:
            hand.pause()
            self._nap(self._wake(hand, self._rng.uniform(0.3, 2.5) * self._expiry))

    def _nap(self, end: Coroutine[Any, Any, None]) -> None:
        """Let a harm end later, beside the next ones."""
        nap = asyncio.create_task(end)
        self._naps.add(nap)
        nap.add_done_callback(self._naps.discard)

    async def _wake(self, hand: Hand, seconds: float) -> None:
        await asyncio.sleep(seconds)
        hand.resume()

    async def _terminate(self) -> None:
        hand = self._victim()
        if hand is not None:
            hand.terminate()

    async def _cut(self) -> None:
        seed, most = self._rng.random(), self._rng.randint(1, MOST_CUT)
        with contextlib.suppress(psycopg.Error):
            async with await self._connect() as conn:
                await conn.execute(statement(*FILE, "end_connections"), {"seed": seed, "most": most})

    async def _crash(self) -> None:
        await asyncio.to_thread(self._server.restart, "immediate")

    async def _freeze(self) -> None:
        pid, seconds = self._server.pid, self._rng.uniform(0.1, LONGEST_FREEZE) * self._expiry
        if pid is not None:
            with frozen(pid):
                await asyncio.sleep(seconds)

    async def _connect(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        return await psycopg.AsyncConnection.connect(self._admin_url, autocommit=True, connect_timeout=3)

"""Takes the turns at a source: a call is sent with a turn that is not late, or its job sleeps.

Turns are given by the database (`sql/functions/sources.sql`), spaced for all workers together, and
that is of no use if a worker that was stopped sends all calls whose turns went by meanwhile. So the
clock is looked at right before a call is sent: a turn that is late by more than the time between
two turns is not used, and a new one is taken. What a turn allows is one call.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from ostinato.apps.enrichment.queries import QUERIES, Connection

if TYPE_CHECKING:
    from ostinato.apps.enrichment.settings import EnrichmentSettings
    from ostinato.apps.enrichment.sources import Source
    from ostinato.apps.enrichment.wire import Lend

LONGEST_TURN: Final = 2.0
"""Seconds that a run waits for its turn in the worker; for a longer wait its job sleeps."""
LONG_WAIT: Final = 0.1
"""Seconds of waiting for a turn, after which another worker may have been asked to stay away."""
SHORTEST_LATE: Final = 0.05
"""Seconds that no turn is late by: no event loop that is busy keeps less."""
MOST_TURNS: Final = 4
"""Turns that are taken for one call; then the database is slow, and it is sent."""


class Paused(Exception):
    """A source may not be called for some seconds; the run sleeps meanwhile, and calls nobody."""

    def __init__(self, source_api: str, seconds: float, reason: str | None = None) -> None:
        super().__init__(f"{source_api} is paused for {seconds:.1f} s: {reason}")
        self.source_api = source_api
        self.seconds = seconds
        self.reason = reason


class Turn(NamedTuple):
    """Whether and when a source may be called."""

    verdict: str
    wait: float
    probe: bool
    reason: str | None
    waited: float


class Turns:
    """The turns of one run at one source."""

    def __init__(self, lend: "Lend", source: "Source", settings: "EnrichmentSettings") -> None:
        self._lend = lend
        self._name = str(source.api)
        self._pace = source.pace(settings)
        self._late = max(1 / self._pace.per_second, SHORTEST_LATE)
        self._due: float | None = None
        self.probe = False

    async def take(self) -> None:
        """Wait for a turn; raise `Paused` if there is none."""
        while True:
            async with self._lend() as conn:
                asked = time.monotonic()
                turn = await self._ask(conn)
            if turn.verdict != "go":
                self._due = None
                raise Paused(self._name, turn.wait, turn.reason)
            # Not later than it really is: the database gave the turn at some time since we asked.
            self._due = asked + turn.waited + turn.wait
            self.probe = turn.probe
            await asyncio.sleep(turn.wait)
            if turn.wait <= LONG_WAIT:
                return
            async with self._lend() as conn:
                held = await QUERIES.value(conn, "is_held", source=self._name)
            if not held:
                return

    async def use(self) -> None:
        """Use the turn for a call that is sent now; one that is used or late is taken anew."""
        for _ in range(MOST_TURNS):
            if self._due is not None and time.monotonic() - self._due <= self._late:
                break
            await self.take()
        self._due = None

    async def _ask(self, conn: Connection) -> Turn:
        again = self._due is not None
        (turn,) = await QUERIES.rows_as(
            Turn,
            conn,
            "take_turn",
            source=self._name,
            again=again,
            probing=again and self.probe,
            **self._pace._asdict(),
        )
        return turn


async def sleep_before(conn: Connection, sources: Iterable["Source"], settings: "EnrichmentSettings") -> float:
    """Return the seconds that a job is to sleep before its run: a source is paused, or its line is long."""
    called = [source for source in sources if source.missing(settings) is None]
    paces = [source.pace(settings) for source in called]
    wait: float = await QUERIES.value(
        conn,
        "sleep_before",
        sources=[str(source.api) for source in called],
        per_seconds=[pace.per_second for pace in paces],
        per_days=[pace.per_day for pace in paces],
        longest=LONGEST_TURN,
    )
    return wait

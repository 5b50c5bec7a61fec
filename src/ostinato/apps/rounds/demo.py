"""The scenario "rounds": a week across the October change, a late restart, a vote too late.

The week is one of the past, the last in which Paris put its clock back. The clock of a real system
cannot be moved, so the week is lived through in a database that is made for it (`testing.engine`),
by the same functions as the jobs and the API call.
"""

import itertools
import random
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from psycopg import AsyncConnection

from ostinato import outbox, testing
from ostinato.apps.rounds import APP, groups, participation, service
from ostinato.apps.rounds.groups import Person
from ostinato.apps.rounds.queries import QUERIES
from ostinato.apps.rounds.rules import creation_days, round_instants
from ostinato.apps.rounds.service import Days, Opened
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.apps.rounds.views import NewPrompt, RoundView
from ostinato.errors import Conflict
from ostinato.testing import Engine, Scenario, System

API = "/api/v1/rounds"
ZONE = "Europe/Paris"
DROP = time(2, 30)
"""In the hour that comes twice."""
PROMPTS = 9
DAY = timedelta(days=1)
ACTOR = "rounds.demo"
OCTOBER, SUNDAY = 10, 6
LENGTHS = [24.0, 24.0, 24.0, 25.0, 24.0, 24.0, 24.0]


def last_change(today: date) -> date:
    """Return the last day, a week or more ago, on which Paris put its clock back."""
    year = today.year
    while True:
        day = date(year, OCTOBER, 31)
        while day.weekday() != SUNDAY:
            day -= DAY
        if day + timedelta(days=7) < today:
            return day
        year -= 1


async def run(system: System) -> None:
    """Make a group over HTTP; live through the week with one like it, and vote when it is late."""
    made = {"name": f"demo {system.run}", "drop_time": f"{DROP:%H:%M}", "zone": ZONE}
    group = (await system.call("POST", f"{API}/groups", status=201, json=made)).json()["id"]
    for number in range(PROMPTS):
        body = {"title": f"Question {number + 1} of {system.run}"}
        await system.call("POST", f"{API}/groups/{group}/prompts", status=201, json=body)
    system.proved("a group has its own drop time and zone, members and prompts")
    await system.call("PATCH", f"{API}/groups/{group}", json={"is_active": False})
    async with testing.engine(name="ostinato_week", apps=[APP]) as engine:
        week = await _Week.of(system, engine)
        await week.live_through()
        await week.look()


@dataclass
class _Week:
    """A group in a database whose clock can be moved, and seven days of its rounds."""

    system: System
    engine: Engine
    who: Person
    group: int
    change: date
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 - chance that can be repeated

    @classmethod
    async def of(cls, system: System, engine: Engine) -> "_Week":
        who = Person(system.tenant_id, system.tenant_id, manages=True)
        change = last_change((await engine.clock.now()).date())
        await engine.clock.freeze(datetime.combine(change - 4 * DAY, time(11), tzinfo=UTC))
        async with engine.client.for_tenant(who.tenant_id, who.user_id).transaction() as conn:
            group = await groups.add(conn, who, "one", {"drop_time": f"{DROP:%H:%M}", "zone": ZONE})
            for number in range(PROMPTS):
                prompt = NewPrompt(title=f"Question {number + 1}", body="").model_dump()
                await groups.add_prompt(conn, who, group.id, prompt)
        return cls(system, engine, who, group.id, change)

    async def live_through(self) -> None:
        """Run the jobs on seven days, each day at its instants; on the last but one all is down."""
        first = self.change - 3 * DAY
        for number in range(len(LENGTHS)):
            day = first + number * DAY
            opens, closes = round_instants(day, DROP, ZONE)
            await self._create(datetime.combine(day - DAY, time(12), tzinfo=UTC))
            if number == len(LENGTHS) - 2:
                await self._open(closes + timedelta(hours=2))
                continue
            early = await self._open(opens - timedelta(seconds=1))
            opened, again = await self._open(opens), await self._open(opens)
            if (len(early), len(opened), len(again)) != (0, 1, 0):
                self.system.fail(f"{day} opened {len(early)}, {len(opened)} and {len(again)} times")
            if day == self.change:
                async with self._as_member() as conn:
                    text = "An answer in the hour that came twice."
                    await participation.submit(conn, self.who, opened[0].round_id, text)
            if len(await self._close(closes)) != 1:
                self.system.fail(f"the round of {day} was not closed at {closes}")

    async def look(self) -> None:
        """Check what became of the week."""
        check = self.system.check
        async with self._as_member() as conn:
            found = await participation.history(conn, self.who, self.group)
        week = [each for each in reversed(found) if each.scheduled_for_local_date <= self.change + 3 * DAY]
        lasts = [(each.close_at - each.open_at) / timedelta(hours=1) for each in week]
        check(
            "a week of rounds across the October change: one a day, 25 hours on the day of the change",
            lasts == LENGTHS,
            lasts,
        )
        check(
            "each round closes at the very instant at which the next one opens",
            all(a.close_at == b.open_at for a, b in itertools.pairwise(week)),
            week,
        )
        late = [each.missed for each in week]
        check(
            "after a late restart the round that nobody could see is opened and closed, as missed",
            late == [False] * 5 + [True, False] and all(each.status == "closed" for each in week),
            late,
        )
        titles = [each.resolved_title for each in week]
        check("no prompt comes twice in the week", len(set(titles)) == len(titles), titles)
        opened = [await self._openings_emitted(each) for each in week]
        check("each opening is emitted once, and that of the missed round is not", opened == [1] * 5 + [0, 1], opened)
        await self._vote_late(week[3])

    async def _vote_late(self, late: RoundView) -> None:
        told = "it was taken"
        try:
            async with self._as_member() as conn:
                await participation.vote(conn, self.who, late.id, member_id=self.who.user_id)
        except Conflict as refused:
            told = refused.message
        self.system.check("a vote after closing is refused by the database", "closed" in told, told)
        async with self._as_member() as conn:
            kept = await participation.submissions(conn, self.who, late.id)
        self.system.check("what was submitted in time can still be read", len(kept) == 1, kept)

    async def _openings_emitted(self, of: RoundView) -> int:
        """Count the events of an opening in the trail of a round."""
        async with self.engine.client.connection() as conn:
            found = await outbox.list_events(conn, correlation_id=f"round-{of.id}", most=100)
        return sum(event.type == "rounds.opened" for event in found)

    def _as_member(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        return self.engine.client.for_tenant(self.who.tenant_id, self.who.user_id).transaction()

    async def _create(self, at: datetime) -> None:
        await self.engine.clock.freeze(at)
        days = Days.of(creation_days(at, ZONE))
        async with self.engine.client.transaction() as conn:
            await service.create_set(conn, [self.group], days, RoundsSettings(), self.rng, wait=True)

    async def _open(self, at: datetime) -> list[Opened]:
        await self.engine.clock.freeze(at)
        async with self.engine.client.transaction() as conn:
            return await service.open_set(conn, await self._ids(conn), self.rng, by=ACTOR, wait=True)

    async def _close(self, at: datetime) -> dict[int, float]:
        await self.engine.clock.freeze(at)
        async with self.engine.client.transaction() as conn:
            return await service.close_set(conn, await self._ids(conn), by=ACTOR, wait=True)

    async def _ids(self, conn: AsyncConnection[Any]) -> list[int]:
        return [row["id"] for row in await QUERIES.rows(conn, "round_ids", group_id=self.group)]


SCENARIO = Scenario(
    "rounds", "A week of rounds across the October change: at the right instants, once, then read-only.", run
)

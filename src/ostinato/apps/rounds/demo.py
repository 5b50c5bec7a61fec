"""The scenario "rounds": a week across the October change, a late restart, a vote too late.

The week is one of the past, the last in which Paris put its clock back. It is lived through in one
transaction that has its own clock, so that the system's own runs see none of it before its end.
"""

import itertools
import random
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from psycopg import AsyncConnection

from ostinato import database
from ostinato.apps.rounds import participation, service
from ostinato.apps.rounds.groups import Person
from ostinato.apps.rounds.queries import QUERIES
from ostinato.apps.rounds.rules import next_local_date, round_instants
from ostinato.apps.rounds.service import Days
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.tenants import flow
from ostinato.testing import Scenario, System

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
    """The last day, a week or more ago, on which Paris put its clock back."""
    year = today.year
    while True:
        day = date(year, OCTOBER, 31)
        while day.weekday() != SUNDAY:
            day -= DAY
        if day + timedelta(days=7) < today:
            return day
        year -= 1


async def run(system: System) -> None:
    """Make a group, live through the week, look at it, and vote when it is too late."""
    made = {"name": f"demo {system.run}", "drop_time": f"{DROP:%H:%M}", "zone": ZONE}
    group = (await system.call("POST", f"{API}/groups", status=201, json=made)).json()["id"]
    for number in range(PROMPTS):
        body = {"title": f"Question {number + 1} of {system.run}"}
        await system.call("POST", f"{API}/groups/{group}/prompts", status=201, json=body)
    system.proved("a group has its own drop time and zone, members and prompts")
    async with system.client().transaction() as conn:
        with flow(tenant=system.tenant_id, correlation=f"demo-{system.run}"):
            change = last_change((await database.now(conn)).date())
            await _week(conn, system, group, change)
    await _look(system, group, change)
    await system.call("PATCH", f"{API}/groups/{group}", json={"is_active": False})


async def _week(conn: AsyncConnection[Any], system: System, group: int, change: date) -> None:
    """Seven days of runs, each day at its instants; on the last but one everything was down."""
    rng = random.Random(system.run)  # noqa: S311 - chance that can be repeated
    first = change - 3 * DAY
    for number in range(len(LENGTHS)):
        day = first + number * DAY
        opens, closes = round_instants(day, DROP, ZONE)
        await _at(conn, datetime.combine(day - DAY, time(12), tzinfo=UTC))
        await _create(conn, group, rng, system.client().settings.section(RoundsSettings))
        if number == len(LENGTHS) - 2:
            await _outage(conn, group, closes, rng)
            continue
        await _at(conn, opens - timedelta(seconds=1))
        early = await _open(conn, group, rng)
        await _at(conn, opens)
        opened = await _open(conn, group, rng)
        again = await _open(conn, group, rng)
        if (len(early), len(opened), len(again)) != (0, 1, 0):
            system.fail(f"{day} opened {len(early)}, {len(opened)} and {len(again)} times")
        if day == change:
            await _take_part(conn, system, opened[0].round_id)
        await _at(conn, closes)
        if len(await _close(conn, group)) != 1:
            system.fail(f"the round of {day} was not closed at {closes}")


async def _outage(conn: AsyncConnection[Any], group: int, closes: datetime, rng: random.Random) -> None:
    await _at(conn, closes + timedelta(hours=2))
    await _open(conn, group, rng)


async def _take_part(conn: AsyncConnection[Any], system: System, round_id: int) -> None:
    who = Person(system.tenant_id, system.tenant_id, manages=True)
    await QUERIES.run(conn, "as_tenant", tenant_id=system.tenant_id)
    await participation.submit(conn, who, round_id, "An answer in the hour that came twice.")
    await QUERIES.run(conn, "as_before")


async def _look(system: System, group: int, change: date) -> None:
    found = (await system.call("GET", f"{API}/groups/{group}/rounds")).json()
    week = [each for each in reversed(found) if _day(each) <= change + 3 * DAY]
    lasts = [_instant(each["close_at"]) - _instant(each["open_at"]) for each in week]
    system.check(
        "a week of rounds across the October change: one a day, 25 hours on the day of the change",
        [each / timedelta(hours=1) for each in lasts] == LENGTHS,
        [str(each) for each in lasts],
    )
    system.check(
        "each round closes at the very instant at which the next one opens",
        all(a["close_at"] == b["open_at"] for a, b in itertools.pairwise(week)),
        week,
    )
    late = [each["missed"] for each in week]
    system.check(
        "after a late restart the round that nobody could see is opened and closed, as missed",
        late == [False] * 5 + [True, False] and all(e["status"] == "closed" for e in week),
        late,
    )
    titles = [each["resolved_title"] for each in week]
    system.check("no prompt comes twice in the week", len(set(titles)) == len(titles), titles)
    opened = [await _openings_emitted(system, each["id"]) for each in week]
    system.check(
        "each opening is emitted once, and that of the missed round is not", opened == [1] * 5 + [0, 1], opened
    )
    round_id = week[3]["id"]
    refused = await system.call(
        "PUT", f"{API}/rounds/{round_id}/vote", status=409, json={"member_id": system.tenant_id}
    )
    system.check("a vote after closing is refused by the database", "closed" in refused.text, refused.text)
    kept = (await system.call("GET", f"{API}/rounds/{round_id}/submissions")).json()
    system.check("what was submitted in time can still be read", len(kept) == 1, kept)


async def _openings_emitted(system: System, round_id: int) -> int:
    """Count the events of an opening in the trail of a round."""
    found = await system.call("GET", f"/api/v1/engine/trail/round-{round_id}")
    return sum("rounds.opened" in str(item) for item in found.json()["items"])


def _day(found: dict[str, Any]) -> date:
    return date.fromisoformat(found["scheduled_for_local_date"])


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def _at(conn: AsyncConnection[Any], at: datetime) -> None:
    """Let this transaction, and no other, have another time."""
    await QUERIES.run(conn, "own_clock", at=at.isoformat())


async def _create(conn: AsyncConnection[Any], group: int, rng: random.Random, settings: RoundsSettings) -> None:
    days = Days([ZONE], [next_local_date(await database.now(conn), ZONE)])
    await service.create_set(conn, [group], days, settings, rng, wait=True)


async def _open(conn: AsyncConnection[Any], group: int, rng: random.Random) -> list[service.Opened]:
    ids = await _ids(conn, group)
    return await service.open_set(conn, ids, rng, by=ACTOR, wait=True)


async def _close(conn: AsyncConnection[Any], group: int) -> dict[int, float]:
    return await service.close_set(conn, await _ids(conn, group), by=ACTOR, wait=True)


async def _ids(conn: AsyncConnection[Any], group: int) -> list[int]:
    return [row["id"] for row in await QUERIES.rows(conn, "round_ids", group_id=group)]


SCENARIO = Scenario(
    "rounds", "A week of rounds across the October change: at the right instants, once, then read-only.", run
)

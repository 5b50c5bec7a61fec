"""A crash between any two statements leaves whole sets behind, and the next run does the rest."""

from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection, AsyncCursor

from ostinato.base.errors import CommitUnknown, DatabaseUnavailable
from tests.apps.rounds.town import Town

GROUPS = 5
TIMES = {
    "create": "2026-06-01T10:00:00Z",
    "open": "2026-06-02T12:30:00Z",
    "close": "2026-06-03T12:30:00Z",
}


class Mortal(AsyncConnection[Any]):
    """A connection whose backend is killed after its n-th statement, before what comes next."""

    left = 0
    admin: AsyncConnection[Any]

    async def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            await self.admin.execute("select pg_terminate_backend(%s)", [self.info.backend_pid])


class Counting(AsyncCursor[Any]):
    async def execute(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as psycopg
        assert isinstance(self.connection, Mortal)
        done = await super().execute(*args, **options)
        await self.connection.count()
        return done


async def statements(town: Town, job: str, die_at: int) -> int | None:
    """Run a job that dies at a statement; how many it takes, or None when it died."""
    conn = await Mortal.connect(town.urls.worker, autocommit=True, cursor_factory=Counting)
    conn.admin, conn.left = town.engine.admin, die_at
    try:
        await town.run(job, conn=conn)
    except (DatabaseUnavailable, CommitUnknown, psycopg.Error):
        return None
    finally:
        await conn.close()
    return die_at - conn.left


@pytest.mark.parametrize("job", TIMES)
async def test_a_crash_between_any_two_statements_is_made_up_for(town: Town, job: str) -> None:
    deaths = 0
    while True:
        await town.rows("truncate rounds.daily_rounds, rounds.groups cascade")
        await town.rows("delete from ostinato_data.event")
        await town.rows("delete from ostinato_data.transition")
        for _ in range(GROUPS):
            await town.group(prompts=1, members=())
        town.settings = type(town.settings)(set_size=2, sets_at_once=1)
        for before, at in TIMES.items():
            await town.at(at)
            if before == job:
                break
            await town.run(before)

        if await statements(town, job, deaths + 1) is not None:
            break
        deaths += 1
        await town.run(job)

        wanted = {"create": "scheduled", "open": "open", "close": "closed"}[job]
        assert await town.rows(
            "select status, count(*), count(distinct group_id) from rounds.daily_rounds group by 1"
        ) == [(wanted, GROUPS, GROUPS)]
        changes = {"create": 0, "open": GROUPS, "close": 2 * GROUPS}[job]
        assert await town.value("select count(*) from ostinato_data.transition") == changes
        assert len(await town.events()) == (0 if job == "create" else GROUPS)
        assert len(await town.events("rounds.closed")) == (GROUPS if job == "close" else 0)
    assert deaths >= 5

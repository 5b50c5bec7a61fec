"""A crash between any two statements leaves whole sets behind, and the next run does the rest."""

from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection, AsyncCursor

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable
from tests.apps.rounds.town import Town
from tests.slow import first_only

GROUPS = 3
CREATED, OPENED, CLOSED = "2026-06-01T10:00:00Z", "2026-06-02T12:30:00Z", "2026-06-03T12:30:00Z"
KEEP = "create table public.kept as table rounds.daily_rounds"
AS_BEFORE = """
    set session_replication_role = replica;
    delete from rounds.daily_rounds;
    insert into rounds.daily_rounds table public.kept;
    set session_replication_role = default;
    delete from ostinato_data.event;
    delete from ostinato_data.transition;
"""


@dataclass(frozen=True)
class Case:
    """What was done before, what the job meets, and what must come of it for each group."""

    job: str
    at: str
    before: tuple[tuple[str, str], ...] = ()
    status: str = "open"
    changes: int = 1
    opened: int = 1
    closed: int = 0


CREATE, OPEN = (CREATED, "create"), (OPENED, "open")
NO_PROMPTS = (CREATED, "update rounds.group_prompts set is_active = false")
PROMPTS = (OPENED, "update rounds.group_prompts set is_active = true")
NEW_TIME = (CREATED, "update rounds.group_settings set drop_time = '09:00'")
CASES = {
    "create": Case("create", CREATED, status="scheduled", changes=0, opened=0),
    "open": Case("open", OPENED, (CREATE,)),
    "close": Case("close", CLOSED, (CREATE, OPEN), status="closed", opened=0, closed=1),
    "retime": Case("open", "2026-06-02T07:00:00Z", (CREATE, NEW_TIME)),
    "missed": Case("open", CLOSED, (CREATE,), status="closed", changes=2, opened=0),
    "prompt": Case("open", "2026-06-02T13:00:00Z", (NO_PROMPTS, CREATE, OPEN, PROMPTS), changes=0),
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
        done = await super().execute(*args, **options)
        if isinstance(self.connection, Mortal):
            await self.connection.count()
        return done


async def statements(town: Town, job: str, die_at: int) -> int | None:
    """Run a job that dies at a statement; how many it takes, or None when it died."""
    conn = await Mortal.connect(town.urls.worker, autocommit=True, cursor_factory=Counting)
    conn.admin, conn.left = town.engine.admin, die_at
    try:
        await town.attempt(job, conn)
    except (DatabaseUnavailable, CommitUnknown, psycopg.Error):
        return None
    finally:
        await conn.close()
    return die_at - conn.left


@pytest.mark.parametrize("name", first_only(CASES))
async def test_a_crash_between_any_two_statements_is_made_up_for(
    town: Town, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_ROUNDS_SET_SIZE", "2")
    monkeypatch.setenv("OSTINATO_ROUNDS_SETS_AT_ONCE", "1")
    case, deaths = CASES[name], 0
    await town.many(GROUPS)
    for at, done in case.before:
        await town.at(at)
        await (town.rows(done) if " " in done else town.run(done))
    await town.at(case.at)
    await town.rows(KEEP)
    while True:
        await town.rows(AS_BEFORE)
        taken = await statements(town, case.job, deaths + 1)
        if taken is not None:
            break
        deaths += 1

        await town.attempt(case.job)

        assert await town.rows(
            "select status, count(*), count(distinct group_id) from rounds.daily_rounds"
            " where scheduled_for_local_date = '2026-06-02' group by 1"
        ) == [(case.status, GROUPS, GROUPS)]
        changes = await town.value("select count(*) from ostinato_data.transition")
        assert changes == case.changes * GROUPS
        assert len(await town.events()) == case.opened * GROUPS
        assert len(await town.events("rounds.closed")) == case.closed * GROUPS
    assert deaths == taken > 10

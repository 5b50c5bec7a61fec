"""What the database itself refuses: other states, late contributions, other tenants' rows."""

import asyncio
import json
import random
from datetime import date, datetime, time, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from ostinato._core.base.errors import Conflict
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine import machines
from ostinato.apps.rounds import participation, service
from ostinato.apps.rounds.groups import Person
from ostinato.apps.rounds.machine import ROUND
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.rules import round_instants
from tests.apps.rounds.test_rules import PARIS, TABLE
from tests.apps.rounds.town import TENANT, Town
from tests.waiting import until_async

ANA = Person(TENANT, "ana", manages=False)
SAYINGS = (
    "insert into rounds.submissions values ('acme', 7, %(round)s, 'ben', 'late')",
    "insert into rounds.comments values ('acme', 7, %(round)s, null, 'ben', 'late')",
    "insert into rounds.votes values ('acme', %(round)s, 'ben', null, 'ana')",
    "update rounds.submissions set body = 'late' where round_id = %(round)s",
    "delete from rounds.submissions where round_id = %(round)s",
    "update rounds.votes set member_id = 'ben' where round_id = %(round)s",
    "delete from rounds.comments where round_id = %(round)s",
)


async def refused(conn: AsyncConnection[Any], statement: str, code: str, **params: object) -> str:
    with pytest.raises(psycopg.Error) as caught:
        await conn.execute(statement.encode(), params)
    assert caught.value.sqlstate == code, caught.value
    return str(caught.value)


async def taken_part(town: Town, round_id: int) -> None:
    async with town.engine.client.for_tenant(TENANT, "ana").transaction() as conn:
        await participation.submit(conn, ANA, round_id, "mine")
        await participation.comment(conn, ANA, round_id, "well", None)
        await participation.vote(conn, ANA, round_id, member_id="ben")


async def test_the_machine_in_the_database_is_the_one_that_is_declared(town: Town) -> None:
    found = await town.value("select definition from ostinato_data.machine where name = 'round'")
    assert found == json.loads(ROUND.definition())
    assert await machines.gaps(town.engine.admin) == []


@pytest.mark.parametrize("status", ["open", "closed"])
async def test_a_state_cannot_be_written_even_by_a_superuser(town: Town, status: str) -> None:
    await town.group()
    await town.create()
    await town.at("2026-06-04T12:30:00Z")
    await refused(
        town.engine.admin,
        "update rounds.daily_rounds set status = %(status)s, opened_at = ostinato.now(), closed_at = ostinato.now()",
        "OS424",
        status=status,
    )


@pytest.mark.parametrize(("event", "at"), [("close", "2026-06-04T12:30:00Z"), ("open", "2026-06-02T12:29:59Z")])
async def test_nothing_but_the_sequence_at_its_time_is_possible(town: Town, event: str, at: str) -> None:
    group = await town.group()
    await town.create()
    round_id = await town.round_id(group, "2026-06-02")
    await town.at(at)
    await refused(
        town.engine.admin,
        "select ostinato.transition('round', 'rounds.daily_rounds', %(id)s, %(event)s,"
        " changes => json_build_object('opened_at', ostinato.now()))",
        "OS424" if event == "close" else "OS409",
        id=str(round_id),
        event=event,
    )


async def test_an_open_round_is_not_closed_before_its_time(town: Town) -> None:
    _, round_id = await town.opened_round()
    await town.at("2026-06-03T12:29:59Z")
    said = await refused(
        town.engine.admin,
        "select ostinato.transition('round', 'rounds.daily_rounds', %(id)s, 'close',"
        " changes => json_build_object('closed_at', ostinato.now()))",
        "OS409",
        id=str(round_id),
    )
    assert "it closes at" in said


async def test_there_is_one_round_for_a_group_and_day(town: Town) -> None:
    await town.group()
    await town.create()
    copy = (
        "insert into rounds.daily_rounds (tenant_id, group_id, scheduled_for_local_date, drop_time,"
        " zone, open_at, close_at) select tenant_id, group_id, scheduled_for_local_date, drop_time,"
        " zone, open_at, close_at from rounds.daily_rounds"
    )
    assert "one_round_a_day" in await refused(town.engine.admin, copy, "23505")


@pytest.mark.parametrize("statement", SAYINGS)
async def test_after_closing_nothing_is_taken_any_more(town: Town, statement: str) -> None:
    """Seed: no more submissions, comments or votes. By the database, whoever asks."""
    _, round_id = await town.opened_round()
    await taken_part(town, round_id)
    await town.at("2026-06-03T12:30:00Z")

    said = await refused(town.engine.admin, statement, "OS409", round=round_id)
    assert "is over" in said  # the time counts, even before the job came by

    await town.close()
    assert "is closed" in await refused(town.engine.admin, statement, "OS409", round=round_id)


async def test_before_opening_and_without_a_prompt_nothing_is_taken(town: Town) -> None:
    group = await town.group(prompts=0)
    await town.create()
    round_id = await town.round_id(group, "2026-06-02")
    said = await refused(town.engine.admin, SAYINGS[0], "OS409", round=round_id)
    assert "is scheduled" in said
    await town.at("2026-06-02T12:30:00Z")
    await town.open()
    said = await refused(town.engine.admin, SAYINGS[0], "OS409", round=round_id)
    assert "without a prompt" in said


WAITING = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')"


async def test_who_is_in_the_middle_of_submitting_is_waited_for(town: Town) -> None:
    _, round_id = await town.opened_round()
    async with town.engine.client.for_tenant(TENANT, "ana").transaction() as conn:
        await participation.submit(conn, ANA, round_id, "just in time")
        await town.at("2026-06-03T12:30:00Z")
        closing = asyncio.create_task(town.close())

        async def waits_or_is_over() -> bool:
            return closing.done() or bool(await town.value(WAITING))

        await until_async(waits_or_is_over)
        assert not closing.done()

    assert (await closing).done == 1
    assert await town.value("select count(*) from rounds.submissions") == 1


async def test_a_closed_round_cannot_be_changed(town: Town) -> None:
    _, round_id = await town.opened_round()
    await town.at("2026-06-03T12:30:00Z")
    await town.close()
    # The last two are kept by nothing but this rule; the others are fixed since the round opened.
    for change in ("resolved_title = 'new'", "close_at = 'infinity'", "closed_at = 'infinity'", "stale = true"):
        statement = f"update rounds.daily_rounds set {change} where id = %(id)s"  # noqa: S608
        assert "it is closed" in await refused(town.engine.admin, statement, "OS409", id=round_id)


async def test_a_round_that_was_open_cannot_be_removed(town: Town) -> None:
    await town.group()
    await town.create()
    await town.rows("delete from rounds.daily_rounds")  # nobody has seen it
    _, round_id = await town.opened_round()
    remove = "delete from rounds.daily_rounds where id = %(id)s"
    assert "it is open" in await refused(town.engine.admin, remove, "OS409", id=round_id)
    await town.at("2026-06-03T12:30:00Z")
    await town.close()
    assert "it is closed" in await refused(town.engine.admin, remove, "OS409", id=round_id)


async def test_a_zone_that_there_is_not_cannot_be_written(town: Town) -> None:
    group = await town.group()
    said = await refused(
        town.engine.admin,
        "update rounds.group_settings set zone = 'Europe/Pariss' where group_id = %(id)s",
        "OS400",
        id=group,
    )
    assert "there is no time zone" in said
    await town.rows("update rounds.group_settings set zone = null")


async def test_an_open_round_keeps_its_times_and_its_prompt(town: Town) -> None:
    _, round_id = await town.opened_round()
    for change in ("resolved_title = 'new'", "close_at = 'infinity'", "source_prompt_id = null"):
        statement = f"update rounds.daily_rounds set {change} where id = %(id)s"  # noqa: S608
        await refused(town.engine.admin, statement, "OS409", id=round_id)


async def test_a_tenant_sees_its_own_rows_and_changes_no_state(town: Town) -> None:
    await town.opened_round()
    tables = (
        *("groups", "group_settings", "members", "group_prompts", "daily_rounds"),
        *("submissions", "comments", "votes", "failures"),
    )
    async with town.engine.client.for_tenant("other").transaction() as conn:
        for name in tables:
            cursor = await conn.execute(f"select count(*) from rounds.{name}".encode())  # noqa: S608
            assert await cursor.fetchone() == (0,), name
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with town.engine.client.for_tenant(TENANT).transaction() as conn:
            await conn.execute("update rounds.daily_rounds set status = 'closed'")
    async with town.engine.client.for_tenant(TENANT).transaction() as conn:
        cursor = await conn.execute("select count(*) from rounds.daily_rounds")
        assert await cursor.fetchone() == (1,)
    forced = await town.value(
        "select bool_and(relrowsecurity and relforcerowsecurity) from pg_class"
        " where relnamespace = 'rounds'::regnamespace and relkind = 'r'"
        " and relname not in ('runs', 'job_state')"
    )
    assert forced


async def test_a_row_of_another_tenant_cannot_be_pointed_at(town: Town) -> None:
    _, round_id = await town.opened_round()
    eve = Person("other", "eve", manages=True)
    async with town.engine.client.for_tenant("other", "eve").transaction() as conn:
        with pytest.raises(Conflict, match="missing"):
            async with conn.transaction():
                await _say(conn, eve, round_id)


async def _say(conn: AsyncConnection[Any], who: Person, round_id: int) -> None:
    with translated():
        await conn.execute(
            "insert into rounds.submissions (tenant_id, round_id, user_id, body) values (%s, %s, %s, 'x')",
            [who.tenant_id, round_id, who.user_id],
        )


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
async def test_the_rules_and_the_engine_have_the_same_instants_on_days_with_a_moved_clock(
    town: Town, row: tuple[str, str, str, str, int]
) -> None:
    """R2, R3: the rules compute with Python's zone data, the engine with PostgreSQL's."""
    day, drop = date.fromisoformat(row[0]), time.fromisoformat(row[1])

    found = [
        await town.value("select ostinato.local_instant(%s, %s)", datetime.combine(each, drop), PARIS)
        for each in (day, day + timedelta(days=1))
    ]

    assert tuple(found) == round_instants(day, drop, PARIS)


async def test_a_set_is_found_by_its_ids_where_the_server_has_no_statistics(town: Town) -> None:
    await town.many(400)  # the table was truncated before: there are no statistics of it until it is analyzed
    await town.create()
    await town.at("2026-06-02T12:30:00Z")
    due = [row[0] for row in await town.rows("select id from rounds.daily_rounds order by id limit 5")]
    async with town.engine.client.transaction() as conn:
        before = await _rows_read(conn)
        assert len(await service.open_set(conn, due, random.Random(0), by="rounds.open", wait=False)) == len(due)
        assert await _rows_read(conn) - before < 100
    await town.open()
    await town.at("2026-06-03T12:30:00Z")
    async with town.engine.client.transaction() as conn:
        before = await _rows_read(conn)
        assert len(await service.close_set(conn, due, by="rounds.close", wait=False)) == len(due)
        assert await _rows_read(conn) - before < 100


async def test_rounds_whose_time_is_ahead_are_not_read_to_find_those_that_are_due(town: Town) -> None:
    await town.many(400)
    await town.create()
    await town.rows("analyze rounds.daily_rounds")
    async with town.engine.client.transaction() as conn:
        before = await _rows_read(conn)
        assert await service.page(conn, "to_open", None, 1000) == []
        assert await service.soonest(conn, JobName.OPEN, timedelta(minutes=5)) is None
        await conn.execute("select rounds.opening_lateness()")
        assert await _rows_read(conn) - before < 100


async def _rows_read(conn: AsyncConnection[Any]) -> int:
    """How many rows of rounds this session has read, as far as it has not reported them."""
    cursor = await conn.execute(
        "select t.seq_tup_read + t.idx_tup_fetch from pg_stat_xact_user_tables t"
        " where t.relid = 'rounds.daily_rounds'::regclass"
    )
    ((found,),) = await cursor.fetchall()
    return int(found)

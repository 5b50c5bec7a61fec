"""One migrated database per test process, on a clock to move; each test finds it empty."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE
from tests.conftest import copy_of_engine, note_called_functions
from tests.sql.engine import START, Clock, Session, Sessions
from tests.sql.price import Place

DATABASE = "sql_tests"
PRICED = "price_tests"

EMPTY = """
do $$
declare
    v_table text;
begin
    for v_table in
        select c.oid::regclass::text from pg_class c join pg_inherits i on i.inhrelid = c.oid
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind = 'r'
          and c.relname !~ '_default$'
    loop
        execute format('drop table %s', v_table);
    end loop;
    for v_table in
        select c.oid::regclass::text from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind = 'r'
          and c.relname not in ('migration', 'tick', 'test_clock')
    loop
        execute format('delete from %s', v_table);
    end loop;
end
$$
"""


# A kind that tenants may start: what the tests enqueue unless they say otherwise.
OPEN = """
insert into ostinato_data.kind (name, queue, priority, retry, registered_at, open)
values ('app.task', 'default', 0, '{}', %s, true)
"""


@pytest.fixture(scope="session")
def urls(shared_server: Server) -> Iterator[Urls]:
    """The addresses of a migrated database whose sessions all read the clock in the table."""
    found = copy_of_engine(shared_server, DATABASE)
    asyncio.run(migrate(found.admin, [ENGINE]))
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.use_test_clock()")
        for table in ("job_default", "outcome_default", "step_default"):
            # Vacuum at the wrong moment has a lock that upkeep then says it could not get.
            conn.execute(
                sql.SQL("alter table ostinato_data.{} set (autovacuum_enabled = off)").format(sql.Identifier(table))
            )
    yield found
    asyncio.run(_note_called_functions(found.admin))


async def _note_called_functions(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await note_called_functions(conn)


@pytest.fixture(scope="session")
def admin(urls: Urls) -> Iterator[Session]:
    """A superuser who sees and may do everything: the watcher, not a user."""
    session = Session.open(urls.admin)
    yield session
    session.close()


@pytest.fixture
def sessions(urls: Urls, admin: Session) -> Iterator[Sessions]:
    """Further connections, on an empty database at START."""
    admin.rows(EMPTY)
    admin.rows("update ostinato_data.test_clock set frozen = %s, shift = '0'", START)
    admin.rows(OPEN, START)
    admin.rows("update ostinato_data.tick set last = %s, grace_until = '-infinity'", START)
    opened = Sessions(urls)
    yield opened
    for session in opened.opened:
        session.close()


@pytest.fixture
def clock(admin: Session, sessions: Sessions) -> Clock:
    return Clock(admin)


@pytest.fixture
def db(sessions: Sessions) -> Session:
    """A connection of a worker, on an empty database."""
    return sessions.open()


@pytest.fixture
def other(sessions: Sessions) -> Session:
    """Another one, for what happens at the same time."""
    return sessions.open()


@pytest.fixture
def place(shared_server: Server) -> Iterator[Place]:
    """A database whose statistics belong to the test, on the time of the day."""
    yield Place(copy_of_engine(shared_server, PRICED))
    shared_server.drop_database(PRICED)

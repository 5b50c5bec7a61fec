import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.rows import class_row

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, InvalidInput, NotFound
from ostinato._core.db.call import call, call_as, call_now, call_one, call_value, text_of
from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import Connection, connect, transaction
from tests.db.proxy import proxied

FUNCTIONS = """
    create schema ostinato authorization ostinato_worker;
    create table ostinato.note (text text);
    alter table ostinato.note owner to ostinato_worker;
    create function ostinato.add(a int, b int default 1) returns int language sql
        return a + b;
    create function ostinato.pairs(n int) returns table (id int, name text) language sql as
        $$ select i, 'n' || i from generate_series(1, n) i $$;
    create function ostinato.remember(text text) returns void language sql as
        $$ insert into ostinato.note values (remember.text) $$;
    create function ostinato.remembered() returns bigint language sql as
        $$ select count(*) from ostinato.note $$;
"""


@pytest.fixture(autouse=True)
def _functions(urls: Urls) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute(FUNCTIONS)


@pytest.fixture
async def conn(urls: Urls) -> AsyncIterator[Connection]:
    async with await connect(urls.worker) as opened:
        yield opened


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def remembered(urls: Urls) -> int:
    with psycopg.connect(urls.worker) as conn:
        return int(call_now(conn, "remembered")[0][0])


async def test_a_function_is_called_by_name_with_named_arguments(conn: Connection) -> None:
    assert await call_value(conn, "add", a=1, b=2) == 3
    assert await call_value(conn, "add", a=1) == 2
    assert await call(conn, "pairs", n=2) == [(1, "n1"), (2, "n2")]


async def test_rows_can_be_made_into_objects(conn: Connection) -> None:
    @dataclass
    class Pair:
        id: int
        name: str

    assert await call_as(conn, class_row(Pair), "pairs", n=1) == [Pair(1, "n1")]


MOVED = """
    create sequence ostinato.asked;
    grant usage on sequence ostinato.asked to ostinato_worker;
    create function ostinato.find(missing int) returns bigint language plpgsql as $$
    begin
        if nextval('ostinato.asked') <= missing then
            raise exception 'job 7 was moved to another partition just now'
                using errcode = '40001', detail = '{"job_id": 7}';
        end if;
        return currval('ostinato.asked');
    end $$;
"""


async def test_a_call_that_met_a_row_on_its_way_to_another_partition_asks_once_more(
    urls: Urls, conn: Connection
) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute(MOVED)

    assert await call_value(conn, "find", missing=1) == 2
    with pytest.raises(DatabaseUnavailable, match="job 7 was moved") as caught:
        await call_value(conn, "find", missing=100)
    assert caught.value.values["job_id"] == 7  # who sets a lost row aside is told which
    assert await call_value(conn, "find", missing=4) == 5


async def test_one_row_means_one_row(conn: Connection) -> None:
    with pytest.raises(NotFound, match="2 rows"):
        await call_one(conn, "pairs", n=2)


def test_the_text_quotes_names_and_binds_values() -> None:
    assert text_of("add", ("a", "b")) == (b'select * from "ostinato"."add"("a" => %(a)s, "b" => %(b)s)')


def test_a_function_of_an_application_has_its_schema_in_its_name() -> None:
    assert text_of("billing.add", ("a",)) == (b'select * from "billing"."add"("a" => %(a)s)')


@pytest.mark.parametrize("name", ["", "Add", "a-b", 'a"b', "a.b.c", "1a", "é", "a" * 64, "a\x00"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        text_of(name, ())
    with pytest.raises(InvalidInput):
        text_of("add", (name,))


async def test_a_frozen_server_is_noticed_by_a_read(conn: Connection) -> None:
    with frozen(conn.info.backend_pid), pytest.raises(DatabaseUnavailable, match="no answer"):
        await call(conn, "remembered", _read=True, _seconds=0.2)

    assert conn.closed


async def test_a_frozen_server_leaves_a_write_in_doubt(conn: Connection) -> None:
    with frozen(conn.info.backend_pid), pytest.raises(CommitUnknown):
        await call(conn, "remember", text="x", _seconds=0.2)

    assert conn.closed


async def test_in_a_transaction_a_frozen_server_leaves_no_doubt(conn: Connection) -> None:
    async def write() -> None:
        async with transaction(conn, seconds=0.2):
            with frozen(conn.info.backend_pid):
                await call(conn, "remember", text="x", _seconds=0.2)

    with pytest.raises(DatabaseUnavailable):
        await write()


async def test_a_write_whose_answer_is_lost_is_in_doubt_though_it_was_done(urls: Urls) -> None:
    with proxied(urls.worker) as proxy:
        conn = await connect(proxy.url(urls.worker))
        proxy.trigger, proxy.fault = b"remember", "after"

        with pytest.raises(CommitUnknown):
            await call(conn, "remember", text="x")

    assert remembered(urls) == 1


async def test_a_write_that_never_arrived_is_in_doubt_too(urls: Urls) -> None:
    with proxied(urls.worker) as proxy:
        conn = await connect(proxy.url(urls.worker))
        proxy.trigger, proxy.fault = b"remember", "before"

        with pytest.raises(CommitUnknown):
            await call(conn, "remember", text="x")

    assert remembered(urls) == 0


async def test_a_connection_that_was_lost_earlier_leaves_no_doubt(urls: Urls, conn: Connection) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", [conn.info.backend_pid])

    with pytest.raises(DatabaseUnavailable, match="before"):
        await call(conn, "remember", text="x")


async def test_a_call_goes_on_when_its_result_changed_shape(urls: Urls, conn: Connection) -> None:
    for _ in range(10):  # enough for the driver to prepare it
        await call(conn, "pairs", n=1)
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute(
            "drop function ostinato.pairs; create function ostinato.pairs(n int)"
            " returns table (id int, name text, more int) language sql as"
            " $$ select i, 'n' || i, 0 from generate_series(1, n) i $$"
        )

    assert await call(conn, "pairs", n=1) == [(1, "n1", 0)]

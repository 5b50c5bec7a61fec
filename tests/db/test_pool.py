import asyncio
import os
import select
import signal
import time
import traceback
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from ostinato._core.base.errors import CommitUnknown, DatabaseUnavailable, NotConfigured
from ostinato._core.db import pool as pools
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.guard import LATE_SECONDS, Guard
from ostinato._core.db.pool import Connection, Pool, connect, conninfo, transaction
from tests.db.proxy import Fault, proxied
from tests.db.standby import waiting_for_a_standby, waits_for_a_standby
from tests.waiting import until, until_async


@pytest.fixture(autouse=True)
def _table(urls: Urls) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("create table note (n int primary key)")
        conn.execute("grant all on note to ostinato_worker")


@pytest.fixture
async def pool(urls: Urls) -> AsyncIterator[Pool]:
    async with Pool(urls.worker, role="test", seconds=120) as opened:
        yield opened


async def write(
    source: Pool | Connection | psycopg.AsyncConnection,
    n: int,
    *,
    fail: type[Exception] | None = None,
    seconds: float = 30,
) -> None:
    async with transaction(source, seconds=seconds) as conn:
        await conn.execute("insert into note values (%s)", [n])
        if fail:
            raise fail


def notes(urls: Urls) -> list[int]:
    with psycopg.connect(urls.admin) as conn:
        return [row[0] for row in conn.execute("select n from note order by n").fetchall()]


def test_the_defaults_notice_a_dead_server() -> None:
    given = conninfo_to_dict(conninfo("postgresql://user@db.example/x", "worker"))

    assert given["connect_timeout"] == "3"
    assert given["tcp_user_timeout"] == "8000"
    assert given["keepalives_idle"] == "5"
    assert given["keepalives_interval"] == "2"
    assert given["keepalives_count"] == "3"
    assert given["application_name"] == "ostinato/worker"
    assert "target_session_attrs" not in given


def test_what_the_url_says_wins() -> None:
    given = conninfo_to_dict(conninfo("postgresql://a,b/x?connect_timeout=9&target_session_attrs=any"))

    assert given["connect_timeout"] == "9"
    assert given["target_session_attrs"] == "any"


def test_with_several_hosts_the_primary_is_looked_for() -> None:
    assert conninfo_to_dict(conninfo("postgresql://a,b/x"))["target_session_attrs"] == "read-write"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+psycopg://ada:sesame@db/app", "SQLAlchemy"),  # the address that the application has already
        ("mysql://ada:sesame@db/app", "mysql:// instead of postgresql://"),
        ("postgresql://ada:sesame@db:5432:5432/app%ZZ", "cannot be read"),
        ("ada:sesame@db/app", "cannot be read"),
    ],
)
def test_an_address_that_is_none_of_ours_is_refused_without_its_password(url: str, said: str) -> None:
    with pytest.raises(NotConfigured) as refused:
        conninfo(url)

    assert said in str(refused.value)
    assert "postgresql://" in str(refused.value.hint)
    assert "sesame" not in "".join(traceback.format_exception(refused.value))


def test_a_url_that_is_none_is_refused_with_an_example() -> None:
    with pytest.raises(NotConfigured, match="postgresql://"):
        conninfo("postgresql://[")


async def test_a_dead_first_host_is_passed_over_and_remembered(urls: Urls) -> None:
    url = urls.worker.replace("host=", "host=%2Fnowhere,")

    async with Pool(url, max_size=2) as pool:
        async with pool.connection() as one, pool.connection() as two:
            assert await (await one.execute("select 1")).fetchone() == (1,)
            assert await (await two.execute("select 1")).fetchone() == (1,)

        assert str(conninfo_to_dict(pool._last_good_first())["host"]).endswith(",/nowhere")


async def test_a_transaction_is_committed_at_its_end(urls: Urls, pool: Pool) -> None:
    async with transaction(pool) as conn:
        await conn.execute("insert into note values (1)")

    assert notes(urls) == [1]


async def test_a_transaction_that_raises_is_rolled_back(urls: Urls, pool: Pool) -> None:
    with pytest.raises(RuntimeError):
        await write(pool, 1, fail=RuntimeError)

    assert notes(urls) == []


async def test_a_rollback_on_purpose_raises_nothing(urls: Urls, pool: Pool) -> None:
    await write(pool, 1, fail=psycopg.Rollback)

    assert notes(urls) == []


async def test_inside_a_transaction_it_is_a_savepoint(urls: Urls, pool: Pool) -> None:
    async with transaction(pool) as conn:
        await conn.execute("insert into note values (1)")
        with pytest.raises(RuntimeError):
            await write(conn, 2, fail=RuntimeError)

    assert notes(urls) == [1]


async def test_a_broken_rule_of_the_callers_tables_stays_the_callers(pool: Pool) -> None:
    await write(pool, 1)

    with pytest.raises(psycopg.errors.UniqueViolation):
        await write(pool, 1)


@pytest.mark.parametrize(("fault", "kept"), [("before", []), ("after", [1])])
async def test_a_commit_cut_in_the_middle_is_unknown(urls: Urls, fault: Fault, kept: list[int]) -> None:
    with proxied(urls.worker) as proxy:
        conn = await connect(proxy.url(urls.worker))
        proxy.fault = fault

        with pytest.raises(CommitUnknown):
            await write(conn, 1)

        assert conn.closed
    assert notes(urls) == kept


async def test_a_commit_that_is_never_answered_is_unknown(urls: Urls) -> None:
    with proxied(urls.worker) as proxy:
        conn = await connect(proxy.url(urls.worker))

        proxy.fault = "swallow"

        with pytest.raises(CommitUnknown, match="no answer"):
            await write(conn, 1, seconds=2)


async def test_a_connection_lost_before_the_commit_is_a_plain_failure(urls: Urls) -> None:
    with proxied(urls.worker) as proxy:
        conn = await connect(proxy.url(urls.worker))
        proxy.trigger, proxy.fault = b"insert", "before"

        with pytest.raises(DatabaseUnavailable):
            await write(conn, 1)

    assert notes(urls) == []


async def test_a_backend_ended_before_the_commit_is_a_plain_failure(urls: Urls) -> None:
    conn = await connect(urls.worker)

    async def write_and_lose() -> None:
        async with transaction(conn):
            await conn.execute("insert into note values (1)")
            end_backend(urls, conn.info.backend_pid)

    with pytest.raises(DatabaseUnavailable, match="before the commit"):
        await write_and_lose()

    assert notes(urls) == []


def end_backend(urls: Urls, pid: int) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", [pid])


async def test_a_cancelled_wait_for_a_standby_is_unknown_not_ok(urls: Urls) -> None:
    conn = await connect(urls.worker)
    pid = conn.info.backend_pid

    with waiting_for_a_standby(urls) as admin:
        committing = asyncio.create_task(write(conn, 1, seconds=30))
        await until_async(lambda: asyncio.to_thread(waits_for_a_standby, admin, pid))
        admin.execute("select pg_cancel_backend(%s)", [pid])

        with pytest.raises(CommitUnknown, match="standby"):
            await committing
    await conn.close()


async def shows(conn: psycopg.AsyncConnection, name: str, value: str) -> bool:
    row = await (await conn.execute("select current_setting(%s)", [name])).fetchone()
    return row == (value,)


async def test_the_pool_heals_when_the_server_ended_its_connections(urls: Urls, pool: Pool) -> None:
    async with pool.connection() as conn:
        pid = conn.info.backend_pid
    end_backend(urls, pid)

    async with pool.connection() as conn:
        assert conn.info.backend_pid != pid


async def test_the_pool_heals_when_the_server_restarted(server: Server, urls: Urls, pool: Pool) -> None:
    async with transaction(pool) as conn:
        await conn.execute("insert into note values (1)")
    await asyncio.to_thread(server.restart, "immediate")

    async with transaction(pool) as conn:
        await conn.execute("insert into note values (2)")

    assert notes(urls) == [1, 2]


async def test_a_rested_connection_is_asked_first(urls: Urls, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "IDLE_SECONDS", -1.0)
    monkeypatch.setattr(pools, "PING_SECONDS", 0.2)
    async with pool.connection() as conn:
        pid = conn.info.backend_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        async with pool.connection() as conn:
            assert conn.info.backend_pid != pid
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_database_that_is_away_is_unavailable() -> None:
    async with Pool("host=/nowhere dbname=x", seconds=0.2) as pool:
        with pytest.raises(DatabaseUnavailable):
            async with pool.connection():
                pass


async def test_a_blocked_event_loop_does_not_cost_an_answer_that_was_in_time(urls: Urls) -> None:
    async with await connect(urls.worker) as conn:
        with Guard(conn, 0.1) as guard:
            too_late = time.monotonic() + guard.seconds + 2 * LATE_SECONDS

            def block() -> None:
                until(lambda: time.monotonic() > too_late and select.select([conn.fileno()], [], [], 0)[0])

            work = asyncio.create_task(shows(conn, "fsync", "on"))
            asyncio.get_running_loop().call_soon(block)

            assert await work

        assert not guard.expired

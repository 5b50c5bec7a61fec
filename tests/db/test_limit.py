"""A statement of a handler ends in time, and it is said whose fault it was that it did not."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from ostinato._core.base.errors import DatabaseUnavailable
from ostinato._core.db import limit
from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import Pool, transaction
from ostinato._core.db.sqlstate import is_databases_fault
from ostinato._core.runtime.database import Database, thread_transaction
from tests.db.proxy import proxied
from tests.waiting import until

SLEEPS = "select count(*) from pg_stat_activity where query like 'select pg_sleep%'"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "ANSWER_SECONDS", 0.5)


@pytest.fixture
async def pool(urls: Urls) -> AsyncIterator[Pool]:
    async with Pool(urls.worker, role="test", min_size=0, seconds=30) as opened:
        yield opened


def until_nobody_sleeps(urls: Urls) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        until(lambda: admin.execute(SLEEPS).fetchone() == (0,))


async def test_a_statement_that_is_too_long_is_cancelled_and_is_the_handlers_fault(
    urls: Urls, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, "ANSWER_SECONDS", 30)

    with pytest.raises(DatabaseUnavailable, match="statement_seconds") as caught:
        async with transaction(pool, statement_seconds=0.1) as conn:
            await conn.execute("select pg_sleep(600)")

    assert not is_databases_fault(caught.value)
    assert conn.closed
    until_nobody_sleeps(urls)


async def test_a_server_that_does_not_answer_is_left_and_is_the_databases_fault(urls: Urls) -> None:
    with proxied(urls.worker) as proxy:
        async with Pool(proxy.url(urls.worker), role="test", min_size=0, seconds=30) as frozen:
            proxy.trigger, proxy.fault = b"insert", "swallow"

            with pytest.raises(DatabaseUnavailable, match=r"no answer to a statement") as caught:
                async with transaction(frozen, statement_seconds=0.1) as conn:
                    await conn.execute("insert into note values (1)")

    assert is_databases_fault(caught.value)
    assert conn.closed


async def test_statements_within_the_limit_and_the_pool_after_it_are_untouched(pool: Pool) -> None:
    async with transaction(pool, statement_seconds=60) as conn:
        await conn.execute("select 1")
    async with pool.connection() as lent:
        assert lent.statement_seconds is None

    assert not conn.closed


def test_a_plain_function_s_statement_that_is_too_long_is_cancelled(
    urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, "ANSWER_SECONDS", 30)
    database = Database(urls.worker, urls.admin, listen_url=None)

    with (
        pytest.raises(DatabaseUnavailable, match="statement_seconds") as caught,
        thread_transaction(database, statement_seconds=0.1) as conn,
    ):
        conn.execute("select pg_sleep(600)")

    assert not is_databases_fault(caught.value)
    until_nobody_sleeps(urls)


def test_a_plain_function_leaves_a_server_that_does_not_answer(urls: Urls) -> None:
    with proxied(urls.worker) as proxy:
        database = Database(proxy.url(urls.worker), urls.admin, listen_url=None)
        proxy.trigger, proxy.fault = b"insert", "swallow"

        with (
            pytest.raises(DatabaseUnavailable, match="no answer to a statement") as caught,
            thread_transaction(database, statement_seconds=0.1) as conn,
        ):
            conn.execute("insert into note values (1)")

    assert is_databases_fault(caught.value)

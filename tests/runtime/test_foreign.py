"""Work that is added in the transaction of another library: committed, or not, with what the caller writes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from typing import Annotated, Any, LiteralString
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psycopg
import pytest
import sqlalchemy
from django.conf import settings as django_settings
from django.db import connections, transaction
from psycopg_pool import ConnectionPool
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sa

from ostinato import App, Context, jobs
from ostinato._core.db.embedded import Urls
from ostinato._core.runtime.testing import KEY
from ostinato.errors import DatabaseUnavailable, InvalidInput, NotConfigured, OstinatoError, UniqueConflict
from ostinato.jobs import Unique
from ostinato.secrets import Secret
from tests.runtime.conftest import EMPTY

app = App("shop")
LONG_ARGS: dict[str, Any] = {"name": 'O\'Brien \\ "quoted" €', "n": 2**40, "tags": ["a", None]}


@app.job(queue="mail")
async def greet(ctx: Context, name: str, n: int = 0, tags: list[str | None] | None = None) -> None:
    """Does nothing: these tests look at what was added."""


@app.job()
async def pay(ctx: Context, card: Annotated[str, Secret]) -> None:
    """Has an argument that is sealed."""


paid = app.event("order.paid")


class Undone(Exception):
    """Ends a transaction without a commit."""


def socket_of(url: str) -> dict[str, str]:
    """The parts of a URL that names a socket, for libraries that read it otherwise."""
    parts = urlsplit(url)
    return {"user": parts.username or "", "database": parts.path[1:], "host": parse_qs(parts.query)["host"][0]}


def alchemy_url(url: str, driver: str) -> sqlalchemy.URL:
    place = socket_of(url)
    return sqlalchemy.URL.create(
        f"postgresql+{driver}", place["user"], database=place["database"], query={"host": place["host"]}
    )


@asynccontextmanager
async def by_psycopg(url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        yield conn


@asynccontextmanager
async def by_asyncpg(url: str) -> AsyncIterator[Any]:
    conn = await asyncpg.connect(**socket_of(url))
    try:
        async with conn.transaction():
            yield conn
    finally:
        await conn.close()


def by_alchemy(driver: str, *, session: bool) -> Callable[[str], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Any]:
        engine = sa.create_async_engine(alchemy_url(url, driver))
        try:
            if session:
                async with sa.AsyncSession(engine) as made, made.begin():
                    yield made
            else:
                async with engine.begin() as conn:
                    yield conn
        finally:
            await engine.dispose()

    return opened


ASYNC = {
    "psycopg": by_psycopg,
    "asyncpg": by_asyncpg,
    "AsyncSession, psycopg": by_alchemy("psycopg_async", session=True),
    "AsyncConnection, psycopg": by_alchemy("psycopg_async", session=False),
    "AsyncSession, asyncpg": by_alchemy("asyncpg", session=True),
    "AsyncConnection, asyncpg": by_alchemy("asyncpg", session=False),
}


@contextmanager
def by_psycopg_sync(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url) as conn:
        yield conn


@contextmanager
def engine_of(url: str) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(alchemy_url(url, "psycopg"))
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def by_session(url: str) -> Iterator[orm.Session]:
    with engine_of(url) as engine, orm.Session(engine) as session, session.begin():
        yield session


@contextmanager
def by_connection(url: str) -> Iterator[sqlalchemy.Connection]:
    with engine_of(url) as engine, engine.begin() as conn:
        yield conn


@contextmanager
def by_django(url: str) -> Iterator[Any]:
    place = socket_of(url)
    if not django_settings.configured:
        django_settings.configure(DATABASES={}, USE_TZ=True)
    connections.settings["default"] = connections.configure_settings(
        {
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": place["database"],
                "USER": place["user"],
                "HOST": place["host"],
            }
        }
    )["default"]
    try:
        with transaction.atomic():
            yield connections["default"]
    finally:
        connections["default"].close()


SYNC: dict[str, Callable[[str], AbstractContextManager[Any]]] = {
    "psycopg": by_psycopg_sync,
    "Session": by_session,
    "Connection": by_connection,
    "Django": by_django,
}


@dataclass
class Shop:
    """An empty database, to be looked at from outside of all transactions."""

    urls: Urls

    def rows(self, query: LiteralString) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.urls.admin, autocommit=True) as conn:
            return conn.execute(query).fetchall()

    @property
    def waiting(self) -> list[tuple[Any, ...]]:
        return self.rows("select queue, kind, args from ostinato_data.job order by id")


@pytest.fixture
def shop(urls: Urls, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("OSTINATO_SECRET_KEY", KEY)
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute(EMPTY)
    return Shop(urls)


@pytest.mark.parametrize("library", ASYNC)
async def test_a_job_and_an_event_are_committed_with_the_callers_own_rows(shop: Shop, library: str) -> None:
    async with ASYNC[library](shop.urls.worker) as to:
        job = await greet.enqueue(to, **LONG_ARGS)
        (other,) = await greet.enqueue_many(to, [{"name": "in bulk, \"'\\"}])
        event = await paid.emit(to, {"total": "12.50"}, key="order-7", tenant="acme", correlation_id="c-7")

        assert shop.waiting == []

    assert shop.waiting == [
        ("mail", "shop.greet", LONG_ARGS),
        ("mail", "shop.greet", {"name": "in bulk, \"'\\", "n": 0, "tags": None}),
    ]
    assert other > job
    assert shop.rows("select id, ordering_key from ostinato_data.event") == [(event, "order-7")]


@pytest.mark.parametrize("library", ASYNC)
async def test_what_is_rolled_back_was_never_added(shop: Shop, library: str) -> None:
    with suppress(Undone):
        async with ASYNC[library](shop.urls.worker) as to:
            await greet.enqueue(to, name="Ada")
            await paid.emit(to, {}, tenant="acme", correlation_id="c-7")
            raise Undone

    assert shop.waiting == []
    assert shop.rows("select * from ostinato_data.event") == []


@pytest.mark.parametrize("library", ASYNC)
async def test_options_work_and_errors_are_ours(shop: Shop, library: str) -> None:
    once = greet.options(unique=Unique("order-7", policy="refuse"), delay=3600, tenant="acme")
    async with ASYNC[library](shop.urls.worker) as to:
        await once.enqueue(to, name="Ada")
    async with ASYNC[library](shop.urls.worker) as to:
        with pytest.raises(UniqueConflict) as refused:
            await once.enqueue(to, name="Ada")

    assert refused.value.values["unique_key"] == "order-7"
    assert refused.value.hint
    assert shop.rows("select tenant_id, run_at > created_at + interval '59 minutes' from ostinato_data.job") == [
        ("acme", True)
    ]


@pytest.mark.parametrize("library", ["asyncpg", "AsyncSession, asyncpg", "psycopg"])
async def test_secret_arguments_are_sealed(shop: Shop, library: str) -> None:
    async with ASYNC[library](shop.urls.worker) as to:
        await pay.enqueue(to, card="4242 4242")

    ((_, _, args),) = shop.waiting
    assert "4242" not in json.dumps(args)


@pytest.mark.parametrize("library", SYNC)
def test_a_job_is_added_in_sync_code(library: str, shop: Shop) -> None:
    with SYNC[library](shop.urls.worker) as to:
        greet.enqueue_sync(to, **LONG_ARGS)
        paid.emit_sync(to, {"total": "12.50"}, key="order-7", tenant="acme", correlation_id="c-7")
        assert shop.waiting == []

    assert shop.waiting == [("mail", "shop.greet", LONG_ARGS)]
    assert shop.rows("select ordering_key from ostinato_data.event") == [("order-7",)]


@pytest.mark.parametrize("library", SYNC)
def test_sync_code_that_is_rolled_back_added_nothing(library: str, shop: Shop) -> None:
    with suppress(Undone), SYNC[library](shop.urls.worker) as to:
        greet.enqueue_sync(to, name="Ada")
        raise Undone

    assert shop.waiting == []


@pytest.mark.parametrize("library", SYNC)
def test_options_work_in_sync_code_and_errors_are_ours(library: str, shop: Shop) -> None:
    once = greet.options(unique=Unique("order-7", policy="refuse"), delay=3600, tenant="acme")
    with SYNC[library](shop.urls.worker) as to:
        once.enqueue_sync(to, name="Ada")
    with pytest.raises(UniqueConflict), SYNC[library](shop.urls.worker) as to:
        once.enqueue_sync(to, name="Ada")

    found = shop.rows("select tenant_id, run_at > created_at + interval '59 minutes' from ostinato_data.job")
    assert found == [("acme", True)]


def test_secret_arguments_are_sealed_in_sync_code(shop: Shop) -> None:
    with by_session(shop.urls.worker) as session:
        pay.enqueue_sync(session, card="4242 4242")

    ((_, _, args),) = shop.waiting
    assert "4242" not in json.dumps(args)


async def test_an_idle_worker_is_woken_by_the_commit_of_another_library(shop: Shop) -> None:
    async with await psycopg.AsyncConnection.connect(shop.urls.worker, autocommit=True) as listener:
        await listener.execute("listen ostinato")
        async with by_asyncpg(shop.urls.worker) as to:
            await greet.enqueue(to, name="Ada")
        heard = [note.payload async for note in listener.notifies(stop_after=1)]

    assert heard == ["mail"]


async def test_a_burst_rings_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ring is part of the commit, and commits that ring wait for each other."""
    monkeypatch.setattr("ostinato._core.engine.jobs.RING_EVERY_SECONDS", 3600)
    monkeypatch.setattr("ostinato._core.engine.jobs._rung", {})
    async with await psycopg.AsyncConnection.connect(shop.urls.worker, autocommit=True) as listener:
        await listener.execute("listen ostinato")
        for _ in range(3):
            async with by_psycopg(shop.urls.worker) as to:
                await greet.enqueue(to, name="Ada")
        async with by_psycopg(shop.urls.worker) as to:
            await to.execute("notify ostinato, 'the end'")
        heard = [note.payload async for note in listener.notifies(stop_after=2)]

    assert heard == ["mail", "the end"]


async def test_a_connection_of_the_other_world_names_the_call_for_it(shop: Shop) -> None:
    url = shop.urls.worker
    with psycopg.connect(url) as conn, engine_of(url) as engine, orm.Session(engine) as session:
        for wrong in (conn, session):
            with pytest.raises(InvalidInput, match="sync code") as refused:
                await greet.enqueue(wrong, name="Ada")  # type: ignore[arg-type]
            assert "enqueue_sync" in str(refused.value.hint)
    async with (
        by_psycopg(shop.urls.worker) as conn_async,
        by_alchemy("asyncpg", session=True)(shop.urls.worker) as session_async,
    ):
        for other in (conn_async, session_async):
            with pytest.raises(InvalidInput, match="async code"):
                greet.enqueue_sync(other, name="Ada")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [None, "postgresql://localhost/x", 7, object()], ids=["None", "a URL", "a number", "an object"]
)
async def test_what_is_no_connection_names_those_that_work(wrong: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(InvalidInput, match="work cannot be added through") as refused:
        await greet.enqueue(wrong, name="Ada")
    assert "AsyncSession" in str(refused.value.hint)
    with pytest.raises(InvalidInput, match="work cannot be added through") as refused:
        greet.enqueue_sync(wrong, name="Ada")
    assert "Django" in str(refused.value.hint)


@pytest.mark.parametrize("library", [name for name in ASYNC if name != "psycopg"])
async def test_a_transaction_whose_statement_failed_says_so(shop: Shop, library: str) -> None:
    divide: Any = "select 1 / 0" if library == "asyncpg" else sqlalchemy.text("select 1 / 0")
    found: list[OstinatoError] = []
    with suppress(Exception):  # whatever a library says to a commit of it
        async with ASYNC[library](shop.urls.worker) as to:
            with suppress(Exception):
                await to.execute(divide)
            try:
                await greet.enqueue(to, name="Ada")
            except OstinatoError as error:
                found.append(error)

    assert [("one of its statements failed" in str(each), "Roll it back" in str(each.hint)) for each in found] == [
        (True, True)
    ]
    assert not isinstance(found[0], InvalidInput)  # which would end a job for good


async def test_a_connection_of_asyncpg_that_is_busy_or_closed_says_so(shop: Shop) -> None:
    conn = await asyncpg.connect(**socket_of(shop.urls.worker))
    answers = await asyncio.gather(conn.fetch("select 1"), greet.enqueue(conn, name="Ada"), return_exceptions=True)
    await conn.close()

    assert isinstance(answers[1], InvalidInput)
    assert "The connection is busy" in str(answers[1])
    with pytest.raises(DatabaseUnavailable):
        await greet.enqueue(conn, name="Ada")


async def test_what_only_makes_sessions_or_connections_names_those_that_work(shop: Shop) -> None:
    """An engine has no transaction yet, and a pool of sync code lends nothing to async code."""
    url = shop.urls.worker
    engine_async = sa.create_async_engine(alchemy_url(url, "asyncpg"))
    pool = ConnectionPool(url, open=False)
    with engine_of(url) as engine:
        makers = (engine, engine_async, orm.sessionmaker(engine), sa.async_sessionmaker(engine_async), pool)
        for wrong in makers:
            with pytest.raises(InvalidInput, match="work cannot be added through") as refused:
                await greet.enqueue(wrong, name="Ada")  # type: ignore[arg-type]
            assert "AsyncSession" in str(refused.value.hint)
            with pytest.raises(InvalidInput, match="work cannot be added through") as refused:
                greet.enqueue_sync(wrong, name="Ada")  # type: ignore[arg-type]
            assert "Session" in str(refused.value.hint)
    await engine_async.dispose()


async def test_a_pool_of_asyncpg_is_none_but_what_it_lends_is_one(shop: Shop) -> None:
    """Each statement on a pool is committed at once, whatever transaction the caller has."""
    async with asyncpg.create_pool(**socket_of(shop.urls.worker), min_size=1) as pool:
        with pytest.raises(InvalidInput, match=r"work cannot be added through asyncpg\.pool\.Pool") as refused:
            await greet.enqueue(pool, name="Ada")
        assert "pool.acquire() as conn, conn.transaction()" in str(refused.value.hint)
        assert shop.waiting == []

        async with pool.acquire() as conn, conn.transaction():
            await greet.enqueue(conn, name="Ada")
            assert shop.waiting == []
    assert len(shop.waiting) == 1


def test_all_connections_of_django_are_none(shop: Shop) -> None:
    with by_django(shop.urls.worker), pytest.raises(InvalidInput, match="ConnectionHandler") as refused:
        greet.enqueue_sync(connections, name="Ada")

    assert "Django's connection" in str(refused.value.hint)


async def test_a_role_without_the_right_is_told_what_to_do(shop: Shop) -> None:
    async with await psycopg.AsyncConnection.connect(shop.urls.admin) as to:
        await to.execute("create role shop_without_rights")
        await to.execute("set role shop_without_rights")

        with pytest.raises(NotConfigured) as refused:
            await greet.enqueue(to, name="Ada")

        assert "ostinato db grant" in str(refused.value.hint)
        await to.rollback()


async def test_a_job_by_its_name_only(shop: Shop) -> None:
    async with by_asyncpg(shop.urls.worker) as to:
        from ostinato._core.db.foreign import connection_of  # noqa: PLC0415 - what `enqueue` of a kind does

        async with connection_of(to) as conn:
            await jobs.enqueue(conn, jobs.NewJob("shop.greet", '{"name": "Ada"}'))

    assert [kind for _, kind, _ in shop.waiting] == ["shop.greet"]

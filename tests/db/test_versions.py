"""The same plumbing on older servers, through a pooler, and with several hosts."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg
import pytest

from ostinato._core.base.errors import DatabaseUnavailable
from ostinato._core.db import binaries, embedded, migrate
from ostinato._core.db.call import call_value
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.pool import Pool, connect, transaction
from tests import bouncer
from tests.db.conftest import Make
from tests.needs import lacking

TABLE = "create table ostinato_data.thing (id int);"
GRANT = "grant all on ostinato_data.thing to ostinato_worker;"
ROLES = "ostinato_owner, ostinato_worker, ostinato_tenant, ostinato_api"
ADD = """
create function ostinato.add_thing(id int) returns int language plpgsql as $$
begin
    insert into ostinato_data.thing values (add_thing.id);
    return add_thing.id;
end
$$;
create function ostinato.things() returns bigint language sql as
    $$ select count(*) from ostinato_data.thing $$;
"""


def folder_of(major: int) -> Path | None:
    if major in binaries.FOLDERS:
        return binaries.embedded(major)
    found = Path(f"/usr/lib/postgresql/{major}/bin")
    return found if (found / "postgres").exists() else None


@pytest.fixture(scope="module", params=[15, 16, 17])
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = folder_of(request.param)
    if folder is None:
        lacking(f"postgresql-{request.param}", f"PostgreSQL {request.param} is not installed")
    with embedded.start(tmp_path_factory.mktemp("older"), binaries=folder) as running:
        yield running


async def test_an_older_server_can_be_migrated_and_used(older: Server, component: Make) -> None:
    sample = component(TABLE, GRANT, functions=ADD)
    urls = older.create_database("used")

    assert await migrate.migrate(urls.admin, [sample])
    assert await migrate.migrate(urls.owner, [sample]) == []

    async with Pool(urls.worker) as pool:
        async with transaction(pool) as conn:
            assert await call_value(conn, "add_thing", id=1) == 1
        async with pool.connection() as conn:
            assert conn.info.server_version // 10000 == older.version
            assert await call_value(conn, "things") == 1
    older.drop_database("used")


async def test_an_administrator_of_an_older_server_need_not_be_a_superuser(older: Server, component: Make) -> None:
    urls = older.create_database("managed")
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        for database in ("managed", "ostinato"):
            conn.execute(f"alter database {database} owner to postgres")
            conn.execute(f"revoke all on database {database} from {ROLES}")
        conn.execute(f"drop role {ROLES}")
        conn.execute("create role boss createrole")
        conn.execute("grant create on database managed to boss")

    async with await connect(urls.admin) as admin:
        await admin.execute("set session authorization boss")
        assert await migrate.apply(admin, [component(TABLE)])

    older.drop_database("managed")


async def test_a_read_only_host_is_passed_over_for_the_primary(older: Server, server: Server, urls: Urls) -> None:
    name = psycopg.conninfo.conninfo_to_dict(urls.worker)["dbname"]
    standby = older.create_database(str(name))
    with psycopg.connect(standby.admin, autocommit=True) as conn:
        conn.execute(f"alter database {name} set default_transaction_read_only = on")
    host = quote(str(older.cluster.socket_dir()), safe="")

    async with await connect(urls.worker.replace("host=", f"host={host},")) as found:
        assert found.info.server_version // 10000 == server.version

    with pytest.raises(DatabaseUnavailable):
        await connect(f"{standby.worker},{host}")
    older.drop_database(str(name))


class Pooled(NamedTuple):
    worker: str
    owner: str


@pytest.fixture
def pooled(server: Server, urls: Urls) -> Iterator[Pooled]:
    """PgBouncer in transaction mode, with fewer connections to the server than clients."""
    if bouncer.program() is None:
        lacking("pgbouncer", "PgBouncer is not installed")
    with bouncer.own_folder() as folder, bouncer.in_front_of(server, folder, connections=2) as port:
        worker = bouncer.through(urls.worker, port)
        yield Pooled(worker, worker.replace("ostinato_worker@", "ostinato_owner@"))


async def test_migrations_and_calls_go_through_a_transaction_pooler(
    pooled: Pooled, urls: Urls, component: Make
) -> None:
    sample = component(TABLE, GRANT, functions=ADD)
    await migrate.migrate(pooled.owner, [sample])

    async def client(pool: Pool, first: int) -> None:
        for n in range(first, first + 10):
            async with pool.connection() as conn:
                assert await call_value(conn, "add_thing", id=n) == n
            async with transaction(pool) as conn:
                await call_value(conn, "add_thing", id=-n)

    async with Pool(pooled.worker, pooled=True, min_size=4, max_size=8) as pool:
        await asyncio.gather(*(client(pool, 10 * n) for n in range(8)))

    with psycopg.connect(urls.worker) as conn:
        assert conn.execute("select ostinato.things()").fetchone() == (160,)

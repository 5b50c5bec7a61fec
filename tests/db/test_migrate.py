import asyncio
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from ostinato._core.base.errors import ContractMismatch, MigrationError, NotConfigured
from ostinato._core.db import migrate
from ostinato._core.db.bundle import replacing
from ostinato._core.db.call import call_value
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.pool import Connection, connect
from ostinato._core.engine.schema import ENGINE
from tests.db.conftest import Make
from tests.waiting import until_async

TABLE = "create table ostinato_data.thing (id int primary key);"
COLUMN = "alter table ostinato_data.thing add column name text;"
CONTRACT = """
create function ostinato.contract(out current int, out oldest int) language sql immutable as
    $$ select 3, 2 $$;
"""
VERSION = "create function ostinato.version() returns int language sql as $$ select {} $$;"


@pytest.fixture
async def admin(urls: Urls) -> AsyncIterator[Connection]:
    async with await connect(urls.admin) as conn:
        yield conn


async def rows(conn: Connection, text: str) -> list[tuple[object, ...]]:
    return await (await conn.execute(text)).fetchall()


SHOP_CONTRACT = CONTRACT.replace("ostinato.", "shop.")


async def test_everything_is_applied_once_and_in_order(urls: Urls, component: Make) -> None:
    sample = component(TABLE, COLUMN, functions=CONTRACT)

    first = await migrate.migrate(urls.admin, [sample])
    second = await migrate.migrate(urls.admin, [sample])

    assert first == ["sample: 0001_step.sql", "sample: 0002_step.sql", "sample: functions and views"]
    assert second == []


async def test_a_new_step_is_applied_to_what_is_there(urls: Urls, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(TABLE, functions=CONTRACT)])

    done = await migrate.migrate(urls.admin, [component(TABLE, COLUMN, functions=CONTRACT)])

    assert done == ["sample: 0002_step.sql"]


async def test_everything_belongs_to_the_owner_who_is_no_superuser(
    urls: Urls, admin: Connection, component: Make
) -> None:
    await migrate.migrate(urls.admin, [component(TABLE, functions=CONTRACT)])

    assert await rows(
        admin,
        "select distinct relowner::regrole::text from pg_class where relnamespace = 'ostinato_data'::regnamespace",
    ) == [("ostinato_owner",)]
    assert await rows(admin, "select proowner::regrole::text from pg_proc where proname = 'contract'") == [
        ("ostinato_owner",)
    ]
    assert await rows(
        admin,
        "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin"
        " from pg_roles where rolname like 'ostinato%' order by 1",
    ) == [(f"ostinato_{role}", False, False, False, False, True) for role in ("api", "owner", "tenant", "worker")]


async def test_the_schema_of_an_application_is_made_and_belongs_to_the_owner(
    urls: Urls, admin: Connection, component: Make
) -> None:
    shop = replace(
        component("create table shop.item (id bigint)", functions=CONTRACT.replace("ostinato.", "shop.")),
        name="shop",
        schemas=("shop",),
    )
    await migrate.migrate(urls.admin, [component(TABLE), shop])
    await migrate.migrate(urls.admin, [component(TABLE), shop])

    owner = "select nspowner::regrole::text from pg_namespace where nspname = 'shop'"
    assert await rows(admin, owner) == [("ostinato_owner",)]
    assert 'create schema if not exists "shop"' in migrate.sql([shop])


async def test_an_application_without_its_schema_gets_the_sql_to_run(
    urls: Urls, admin: Connection, component: Make
) -> None:
    await migrate.ensure_roles(admin)
    await admin.execute(f"alter database {admin.info.dbname} owner to current_user")
    await admin.execute(f"grant connect on database {admin.info.dbname} to ostinato_owner")
    shop = replace(component("create table shop.item (id bigint)"), schemas=("shop",))

    with pytest.raises(NotConfigured, match='create schema if not exists "shop"'):
        await migrate.migrate(urls.owner, [shop])


async def test_the_owner_can_migrate_without_an_administrator(urls: Urls, admin: Connection, component: Make) -> None:
    await migrate.ensure_roles(admin)

    assert await migrate.migrate(urls.owner, [component(TABLE)])


async def test_a_worker_that_tries_to_prepare_a_database_gets_the_sql_to_run(urls: Urls) -> None:
    with pytest.raises(NotConfigured, match="create schema ostinato") as caught:
        await migrate.migrate(urls.worker, [])

    assert "ostinato_data is missing" in caught.value.message


async def test_an_administrator_who_may_only_make_roles_is_enough(urls: Urls, server: Server, component: Make) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("create role helper createrole")
        conn.execute("grant ostinato_owner to helper with admin option")
        conn.execute(f"grant create on database {conn.info.dbname} to helper")
        conn.execute("grant helper to ostinato_worker")
    try:
        async with await connect(urls.worker) as conn_:
            await conn_.execute("set role helper")
            assert await migrate.apply(conn_, [component(TABLE)])
    finally:
        with psycopg.connect(urls.admin, autocommit=True) as conn:
            conn.execute("drop owned by helper")
            conn.execute("drop role helper")


async def test_a_role_that_is_too_strong_is_weakened(urls: Urls, admin: Connection) -> None:
    await admin.execute("alter role ostinato_tenant bypassrls")

    await migrate.ensure_roles(admin)

    assert await rows(admin, "select rolbypassrls from pg_roles where rolname = 'ostinato_tenant'") == [(False,)]


async def test_timeouts_sit_on_the_roles(urls: Urls) -> None:
    async with await connect(urls.worker) as conn:
        assert await rows(
            conn, "select current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout')"
        ) == [("30s", "8s")]


async def test_the_record_is_closed_to_tenants_and_read_only_for_workers(urls: Urls, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(TABLE)])

    with psycopg.connect(urls.worker, autocommit=True) as conn:
        assert conn.execute("select count(*) from ostinato_data.migration").fetchone() == (2,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("delete from ostinato_data.migration")
    with psycopg.connect(urls.tenant, autocommit=True) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("select 1 from ostinato_data.migration")


async def test_a_file_that_was_changed_after_it_was_applied_is_refused(urls: Urls, component: Make) -> None:
    old, new = component(TABLE), component(TABLE + " -- changed")
    await migrate.migrate(urls.admin, [old])

    with pytest.raises(MigrationError) as caught:
        await migrate.migrate(urls.admin, [new])

    assert "0001_step.sql" in caught.value.message
    assert old.tables[0].checksum in caught.value.message
    assert new.tables[0].checksum in caught.value.message


def test_line_ends_do_not_matter(component: Make) -> None:
    unix = component(f"{TABLE}\n", functions=CONTRACT)
    windows = component(f"{TABLE}\n", functions=CONTRACT, newline="\r\n")

    assert unix.tables[0].checksum == windows.tables[0].checksum
    assert unix.checksum == windows.checksum


async def test_a_database_that_is_newer_is_left_alone(urls: Urls, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(TABLE, COLUMN)])

    with pytest.raises(MigrationError, match="newer"):
        await migrate.migrate(urls.admin, [component(TABLE)])


@pytest.mark.parametrize("name", ["1_a.sql", "0001-a.sql", "0000_a.sql", "0001_b.sql"])
def test_a_file_with_a_bad_name_or_number_is_refused(component: Make, name: str) -> None:
    sample = component(TABLE)
    sample.folder.joinpath("tables", name).write_text("")  # type: ignore[attr-defined]

    with pytest.raises(MigrationError):
        _ = sample.tables


async def test_a_step_that_fails_names_the_line_and_leaves_nothing(
    urls: Urls, admin: Connection, component: Make
) -> None:
    with pytest.raises(MigrationError, match=r"0002_step.sql, line 2: .*nonsense") as caught:
        await migrate.migrate(urls.admin, [component(TABLE, f"{COLUMN}\nnonsense;")])

    assert caught.value.values["line"] == 2
    assert await rows(admin, "select version from ostinato_data.migration") == [(1,)]
    columns = "select attname from pg_attribute where attrelid = 'ostinato_data.thing'::regclass"
    assert ("name",) not in await rows(admin, columns)


async def test_several_migrators_at_once_apply_each_step_once(urls: Urls, component: Make) -> None:
    sample = component(TABLE, COLUMN, functions=CONTRACT)

    done = await asyncio.gather(*(migrate.migrate(urls.admin, [sample]) for _ in range(4)))

    assert sorted(line for lines in done for line in lines) == [
        "sample: 0001_step.sql",
        "sample: 0002_step.sql",
        "sample: functions and views",
    ]


async def test_a_step_waits_for_a_lock_without_holding_up_readers(
    urls: Urls, admin: Connection, component: Make
) -> None:
    await migrate.migrate(urls.admin, [component(TABLE)])
    async with await connect(urls.admin, autocommit=False) as holder:
        await holder.execute("select * from ostinato_data.thing")
        pid = holder.info.backend_pid
        migrating = asyncio.create_task(migrate.migrate(urls.admin, [component(TABLE, COLUMN)], wait_seconds=600))
        await until_async(lambda: is_behind(admin, pid))

        # It stands behind the queue of the migration, which steps back soon enough.
        await admin.execute("set statement_timeout = '120s'")
        await admin.execute("select * from ostinato_data.thing")
        assert not migrating.done()
        await holder.rollback()

        assert await migrating == ["sample: 0002_step.sql"]


async def is_behind(admin: Connection, pid: int) -> bool:
    text = "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
    return await (await admin.execute(text, [pid])).fetchone() is not None


async def test_a_lock_that_is_never_free_is_given_up_with_the_culprits_name(urls: Urls, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(TABLE)])
    async with await connect(urls.admin, role="culprit", autocommit=False) as holder:
        await holder.execute("select * from ostinato_data.thing")

        with pytest.raises(MigrationError, match="ostinato/culprit") as caught:
            await migrate.migrate(urls.admin, [component(TABLE, COLUMN)], wait_seconds=0)

        assert str(holder.info.backend_pid) in caught.value.message


async def test_functions_are_replaced_and_those_that_are_gone_dropped(urls: Urls, component: Make) -> None:
    gone = "create function ostinato.gone() returns int language sql as $$ select 1 $$;"
    await migrate.migrate(urls.admin, [component(functions=VERSION.format(1) + gone)])

    await migrate.migrate(urls.admin, [component(functions=VERSION.format(2))])

    async with await connect(urls.worker) as conn:
        assert await call_value(conn, "version") == 2
        with pytest.raises(NotConfigured):
            await call_value(conn, "gone")


async def test_functions_of_others_in_the_schema_are_left_alone(urls: Urls, admin: Connection, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(functions=VERSION.format(1))])
    await admin.execute("create function ostinato.mine() returns int language sql return 7")

    await migrate.migrate(urls.admin, [component(functions=VERSION.format(2))])

    assert await call_value(admin, "mine") == 7


async def test_a_function_may_change_its_shape(urls: Urls, component: Make) -> None:
    text = """
        create function ostinato.version(a int, b int default 1) returns {0} language sql as
            $$ select 1::{0} $$;
        create view ostinato.versions as select ostinato.version(1) as version;
    """
    for kind in ("int", "text", "bigint"):
        create, view, _ = text.format(kind).split(";")
        await migrate.migrate(urls.admin, [component(functions=f"{create};", views=f"{view};")])

    async with await connect(urls.worker) as conn:
        assert await call_value(conn, "version", a=1) == 1


async def test_a_function_that_a_table_needs_is_not_dropped(urls: Urls, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(functions=VERSION.format(1))])
    table = "create table ostinato_data.t (n int default ostinato.version());"

    with pytest.raises(MigrationError, match="still uses it"):
        await migrate.migrate(urls.admin, [component(table, functions=CONTRACT)])


async def test_functions_may_call_each_other_in_any_order(urls: Urls, component: Make) -> None:
    early = "create function ostinato.a() returns int language sql as $$ select ostinato.b() $$;"
    late = "create function ostinato.b() returns int language sql as $$ select 1 $$;"

    await migrate.migrate(urls.admin, [component(functions=early + late)])

    async with await connect(urls.worker) as conn:
        assert await call_value(conn, "a") == 1


async def test_a_body_with_a_mistake_is_found_before_anything_is_replaced(urls: Urls, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(functions=VERSION.format(1))])
    wrong = "create function ostinato.w() returns int language sql as $$ select missing() $$;"

    with pytest.raises(MigrationError, match="missing"):
        await migrate.migrate(urls.admin, [component(functions=VERSION.format(2) + wrong)])

    async with await connect(urls.worker) as conn:
        assert await call_value(conn, "version") == 1


async def test_grants_are_given_again_with_the_code(urls: Urls, admin: Connection, component: Make) -> None:
    grants = "revoke all on all functions in schema ostinato from public;"
    await migrate.migrate(urls.admin, [component(functions=VERSION.format(1), grants=grants)])

    async with await connect(urls.worker) as conn:
        with pytest.raises(NotConfigured, match="may not"):
            await call_value(conn, "version")


@pytest.mark.parametrize("kinds", [("int", "int"), ("int", "bigint")], ids=["kept", "changed"])
async def test_functions_are_replaced_under_callers_that_notice_nothing(
    urls: Urls, component: Make, kinds: tuple[str, str]
) -> None:
    text = "create function ostinato.version() returns {} language sql as $$ select {}::int $$;"
    bundles = [component(functions=text.format(kind, n)) for n, kind in enumerate(kinds)]
    await migrate.migrate(urls.admin, [bundles[0]])
    seen: list[set[int]] = [set(), set(), set()]
    stop = asyncio.Event()

    async def caller(mine: set[int]) -> None:
        async with await connect(urls.worker) as conn:
            while not stop.is_set():
                mine.add(await call_value(conn, "version", _read=True))

    callers = [asyncio.create_task(caller(mine)) for mine in seen]
    for n in range(1, 21):
        await migrate.migrate(urls.admin, [bundles[n % 2]])
        await until_async(lambda n=n: saw(seen, n % 2, callers))  # type: ignore[misc]
        for mine in seen:
            mine.clear()
    stop.set()

    await asyncio.gather(*callers)


async def saw(seen: list[set[int]], n: int, callers: list[asyncio.Task[None]]) -> bool:
    return all(n in mine for mine in seen) or any(caller.done() for caller in callers)


async def test_status_says_what_is_applied_and_what_is_pending(urls: Urls, admin: Connection, component: Make) -> None:
    before, after = component(TABLE), component(TABLE, COLUMN, functions=CONTRACT)

    empty = await migrate.status(admin, [after])
    await migrate.migrate(urls.admin, [before])
    halfway = await migrate.status(admin, [after])
    await migrate.migrate(urls.admin, [after])
    async with await connect(urls.worker) as conn:
        done = await migrate.status(conn, [after])

    assert empty.components[0].pending == ["0001_step.sql", "0002_step.sql"]
    assert empty.components[0].code == "missing"
    assert empty.contract is None
    assert halfway.components[0].pending == ["0002_step.sql"]
    assert halfway.components[0].code == "outdated"
    assert not halfway.up_to_date
    assert [step.name for step in done.components[0].applied] == ["step", "step"]
    assert done.contract == (3, 2)
    assert done.up_to_date


async def test_status_tells_of_a_changed_file(urls: Urls, admin: Connection, component: Make) -> None:
    await migrate.migrate(urls.admin, [component(TABLE)])

    found = await migrate.status(admin, [component(f"{TABLE} -- changed")])

    assert "was changed" in str(found.components[0].trouble)
    assert not found.up_to_date


@pytest.mark.parametrize(("mine", "said"), [(1, "the code is too old"), (4, "the database is too old")])
async def test_a_contract_outside_the_range_is_refused(urls: Urls, component: Make, mine: int, said: str) -> None:
    await migrate.migrate(urls.admin, [component(functions=CONTRACT)])

    async with await connect(urls.worker) as conn:
        with pytest.raises(ContractMismatch, match=said):
            await migrate.check_contract(conn, mine)


@pytest.mark.parametrize("mine", [2, 3])
async def test_a_contract_in_the_range_is_served(urls: Urls, component: Make, mine: int) -> None:
    await migrate.migrate(urls.admin, [component(functions=CONTRACT)])

    async with await connect(urls.worker) as conn:
        await migrate.check_contract(conn, mine)


async def test_an_empty_database_is_told_apart(urls: Urls) -> None:
    async with await connect(urls.worker) as conn:
        with pytest.raises(ContractMismatch, match="no Ostinato schema"):
            await migrate.check_contract(conn, 1)


async def test_the_script_installs_what_migrate_would(urls: Urls, server: Server, component: Make) -> None:
    view = "create view ostinato.things as select * from ostinato_data.thing;"
    sample = component(TABLE, COLUMN, functions=CONTRACT + VERSION.format(1), views=view)
    command = [str(server.psql), urls.admin, "--quiet", "--set", "ON_ERROR_STOP=1"]

    await asyncio.to_thread(subprocess.run, command, input=migrate.sql([sample]), text=True, check=True)

    assert await migrate.migrate(urls.owner, [sample]) == []
    changed = component(TABLE, COLUMN, functions=CONTRACT)
    assert await migrate.migrate(urls.owner, [changed]) == ["sample: functions and views"]


def test_a_function_is_made_to_replace_what_it_finds() -> None:
    assert replacing("-- why\nCREATE  FUNCTION a.b() …") == ("-- why\ncreate or replace FUNCTION a.b() …")
    assert replacing("create or replace procedure p()") == "create or replace procedure p()"
    assert replacing("-- create function\ngrant x") == "-- create function\ngrant x"


async def test_the_engines_own_schema_can_be_applied(urls: Urls) -> None:
    assert await migrate.migrate(urls.admin, [ENGINE])

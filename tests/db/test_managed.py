"""Managed PostgreSQL: an administrator who is no superuser, with the rights that providers give.

docs/howto/managed-postgres.md says where each of them differs.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import ostinato
from ostinato import App, Context, Done, Worker
from ostinato._core.base.settings import load
from ostinato._core.db import embedded
from ostinato._core.db.embedded import Server
from ostinato._core.db.roles import grant_role, role_problems
from ostinato._core.engine.schema import install
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.frame.schema import app_components
from tests.docs.reader import without_ours
from tests.memory import folder_in_memory
from tests.runtime.lab import running

pytestmark = pytest.mark.slow

OURS = ("ostinato_owner", "ostinato_worker", "ostinato_tenant", "ostinato_api")


mail = App("mail")


@mail.job()
async def send(ctx: Context, to: str) -> Done:
    return Done(f"sent to {to}")


class Provider(NamedTuple):
    """The rights of the role that a provider hands out; none is a superuser."""

    name: str
    options: str
    group: str
    of_group: tuple[str, ...]


PROVIDERS = (
    Provider("rds", "createrole createdb", "rds_superuser", ("pg_monitor", "pg_signal_backend", "pg_checkpoint")),
    Provider("cloudsql", "createrole createdb", "cloudsqlsuperuser", ("pg_monitor", "pg_signal_backend")),
    Provider("neon", "createrole createdb bypassrls", "neon_superuser", ("pg_read_all_data", "pg_write_all_data")),
    Provider("supabase", "createrole createdb bypassrls replication", "supabase_privileged", ("pg_monitor",)),
    Provider("scaleway", "createrole createdb", "rdb_admins", ("pg_monitor",)),
    Provider("ovh", "createrole createdb replication", "avn_admins", ("pg_monitor", "pg_signal_backend")),
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has never seen Ostinato: its roles are under other names, and everybody may log in."""
    with folder_in_memory(otherwise=tmp_path_factory.mktemp("managed")) as folder, embedded.start(folder) as server:
        with psycopg.connect(server.admin_url, autocommit=True) as conn:
            for role in OURS:
                conn.execute(f"alter role {role} rename to was_{role}".encode())
            row = conn.execute("show hba_file").fetchone()
            assert row is not None
            hba = Path(row[0])
            hba.write_text(
                f"local all {','.join(('web', *OURS, *(f'admin_{each.name}' for each in PROVIDERS)))} trust\n"
                f"{hba.read_text()}"
            )
            conn.execute("select pg_reload_conf()")
        yield server


@pytest.fixture(params=PROVIDERS, ids=lambda each: each.name)
def admin_url(bare: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address for the provider's administrator, of an empty database."""
    provider: Provider = request.param
    role, name = f"admin_{provider.name}", f"managed_{provider.name}"
    with psycopg.connect(bare.admin_url, autocommit=True) as conn:
        conn.execute(f"create role {provider.group} nologin".encode())
        for each in provider.of_group:
            conn.execute(f"grant {each} to {provider.group} with admin option".encode())
        conn.execute(f"create role {role} login {provider.options} in role {provider.group}".encode())
        conn.execute(f"create database {name} owner {role}".encode())
        yield make_conninfo(bare.admin_url, user=role, password="", dbname=name)
        conn.execute(f"drop database {name} with (force)".encode())
        for each in (*OURS, "web"):
            conn.execute(f"drop role if exists {each}".encode())
        conn.execute(f"drop role {role}".encode())


async def failures(addresses: dict[str, str]) -> list[dict[str, Any]]:
    """What `ostinato doctor` finds wrong with these logins."""
    told = (sys.executable, "-m", "ostinato", "doctor", "--json")
    asked = await asyncio.create_subprocess_exec(*told, env=without_ours(**addresses), stdout=subprocess.PIPE)
    answer, _ = await asked.communicate()
    return [each for each in json.loads(answer)["findings"] if each["level"] == "fail"]


async def test_migrations_and_jobs_work_with_the_rights_of_a_provider(admin_url: str, bare: Server) -> None:
    await install(admin_url, app_components(installed_apps()), retention_days=14)
    await install(admin_url, app_components(installed_apps()), retention_days=14)  # again, as at each release

    with psycopg.connect(admin_url) as conn:
        row = conn.execute("select rolsuper from pg_roles where rolname = current_user").fetchone()
        assert row == (False,)
        conn.execute("create role web login")
        made = conn.execute(
            "select rolname, rolsuper or rolbypassrls from pg_roles where rolname = any(%s)", [list(OURS)]
        )
        assert sorted(made.fetchall()) == sorted((role, False) for role in OURS)
    async with await psycopg.AsyncConnection.connect(admin_url, autocommit=True) as admin:
        assert await role_problems(admin, to_migrate=True) == []
        assert await grant_role(admin, "web")
    addresses = {
        "OSTINATO_DATABASE_URL": make_conninfo(admin_url, user="ostinato_worker"),
        "OSTINATO_API_DATABASE_URL": make_conninfo(admin_url, user="ostinato_api"),
        "OSTINATO_ADMIN_URL": admin_url,
    }
    database = Database.configured(
        load({name.removeprefix("OSTINATO_").lower(): url for name, url in addresses.items()})
    )
    async with ostinato.connect(make_conninfo(admin_url, user="web")) as client, running(Worker([mail], database)):
        job_id = await send.enqueue(client, to="Ada")
        assert await client.job(job_id).result() == "sent to Ada"
    assert await failures(addresses) == []

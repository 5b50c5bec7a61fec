"""`ostinato db migrate | status | sql | psql | url | grant`."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from ostinato._core.db import embedded
from ostinato._core.db.embedded import Server
from tests.faces.conftest import Place, Shell


@pytest.fixture
def bare(shared_server: Server) -> Shell:
    """A shell on a database that nobody has migrated."""
    name = "faces_bare"
    shared_server.drop_database(name)
    urls = shared_server.create_database(name)
    return Shell({"OSTINATO_DATABASE_URL": urls.worker, "OSTINATO_ADMIN_URL": urls.admin})


def psql(shell: Shell, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ostinato", "db", "psql", *args],
        env=os.environ | shell.env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_migrate_says_what_it_applied_and_then_that_nothing_is_left(bare: Shell) -> None:
    result = bare.run("db", "migrate")

    assert "Bringing the schema of faces_bare at " in result.stderr
    assert result.stdout.splitlines()[0].startswith("applied engine: 0001_")
    assert bare("db", "migrate") == "The schema is up to date.\n"
    assert bare.json("db", "migrate") == {"applied": []}


def test_status_of_a_database_without_a_schema_is_a_failure(bare: Shell) -> None:
    result = bare.run("db", "status", code=1)
    answer = bare.json("db", "status", code=1)

    assert "pending" in result.stdout
    assert "ostinato db migrate" in result.stderr
    assert (answer["up_to_date"], answer["contract"]) == (False, None)


def test_status_of_a_current_database(shell: Shell) -> None:
    answer = shell.json("db", "status")

    assert "0001_engine.sql" in shell("db", "status")
    assert answer["up_to_date"] is True
    assert answer["contract"] == answer["code_contract"]


def test_other_commands_say_that_the_schema_is_missing(bare: Shell) -> None:
    assert "ostinato db migrate" in bare.fails("jobs", "list", code=2)


def test_the_script_installs_what_migrate_would(bare: Shell) -> None:
    script = bare("db", "sql")

    with psycopg.connect(bare.env["OSTINATO_ADMIN_URL"], autocommit=True) as conn:
        conn.execute(script.encode())

    assert bare.json("db", "sql")["sql"] == script
    assert bare.json("db", "status")["up_to_date"] is True


def test_psql_runs_a_statement_as_the_worker(shell: Shell) -> None:
    ended = psql(shell, "--", "--tuples-only", "--command", "select current_user")

    assert ended.stdout.strip() == "ostinato_worker"
    assert ended.returncode == 0


def test_psql_connects_as_somebody_else_when_told(shell: Shell) -> None:
    ended = psql(shell, "--role", "admin", "--", "-Atc", "select current_user")

    assert ended.stdout.strip() == "postgres"


def test_psql_hands_on_its_exit_code(shell: Shell) -> None:
    assert psql(shell, "--", "-c", "select nonsense").returncode == 1


def test_psql_of_an_unknown_role(shell: Shell) -> None:
    assert "no URL for the role owner" in shell.fails("db", "psql", "--role", "owner", code=2)
    shell.fails("db", "psql", "--role", "king", code=2)
    assert "is not ours" in shell.fails("db", "psql", "--superuser", code=2)
    assert "server of your own" in shell.fails("db", "upgrade", code=2)


def test_a_password_is_not_on_the_command_line_of_psql(
    shell: Shell, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "psql"
    fake.write_text('#!/bin/sh\necho "$@" > args\necho "$PGPASSWORD" > password\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    shell.run("db", "psql", env={"OSTINATO_DATABASE_URL": "postgresql://ada:sesame@localhost/app"})

    assert "sesame" not in (tmp_path / "args").read_text()
    assert (tmp_path / "password").read_text() == "sesame\n"


def test_url_is_an_address_for_other_programs(shell: Shell) -> None:
    found = shell("db", "url").strip()

    with psycopg.connect(found) as conn:
        assert conn.execute("select current_user").fetchone() == ("ostinato_worker",)
    assert shell.json("db", "url") == {"url": found, "password": False}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "postgresql://ada:sesame@localhost:5433/app?sslmode=require",
            "postgresql://ada@localhost:5433/app?sslmode=require",
        ),
        ("postgresql://ada@localhost/app?password=sesame", "postgresql://ada@localhost/app"),
        ("host=/run/x port=5433 dbname=app user=ada password=sesame", "postgresql://ada@/app?host=/run/x&port=5433"),
        ("postgresql://ada:sesame@a,b:5433/app", "postgresql://ada@/app?host=a,b&port=,5433"),
        ("postgresql://a%40b:sesame@[::1]/app", "postgresql://a%40b@%3A%3A1/app"),
    ],
)
def test_url_leaves_the_password_out(shell: Shell, given: str, shown: str) -> None:
    result = shell.run("db", "url", env={"OSTINATO_DATABASE_URL": given})

    assert result.stdout.strip() == shown
    assert "sesame" not in result.stdout + result.stderr
    assert "password" in result.stderr


def test_a_role_that_was_granted_the_right_adds_jobs_in_its_own_transaction(shell: Shell, place: Place) -> None:
    role = f"shop_{uuid4().hex}"
    with psycopg.connect(place.urls.admin, autocommit=True) as admin:
        admin.execute(SQL("create role {}").format(Identifier(role)))
        assert "there is no role nobody" in shell.fails("db", "grant", "nobody", code=1)
        assert role in shell("db", "grant", role)
        assert shell.json("db", "grant", role) == {"role": role, "granted": False}

        admin.execute(SQL("set role {}").format(Identifier(role)))
        found = admin.execute("select ostinato.enqueue_job('shop.greet', '{}'::jsonb)").fetchone()
        assert found
        admin.execute("reset role")
        admin.execute(SQL("drop role {}").format(Identifier(role)))


@pytest.mark.parametrize("role", ["ostinato_api", "ostinato_tenant"])
def test_the_roles_that_separate_tenants_are_granted_nothing(shell: Shell, place: Place, role: str) -> None:
    with psycopg.connect(place.urls.admin, autocommit=True) as admin:
        try:
            assert "one tenant at a time" in shell.fails("db", "grant", role, code=1)
            found = admin.execute("select pg_has_role(%s, 'ostinato_worker', 'member')", (role,)).fetchone()
        finally:  # the roles are those of all tests
            admin.execute(SQL("revoke ostinato_worker from {}").format(Identifier(role)))
    assert found == (False,)


def test_a_role_that_inherits_nothing_is_named(shell: Shell, place: Place) -> None:
    role = f"shop_{uuid4().hex}"
    with psycopg.connect(place.urls.admin, autocommit=True) as admin:
        admin.execute(SQL("create role {} noinherit").format(Identifier(role)))

        assert "does not inherit" in shell.fails("db", "grant", role, code=2)

        admin.execute(SQL("drop role {}").format(Identifier(role)))


@pytest.mark.parametrize("verb", ["migrate", "status", "sql"])
def test_bad_options_are_refused(shell: Shell, verb: str) -> None:
    shell.fails("db", verb, "--frob", code=2)
    shell.fails("db", verb, "extra", code=2)


def test_a_database_that_does_not_answer_has_its_exit_code() -> None:
    shell = Shell({"OSTINATO_DATABASE_URL": "postgresql://ada:sesame@127.0.0.1:1/app"})

    for args in (("db", "migrate"), ("db", "status"), ("jobs", "list"), ("enqueue", "a.b")):
        result = shell.run(*args, code=69)
        assert "sesame" not in result.output
        assert "error:" in result.stderr


def test_every_view_of_the_engine_and_the_applications_runs_as_its_caller(place: Place) -> None:
    """Check 4: a view with the rights of its owner would show the rows of all tenants."""
    found = place.conn.execute(
        "select c.oid::regclass::text, coalesce('security_invoker=true' = any (c.reloptions), false)"
        " from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where c.relkind = 'v' and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'"
    ).fetchall()

    assert found
    assert [name for name, invoker in found if not invoker] == []


@pytest.mark.slow
def test_the_embedded_server_grants_as_its_superuser_and_says_how_to_make_the_role(tmp_path: Path) -> None:
    """There is no other administrator who could do it."""
    folder, shell = tmp_path / "data", Shell({})
    with embedded.start(folder) as server:
        missing = shell.fails("db", "grant", "web", "--data-dir", str(folder), code=1)
        with psycopg.connect(server.urls().admin, autocommit=True) as admin:
            admin.execute("create role web login")

        assert f"db psql --superuser --data-dir {folder} -- -c 'create role \"web\" login'" in missing
        assert "web may add jobs" in shell("db", "grant", "web", "--data-dir", str(folder))
        with psycopg.connect(server.urls().worker.replace("ostinato_worker", "web")) as conn:
            found = conn.execute("select current_user, pg_has_role('ostinato_worker', 'usage')").fetchone()
    assert found == ("web", True)

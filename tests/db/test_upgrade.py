"""An embedded database of an older PostgreSQL becomes one of ours: with all that was in it, or not at all."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from ostinato._core.base.errors import Conflict, EmbeddedError, NotFound
from ostinato._core.db import binaries, embedded, migrate
from ostinato._core.db.embedded import Server
from ostinato._core.db.upgrade import Upgraded, upgrade
from ostinato._core.engine.schema import ENGINE
from tests.db.test_versions import folder_of
from tests.faults.replicas import copy

OLDER = 16
JOBS = 100
COUNT = "select count(*) from ostinato_data.ready"
ENQUEUE = "select ostinato.enqueue_job('app.work') from generate_series(1, %s)"


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped server of the older PostgreSQL that the wheel has, with jobs in it."""
    folder = tmp_path_factory.mktemp("older")
    with embedded.start(folder, binaries=folder_of(OLDER)) as server:
        asyncio.run(migrate.migrate(server.urls().admin, [ENGINE]))
        add(server, JOBS)
        with psycopg.connect(server.admin_url, autocommit=True) as conn:
            conn.execute("alter system set work_mem = '7MB'")
            conn.execute("alter system set synchronous_standby_names = 'gone'")
    return folder


@pytest.fixture
def data_dir(seed: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for part in ("postgres", "superuser.pgpass"):
        copy(seed / part, folder / part)
    return folder


def add(server: Server, count: int) -> None:
    with psycopg.connect(server.worker_url, autocommit=True) as conn:
        conn.execute("set synchronous_commit = local")
        conn.execute(ENQUEUE, [count])


def asked(server: Server, statement: str) -> object:
    with psycopg.connect(server.admin_url, autocommit=True) as conn:
        row = conn.execute(statement.encode()).fetchone()
    return row and row[0]


def moved(folder: Path) -> tuple[Upgraded, list[str]]:
    said: list[str] = []
    return upgrade(folder, said.append), said


@pytest.mark.slow
def test_everything_is_there_after_an_upgrade_and_the_old_one_is_kept(data_dir: Path, tmp_path: Path) -> None:
    # One that was cut short is begun anew: what the old server did since is in it.
    half = data_dir / "upgrade" / "postgres"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text(f"{binaries.EMBEDDED}\n")
    with embedded.start(data_dir, binaries=folder_of(OLDER)) as server:
        add(server, 1)

    done, said = moved(data_dir)

    kept = data_dir / f"postgres-{OLDER}"
    assert (done.found, done.brought, done.old, len(said)) == (OLDER, binaries.EMBEDDED, kept, 4)
    # As a kill between the two renames leaves it: the next start finds it complete.
    (data_dir / "upgrade").mkdir()
    (data_dir / "postgres").rename(data_dir / "upgrade" / "postgres")
    (data_dir / "upgrade" / embedded.UPGRADED).touch()
    with embedded.start(data_dir) as server:
        assert str(asked(server, "show server_version")).startswith(f"{binaries.EMBEDDED}.")
        assert asked(server, COUNT) == JOBS + 1
        assert asked(server, "show data_checksums") == "on"
        assert asked(server, "show work_mem") == "7MB"
        # Its standby was one of the old version: nobody waits for it.
        assert asked(server, "show synchronous_standby_names") == ""
        assert asyncio.run(migrate.migrate(server.urls().admin, [ENGINE])) == []
        add(server, 1)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.admin_url.partition("&passfile")[0])
    assert moved(data_dir)[0].old is None
    assert sorted(path.name for path in data_dir.glob("*postgres*") if path.is_dir()) == ["postgres", kept.name]
    # Who wants to go back can.
    kept.rename(tmp_path / "postgres")
    (data_dir / "superuser.pgpass").rename(tmp_path / "superuser.pgpass")
    with embedded.start(tmp_path, binaries=folder_of(OLDER)) as server:
        assert asked(server, COUNT) == JOBS + 1


def test_a_server_that_runs_is_not_upgraded(data_dir: Path) -> None:
    with embedded.start(data_dir, binaries=folder_of(OLDER)), pytest.raises(Conflict, match="runs"):
        moved(data_dir)

    assert (data_dir / "postgres" / "PG_VERSION").read_text().strip() == f"{OLDER}"


def test_what_cannot_be_upgraded_is_said_before_anything_is_copied(data_dir: Path, tmp_path: Path) -> None:
    version = data_dir / "postgres" / "PG_VERSION"
    version.write_text("14\n")
    with pytest.raises(EmbeddedError, match="written by PostgreSQL 14, whose programs"):
        moved(data_dir)
    version.write_text("99\n")
    with pytest.raises(Conflict, match="newer than"):
        moved(data_dir)
    with pytest.raises(NotFound, match="has no database"):
        moved(tmp_path / "nowhere")

    assert not (data_dir / "upgrade").exists()


def test_what_pg_upgrade_refuses_leaves_the_database_as_it_was(data_dir: Path) -> None:
    """A database that nobody may connect to cannot be copied."""
    with (
        embedded.start(data_dir, binaries=folder_of(OLDER)) as server,
        psycopg.connect(server.admin_url, autocommit=True) as conn,
    ):
        conn.execute("set synchronous_commit = local")
        conn.execute("create database closed allow_connections false")

    with pytest.raises(EmbeddedError, match="the database is as it was"):
        moved(data_dir)

    with embedded.start(data_dir, binaries=folder_of(OLDER)) as server:
        assert asked(server, COUNT) == JOBS

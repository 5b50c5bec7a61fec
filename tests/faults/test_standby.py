"""A standby in one command: made, promoted by a person, and the old server rejoined."""

import asyncio
import ctypes
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, EmbeddedError, InvalidInput, NotFound
from ostinato._core.db import embedded
from ostinato._core.db.backup import server as servers
from ostinato._core.db.backup import standby, stream, take
from ostinato._core.db.cluster import Cluster, CommandFailed
from ostinato._core.db.embedded import Server
from tests.faults.plain import HERE, machine, plain_server
from tests.faults.receiving import source_of
from tests.faults.replicas import copied, kill_server
from tests.faults.test_backup import ENQUEUE, LOAD_THREADS, OLDEST, Load, jobs_in
from tests.needs import needs
from tests.waiting import until

ACKNOWLEDGED = 100
PR_SET_CHILD_SUBREAPER = 36
WAITS_FOR = "show synchronous_standby_names"


@pytest.fixture
def own(seed: Path) -> Iterator[Server]:
    with copied(seed) as server:
        yield server


@contextmanager
def ended(folder: Path) -> Iterator[Path]:
    """A folder whose server does not outlive the test."""
    try:
        yield folder
    finally:
        cluster = Cluster.at(folder)
        if cluster.pid() is not None:
            with suppress(CommandFailed):
                cluster.halt("immediate")


def asked(server: Server, statement: str) -> object:
    with psycopg.connect(server.urls().admin, autocommit=True) as conn:
        conn.execute("set synchronous_commit = local")
        cursor = conn.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


@pytest.mark.slow
def test_a_failover_to_it_loses_nothing_and_the_old_server_rejoins(own: Server, tmp_path: Path) -> None:
    with ended(tmp_path / "second") as folder:
        made = asyncio.run(standby.create(source_of(own), folder))
        assert made.synchronous
        assert asked(own, "select sync_state from pg_stat_replication") == "sync"
        load = Load(own)
        until(lambda: len(load.acknowledged) >= ACKNOWLEDGED)
        kill_server(own)
        load.join()

        asyncio.run(standby.promote(folder))
        with embedded.start(folder) as server:
            there = jobs_in(server)
            assert set(load.acknowledged) - there == set()
            assert len(there) <= len(load.acknowledged) + LOAD_THREADS
            # Inherited, it would wait for a copy that it does not have: its first commit returns.
            assert asked(server, WAITS_FOR) == ""
            assert asked(server, ENQUEUE) is not None

            again = asyncio.run(standby.rejoin(source_of(server), own.cluster.data_dir))
            assert again.synchronous
            assert asked(server, "select sync_state from pg_stat_replication") == "sync"
            with psycopg.connect(server.urls().worker, autocommit=True) as conn:
                conn.execute(ENQUEUE)
            until(lambda: jobs_in(own) == jobs_in(server))
            assert asked(own, "select pg_is_in_recovery()") is True
            assert asked(own, "select count(*) from pg_replication_slots") == 0
            own.cluster.halt("immediate")


@pytest.mark.proof
def test_what_was_never_acknowledged_is_gone_when_the_old_server_rejoins(own: Server, tmp_path: Path) -> None:
    """Cut off from its standby, the old server has a commit that nobody was told of."""
    with ended(tmp_path / "second") as folder:
        asyncio.run(standby.create(source_of(own), folder))
        cluster = Cluster.at(folder)
        cluster.halt("fast")
        acknowledged: list[object] = []

        def add() -> None:
            with suppress(psycopg.OperationalError), psycopg.connect(own.urls().worker, autocommit=True) as conn:
                acknowledged.append(conn.execute(ENQUEUE).fetchone())

        adding = threading.Thread(target=add)
        adding.start()
        until(lambda: asked(own, "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") == 1)
        kill_server(own)
        adding.join()
        assert acknowledged == []

        asyncio.run(standby.promote(folder))  # it was stopped: promotion starts it
        with embedded.start(folder) as server:
            assert jobs_in(server) == set()
            asyncio.run(standby.rejoin(source_of(server), own.cluster.data_dir, synchronous=False))
            assert asked(server, WAITS_FOR) == ""
            until(lambda: asked(own, "select pg_is_in_recovery()") is True)
            assert jobs_in(own) == set()
            own.cluster.halt("immediate")


def test_a_standby_that_was_killed_goes_on_where_it_was(own: Server, tmp_path: Path) -> None:
    with ended(tmp_path / "second") as folder:
        asyncio.run(standby.create(source_of(own), folder))
        Cluster.at(folder).halt("immediate")

        asyncio.run(standby.rejoin(source_of(own), folder))

        assert asked(own, "select sync_state from pg_stat_replication") == "sync"
        with psycopg.connect(own.urls().worker, autocommit=True) as conn:
            conn.execute(ENQUEUE)


@pytest.mark.proof
def test_no_second_server_takes_commits_beside_the_first(own: Server, tmp_path: Path) -> None:
    with ended(tmp_path / "second") as folder:
        asyncio.run(standby.create(source_of(own), folder, synchronous=False))
        assert asked(own, WAITS_FOR) == ""

        with pytest.raises(Conflict, match="two servers would take commits"):
            asyncio.run(standby.promote(folder))
        with pytest.raises(Conflict, match="runs"):
            asyncio.run(standby.rejoin(source_of(own), own.cluster.data_dir))
        with pytest.raises(Conflict, match="is not empty"):
            asyncio.run(standby.create(source_of(own), folder, "third"))
        with pytest.raises(Conflict, match="a standby with the name standby follows this server"):
            asyncio.run(standby.create(source_of(own), tmp_path / "third"))
        assert list((tmp_path / "third").iterdir()) == []
        with pytest.raises(Conflict, match="follows nobody"):
            asyncio.run(standby.promote(own.cluster.data_dir))


def test_what_is_a_standby_itself_is_followed_by_nobody_before_it_is_promoted(own: Server, tmp_path: Path) -> None:
    """Who forgets to promote it would wait for ever: it takes no commits that a copy could have."""
    with ended(tmp_path / "second") as folder:
        asyncio.run(standby.create(source_of(own), folder))
        with embedded.start(folder) as second:
            source = source_of(second)
            repository = asyncio.run(take.init(source, tmp_path / "repository"))
            with pytest.raises(BackupFailed, match="is a standby itself"):
                asyncio.run(stream.receive(source, repository))
            with pytest.raises(BackupFailed, match="is a standby itself"):
                asyncio.run(standby.create(source, tmp_path / "third", "third", synchronous=False))
            kill_server(own)
            with pytest.raises(BackupFailed, match="is a standby itself") as refused:
                asyncio.run(standby.rejoin(source, own.cluster.data_dir))

        assert "ostinato standby promote" in str(refused.value.hint)
        assert not (own.cluster.pgdata / "standby.signal").exists()
        assert list((tmp_path / "third").iterdir()) == []


def test_a_copy_that_ends_is_not_waited_for(own: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ended(tmp_path / "second") as folder:
        start = standby._start

        def start_and_die(cluster: Cluster) -> None:
            start(cluster)
            cluster.halt("immediate")

        monkeypatch.setattr(standby, "_start", start_and_die)
        with pytest.raises(BackupFailed, match="has ended"):
            asyncio.run(standby.create(source_of(own), folder))

        assert asked(own, WAITS_FOR) == ""
        assert list(folder.iterdir()) == []


@pytest.mark.proof
def test_an_old_server_that_lets_nobody_in_is_alive_and_nothing_is_promoted_beside_it(
    own: Server, tmp_path: Path
) -> None:
    with ended(tmp_path / "second") as folder:
        asyncio.run(standby.create(source_of(own), folder, synchronous=False))
        rules = own.cluster.pgdata / "pg_hba.conf"
        rules.write_text(f"local all all reject\n{rules.read_text()}")
        own.cluster.command.run("pg_ctl", "reload", "--pgdata", str(own.cluster.pgdata))
        until(lambda: refusal(own) is not None)
        assert "rejects connection" in str(refusal(own))

        with pytest.raises(Conflict, match="two servers would take commits"):
            asyncio.run(standby.promote(folder))

        kill_server(own)
        asyncio.run(standby.promote(folder))


def refusal(server: Server) -> str | None:
    """What a server says to who knocks; None: it lets them in."""
    try:
        psycopg.connect(server.admin_url).close()
    except psycopg.OperationalError as error:
        return str(error)
    return None


def test_what_cannot_be_is_said_before_anything_is_copied(own: Server, tmp_path: Path) -> None:
    asked(own, "alter system set synchronous_standby_names = 'elsewhere'")
    asked(own, "select pg_reload_conf()")
    until(lambda: asked(own, WAITS_FOR) == "elsewhere")

    with pytest.raises(Conflict, match="commits wait for elsewhere already"):
        asyncio.run(standby.create(source_of(own), tmp_path / "second"))
    with pytest.raises(InvalidInput, match="cannot name a standby"):
        asyncio.run(standby.create(source_of(own), tmp_path / "second", "Bad-Name"))
    with pytest.raises(NotFound, match="has no database"):
        asyncio.run(standby.promote(tmp_path / "nowhere"))

    assert asked(own, "select count(*) from pg_replication_slots") == 0
    assert not (tmp_path / "second" / "postgres").exists()


@pytest.mark.slow
@needs("linux", here=sys.platform == "linux", reason="only Linux lets a process adopt orphans")
def test_the_zombie_of_a_killed_server_does_not_keep_its_folder_locked(seed: Path, tmp_path: Path) -> None:
    """As below a supervisor that reaps late: the process id of the lock file is still there."""
    with adopting(), copied(seed) as own, ended(tmp_path / "second") as folder:
        asyncio.run(standby.create(source_of(own), folder))
        assert own.pid is not None
        postmaster = psutil.Process(own.pid)
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        until(lambda: postmaster.status() == psutil.STATUS_ZOMBIE)
        try:
            asyncio.run(standby.promote(folder))
            with embedded.start(folder) as server:
                asyncio.run(standby.rejoin(source_of(server), own.cluster.data_dir))
                assert postmaster.status() == psutil.STATUS_ZOMBIE
                assert asked(server, "select sync_state from pg_stat_replication") == "sync"
                own.cluster.halt("immediate")
        finally:
            psutil.wait_procs(family)


@pytest.mark.proof
@needs("postgresql-15", here=(OLDEST / "postgres").exists(), reason="PostgreSQL 15 is not installed")
def test_a_server_of_ones_own_gets_a_standby_which_is_promoted_and_the_old_one_rejoins(tmp_path: Path) -> None:
    """Two machines, with what `initdb` makes: no settings and no password of ours anywhere."""
    first, second = machine(tmp_path / "first"), machine(tmp_path / "second")
    folder = tmp_path / "second" / "copy"
    with plain_server(OLDEST, tmp_path / "first") as own, ended(folder):
        made = asyncio.run(standby.create(asyncio.run(servers.source(first)), folder))
        assert (made.started, made.synchronous) == (True, True)
        assert at(first, "select sync_state from pg_stat_replication") == "sync"
        at(first, "create table kept as select 7 as n")
        own.halt("immediate")

        promoted = asyncio.run(standby.promote(folder))
        assert not promoted.ours
        assert at(second, "select n from kept") == 7
        at(second, "insert into kept values (8)")

        new = asyncio.run(servers.source(second))
        again = asyncio.run(standby.rejoin(new, own.pgdata))  # the data directory itself, as `initdb` was given it
        assert (again.folder, again.started, again.synchronous) == (own.pgdata, True, True)
        assert at(second, "select sync_state from pg_stat_replication") == "sync"
        at(second, "insert into kept values (9)")
        until(lambda: at(first, "select sum(n) from kept") == 7 + 8 + 9)

        promoted.halt("immediate")
        asyncio.run(standby.promote(own.pgdata))  # and back
        assert at(first, "select pg_is_in_recovery()") is False
        assert at(first, WAITS_FOR) == ""


@pytest.mark.proof
@needs("postgresql-15", here=(OLDEST / "postgres").exists(), reason="PostgreSQL 15 is not installed")
def test_a_standby_that_cannot_start_leaves_nothing_behind_and_is_made_once_it_can(tmp_path: Path) -> None:
    first = machine(tmp_path / "first")
    folder = tmp_path / "second" / "copy"
    folder.mkdir(parents=True)
    (tmp_path / "second" / HERE).write_text("shared_buffers = 'much'\n")
    (tmp_path / "second" / HERE).chmod(0o644)
    with plain_server(OLDEST, tmp_path / "first"), ended(folder), quick_to_give_up():
        source = asyncio.run(servers.source(first))
        with pytest.raises(EmbeddedError, match="shared_buffers") as failed:
            asyncio.run(standby.create(source, folder))

        assert "is empty again, no log is kept for it" in str(failed.value)
        assert list(folder.iterdir()) == []
        assert at(first, "select count(*) from pg_replication_slots") == 0
        shutil.rmtree(tmp_path / "second")
        machine(tmp_path / "second")
        assert asyncio.run(standby.create(source, folder)).synchronous


@contextmanager
def quick_to_give_up() -> Iterator[None]:
    """What is waited for here is a process that a killed server left: there is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standby, "LEFTOVER_SECONDS", 0.0)
        yield


def at(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True, client_encoding="utf8") as conn:
        cursor = conn.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


@contextmanager
def adopting() -> Iterator[None]:
    """Let what is started in the block be ours when its own parent ends: nobody else reaps it."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

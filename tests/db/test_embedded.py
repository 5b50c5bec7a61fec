import asyncio
import os
import pwd
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from ostinato._core.base.errors import EmbeddedError
from ostinato._core.db import binaries, cluster, embedded
from ostinato._core.db.cluster import Cluster
from ostinato._core.db.embedded import Server
from ostinato._core.db.osuser import OsUser, let_in
from ostinato._core.engine.schema import install
from tests.needs import lacking, needs
from tests.waiting import until

ROOT = os.geteuid() == 0


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    yield folder
    if (folder / "postgres" / "PG_VERSION").exists():
        (folder / "keep").unlink(missing_ok=True)
        pid = cluster.Cluster.at(folder).pid()
        assert pid is None, "a test left a server behind"


class Holder(NamedTuple):
    """A process that uses the server; see holder.py."""

    process: subprocess.Popen[str]
    owned: bool
    server_pid: int

    def leave(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


def launch(data_dir: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("holder.py")), str(data_dir), *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ready(process: subprocess.Popen[str]) -> Holder:
    assert process.stdout is not None
    owned, pid = process.stdout.readline().split()
    return Holder(process, owned == "1", int(pid))


@contextmanager
def holding(data_dir: Path, *options: str) -> Iterator[Holder]:
    with launch(data_dir, *options) as process:
        try:
            yield ready(process)
        finally:
            process.kill()


def query(url: str, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(text)
        return cursor.fetchall() if cursor.description else []


def setting(server: Server, name: str) -> object:
    return query(server.admin_url, f"show {name}")[0][0]


def test_durability_is_untouched(server: Server) -> None:
    for name in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
        assert setting(server, name) == "on"


def test_it_is_tuned_and_defends_itself(server: Server) -> None:
    assert setting(server, "jit") == "off"
    assert setting(server, "max_connections") == "200"
    assert setting(server, "max_wal_size") == "2GB"
    assert setting(server, "max_slot_wal_keep_size") == "16GB"
    assert setting(server, "idle_in_transaction_session_timeout") == "30s"
    assert setting(server, "client_connection_check_interval") == "5s"
    size = query(server.admin_url, "select pg_size_bytes(current_setting('shared_buffers'))")[0][0]
    assert isinstance(size, int)
    assert 128 * 2**20 <= size <= 2**30


def test_text_is_utf8_and_sorts_by_code_point(server: Server) -> None:
    encoding = "select pg_encoding_to_char(encoding) from pg_database where datname = 'ostinato'"

    assert query(server.admin_url, encoding) == [("UTF8",)]
    assert query(server.admin_url, "select 'Z' < 'a', lower('É')") == [(True, "é")]


def test_nothing_listens_on_the_network(server: Server) -> None:
    assert setting(server, "listen_addresses") == ""
    assert not psutil.Process(server.pid).net_connections("inet")


def test_each_role_has_its_address_and_none_is_more_than_it_should(server: Server) -> None:
    urls = (server.owner_url, server.worker_url, server.tenant_url, server.urls().api)
    found = [
        query(
            url,
            "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles"
            " where rolname = current_user",
        )
        for url in urls
    ]

    plain = (False, False, False, False)
    assert found == [[(f"ostinato_{role}", *plain)] for role in ("owner", "worker", "tenant", "api")]


def test_only_the_owner_makes_tables_in_its_database(server: Server) -> None:
    for url in (server.worker_url, server.tenant_url):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            query(url, "create table mine (id int)")


def test_the_socket_is_closed_to_others(server: Server) -> None:
    folder = server.cluster.socket_dir()
    assert folder is not None

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@needs("root", here=ROOT, reason="needs root to become somebody else")
def test_another_user_of_the_machine_cannot_log_in(server: Server) -> None:
    entry = pwd.getpwnam("nobody")
    folder = server.cluster.socket_dir()
    assert folder is not None
    opened = (folder, folder / ".s.PGSQL.5432")
    for path in opened:  # as if somebody had opened them
        path.chmod(0o777)
    let_in(OsUser("nobody", entry.pw_uid, entry.pw_gid), folder)

    try:
        tried = subprocess.run(
            [server.psql, server.worker_url, "-c", "select 1"],
            user=entry.pw_uid,
            capture_output=True,
            text=True,
            check=False,
        )
    except PermissionError:
        lacking("root", "psql is out of reach for another user")
    finally:
        for path in opened:
            path.chmod(0o700)

    assert tried.returncode != 0
    assert "Peer authentication failed" in tried.stderr


def test_no_user_of_the_machine_is_the_superuser_without_its_password(server: Server) -> None:
    """A decoder that a document took over runs as our user, and may have reached the socket."""
    folder = server.cluster.socket_dir()

    for who in (None, server.cluster.user.uid):  # the one who started it, and the server's own
        tried = subprocess.run(
            [server.psql, f"host={folder} user=postgres dbname=ostinato", "--no-password"],
            input="copy (select 1) to program 'true'",
            user=who if ROOT else None,
            env={"HOME": "/nonexistent"},
            capture_output=True,
            text=True,
            check=False,
        )

        assert tried.returncode != 0
        assert "no password supplied" in tried.stderr
    assert "postgres\n" not in (server.cluster.pgdata / "pg_ident.conf").read_text(), (
        "nor by the map, if the rules change"
    )


def test_the_password_of_the_superuser_is_for_our_user_only(server: Server) -> None:
    info = (server.cluster.data_dir / "superuser.pgpass").stat()

    assert (info.st_uid, stat.S_IMODE(info.st_mode)) == (os.geteuid(), 0o600)
    assert query(server.admin_url, "show is_superuser") == [("on",)]
    assert "password" not in server.admin_url


def test_a_password_that_was_lost_is_replaced_at_the_next_start(data_dir: Path) -> None:
    with embedded.start(data_dir):
        pass
    path = data_dir / "superuser.pgpass"
    before = path.read_text()
    path.unlink()

    with embedded.start(data_dir) as server:
        assert query(server.admin_url, "select current_user") == [("postgres",)]
    assert path.read_text() != before


@pytest.mark.slow
def test_a_folder_from_before_the_api_had_a_role_gets_it_at_the_next_start(data_dir: Path) -> None:
    with embedded.start(data_dir) as server:
        asyncio.run(install(server.owner_url))
        with psycopg.connect(server.admin_url, autocommit=True) as conn:
            conn.execute("drop owned by ostinato_api")
            conn.execute("revoke connect on database ostinato from ostinato_api")
            conn.execute("update ostinato_data.migration set checksum = 'of an older release' where version = 0")
        with psycopg.connect(server.admin_url.replace("/ostinato?", "/postgres?"), autocommit=True) as conn:
            conn.execute("drop owned by ostinato_api")
            conn.execute("drop role ostinato_api")

    with embedded.start(data_dir) as server:
        asyncio.run(install(server.owner_url))
        with psycopg.connect(server.urls().api) as conn:
            found = conn.execute("select count(*) > 0 from ostinato.observe_declared()").fetchone()
            conn.execute("select ostinato.enter_tenant('acme')")

    assert found == (True,)


def test_a_password_of_another_database_is_named_with_the_way_out(data_dir: Path) -> None:
    with embedded.start(data_dir):
        path = data_dir / "superuser.pgpass"
        before = path.read_text()
        path.write_text("*:*:*:postgres:wrong\n")

        with pytest.raises(EmbeddedError, match="another password") as refused:
            embedded.attach(data_dir)

        path.write_text(before)
    assert "delete that file" in str(refused.value.hint)


def test_several_databases_live_on_one_server(server: Server) -> None:
    one = server.create_database("one")
    query(one.owner, "create table t as select 7 as n")

    two = server.create_database("two", template="one")

    assert query(two.owner, "select n from t") == [(7,)]
    server.drop_database("one")
    server.drop_database("two")


def test_the_first_starts_it_and_the_last_stops_it(data_dir: Path) -> None:
    first = embedded.start(data_dir)
    second = embedded.start(data_dir)
    pid = first.pid

    first.stop()
    assert second.pid == pid
    query(second.worker_url, "select 1")
    second.stop()

    assert first.owned
    assert not second.owned
    assert second.pid is None


def test_a_second_process_attaches_and_may_be_the_last(data_dir: Path) -> None:
    server = embedded.start(data_dir)

    with holding(data_dir) as other:
        assert not other.owned
        assert other.server_pid == server.pid
        server.stop()
        assert server.pid == other.server_pid
        other.leave()

    assert server.pid is None


def test_a_process_that_was_killed_does_not_keep_it_running(data_dir: Path) -> None:
    with holding(data_dir) as other, embedded.start(data_dir) as server:
        other.process.kill()
        other.process.wait()
        assert server.pid == other.server_pid

    assert server.pid is None


def test_a_killed_user_leaves_a_server_that_the_next_one_takes_over(data_dir: Path) -> None:
    with holding(data_dir) as other:
        assert other.owned
        other.process.kill()
        other.process.wait()

    with embedded.start(data_dir) as server:
        assert not server.owned
        assert server.pid == other.server_pid

    assert server.pid is None


def test_many_processes_may_start_at_once(data_dir: Path) -> None:
    processes = [launch(data_dir) for _ in range(4)]  # none has answered before all run

    holders = [ready(process) for process in processes]

    assert len({holder.server_pid for holder in holders}) == 1
    assert [holder.owned for holder in holders].count(True) == 1
    for holder in holders:
        holder.leave()


def test_a_server_that_is_to_be_kept_outlives_its_users(data_dir: Path) -> None:
    embedded.start(data_dir, keep=True).stop()

    server = embedded.attach(data_dir)
    pid = server.pid
    server.stop()
    assert server.pid == pid

    embedded.attach(data_dir).stop(force=True)
    assert server.pid is None


def test_attaching_to_nothing_is_an_error(data_dir: Path) -> None:
    with pytest.raises(EmbeddedError, match="No embedded database runs"):
        embedded.attach(data_dir)


def test_what_was_committed_survives_a_killed_server(data_dir: Path) -> None:
    server = embedded.start(data_dir)
    query(server.owner_url, "create table t as select 7 as n")
    pid = server.pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)
    until(lambda: server.pid is None)

    with embedded.start(data_dir) as again:
        assert again.owned
        assert again.pid != pid
        assert query(again.owner_url, "select n from t") == [(7,)]
    server.stop()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_keeps_what_was_committed(data_dir: Path, mode: str) -> None:
    with embedded.start(data_dir) as server:
        query(server.owner_url, "create table t as select 7 as n")
        pid = server.pid

        server.restart(mode)  # type: ignore[arg-type]

        assert server.pid != pid
        assert query(server.owner_url, "select n from t") == [(7,)]


def test_a_server_that_died_is_revived_and_one_that_somebody_started_is_left_alone(data_dir: Path) -> None:
    with embedded.start(data_dir) as server:
        query(server.owner_url, "create table t as select 7 as n")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: server.pid is None)

        server.revive()
        revived = server.pid
        server.revive()

        assert revived is not None
        assert server.pid == revived
        assert query(server.owner_url, "select n from t") == [(7,)]


def test_a_restart_of_a_server_that_ends_by_itself_starts_it(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is seen alive, and is gone when it is told to stop."""
    with embedded.start(data_dir) as server:
        halt = Cluster.halt

        def twice(found: Cluster, mode: str) -> None:
            halt(found, mode)
            halt(found, mode)

        monkeypatch.setattr(Cluster, "halt", twice)
        server.restart()
        monkeypatch.undo()

        assert query(server.owner_url, "select 7") == [(7,)]


def test_a_process_id_that_now_belongs_to_another_is_not_taken_for_the_server(data_dir: Path) -> None:
    with embedded.start(data_dir) as server:
        lines = server.cluster.pid_file()
    lines[0] = str(os.getpid())
    (data_dir / "postgres" / "postmaster.pid").write_text("\n".join(lines))

    with embedded.start(data_dir) as server:
        assert server.owned


def test_a_stale_socket_is_no_hindrance(data_dir: Path) -> None:
    embedded.start(data_dir).stop()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(data_dir / "run" / ".s.PGSQL.5432"))
    (data_dir / "run" / ".s.PGSQL.5432.lock").write_text(f"{os.getpid()}\n")

    with embedded.start(data_dir) as server:
        assert server.owned


def test_a_cluster_that_was_never_completed_is_made_again(data_dir: Path) -> None:
    half = data_dir / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    with embedded.start(data_dir) as server:
        query(server.worker_url, "select 1")

    assert not half.exists()


def test_settings_are_written_anew_at_each_start(data_dir: Path) -> None:
    embedded.start(data_dir).stop()
    conf = data_dir / "postgres" / "ostinato.conf"
    conf.write_text("max_connections = 7\n")

    with embedded.start(data_dir) as server:
        assert setting(server, "max_connections") == "200"


def test_a_path_too_long_for_a_socket_still_works(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 25)

    with embedded.start(data_dir) as server:
        folder = server.cluster.socket_dir()
        assert folder is not None
        assert not folder.is_relative_to(data_dir)
        query(server.worker_url, "select 1")

    assert not folder.exists()


def test_a_path_too_long_for_postgresql_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match="at most"):
        embedded.start(tmp_path.joinpath(*["long" * 25] * 9))


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(EmbeddedError, match="is not a folder"):
        embedded.start(file)
    with pytest.raises(EmbeddedError, match="--data-dir"):
        embedded.start(file / "below")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    closed = Path("/proc/ostinato")  # not even root can
    if not ROOT:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)

    with pytest.raises(EmbeddedError, match="cannot be written") as caught:
        embedded.start(closed)

    assert "--data-dir" in str(caught.value)


def test_another_major_version_is_named_with_the_way_out(data_dir: Path) -> None:
    embedded.start(data_dir).stop()
    (data_dir / "postgres" / "PG_VERSION").write_text("17\n")

    with pytest.raises(EmbeddedError, match=r"PostgreSQL 17.*PostgreSQL 18") as caught:
        embedded.start(data_dir)

    assert "ostinato db upgrade" in str(caught.value)
    (data_dir / "postgres" / "PG_VERSION").write_text("18\n")


def test_something_else_in_its_place_is_left_alone(data_dir: Path) -> None:
    precious = data_dir / "postgres" / "precious"
    precious.mkdir(parents=True)

    with pytest.raises(EmbeddedError, match="is not a PostgreSQL database"):
        embedded.start(data_dir)

    assert precious.exists()


def test_a_missing_wheel_points_to_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(EmbeddedError, match="OSTINATO_DATABASE_URL"):
        binaries.embedded()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not ROOT or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        lacking("disk", "needs the right to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_too_little_room_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "60m") as disk:
        with pytest.raises(EmbeddedError, match="full: 60 MB free"):
            embedded.start(disk / "data")

        assert not (disk / "data" / "postgres").exists()


def test_a_disk_that_fills_up_while_it_is_made_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ROOM_TO_INIT", 0)
    with small_disk(tmp_path / "disk", "25m") as disk:
        with pytest.raises(EmbeddedError, match="the disk is full"):
            embedded.start(disk / "data")

        assert not (disk / "data" / "postgres").exists()


def test_a_full_disk_is_recognised_in_what_postgresql_says(server: Server) -> None:
    error = server.cluster.explain("started", 'could not write "x": No space left on device')

    assert "the disk is full" in error.message
    assert "nothing that was committed is lost" in str(error)


def test_a_server_that_cannot_start_says_what_postgresql_said(data_dir: Path) -> None:
    embedded.start(data_dir).stop()
    auto = data_dir / "postgres" / "postgresql.auto.conf"
    text = auto.read_text()
    auto.write_text("no_such_setting = 1\n")

    with pytest.raises(EmbeddedError, match="no_such_setting") as caught:
        embedded.start(data_dir)

    assert str(data_dir / "postgres.log") in str(caught.value)
    auto.write_text(text)


def test_a_role_that_was_granted_the_right_logs_in_to_the_embedded_server_and_no_other_does(server: Server) -> None:
    urls = server.urls()
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute("create role web login in role ostinato_worker")
        admin.execute("create role other login")

    assert query(urls.worker.replace("ostinato_worker", "web"), "select current_user") == [("web",)]
    with pytest.raises(psycopg.OperationalError, match="authentication failed"):
        psycopg.connect(urls.worker.replace("ostinato_worker", "other"))

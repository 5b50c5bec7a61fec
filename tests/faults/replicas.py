"""A primary and its standby, each with its own folder and socket, and a failover between them."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import psycopg

from ostinato._core.db import embedded, migrate
from ostinato._core.db.cluster import Cluster, CommandFailed
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.superuser import SUPERUSER, password_file
from ostinato._core.engine.schema import ENGINE
from ostinato.lab.torture.pair import kill_family
from tests.proxy import SOCKET, Proxy, between
from tests.waiting import until

STANDBY = "second"


def make_seed(folder: Path) -> None:
    """A stopped server with the engine's schema: copies of it take a tenth of making one."""
    with embedded.start(folder) as server:
        asyncio.run(migrate.migrate(server.urls().admin, [ENGINE]))
        with psycopg.connect(server.urls().admin, autocommit=True) as conn:
            conn.execute("select ostinato.upkeep_partitions(14)")


@contextmanager
def copied(seed: Path, **settings: str) -> Iterator[Server]:
    """A server of its own in a fresh copy, which may be killed and lost."""
    with tempfile.TemporaryDirectory(prefix="ostinato-own-") as name:
        folder = Path(name)
        for part in ("postgres", "superuser.pgpass"):
            copy(seed / part, folder / part)
        configure(folder / "postgres", **settings)
        server = embedded.start(folder)
        try:
            yield server
        finally:
            with suppress(CommandFailed):
                server.stop(force=True)


def configure(pgdata: Path, **settings: str) -> None:
    """Set something as ALTER SYSTEM does, for the next start."""
    with (pgdata / "postgresql.auto.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())


def copy(what: Path, to: Path) -> None:
    """Copy a file or a folder with its owner, which is another user if root runs the tests."""
    if what.is_dir():
        shutil.copytree(what, to, symlinks=True)
    else:
        shutil.copy2(what, to)
    for found in [to, *to.rglob("*")]:
        owner = (what / found.relative_to(to)).lstat()
        os.chown(found, owner.st_uid, owner.st_gid, follow_symlinks=False)
    to.chmod(what.stat().st_mode)


def kill_server(server: Server) -> None:
    """Kill all processes of a server at once, as the death of its machine does."""
    assert server.pid is not None
    kill_family(server.pid)


def connection_to(server: Server, host: Path | None = None) -> str:
    """How PostgreSQL's own programs reach a server, by its socket or by another folder with one."""
    password = password_file(server.cluster.data_dir).read_text().strip().rpartition(":")[2]
    return f"host={host or server.cluster.socket_dir()} user={SUPERUSER} password={password} dbname=postgres"


@contextmanager
def way_to(server: Server) -> Iterator[Proxy]:
    """A proxy in front of a server that its standby, which is another user's, may use too."""
    user = server.cluster.user
    with tempfile.TemporaryDirectory(prefix="ostinato-way-") as name:
        os.chown(name, user.uid, user.gid)
        with between(server.urls().worker, Path(name)) as proxy:
            Path(name, SOCKET).chmod(0o777)  # in a folder that is closed to others
            yield proxy


class Standby:
    """A server that streams from another one, until it is promoted."""

    def __init__(self, primary: Server, folder: Path, host: Path | None = None) -> None:
        self.cluster = cluster = Cluster.at(folder)
        self._primary = primary
        cluster.pgdata.mkdir(mode=0o700)
        os.chown(cluster.pgdata, cluster.user.uid, cluster.user.gid)
        self.cluster.command.run(
            "pg_basebackup",
            f"--dbname={connection_to(primary)} application_name={STANDBY}",
            *("--pgdata", str(cluster.pgdata), "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"),
        )
        configure(cluster.pgdata, primary_conninfo=f"{connection_to(primary, host)} application_name={STANDBY}")
        configure(cluster.pgdata, wal_receiver_status_interval="1s", wal_retrieve_retry_interval="200ms")
        shutil.copy2(password_file(primary.cluster.data_dir), password_file(folder))
        cluster.configure()
        cluster.launch()

    def url(self, url: str) -> str:
        """The URL of the primary's database, on this server."""
        ours, theirs = self.cluster.socket_dir(), self._primary_socket(url)
        return url.replace(theirs, quote(str(ours), safe=""))

    def after(self, url: str) -> str:
        """A URL with both: first the host that it names, then this one."""
        theirs = self._primary_socket(url)
        return url.replace(f"host={theirs}", f"host={theirs},{quote(str(self.cluster.socket_dir()), safe='')}")

    def urls(self, urls: Urls) -> Urls:
        """The addresses of a database, on this server."""
        return Urls(
            admin=self.url(urls.admin),
            owner=self.url(urls.owner),
            worker=self.url(urls.worker),
            tenant=self.url(urls.tenant),
            api=self.url(urls.api),
        )

    def promote(self) -> None:
        """Make it the primary, as whoever watches over the servers does."""
        self.cluster.command.run("pg_ctl", "promote", "--wait", "--silent", "--pgdata", str(self.cluster.pgdata))

    def stop(self) -> None:
        with suppress(CommandFailed):
            self.cluster.halt("immediate")

    @staticmethod
    def _primary_socket(url: str) -> str:
        return url.partition("host=")[2].partition("&")[0]


class Replicated:
    """A primary with a standby; as a context manager, neither outlives the block."""

    def __init__(self, primary: Server, host: Path | None = None) -> None:
        self.primary = primary
        self._folder = tempfile.TemporaryDirectory(prefix="ostinato-standby-")
        self.standby = Standby(primary, Path(self._folder.name), host)
        self.urls = primary.urls()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.standby.stop()
        self._folder.cleanup()

    @property
    def both(self) -> str:
        """What workers are told: both hosts."""
        return self.standby.after(self.urls.worker)

    def wait_for_standby(self) -> None:
        """Let every commit wait until the standby has it, and wait until it does."""
        self.set("synchronous_standby_names", STANDBY)
        until(lambda: self.ask("select sync_state from pg_stat_replication") == [("sync",)])

    def set(self, name: str, value: str) -> None:
        with psycopg.connect(self.urls.admin, autocommit=True) as conn:
            conn.execute("set synchronous_commit = local")
            conn.execute(f"alter system set {name} = '{value}'".encode())
            conn.execute("select pg_reload_conf()")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.urls.admin, autocommit=True) as conn:
            return conn.execute(statement.encode()).fetchall()

"""The embedded PostgreSQL: started by the first process that needs it, stopped by the last.

Locks show which processes still need it, never a list of process ids: every process that uses
the server holds a shared lock on `<data_dir>/users`, and the kernel drops the lock of a process
that dies, however it dies. A process that leaves and then gets that lock exclusively was the last.
Starting, attaching and stopping happen one at a time, under `<data_dir>/lock`.

A server whose only user was killed goes on running; the next process attaches to it, and stops
it when it leaves. A killed server is started again and recovers by itself.
"""

import atexit
import contextlib
import fcntl
import io
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from ostinato._core.base.errors import EmbeddedError
from ostinato._core.db import cluster as clusters
from ostinato._core.db.cluster import Cluster, CommandFailed
from ostinato._core.db.serverconf import ROLES
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.superuser import SUPERUSER, password_file

DATABASE = "ostinato"
LOCK_SECONDS = clusters.START_SECONDS + clusters.STOP_SECONDS
SILENT_SECONDS = 30  # a server that says nothing at all for this long is stuck
UPGRADED = "done"  # in the folder of an upgrade that is complete
LEFTOVER_SECONDS = 15  # how long the processes of a killed server may take to go

# What PostgreSQL says while something of a killed server is still in the way.
LEFTOVERS = ("pre-existing shared memory block", "already exists", "Address already in use")


@dataclass(frozen=True, slots=True)
class Urls:
    """The addresses of one database, one per role."""

    admin: str
    owner: str
    worker: str
    tenant: str
    api: str


class Server:
    """A running embedded server, and this process's share in it. Made by `start` and `attach`."""

    def __init__(self, cluster: Cluster, users: io.BufferedRandom, *, owned: bool) -> None:
        self.cluster = cluster
        self.owned = owned
        """Whether this call started the server; False means that it was running already."""
        self._users = users
        self._pid = os.getpid()
        atexit.register(self.stop)

    @property
    def admin_url(self) -> str:
        """The address of the database `ostinato` for the superuser."""
        return self.urls().admin

    @property
    def owner_url(self) -> str:
        """The address for the owner of the schema, who migrates."""
        return self.urls().owner

    @property
    def worker_url(self) -> str:
        """The address for workers."""
        return self.urls().worker

    @property
    def tenant_url(self) -> str:
        """The address for tenants, who see their own rows only."""
        return self.urls().tenant

    @property
    def log_path(self) -> Path:
        """Where the server writes its log."""
        return self.cluster.log_path

    @property
    def pid(self) -> int | None:
        """The process id of the server, None when it is dead."""
        return self.cluster.pid()

    @property
    def psql(self) -> Path:
        """The program `psql` that fits the server."""
        return self.cluster.folder_of_binaries / "psql"

    @property
    def version(self) -> int:
        """The server's major version."""
        return self.cluster.major

    def urls(self, database: str = DATABASE) -> Urls:
        """Return the addresses of one of the server's databases."""
        roles = (SUPERUSER, *ROLES)
        return Urls(*(_url(self.cluster, role, database) for role in roles))

    def create_database(self, name: str, *, template: str = "template1") -> Urls:
        """Create a database, empty or as a copy of another that has no connections."""
        with _admin(self.cluster) as conn:
            _create_database(conn, name, template)
        return self.urls(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, and end the connections to it."""
        with _admin(self.cluster) as conn:
            conn.execute(_named("drop_database", name=sql.Identifier(name)))

    def has_database(self, name: str) -> bool:
        """Return whether a database of that name exists."""
        with _admin(self.cluster) as conn:
            return _exists(conn, name)

    def forget_durability(self) -> None:
        """Wait for no disk any more: for a server of tests, whose data is worth nothing after a crash."""
        with _admin(self.cluster) as conn:
            for block in ("forget_fsync", "forget_pages", "reload_settings"):
                conn.execute(_named(block))

    def rename_database(self, name: str, to: str) -> bool:
        """Rename a database that has no connections; False if the new name is taken."""
        parts = {"name": sql.Identifier(name), "to": sql.Identifier(to)}
        with _admin(self.cluster) as conn:
            try:
                conn.execute(_named("rename_database", **parts))
            except psycopg.errors.DuplicateDatabase:
                return False
        return True

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server and start it again; `immediate` is a crash with recovery."""
        with locked(self.cluster.data_dir):
            if self.cluster.pid() is not None:
                try:
                    self.cluster.halt(mode)
                except CommandFailed:
                    if self.cluster.pid() is not None:
                        raise  # otherwise it ended by itself while it was asked to
            _ensure_running(self.cluster)

    def revive(self) -> None:
        """Start the server if no other process has started it meanwhile."""
        with locked(self.cluster.data_dir):
            _ensure_running(self.cluster)

    def stop(self, *, force: bool = False) -> None:
        """Give up this process's share; the last process to do so stops the server.

        A server that was started with `keep` stays; `force` stops it even if others use it.
        """
        atexit.unregister(self.stop)
        if self._users.closed or os.getpid() != self._pid:
            return
        with locked(self.cluster.data_dir):
            fcntl.flock(self._users, fcntl.LOCK_UN)
            last = _try_lock(self._users)
            self._users.close()
            keep = self.cluster.data_dir / "keep"
            if force or (last and not keep.exists()):
                keep.unlink(missing_ok=True)
                _halt(self.cluster)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(data_dir: str | Path, *, keep: bool = False, binaries: Path | None = None) -> Server:
    """Start the embedded server of a folder, or attach to it when it runs.

    With `keep` it runs on when the last process has left. `binaries` is the folder of another
    PostgreSQL.
    """
    folder = clusters.usable_folder(Path(data_dir))
    with locked(folder):
        cluster = Cluster.at(folder, binaries)
        if not cluster.pgdata.exists() and not adopt_upgraded(cluster):
            cluster.init()
        cluster.check_version()
        users = (folder / "users").open("ab+")
        try:
            fcntl.flock(users, fcntl.LOCK_SH)
            owned = _ensure_running(cluster)
            _prepare(cluster)
        except BaseException:
            users.close()
            raise
        if keep:
            (folder / "keep").touch()
        elif owned:
            (folder / "keep").unlink(missing_ok=True)
    return Server(cluster, users, owned=owned)


def attach(data_dir: str | Path) -> Server:
    """Attach to the running server of a folder; raise EmbeddedError when none runs."""
    folder = Path(data_dir).expanduser().resolve()
    if (folder / "postgres" / "postmaster.pid").exists():
        server = start(folder)
        if not server.owned:
            return server
        server.stop()  # it was only the leftover of a crash
    raise EmbeddedError(
        f"No embedded database runs in {folder}.",
        hint="Start it with `ostinato up`, or name its folder with --data-dir.",
        folder=str(folder),
    )


def _ensure_running(cluster: Cluster) -> bool:
    """Start the server unless it runs, and wait for it. Returns whether it was started."""
    give_up = time.monotonic() + LEFTOVER_SECONDS
    while True:
        if (cluster.answers() or cluster.pid() is not None) and _comes_up(cluster):
            return False
        cluster.forget_dead()
        cluster.configure()
        log_size = cluster.log_size()
        try:
            cluster.launch()
        except (CommandFailed, subprocess.TimeoutExpired) as error:
            said = f"{error}\n{cluster.log_tail(since=log_size)}".strip()
            leftover = any(text in said for text in LEFTOVERS)
            if not leftover or time.monotonic() > give_up:
                raise cluster.explain("started", said) from error
            _pause()
        else:
            return True


def _comes_up(cluster: Cluster) -> bool:
    """Wait for a running server to accept connections. False means that it ended instead."""
    give_up = time.monotonic() + clusters.START_SECONDS
    last_sign = time.monotonic()
    while True:
        try:
            _admin(cluster).close()
        except psycopg.OperationalError as error:
            said = str(error)
        else:
            return True
        _check_let_in(cluster, said)
        if not cluster.answers() and cluster.pid() is None:
            return False
        if "the database system is" in said:  # starting up, shutting down, in recovery
            last_sign = time.monotonic()
        if time.monotonic() > min(give_up, last_sign + SILENT_SECONDS):
            raise EmbeddedError(
                f"The server in {cluster.data_dir} (process {cluster.pid()}) does not answer.",
                hint=f"See {cluster.log_path}; end the process, and start again.",
                folder=str(cluster.data_dir),
                pid=cluster.pid(),
            )
        _pause()


def _check_let_in(cluster: Cluster, said: str) -> None:
    """Raise an error when a server that runs refuses our user, as what it said shows."""
    folder = cluster.data_dir
    if "password authentication failed" in said:
        raise EmbeddedError(
            f"The server in {folder} has another password than {password_file(folder).name}.",
            hint="Stop the server, delete that file, and start again: a new password is set.",
            folder=str(folder),
        )
    if "authentication failed" in said or "no password supplied" in said:
        raise EmbeddedError(
            f"The server in {folder} was started by another user.",
            hint="Use it as that user, or choose another folder with --data-dir.",
            folder=str(folder),
        )


def _prepare(cluster: Cluster) -> None:
    """Create the roles and the database that the server needs; later calls find them."""
    with _admin(cluster) as conn:
        conn.execute(statement("ostinato._core.db", "sql/roles.sql", "create_roles"))
        if not _exists(conn, DATABASE):
            _create_database(conn, DATABASE, "template1")


def _exists(conn: psycopg.Connection, name: str) -> bool:
    exists = statement("ostinato._core.db", "sql/embedded.sql", "database_exists")
    return conn.execute(exists, {"name": name}).fetchone() == (True,)


def _create_database(conn: psycopg.Connection, name: str, template: str) -> None:
    ident = sql.Identifier(name)
    conn.execute(_named("create_database", name=ident, template=sql.Identifier(template)))
    conn.execute(_named("close_database", name=ident))


def _halt(cluster: Cluster) -> None:
    if cluster.pid() is None:
        return
    socket_dir = cluster.socket_dir()
    try:
        cluster.halt("fast")
    except (CommandFailed, subprocess.TimeoutExpired):
        # Committed work is safe either way: the next start recovers it.
        with contextlib.suppress(CommandFailed, subprocess.TimeoutExpired):
            cluster.halt("immediate")
    if socket_dir is not None and not socket_dir.is_relative_to(cluster.data_dir):
        with contextlib.suppress(OSError):
            socket_dir.rmdir()


def _named(block: str, **parts: sql.Composable) -> sql.Composed:
    return sql.SQL(statement("ostinato._core.db", "sql/embedded.sql", block)).format(**parts)


def _admin(cluster: Cluster) -> psycopg.Connection:
    url = _url(cluster, SUPERUSER, "postgres")
    return psycopg.connect(url, autocommit=True, connect_timeout=3)


def _url(cluster: Cluster, role: str, database: str) -> str:
    folder = cluster.socket_dir()
    if folder is None:
        raise EmbeddedError(
            f"The server in {cluster.data_dir} is not running.",
            hint="Start it again; it recovers from a crash by itself.",
            folder=str(cluster.data_dir),
        )
    query = {"host": str(folder)}
    if role == SUPERUSER:
        query["passfile"] = str(password_file(cluster.data_dir))
    return f"postgresql://{role}@/{quote(database, safe='')}?{urlencode(query, quote_via=quote)}"


def adopt_upgraded(cluster: Cluster) -> bool:
    """Give a cluster that an upgrade has completed its name (`upgrade.py`); False if there is none."""
    made = cluster.data_dir / "upgrade"
    if not (made / UPGRADED).exists():
        return False
    (made / "postgres").rename(cluster.pgdata)
    shutil.rmtree(made, ignore_errors=True)
    return True


@contextmanager
def locked(data_dir: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the folder while its server is initialised, started, stopped, upgraded or restored."""
    give_up = time.monotonic() + seconds
    with (data_dir / "lock").open("ab+") as file:
        while not _try_lock(file):
            if time.monotonic() > give_up:
                raise EmbeddedError(
                    f"Another process has been starting, stopping or restoring the server in {data_dir}"
                    f" for {seconds:g} s.",
                    hint="Wait until it has ended, or find it with `ps` and end it; then try again.",
                    folder=str(data_dir),
                )
            _pause()
        yield


def _try_lock(file: io.BufferedRandom) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pause() -> None:
    time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 - spreads attempts, guards nothing

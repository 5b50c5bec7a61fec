"""The one PostgreSQL server of a run, with a fresh database for every system and round."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import LiteralString, Protocol

import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from bench.places import DATABASE, ROOT, sql

SESSIONS = 500
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes")
SHOWN = (
    *DURABILITY,
    "server_version",
    "wal_level",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "max_connections",
    "jit",
)


class UnsafeServerError(RuntimeError):
    """The server would not survive a crash, so its numbers would mean nothing."""


class Embedded(Protocol):
    """What is used of Ostinato's embedded server."""

    admin_url: str
    log_path: Path

    def create_database(self, name: str) -> "Addresses": ...

    def drop_database(self, name: str) -> None: ...

    def restart(self) -> None: ...


class Addresses(Protocol):
    """The addresses of a database, by role; the peers use the administrator's."""

    admin: str


class BenchServer:
    """Databases, settings and counters of a running server."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded
        self._admin = psycopg.connect(embedded.admin_url, autocommit=True)

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A fresh database for the length of the block, by its address."""
        self._embedded.drop_database(name)
        addresses = self._embedded.create_database(name)
        try:
            yield addresses.admin
        finally:
            self._embedded.drop_database(name)

    def settings(self) -> dict[str, str]:
        """What the table must be read with; refuses a server that is not durable."""
        shown = {name: self._one(SQL("show {}").format(Identifier(name))) for name in SHOWN}
        off = [name for name in DURABILITY if shown[name] != "on"]
        if off:
            raise UnsafeServerError(f"Refusing to measure: {', '.join(off)} must be on.")
        return shown

    def checkpoint(self) -> None:
        self._admin.execute("checkpoint")

    def wal_bytes(self) -> int:
        return int(self._one(sql("wal_bytes")))

    @property
    def pid(self) -> int:
        """The process that all others of the server come from."""
        return int(psutil.Process(self._admin.info.backend_pid).ppid())

    @contextmanager
    def counting(self, database: str) -> Iterator[Callable[..., int]]:
        """Count the statements that a database is sent in the block, from the server's log; or those with some text."""
        log_path = self._embedded.log_path
        size = log_path.stat().st_size
        sent = re.compile(rf"@{database} LOG: +(statement|execute)".encode())

        def counted(text: str = "") -> int:
            with log_path.open("rb") as log:
                log.seek(size)
                return sum(1 for line in log.read().splitlines() if sent.search(line) and text.encode() in line)

        self._log_statements("alter system set log_statement = 'all'")
        try:
            yield counted
        finally:
            self._log_statements("alter system reset log_statement")

    def _log_statements(self, setting: LiteralString) -> None:
        self._admin.execute(setting)
        self._admin.execute("select pg_reload_conf()")

    def sessions(self, database: str) -> int:
        return int(self._one(sql("sessions"), [database]))

    def _one(self, query: Composed | bytes, values: list[str] | None = None) -> str:
        row = self._admin.execute(query, values).fetchone()
        return "" if row is None else str(row[0])

    def analyze(self, url: str) -> None:
        """Fresh statistics, so that no system is measured with the plan of an empty table."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("analyze")

    def tidy(self, url: str) -> None:
        """No dead rows and no checkpoint due: every worker idles on the same ground."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")
        self.checkpoint()

    @contextmanager
    def held_snapshot(self, url: str) -> Iterator[None]:
        """A transaction that holds back the horizon of dead rows for the length of the block."""
        with psycopg.connect(url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute("set idle_in_transaction_session_timeout = 0")
            connection.execute(sql("take_snapshot"))
            yield

    def close(self) -> None:
        self._admin.close()


def binaries() -> Path:
    """The folder with pgbench, which comes with the embedded server."""
    folder: Path = import_module("ostinato._core.db.binaries").embedded()
    return folder


@contextmanager
def running(data_dir: Path = DATABASE) -> Iterator[BenchServer]:
    """Starts the embedded server the way Ostinato does; stopped again by its last user."""
    if find_spec("ostinato") is None:
        sys.path.insert(0, str(ROOT / "src"))
    embedded = import_module("ostinato._core.db.embedded")
    with embedded.start(data_dir) as started:
        _make_room(started)
        server = BenchServer(started)
        try:
            yield server
        finally:
            server.close()


def _make_room(started: Embedded) -> None:
    """Sixty-four workers need more sessions than the default leaves; all systems get the same."""
    with psycopg.connect(started.admin_url, autocommit=True) as connection:
        row = connection.execute("show max_connections").fetchone()
        if row is not None and int(row[0]) >= SESSIONS:
            return
        connection.execute(SQL("alter system set max_connections = {}").format(Literal(SESSIONS)))
    started.restart()


def pgbench(
    url: str,
    script: str,
    *,
    limit: float,
    transactions: int = 0,
    seconds: int = 0,
    clients: int = 1,
    variables: dict[str, int] | None = None,
) -> float:
    """Transactions a second of pgbench clients that run `script`, all together."""
    length = ["-t", str(transactions)] if transactions else ["-T", str(seconds)]
    given = [f"-D{name}={value}" for name, value in (variables or {}).items()]
    options = ["-n", "-c", str(clients), "-M", "prepared", *given, *length, "-f", "-"]
    command = [str(binaries() / "pgbench"), *options, url]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=limit, check=False)
    found = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"pgbench failed: {done.stderr.strip()[-500:]}")
    return float(found.group(1))

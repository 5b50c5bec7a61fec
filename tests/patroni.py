"""Three nodes of Patroni with etcd, on the loopback, from the files of deploy/patroni; each node can be killed.

A node is what is on one machine: a member of etcd, Patroni, and the PostgreSQL that Patroni runs. The files are used as
they are; addresses, folders and passwords are replaced, as whoever follows docs/howto/patroni.md does.
"""

import asyncio
import json
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil  # type: ignore[import-untyped]
import psycopg

from ostinato._core.db import migrate
from ostinato._core.db.embedded import Urls
from ostinato._core.db.osuser import OsUser, let_in, myself
from ostinato._core.engine.schema import ENGINE
from ostinato.lab.torture.pair import kill_family
from tests.needs import lacking
from tests.ports import free_ports
from tests.reaper import MARK
from tests.waiting import until

FILES = Path(__file__).parents[1] / "deploy" / "patroni"
NAMES = ("one", "two", "three")
PORTS = ("2379", "2380", "8008", "5432")
DATABASE = "ostinato"

Fault = Literal["host", "crash"]


def binaries() -> Path | None:
    """The newest PostgreSQL of the system: Patroni of Debian knows no newer one than Debian's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@dataclass
class Node:
    """One machine."""

    name: str
    folder: Path
    user: OsUser
    etcd_environ: dict[str, str]
    patroni_environ: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where its PostgreSQL listens."""
        return self.patroni_environ["PATRONI_POSTGRESQL_LISTEN"]

    @property
    def pgdata(self) -> Path:
        return Path(self.patroni_environ["PATRONI_POSTGRESQL_DATA_DIR"])

    def start(self) -> None:
        """Start what is on it; etcd first, because Patroni asks it who is primary."""
        self._run("etcd", ["etcd"], self.etcd_environ)
        self._run("patroni", ["patroni", str(FILES / "patroni.yml")], self.patroni_environ)

    def postmaster(self) -> int | None:
        with suppress(FileNotFoundError, IndexError, ValueError):
            return int((self.pgdata / "postmaster.pid").read_text().split()[0])
        return None

    def crash(self) -> None:
        """Kill PostgreSQL alone."""
        pid = self.postmaster()
        if pid is not None:
            kill_family(pid)

    def kill(self) -> None:
        """Kill everything on it: first what could hand its office over."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.processes.clear()
        self.crash()
        for each in psutil.process_iter():  # a copy or a rewind that Patroni had begun
            with suppress(psutil.Error):
                if Path(each.cwd()).is_relative_to(self.folder):
                    kill_family(each.pid)

    def ask(self, path: str) -> Any:  # noqa: ANN401 - what Patroni says
        """What Patroni of this node answers; None if it does not."""
        try:
            with urllib.request.urlopen(
                f"http://{self.patroni_environ['PATRONI_RESTAPI_LISTEN']}/{path}", timeout=3
            ) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def said(self, lines: int = 15) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(
            f"---- {self.name} {log.stem}\n" + "\n".join(log.read_text().splitlines()[-lines:]) for log in logs
        )

    def _run(self, name: str, command: list[str], environ: dict[str, str]) -> None:
        as_other = {"user": self.user.uid, "group": self.user.gid, "extra_groups": []} if os.geteuid() == 0 else {}
        plain = {each: os.environ[each] for each in ("PATH", MARK) if each in os.environ}  # ended with a run cut short
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(  # type: ignore[call-overload]  # the keywords vary
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=plain | {"HOME": str(self.folder), "LC_ALL": "C.UTF-8", **environ},
                cwd=self.folder,
                start_new_session=True,
                **as_other,
            )
        self.processes.append(process)


@dataclass
class Trio:
    """The cluster."""

    nodes: list[Node]
    password: str

    def url(self, role: str, database: str = DATABASE) -> str:
        """The address of the cluster: all three hosts, of which the primary is taken."""
        hosts = ",".join(node.address for node in self.nodes)
        return (
            f"postgresql://{role}:{self.password}@{hosts}/{database}?target_session_attrs=read-write&connect_timeout=30"
        )

    def urls(self) -> Urls:
        names = {"admin": "postgres", "owner": "ostinato_owner", "worker": "ostinato_worker"}
        return Urls(**{each: self.url(names.get(each, f"ostinato_{each}")) for each in (*names, "tenant", "api")})

    def members(self) -> dict[str, dict[str, Any]]:
        """Who is there, as the first that answers says."""
        for node in self.nodes:
            if (found := node.ask("cluster")) is not None:
                return {member["name"]: member for member in found["members"]}
        return {}

    def leader(self) -> Node | None:
        """The node that is primary and says so itself."""
        return next((node for node in self.nodes if node.processes and self._is_primary(node)), None)

    def settled(self) -> bool:
        """Whether there is a primary, and both others follow it, one of them synchronously."""
        members = self.members()
        roles = sorted(member["role"] for member in members.values())
        well = all(member["state"] in ("running", "streaming") for member in members.values())
        return roles == ["leader", "replica", "sync_standby"] and well and self.leader() is not None

    def wait(self) -> None:
        until(self.settled)

    def fail(self, fault: Fault) -> Node:
        """Let the primary die; returns it. It is waited for: on a busy machine it may not answer at once."""
        found: list[Node | None] = []

        def said() -> Node | None:
            found[:] = [self.leader()]
            return found[0]

        until(said)
        (node,) = found
        assert node is not None
        if fault == "host":
            node.kill()
        else:
            node.crash()
        return node

    def _is_primary(self, node: Node) -> bool:
        found = node.ask("patroni")
        return found is not None and found.get("role") in ("master", "primary") and found.get("state") == "running"

    def prepare(self) -> None:
        """Make the database, the schema and the passwords of our roles."""
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as conn:
            conn.execute(f"create database {DATABASE}".encode())
        asyncio.run(migrate.migrate(self.url("postgres"), [ENGINE]))
        with psycopg.connect(self.url("postgres"), autocommit=True) as conn:
            conn.execute("select ostinato.upkeep_partitions(14)")
            for role in ("owner", "worker", "tenant", "api"):
                conn.execute(f"alter role ostinato_{role} login password '{self.password}'".encode())


@contextmanager
def trio() -> Iterator[Trio]:
    """Start the cluster, with our schema in it; none of it outlives the block."""
    programs = binaries()
    if programs is None or shutil.which("patroni") is None or shutil.which("etcd") is None:
        lacking("patroni", "Patroni, etcd or PostgreSQL is not installed: a failover by Patroni is not tested")
    with tempfile.TemporaryDirectory(prefix="ostinato-patroni-") as name:
        folder = Path(name)
        made = Trio(_nodes(folder, programs, password := secrets.token_hex(16)), password)
        try:
            for node in made.nodes:
                node.start()
            made.wait()
            made.prepare()
            yield made
        except BaseException:
            for node in made.nodes:
                print(node.said())  # noqa: T201 - meant to be read
            raise
        finally:
            for node in made.nodes:
                node.kill()


def _nodes(folder: Path, programs: Path, password: str) -> list[Node]:
    user = myself()
    if user.uid == 0:  # Debian's own: PostgreSQL refuses to run as root, and its sockets are in a folder of this user
        found = pwd.getpwnam("postgres")
        user = OsUser(found.pw_name, found.pw_uid, found.pw_gid)
        let_in(user, folder)
        let_in(user, FILES)
    named = [f"10.0.0.{number}:{port}" for number in (1, 2, 3) for port in PORTS]
    ports = {there: f"127.0.0.1:{here}" for there, here in zip(named, free_ports(len(named)), strict=True)}
    nodes = []
    for number, each in enumerate(NAMES, 1):
        here = folder / each
        here.mkdir(mode=0o700)
        os.chown(here, user.uid, user.gid)
        own = {"ETCD_DATA_DIR": f"{here}/etcd", "PATRONI_POSTGRESQL_DATA_DIR": f"{here}/postgres"}
        own |= {"PATRONI_POSTGRESQL_BIN_DIR": str(programs), "PATRONI_POSTGRESQL_PGPASS": f"{here}/pgpass"}
        etcd, patroni = (_environ(FILES / file, number, ports, own, password) for file in ("etcd.env", "node.env"))
        nodes.append(Node(each, here, user, etcd, patroni))
    return nodes


def _environ(file: Path, number: int, ports: dict[str, str], own: dict[str, str], password: str) -> dict[str, str]:
    """An environment of the files, which are those of the first node, for this one."""
    found: dict[str, str] = {}
    for line in file.read_text().splitlines():
        if line.startswith("#"):
            continue
        name, _, value = line.partition("=")
        if not name.endswith(("_HOSTS", "INITIAL_CLUSTER")):  # these name all nodes
            value = value.replace("10.0.0.1:", f"10.0.0.{number}:")
        for there, here in ports.items():
            value = value.replace(there, here)
        if name.endswith("_NAME"):
            value = NAMES[number - 1]
        found[name] = password if name.endswith("_PASSWORD") else own.get(name, value)
    return found

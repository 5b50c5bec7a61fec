"""A server and its synchronous standby, each on a host of its own, and a failover between them."""

import asyncio
import contextlib
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]

from ostinato._core.db import embedded, serverconf
from ostinato._core.db.backup import standby
from ostinato._core.db.backup.programs import Source
from ostinato._core.db.cluster import Cluster, CommandFailed
from ostinato._core.db.embedded import DATABASE, Server, Urls
from ostinato._core.db.superuser import SUPERUSER, password_file
from ostinato.lab.torture.network import SUBNET, Host

# Only hosts of the same network reach it, which is made for this run and joined to no other.
HBA = f"{serverconf.HBA}host all all {SUBNET} trust\nhost replication all {SUBNET} trust\n"


def kill_family(pid: int) -> None:
    """Kill a process and all that it started at once, as the death of its machine does."""
    try:
        first = psutil.Process(pid)
        first.suspend()  # before the others, so that it starts none
        family = [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, or one would commit when another is gone
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
    psutil.wait_procs(family)


def serve(folder: Path, host: Host) -> Server:
    """Start a server on a host, which the other hosts reach by its address."""
    rules = folder.parent / "hosts.hba"
    rules.write_text(HBA)
    with host.inside():
        server = embedded.start(folder)
        user = server.cluster.user
        os.chown(rules, user.uid, user.gid)
        with (server.cluster.pgdata / "postgresql.auto.conf").open("a") as conf:
            conf.write(f"listen_addresses = '*'\nhba_file = '{rules}'\nwal_retrieve_retry_interval = '200ms'\n")
        server.restart()
    return server


def urls(*hosts: Host) -> Urls:
    """Return the addresses of the database on one of these hosts: the one that takes commits."""
    names = ",".join(host.address for host in hosts)
    roles = (SUPERUSER, *serverconf.ROLES)
    more = "?target_session_attrs=read-write" if len(hosts) > 1 else ""
    return Urls(*(f"postgresql://{role}@{names}/{DATABASE}{more}" for role in roles))


@dataclass(frozen=True, slots=True)
class _Place:
    host: Host
    folder: Path

    def source(self, server: Server) -> Source:
        """Return the server here, as its copy on another host reaches it."""
        file = quote(str(password_file(self.folder)), safe="")
        url = f"postgresql://{SUPERUSER}@{self.host.address}/{DATABASE}?passfile={file}"
        return Source(url, server.cluster.folder_of_binaries, server.version, embedded=True)


class Pair:
    """Both servers. A context manager: neither outlives the block."""

    def __init__(self, folder: Path, first: Host, second: Host) -> None:
        self._primary = _Place(first, folder / "first")
        self._standby = _Place(second, folder / "second")
        self._lock = threading.Lock()
        self.hosts = (first, second)
        self.server = serve(self._primary.folder, first)
        """The one that takes commits."""
        with second.inside():
            asyncio.run(standby.create(self._primary.source(self.server), self._standby.folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.server.stop(force=True)
            cluster = Cluster.at(self._standby.folder)
            if cluster.pid() is not None:
                with contextlib.suppress(CommandFailed):
                    cluster.halt("immediate")

    @property
    def pid(self) -> int | None:
        """The process id of the server that takes commits."""
        return self.server.pid

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server that takes commits, and start it again where it is."""
        with self._lock, self._primary.host.inside():
            self.server.restart(mode)

    def fail_over(self) -> None:
        """Kill the server as the death of its machine does, promote the other, and let the dead one follow it."""
        with self._lock:
            old, new = self._primary, self._standby
            pid = self.server.pid
            if pid is not None:
                kill_family(pid)
            self.server.stop()
            with new.host.inside():
                asyncio.run(standby.promote(new.folder, force=True))  # the other is dead: nobody has to ask it
                self.server = embedded.start(new.folder)
            self._primary, self._standby = new, old
            with old.host.inside():
                asyncio.run(standby.rejoin(new.source(self.server), old.folder))

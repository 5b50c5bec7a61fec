"""One listener per host: processes that use the same database share one LISTEN connection.

Eighty listeners would turn one ring into eighty claims of which seventy-nine find nothing. So the
first process on a host (it holds a lock on a file) listens and passes each ring on to one of the
others, or keeps it, in turn; they are connected to its Unix socket. When it dies the kernel frees
the lock, and one of the others takes its place.

Processes that run the same kinds are of one sort and take turns. One process of each sort is rung,
because a ring names the queue that has work, not the kinds of its jobs.

Messages are lines of JSON, [what, value]:

    to the listener      ["names", [queue, …] or null]   the queues of a process; null: all
                         ["sort", text]                  its sort; one process of each is rung
                         ["waiting", true or false]      whether it is idle; busy ones come last
    from the listener    ["ring", queue]                 "" means that rings may be missing

Correctness does not depend on it: after a lost ring a job waits for the poll. Used by one thread.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import socket
import stat
import tempfile
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

POLL_NOW = ""
BACKLOG = 64
CONNECT_SECONDS = 0.5
LONGEST_LINE = 65_536


@dataclass(slots=True, eq=False)
class Member:
    """A process that can be rung; the member without a socket is this process."""

    sock: socket.socket | None
    names: frozenset[str] | None
    sort: str = ""
    waiting: bool = True
    unread: bytes = b""

    def wants(self, name: str) -> bool:
        return self.names is None or name in self.names

    def send(self, what: str, value: object) -> None:
        if self.sock is not None:
            self.sock.sendall(json.dumps([what, value]).encode() + b"\n")

    def receive(self) -> list[tuple[str, object]]:
        """Return the messages that arrived; OSError when the other side is gone or sent garbage."""
        assert self.sock is not None  # noqa: S101 - only sockets are read
        data = self.sock.recv(LONGEST_LINE)
        if not data:
            raise ConnectionResetError
        *lines, self.unread = (self.unread + data).split(b"\n")
        if len(self.unread) > LONGEST_LINE:
            raise ConnectionResetError
        try:
            return [(what, value) for what, value in map(json.loads, lines)]
        except (TypeError, ValueError):
            raise ConnectionResetError from None

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()


class HostBell:
    """This process's place among those of the host."""

    def __init__(
        self, identity: str, *, names: Iterable[str] | None = None, sort: str = "", folder: Path | None = None
    ) -> None:
        folder = folder or runtime_folder()
        self._lock_path = folder / f"{identity}.lock"
        self._socket_path = folder / f"{identity}.sock"
        self._me = Member(None, None if names is None else frozenset(names), sort)
        self._members: deque[Member] = deque([self._me])
        self._server: socket.socket | None = None
        self._lock: int | None = None
        self._leader: Member | None = None

    @property
    def leading(self) -> bool:
        """Whether this process listens for the others."""
        return self._server is not None

    @property
    def alone(self) -> bool:
        """Whether it neither listens nor is connected to the process that does."""
        return self._server is None and self._leader is None

    def filenos(self) -> list[int]:
        """Return the sockets to wait on; pass the readable ones to `handle`."""
        sockets = [self._server, *(member.sock for member in self._members)]
        sockets.append(self._leader.sock if self._leader else None)
        return [sock.fileno() for sock in sockets if sock is not None]

    def tend(self) -> list[str]:
        """Listen, or connect to the listener, if alone. Returns the rings for this process."""
        if not self.alone or not (self._try_to_lead() or self._try_to_follow()):
            return []
        return [POLL_NOW]

    def handle(self, fileno: int) -> list[str]:
        """Deal with a readable socket. Returns the rings for this process."""
        if self._server is not None and fileno == self._server.fileno():
            with contextlib.suppress(OSError):  # it may have given up meanwhile
                sock, _ = self._server.accept()
                sock.settimeout(0)
                self._members.append(Member(sock, None))
        elif self._leader is not None and fileno == _fileno(self._leader):
            return self._hear_leader(self._leader)
        for member in [m for m in self._members if _fileno(m) == fileno]:
            self._hear_member(member)
        return []

    def ring(self, name: str) -> bool:
        """Wake one process of each sort for this queue; returns whether this process is one."""
        fit = [m for m in self._members if m.wants(name)]
        rung: set[str] = set()
        mine = False
        for member in [m for m in fit if m.waiting] + [m for m in fit if not m.waiting]:
            if member.sort in rung:
                continue
            self._members.remove(member)
            self._members.append(member)
            if member is self._me:
                mine = True
                rung.add(member.sort)
            elif self._tell(member, name):
                rung.add(member.sort)
        return mine

    def ring_all(self) -> None:
        """Wake all other processes: rings may have been missed."""
        for member in [m for m in self._members if m is not self._me]:
            self._tell(member, POLL_NOW)

    def set_waiting(self, waiting: bool) -> None:  # noqa: FBT001 - a state, not a mode
        """Say whether this process could take work now."""
        if waiting != self._me.waiting:
            self._me.waiting = waiting
            if self._leader is not None:
                with contextlib.suppress(OSError):
                    self._leader.send("waiting", waiting)

    def close(self) -> None:
        """Leave; another process takes over if this one was listening."""
        for member in self._members:
            member.close()
        if self._leader is not None:
            self._leader.close()
        if self._server is not None:
            self._server.close()
        if self._lock is not None:
            os.close(self._lock)
        self._members = deque([self._me])
        self._server = self._leader = self._lock = None

    def _try_to_lead(self) -> bool:
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        server = socket.socket(socket.AF_UNIX)
        try:
            self._socket_path.unlink(missing_ok=True)  # of a listener that died
            server.bind(str(self._socket_path))
            server.listen(BACKLOG)
        except OSError:
            server.close()
            self.close()
            raise
        server.settimeout(0)
        self._server = server
        return True

    def _try_to_follow(self) -> bool:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(CONNECT_SECONDS)
        leader = Member(sock, None)
        try:
            sock.connect(str(self._socket_path))
            names = self._me.names
            leader.send("names", None if names is None else sorted(names))
            leader.send("sort", self._me.sort)
            leader.send("waiting", self._me.waiting)
        except OSError:
            sock.close()  # the listener is just coming or going
            return False
        self._leader = leader
        return True

    def _hear_leader(self, leader: Member) -> list[str]:
        try:
            messages = leader.receive()
        except OSError:
            leader.close()
            self._leader = None
            return []
        return [str(value) for what, value in messages if what == "ring"]

    def _hear_member(self, member: Member) -> None:
        try:
            for what, value in member.receive():
                if what == "names" and isinstance(value, list | None):
                    member.names = None if value is None else frozenset(map(str, value))
                elif what == "sort":
                    member.sort = str(value)
                elif what == "waiting":
                    member.waiting = bool(value)
        except OSError:
            self._forget(member)

    def _tell(self, member: Member, name: str) -> bool:
        try:
            member.send("ring", name)
        except OSError:  # gone, or so far behind that its buffer is full
            self._forget(member)
            return False
        return True

    def _forget(self, member: Member) -> None:
        member.close()
        self._members.remove(member)


def _fileno(member: Member) -> int | None:
    return member.sock.fileno() if member.sock is not None else None


def database_identity(url: str, channel: str) -> str:
    """Return a short name for a database and a channel, the same in all processes with the same URL."""
    given = conninfo_to_dict(url)
    parts = [str(given.get(key) or "") for key in ("host", "hostaddr", "port", "dbname")]
    return hashlib.sha256("\x1f".join([*parts, channel]).encode()).hexdigest()[:16]


def runtime_folder() -> Path:
    """Return a folder for sockets that only this user can enter."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return own_folder(Path(base, f"ostinato-{os.geteuid()}"))


def own_folder(folder: Path) -> Path:
    """Return a folder that only this user can enter; PermissionError where somebody else took its name first."""
    folder.mkdir(mode=0o700, exist_ok=True)
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder of our own")
    return folder

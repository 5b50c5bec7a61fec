"""A proxy between clients and a server's Unix socket that understands just enough of the protocol.

It knows which statement a client is about to run, also when it was prepared earlier, and asks
`decide` what is to happen to it:

    before    the connection is cut, and the server never gets the statement
    after     the server gets it and has answered; the answer is lost and the connection cut
    rows      as after, but only if there are rows in the answer
    swallow   from now on neither side hears the other, as if the network were gone

Beside that, all connections can be cut, and new ones refused, at any time; and what goes one way, or
both, can be held back (`dark`), as by a network that is gone, or made to come in small pieces with
pauses (`trickle`), as by one that loses packets.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Literal
from urllib.parse import parse_qs, quote, urlsplit

Fault = Literal["before", "after", "rows", "swallow"]
Decide = Callable[[str], Fault | None]
Way = Literal["to server", "to client"]

SOCKET = ".s.PGSQL.5432"


class Connection:
    """One client, and its own connection to the server."""

    def __init__(self, proxy: "Proxy", client: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = socket.socket(socket.AF_UNIX)
        self._prepared: dict[bytes, str] = {}
        self._watching: Fault | None = None
        self._silent = False

    def start(self) -> None:
        try:
            self._server.connect(self._proxy.server)
        except OSError:
            self.cut()
            return
        for work in (self._to_server, self._to_client):
            threading.Thread(target=work, name="proxy", daemon=True).start()

    def cut(self) -> None:
        for sock in (self._client, self._server):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def close(self) -> None:
        self.cut()
        self._client.close()
        self._server.close()

    def _to_server(self) -> None:
        try:
            self._pass("to server", _startup(self._client))
            while True:
                kind, body = _message(self._client)
                fault = self._fault(kind, body)
                if fault == "before":
                    break
                if fault in ("after", "rows"):
                    self._watching = fault
                if fault == "swallow":
                    self._silent = True
                if not self._silent:
                    self._pass("to server", kind + struct.pack("!I", len(body) + 4) + body)
        except OSError:
            pass
        self.cut()

    def _to_client(self) -> None:
        kept: list[bytes] = []
        try:
            while True:
                kind, body = _message(self._server)
                kept.append(kind + struct.pack("!I", len(body) + 4) + body)
                if self._watching is not None:
                    if kind != b"Z":  # the server is not through with it yet
                        continue
                    if self._watching == "after" or any(part[:1] == b"D" for part in kept):
                        self._proxy.lost.append(len(kept))
                        break
                    self._watching = None
                if not self._silent:
                    self._pass("to client", b"".join(kept))
                kept.clear()
        except OSError:
            pass
        self.cut()

    def _pass(self, way: Way, data: bytes) -> None:
        proxy = self._proxy
        to = self._server if way == "to server" else self._client
        size = proxy.piece or len(data)
        for start in range(0, len(data), size):
            proxy.open_ways[way].wait()
            to.sendall(data[start : start + size])
            if proxy.piece:
                threading.Event().wait(proxy.rng.choice(proxy.pauses))

    def _fault(self, kind: bytes, body: bytes) -> Fault | None:
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self._prepared[name] = text.decode()
            return None
        if kind == b"B":
            _, name, _ = body.split(b"\0", 2)
            return self._proxy.ask(self._prepared.get(name, ""))
        if kind == b"Q":
            return self._proxy.ask(body.rstrip(b"\0").decode())
        return None


class Proxy:
    """Forwards connections; see the module."""

    def __init__(self, server: Path, folder: Path) -> None:
        self.server = str(server / SOCKET)
        self.folder = folder
        self.decide: Decide = lambda _: None
        self.refusing = False
        self.faults: list[tuple[Fault, str]] = []
        """What was decided, and about which statement."""
        self.lost: list[int] = []
        """Answers that were lost, by their number of messages."""
        self.open_ways: dict[Way, threading.Event] = {"to server": threading.Event(), "to client": threading.Event()}
        for way in self.open_ways.values():
            way.set()
        self.piece = 0
        """Bytes that pass at a time; 0: all."""
        self.pauses = [0.0]
        self.rng = Random(0)
        self._lock = threading.Lock()
        self._connections: list[Connection] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET))
        self._listener.listen(64)
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def url(self, url: str) -> str:
        """The URL of the server, led through the proxy."""
        (real,) = parse_qs(urlsplit(url).query)["host"]
        return url.replace(quote(real, safe=""), quote(str(self.folder), safe=""))

    def once(self, fault: Fault, part: str) -> None:
        """Let this happen to the next statement with this in its text."""
        left = [fault]

        def decide(statement: str) -> Fault | None:
            return left.pop() if left and part in statement else None

        self.decide = decide

    def ask(self, statement: str) -> Fault | None:
        with self._lock:
            fault = self.decide(statement)
            if fault is not None:
                self.faults.append((fault, statement))
            return fault

    def cut_all(self) -> None:
        """Cut every connection that there is."""
        for connection in self._connections:
            connection.cut()

    @contextmanager
    def away(self) -> Iterator[None]:
        """The server cannot be reached during the block."""
        self.refusing = True
        self.cut_all()
        try:
            yield
        finally:
            self.refusing = False

    @contextmanager
    def dark(self, *ways: Way) -> Iterator[None]:
        """During the block nothing passes these ways; it does after, as TCP sends it again."""
        for way in ways:
            self.open_ways[way].clear()
        try:
            yield
        finally:
            for way in ways:
                self.open_ways[way].set()

    def trickle(self, piece: int, pauses: list[float]) -> None:
        """Let everything pass in pieces, with one of these pauses after each."""
        self.piece, self.pauses = piece, pauses

    def close(self) -> None:
        for way in self.open_ways.values():
            way.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            connection = Connection(self, client)
            self._connections.append(connection)
            connection.start()


@contextmanager
def between(url: str, folder: Path) -> Iterator[Proxy]:
    """A proxy in front of the server of a URL."""
    (real,) = parse_qs(urlsplit(url).query)["host"]
    proxy = Proxy(Path(real), folder)
    try:
        yield proxy
    finally:
        proxy.close()


def _startup(sock: socket.socket) -> bytes:
    length = _exactly(sock, 4)
    return length + _exactly(sock, struct.unpack("!I", length)[0] - 4)


def _message(sock: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(sock, 5)
    return head[:1], _exactly(sock, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data

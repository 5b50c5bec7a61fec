"""A proxy between a client and the server's socket that breaks the connection on command."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, quote, urlsplit

Fault = Literal["none", "before", "after", "swallow"]

PIECE = 65_536


class Proxy:
    """Forwards bytes. When it sees `trigger` from the client, the fault happens:

    before    the connection is cut, the server never gets the message
    after     the server gets it and answers; the answer is dropped and the connection cut
    swallow   neither side hears anything any more, as if the server were frozen
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self.fault: Fault = "none"
        self.trigger = b"COMMIT"
        self.folder = folder
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen(16)
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url: str) -> str:
        """The URL of the server, led through the proxy."""
        (real,) = parse_qs(urlsplit(url).query)["host"]
        return url.replace(quote(real, safe=""), quote(str(self.folder), safe=""))

    def close(self) -> None:
        for sock in self._open:
            _cut(sock)
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._open += [client, server]
            for work in (self._to_server, self._to_client):
                threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        for data in _pieces(client):
            if self.trigger in data and self.fault != "none":
                if self.fault == "after":
                    self._last_word(server, data)
                if self.fault != "swallow":
                    _cut(client)
                    _cut(server)
                return
            server.sendall(data)
        _cut(server)

    def _last_word(self, server: socket.socket, data: bytes) -> None:
        # The other thread must not take the answer, and does not: see below.
        server.sendall(data)
        self._answered.wait()

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        for data in _pieces(server):
            if self.fault == "after" and b"COMMIT" in data:
                self._answered.set()
                return
            try:
                client.sendall(data)
            except OSError:
                return
        _cut(client)

    _answered = threading.Event()


def _pieces(sock: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            data = sock.recv(PIECE)
        except OSError:
            return
        if not data:
            return
        yield data


def _cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


@contextmanager
def between(url: str, folder: Path) -> Iterator[Proxy]:
    """A proxy in front of the server of a URL."""
    (real,) = parse_qs(urlsplit(url).query)["host"]
    proxy = Proxy(Path(real), folder)
    try:
        yield proxy
    finally:
        proxy.close()

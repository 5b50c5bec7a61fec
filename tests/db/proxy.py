"""A proxy between a client and the server's socket that breaks the connection on command."""

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, quote, urlsplit

Fault = Literal["none", "before", "after", "swallow"]

SOCKET = ".s.PGSQL.5432"


class Proxy:
    """Forwards bytes. When it sees `trigger` from the client, the fault happens.

    before    the connection is cut, the server never gets the message
    after     the server gets it and answers; the answer is dropped and the connection cut
    swallow   the server gets nothing and the client no answer, as if the server were frozen
    """

    def __init__(self, server: str, folder: str) -> None:
        self.fault: Fault = "none"
        self.trigger = b"COMMIT"
        self._server = server
        self._folder = folder
        self._triggered = threading.Event()
        self._answered = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(folder, SOCKET)))
        self._listener.listen(16)
        self._open: list[socket.socket] = [self._listener]
        self._threads = [self._thread(self._accept)]

    def url(self, url: str) -> str:
        """The URL of the server, led through the proxy."""
        return url.replace(quote(self._server, safe=""), quote(self._folder, safe=""))

    def close(self) -> None:
        self._answered.set()
        for sock in self._open:
            _cut(sock)
        for thread in self._threads:
            thread.join()
        for sock in self._open:
            sock.close()

    def _thread(self, work: object, *args: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=work, args=args, daemon=True)  # type: ignore[arg-type]
        thread.start()
        return thread

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                self._open += [client, server]
                server.connect(str(Path(self._server, SOCKET)))
                self._threads.append(self._thread(self._to_server, client, server))
                self._threads.append(self._thread(self._to_client, client, server))

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if self.fault != "none" and self.trigger in data:
                    self._triggered.set()
                    if self.fault == "swallow":
                        return
                    if self.fault == "after":
                        server.sendall(data)
                        self._answered.wait()
                    break
                server.sendall(data)
        _cut(client)
        _cut(server)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if self._triggered.is_set():
                    self._answered.set()
                    return
                client.sendall(data)
        _cut(client)


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """A proxy in front of the server of a URL."""
    (server,) = parse_qs(urlsplit(url).query)["host"]
    with tempfile.TemporaryDirectory(prefix="proxy") as folder:
        proxy = Proxy(server, folder)
        try:
            yield proxy
        finally:
            proxy.close()

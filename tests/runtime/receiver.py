"""A real HTTP server on loopback that does as it is told: the other end of a webhook."""

import gzip
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MEGABYTE = b"x" * 1_048_576


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What goes out; a fault replaces it."""

    status: int = 200
    body: bytes = b"thanks"
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Callable[["Handler"], None] | None = None


class Handler(BaseHTTPRequestHandler):
    """Reads a request, and answers by the script."""

    server: "Server"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        names = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.receiver.receive(Request(self.path, names, self.rfile.read(length)))
        if reply.fault is not None:
            reply.fault(self)
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Counts connections, and does not tell of those that break."""

    daemon_threads = True
    receiver: "Receiver"

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        self.receiver.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, *_: object) -> None:
        pass


class Receiver:
    """The server, its script, and what it received."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.script: deque[Reply] = deque()
        self.default = Reply()
        self.requests: list[Request] = []
        self.connections = 0
        self.released = threading.Event()
        self._new = threading.Condition()
        self._server = Server((host, port), Handler)
        self._server.receiver = self
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def host(self) -> str:
        return str(self._server.server_address[0])

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/hooks"

    def receive(self, request: Request) -> Reply:
        with self._new:
            self.requests.append(request)
            self._new.notify_all()
            return self.script.popleft() if self.script else self.default

    @property
    def ids(self) -> list[str]:
        return [request.headers["webhook-id"] for request in self.requests]

    def visit(self) -> int:
        """Connect to it and see it through; how many connections it had before this one.

        Connections are taken in their order, so there is none that it has yet to count.
        """
        with socket.create_connection((self.host, self.port), timeout=120) as conn:
            conn.sendall(b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            while conn.recv(4096):
                pass
        return self.connections - 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def reset(handler: Handler) -> None:
    """Break the connection with a reset instead of an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def silence(handler: Handler) -> None:
    """Answer nothing until the receiver ends."""
    handler.server.receiver.released.wait()


def dribble(handler: Handler) -> None:
    """Begin to answer, and never end."""
    handler.send_response(200)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"1\r\nx\r\n")
    handler.wfile.flush()
    handler.server.receiver.released.wait()


def flood(handler: Handler) -> None:
    """Answer with more than anybody wants, for as long as somebody reads."""
    handler.send_response(200)
    handler.send_header("content-length", str(1000 * len(MEGABYTE)))
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(MEGABYTE)


def nonsense(handler: Handler) -> None:
    """Answer in a language that is not HTTP."""
    handler.wfile.write(b"220 smtp.example.com ready\r\n")
    handler.close_connection = True


def bomb(megabytes: int = 200) -> Reply:
    """A small answer that is large when unpacked."""
    packed = gzip.compress(MEGABYTE * megabytes, 9)
    return Reply(200, packed, {"content-encoding": "gzip"})


@contextmanager
def pair() -> Iterator[tuple[Receiver, Receiver]]:
    """Two receivers at one port of two addresses of this machine."""
    with Receiver("127.0.0.1") as first, Receiver("127.0.0.2", first.port) as second:
        yield first, second

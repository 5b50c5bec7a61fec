"""Receives the webhooks of `ostinato torture`: a real HTTP server that fails now and then.

It checks what a receiver should check, and records the messages in order.
"""

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from ostinato._core.base.errors import SignatureRefused
from ostinato._core.base.webhooks import verify

HOST = "127.0.0.1"
TROUBLE = 0.05


@dataclass(frozen=True, slots=True)
class Message:
    """A message that arrived completely."""

    event_id: str
    body: bytes
    signed: bool
    taken: bool
    """Whether it was answered with success."""


class Receiver:
    """The server, in a thread of its own, and its messages. A context manager."""

    def __init__(self, rng: random.Random, host: str = HOST) -> None:
        self._rng = rng
        self._lock = threading.Lock()
        self._server = _Server((host, 0), _Handler)
        self._server.receiver = self
        self._host = host
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._secret = ""
        self._began = 0.0
        self.messages: list[Message] = []
        """In the order in which they came."""

    @property
    def place(self) -> str:
        """Its address and port, as `OSTINATO_WEBHOOKS_ALLOW_PRIVATE` takes them."""
        return f"{self._host}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Where to send messages."""
        return f"http://{self.place}/"

    def open(self, secret: str, now: datetime) -> None:
        """Take messages from now on; `now` is that of the database, whose clock signs them."""
        self._secret = secret
        self._began = now.timestamp() - time.monotonic()

    def receive(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Record a message; returns whether to answer with success."""
        with self._lock:
            taken = self._rng.random() >= TROUBLE
            signed = self._signed(headers, body)
            event_id = headers.get("webhook-id", "")
            self.messages.append(Message(event_id, body, signed, taken))
            return taken

    def _signed(self, headers: Mapping[str, str], body: bytes) -> bool:
        try:
            verify(headers, body, [self._secret], now=self._began + time.monotonic())
        except SignatureRefused:
            return False
        return True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver

    def handle_error(self, *_: object) -> None:
        """Ignore errors: senders die here all the time."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 30  # a sender that is stopped in the middle of a message keeps a thread no longer

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:  # its sender died: counts as not sent
            self.close_connection = True
            return
        names = {name.lower(): value for name, value in self.headers.items()}
        taken = self.server.receiver.receive(names, body)
        self.send_response(HTTPStatus.OK if taken else HTTPStatus.SERVICE_UNAVAILABLE)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write nothing: nobody reads it."""

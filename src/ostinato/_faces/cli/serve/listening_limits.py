"""Limits on requests that never become whole: a slow head, a huge head, a slow body, huge trailers, too many.

The server below us waits for ever for the end of a head, and keeps as much of it as is sent, before
any key was seen. Here a connection that owes us the rest of a request is half-open: it has some
seconds, its head and its trailers have a size, and one address has only so many that are older than a moment. Busy
callers are never met by the last one, since a request that is whole does not count.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostinato._core.base.proxies import Proxies

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass
class HalfOpen:
    """What half-open requests may take, and which there are."""

    head_bytes: int = 65_536
    """Of a head, and again of what follows the body of a request in chunks."""
    head_seconds: float = 10.0
    body_seconds: float = 120.0
    most_of_address: int = 256
    """Older ones are closed when there are more."""
    young_seconds: float = 2.0
    """Not closed for being too many: a burst of callers behind one proxy comes all at once."""
    proxies: Proxies = field(default_factory=Proxies)
    """Trusted ones have as many as they like: they stand for many callers, and have limits of their own."""
    _open: dict[str, dict["_Limited", float]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, connection: "_Limited", address: str, now: float) -> None:
        """Note a half-open request, and close old ones of its address if there are too many."""
        if self.proxies.trusts(address):
            return
        mine = self._open[address]
        mine.setdefault(connection, now)
        too_many = max(len(mine) - self.most_of_address, 0)
        for other, since in list(islice(mine.items(), too_many)):  # the oldest are first
            if now - since < self.young_seconds:
                break
            other.refuse(TOO_SLOW)

    def remove(self, connection: "_Limited", address: str) -> None:
        """Forget a request that is whole, or gone."""
        mine = self._open.get(address)
        if mine is not None:
            mine.pop(connection, None)
            if not mine:
                del self._open[address]


class _Limited(HttpToolsProtocol):
    """A connection under these limits."""

    limits: HalfOpen
    _timer: asyncio.TimerHandle | None = None
    _heading = True
    _head = 0
    """Bytes since the last request, since its head or since the last piece of its body."""
    _trailers = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        if self._timer is None and self._is_idle():
            # Any byte ends the time that an idle connection is kept, even one that begins no request.
            self._wait(self.limits.head_seconds)
        super().data_received(data)
        if self._head > self.limits.head_bytes:
            self.refuse(TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._heading = True
        self._wait(self.limits.head_seconds)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._heading:
            super().on_header(name, value)
        else:  # a trailer would join headers that were checked and believed before the body was read
            self._trailers += len(name) + len(value)

    def on_headers_complete(self) -> None:
        self._heading, self._head, self._trailers = False, 0, 0
        self._wait(self.limits.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._trailers > self.limits.head_bytes:
            self.refuse(TOO_LARGE)  # the route that reads the body gets a disconnect
            return
        self._rest()
        # The next bytes are another head; or none, until the idle connection is closed.
        self._head = 0
        super().on_message_complete()

    def refuse(self, answer: bytes) -> None:
        """Close the connection, with an answer if none has begun."""
        self._rest()
        if self.transport.is_closing():
            return
        if self._is_idle() or not (self.cycle.response_started or self.pipeline):
            self.transport.write(answer)
        self.transport.close()

    def _is_idle(self) -> bool:
        """Return whether no request is being answered."""
        return bool(getattr(self.cycle, "response_complete", True))  # there is none before the first request

    def _wait(self, seconds: float) -> None:
        """Close the connection unless the rest of the request comes within some seconds."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self.refuse, TOO_SLOW)
        self.limits.add(self, self._address, self.loop.time())

    def _rest(self) -> None:
        """Rest: nothing is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.limits.remove(self, self._address)

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""


def protocol(limits: HalfOpen) -> type[asyncio.Protocol]:
    """Return the protocol of a server, with limits that all its connections share."""
    attributes: dict[str, Any] = {"limits": limits}
    return type("Limited", (_Limited,), attributes)

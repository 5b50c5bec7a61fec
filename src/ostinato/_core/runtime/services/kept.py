"""Connections to other people's servers are kept for the next request to the same server.

A connection is found by the name of the host and the checked address together: two hosts at one address
never share one, and a host that moves to another address gets a new one. What rests for longer than
`REST_SECONDS` is closed, and so is what has rested longest when there are too many hosts.

A server may close a connection in the moment in which the next request is sent on it. Such a request is
sent again on a new connection: it was not answered, and a message may always come twice.
"""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, NamedTuple

import httpx

from ostinato._core.base.safeurl import Target

REST_SECONDS = 15.0
MOST_HOSTS = 100
KEPT_EACH = 10
CONNECTING = "connection.connect_tcp.started"

Broken = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class Place(NamedTuple):
    """Where a connection leads, and by whose certificates."""

    scheme: str
    host: str
    address: str
    port: int
    tls: SSLContext


@dataclass(slots=True)
class Line:
    """The connections to one place."""

    transport: httpx.AsyncHTTPTransport
    using: int = 0
    used_at: float = field(default_factory=time.monotonic)


class Kept:
    """Sends requests over connections that it keeps; it belongs to one event loop."""

    def __init__(self) -> None:
        self._lines: OrderedDict[Place, Line] = OrderedDict()

    async def aclose(self) -> None:
        """Close all connections."""
        lines = list(self._lines.values())
        self._lines.clear()
        for line in lines:
            await line.transport.aclose()

    @asynccontextmanager
    async def send(
        self, target: Target, address: str, body: bytes, headers: Mapping[str, str], tls: SSLContext
    ) -> AsyncIterator[httpx.Response]:
        """Send a body to a checked address of the target; the answer is open for the block."""
        place = Place(target.scheme, target.host, address, target.port, tls)
        await self._tidy()
        line = self._lines.get(place)
        if line is None:
            # The transport alone follows no redirect, reads no environment and logs no URL.
            limits = httpx.Limits(max_keepalive_connections=KEPT_EACH, keepalive_expiry=REST_SECONDS)
            line = self._lines[place] = Line(httpx.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits))
        self._lines.move_to_end(place)
        line.using += 1
        try:
            response = await _sent(line.transport, target, address, body, headers)
            try:
                yield response
            finally:
                await response.aclose()  # one that was not read to its end closes its connection
        finally:
            line.using -= 1
            line.used_at = time.monotonic()

    async def _tidy(self) -> None:
        """Close what has rested for long, and what is too many."""
        now = time.monotonic()
        closing = []
        for place, line in list(self._lines.items()):  # all are taken out before the first is waited for
            if now - line.used_at < REST_SECONDS and len(self._lines) < MOST_HOSTS:
                break
            if not line.using:
                closing.append(self._lines.pop(place).transport)
        for transport in closing:
            await transport.aclose()


async def _sent(
    transport: httpx.AsyncHTTPTransport, target: Target, address: str, body: bytes, headers: Mapping[str, str]
) -> httpx.Response:
    while True:
        fresh = False

        async def note(event: str, _info: dict[str, Any]) -> None:
            nonlocal fresh
            fresh = fresh or event == CONNECTING

        try:
            return await transport.handle_async_request(_request(target, address, body, headers, note))
        except Broken:
            if fresh:
                raise


def _request(target: Target, address: str, body: bytes, headers: Mapping[str, str], trace: object) -> httpx.Request:
    # The time limit is around all of it. A host that is an address has no name to be checked by.
    named = {} if target.address is not None else {"sni_hostname": target.host}
    return httpx.Request(
        "POST",
        httpx.URL(scheme=target.scheme, host=address, port=target.port, raw_path=target.path.encode("ascii")),
        headers={**headers, "host": target.authority, "accept-encoding": "identity"},
        content=body,
        extensions={**named, "trace": trace},
    )

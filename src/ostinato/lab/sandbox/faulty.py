"""Records every call to the stand-ins, and plays the scripted faults, as middleware.

A stand-in may ask for a fault itself, by a word of `faults` in the header `x-sandbox-fault` of its
answer: a connection that is reset, for one path or one caller.
"""

import asyncio
import json
import socket
import struct
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ostinato._core.base.redact import redact_value
from ostinato.lab.sandbox.faults import Fault, Faults, parse

CONTROL = "/_sandbox"
"""The routes that control the sandbox itself; never faulty, never recorded."""
ASKED = b"x-sandbox-fault"
MOST_BODY = 10 * 1024 * 1024
GARBAGE = b"<!doctype html><title>It works!</title>"
HALF = b'{"half": '

Address = tuple[str, int]


class Lines:
    """The open connections, by the address of the caller: ASGI itself cannot close one."""

    def __init__(self) -> None:
        self._open: dict[Address, asyncio.Transport] = {}

    def add(self, transport: asyncio.Transport) -> None:
        """Remember a connection."""
        self._open[_peer(transport)] = transport

    def discard(self, transport: asyncio.Transport) -> None:
        """Forget one that ended."""
        self._open.pop(_peer(transport), None)

    def hang_up(self, client: Address, *, hard: bool) -> bool:
        """Close a connection now, with a reset if `hard`; False if there is none."""
        transport = self._open.get(client)
        if transport is None:
            return False
        sock: socket.socket | None = transport.get_extra_info("socket")
        if hard and sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if hard:
            transport.abort()
        else:
            transport.close()  # what was written is still sent
        return True


def protocol(lines: Lines) -> type[H11Protocol]:
    """Return the protocol of a server whose connections are recorded."""

    class Noted(H11Protocol):
        """HTTP, with its connections recorded."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Note the connection."""
            self._line = transport
            lines.add(transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            """Forget it."""
            lines.discard(self._line)
            super().connection_lost(exc)

    return Noted


class Faulty:
    """The middleware around the stand-ins."""

    def __init__(self, app: ASGIApp, faults: Faults, lines: Lines) -> None:
        self._app = app
        self._faults = faults
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or path == CONTROL or path.startswith(f"{CONTROL}/"):
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        if body is None:
            await _answer(send, 413, b'{"error": "the body is too large for the sandbox"}')
            return
        call = self._faults.note(
            method=scope["method"],
            path=path,
            query=scope.get("query_string", b"").decode("latin-1"),
            headers=_headers(scope),
            body=body,
        )
        fault = self._faults.take(scope["method"], path)
        call.fault = fault.text
        if fault.delay:
            await asyncio.sleep(fault.delay)

        asked: list[Fault] = []

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                word = dict(message["headers"]).get(ASKED)
                asked.extend([] if word is None else [parse(word.decode("latin-1"))[0][0]])
                call.status = None if asked else message["status"]
            if not asked:
                await send(message)

        if fault.what == "ok":
            await self._app(scope, _replayed(body, receive), noting)
            for instead in asked:
                call.fault = instead.text
                await self._play(instead, scope, receive, send)
        else:
            await self._play(fault, scope, receive, noting)

    async def _play(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        match fault.what:
            case "status":
                headers = dict(fault.headers)
                if fault.retry_after is not None:
                    headers["retry-after"] = str(fault.retry_after)
                raw_headers = json.dumps({"error": "a scripted fault", "status": fault.status})
                await _answer(send, fault.status, (fault.body or raw_headers).encode(), headers)
            case "garbage":
                await _answer(send, 200, GARBAGE, {"content-type": "application/json"})
            case "empty":
                await _answer(send, 200, b"", {"content-type": "application/json"})
            case "truncated":
                length = [(b"content-length", b"1000"), (b"content-type", b"application/json")]
                await send({"type": "http.response.start", "status": 200, "headers": length})
                await send({"type": "http.response.body", "body": HALF, "more_body": True})
                await self._end(scope, receive, hard=False)
            case "stall":
                await _left(receive)
            case _:
                await self._end(scope, receive, hard=fault.what == "reset")

    async def _end(self, scope: Scope, receive: Receive, *, hard: bool) -> None:
        host, port = scope["client"] or ("", 0)
        if not self._lines.hang_up((host, port), hard=hard):
            raise ConnectionAbortedError("this server cannot hang up")
        await _left(receive)


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers of a call, without credentials."""
    raw_headers: list[tuple[bytes, bytes]] = scope["headers"]
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw_headers}
    return {name: str(redact_value(name, value)) for name, value in named.items()}


async def _read(receive: Receive) -> bytes | None:
    """Return the body; None means that it is too large, or that the caller left."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MOST_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(pieces)


def _replayed(body: bytes, receive: Receive) -> Receive:
    left = [body]

    async def replay() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return replay


async def _left(receive: Receive) -> None:
    """Wait until the caller is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    named = {"content-type": "application/json", "content-length": str(len(body))}
    sent = named | {name.lower(): value for name, value in (headers or {}).items()}
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _peer(transport: asyncio.Transport) -> Address:
    peer: Any = transport.get_extra_info("peername") or ("", 0)
    return str(peer[0]), int(peer[1])

"""The API on a real socket, in a thread of its own."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato._faces.cli.serve.listening import config_of


@contextmanager
def serving(parts: Parts) -> Iterator[str]:
    """The address of a running server, which stops at the end."""
    sock = socket.create_server(("127.0.0.1", 0))
    # asyncio does so for sockets that it makes itself. Without it every answer on a connection that
    # is kept waits 40 ms for the client to acknowledge its head.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A connection that the server closes just when a client uses it again would be an error of the test.
    config = config_of(build(parts), 30)
    config.lifespan, config.timeout_keep_alive = "on", 3600
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def started(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([sock])), daemon=True)
    thread.start()
    assert ready.wait(300), "the server did not start"
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(300)

"""Runs the sandbox in a thread of this process, for tests.

with running(Hooks()) as sandbox:
    sandbox.order("/hooks/*", "503,503,200")
    ...
    assert [call.status for call in sandbox.faults.calls] == [503, 503, 200]
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from ostinato.lab.sandbox.faults import Faults, Order
from ostinato.lab.sandbox.faulty import protocol
from ostinato.lab.sandbox.server import Sandbox, StandIn

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 1


class Running:
    """A sandbox that runs."""

    def __init__(self, sandbox: Sandbox, port: int) -> None:
        self.sandbox = sandbox
        self.port = port
        self.url = f"http://{LOOPBACK}:{port}"

    @property
    def faults(self) -> Faults:
        """The scripts, and the calls that came in."""
        return self.sandbox.faults

    def order(self, path: str, script: str, method: str | None = None) -> None:
        """Set a script for some calls."""
        self.faults.order(Order(path, script, method))


def config(sandbox: Sandbox) -> uvicorn.Config:
    """Return the configuration of its server, whose connections it can close."""
    return uvicorn.Config(
        sandbox.app,
        http=protocol(sandbox.lines),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


@contextmanager
def running(*standing: StandIn) -> Iterator[Running]:
    """Run a sandbox with these stand-ins on a free port of loopback."""
    sandbox = Sandbox(standing)
    server = uvicorn.Server(config(sandbox))
    # It listens from here on: a client that connects before the thread accepts only waits.
    with socket.create_server((LOOPBACK, 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as asyncio's own have
        port = int(listening.getsockname()[1])
        thread = threading.Thread(target=server.run, args=([listening],), name="sandbox")
        thread.start()
        try:
            yield Running(sandbox, port)
        finally:
            server.should_exit = True
            thread.join()

"""Ports for servers of tests: free now, and given to no outgoing connection later.

Who asks the system for any port gets one of those that it also gives to connections: while a server that a test killed
is away, another connection may take its port.
"""

import random
import socket
from contextlib import ExitStack, suppress

LOOPBACK = "127.0.0.1"
OURS = range(12_000, 32_000)
"""Below what Linux and macOS give to connections."""


def free_ports(count: int) -> list[int]:
    """So many different ports of the loopback on which nobody listens."""
    found: list[int] = []
    with ExitStack() as open_together:
        while len(found) < count:
            probe = open_together.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind((LOOPBACK, random.choice(OURS)))
                found.append(int(probe.getsockname()[1]))
    return found


def free_port() -> int:
    return free_ports(1)[0]

"""Work that misbehaves, as the file tells it to: what a cage and a service must withstand."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run(task: dict[str, Any], tell: Callable[[int, int], None]) -> dict[str, Any]:
    """Do what the input says."""
    order = Path(task["inputPath"]).read_text().split()
    tell(1, 2)
    match order[0]:
        case "hang":
            time.sleep(3600)  # noqa: TID251 - it is to be ended
        case "memory":
            kept = [bytearray(64 << 20) for _ in range(1000)]
            return {"pages": len(kept)}
        case "vanish":
            os._exit(3)
        case "connect":
            socket.create_connection(("127.0.0.1", int(order[1])), timeout=5).close()
        case "read":
            Path(order[1]).read_text()
        case "write":
            Path(order[1]).write_text("escaped")
        case "lie":
            return {"pages": 1}
        case _:
            pass
    Path(task["part"]).write_bytes(f"attempt {task['attempt']}".encode())
    return {"pages": 2}

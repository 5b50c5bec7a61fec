"""A move of a tenant that kills its own process (kill -9) at a step: `python -m tests.runtime.killed_move STEP …`."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from ostinato._core.db.backup import server
from ostinato._core.engine.moves import Move, Side


async def main(at: str, tenant: str, file: str, *sides: str) -> None:
    """Move from the first of the sides (name=url) to the second; the third is the home."""

    def step(name: str) -> None:
        if name == at:
            os.kill(os.getpid(), signal.SIGKILL)

    source, target, home = [Side(name, await server.connect(url)) for name, _, url in map(split, sides)]
    await Move(tenant, source, target, home, file=Path(file), schemas=[], step=step).run()


def split(side: str) -> tuple[str, str, str]:
    """The name and the URL of a side."""
    return side.partition("=")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

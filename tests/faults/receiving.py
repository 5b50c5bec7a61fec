"""The log of a server, received by a thread of the test as `ostinato backup stream` does."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ostinato._core.db.backup import server as servers
from ostinato._core.db.backup import stream
from ostinato._core.db.backup.programs import Source
from ostinato._core.db.backup.repository import Repository
from ostinato._core.db.embedded import Server


def source_of(server: Server) -> Source:
    return asyncio.run(servers.source(server.admin_url, server))


@contextmanager
def receiving(source: Source, repository: Repository, *, synchronous: bool = False) -> Iterator[list[str]]:
    """Receive the log during the block, from when it is received on; yields what it warned of."""
    loop, ready, warned = asyncio.new_event_loop(), threading.Event(), list[str]()
    failed: list[Exception] = []

    async def work() -> None:
        await stream.receive(
            source, repository, synchronous=synchronous, ready=lambda _: ready.set(), warn=warned.append
        )

    task = loop.create_task(work())

    def run() -> None:
        try:
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
        except Exception as error:  # noqa: BLE001 - raised again by the test's own thread
            failed.append(error)
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    try:
        if failed:
            raise failed[0]
        yield warned
    finally:
        with suppress(RuntimeError):  # its loop is closed: it has ended by itself
            loop.call_soon_threadsafe(task.cancel)
        thread.join()

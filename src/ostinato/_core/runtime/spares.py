"""Databases for tests, copied from a migrated one before they are asked for.

A copy takes a while, and a test that takes longer than the copy waits for none: while one test runs,
the database of the next is made, in a thread. What is given back is dropped there too.
"""

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

import psycopg

from ostinato._core.db.call import call_now
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.testing import template_on


class Spares:
    """Fresh databases on one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ostinato-spares")
        self._template = asyncio.run(template_on(server))
        self._next: Future[tuple[str, Urls]] = self._thread.submit(self._made)
        self.waits: list[float] = []
        """How long each caller of `take` waited, in seconds."""

    def take(self) -> tuple[str, Urls]:
        """Return a database that nobody has used, with a clock to move; and have the next one made."""
        began = time.perf_counter()
        taken = self._next.result()
        self._next = self._thread.submit(self._made)
        self.waits.append(time.perf_counter() - began)
        return taken

    def give_back(self, name: str) -> None:
        """Have a database dropped."""
        self._thread.submit(self._server.drop_database, name)

    def close(self) -> None:
        """Wait for what is being made; the server goes with all of it."""
        self._thread.shutdown(wait=True)

    def _made(self) -> tuple[str, Urls]:
        name = f"test_{uuid4().hex}"
        urls = self._server.create_database(name, template=self._template)
        with psycopg.connect(urls.admin, autocommit=True) as admin:
            call_now(admin, "use_test_clock")
        return name, urls

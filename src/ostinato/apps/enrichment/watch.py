"""A watch waits for runs to end: one look at the database for all requests of this process.

It is the short synchronous attempt (M3C-gap-8): a request that was just made waits up to 1,200 ms.
Nobody listens for a notification of each row; as long as somebody waits, one statement every 20 ms
asks for all of them together.
"""

import asyncio
import contextlib
from typing import Final

from ostinato import Client
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.errors import OstinatoError

LOOK_SECONDS: Final = 0.02


class Watch:
    """The requests of one API process that wait."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: dict[tuple[str, str], asyncio.Event] = {}
        self._looking: asyncio.Task[None] | None = None

    async def ended(self, tenant_id: str, request_id: str, seconds: float) -> bool:
        """Return whether the run of a request ends within so many seconds."""
        if seconds <= 0:
            return False
        event = self._waiting.setdefault((tenant_id, request_id), asyncio.Event())
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting.pop((tenant_id, request_id), None)
        return True

    async def _look(self) -> None:
        try:
            while self._waiting:
                with contextlib.suppress(OstinatoError):  # who waits gets its answer anyway
                    await self._look_once()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._looking = None

    async def _look_once(self) -> None:
        waiting = list(self._waiting)
        async with self._client.connection() as conn:
            found = await QUERIES.rows(
                conn, "ended", tenants=[tenant for tenant, _ in waiting], ids=[request for _, request in waiting]
            )
        for row in found:
            if (event := self._waiting.get((row["tenant_id"], row["id"]))) is not None:
                event.set()

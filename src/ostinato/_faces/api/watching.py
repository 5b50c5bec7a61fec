"""The API evaluates alerts as workers do, because no worker can raise "no worker is alive".

It declares none: those of the engine come with the schema, those of an application by its workers.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ostinato._core.runtime.services.alerts import ALERT_SECONDS, watch
from ostinato._core.runtime.worker.loop import Loop
from ostinato._faces.api.parts import Parts


@asynccontextmanager
async def watching(parts: Parts) -> AsyncIterator[None]:
    """Evaluate alerts while the block runs, if `parts.watches`."""
    if not parts.watches:
        yield
        return
    rng = random.Random()  # noqa: S311  # spreads load, guards nothing

    async def tick() -> float:
        async with parts.client.connection() as conn:
            await watch(conn, parts.recorder, as_api=True)
        return ALERT_SECONDS * rng.uniform(0.5, 1.5)

    loop = Loop("alerts", tick, rng=rng)
    task = asyncio.create_task(loop.run(), name=loop.name)
    try:
        yield
    finally:
        loop.stop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

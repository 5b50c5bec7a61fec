"""What the jobs of a worker share is made once and closed with the worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ostinato import Context
from tests.runtime.lab import Lab


async def test_jobs_share_what_is_made_once_and_closed_with_the_worker(lab: Lab) -> None:
    opened: list[object] = []
    closed: list[object] = []
    seen: list[object] = []

    @asynccontextmanager
    async def pool() -> AsyncIterator[object]:
        made = object()
        opened.append(made)
        yield made
        closed.append(made)

    @lab.app.job()
    async def use(ctx: Context) -> None:
        seen.append(await ctx.shared(pool))

    async with lab.worker():
        for job_id in [await use.enqueue(lab.client) for _ in range(3)]:
            await lab.becomes(job_id, "done")
        while_running = list(closed)

    assert while_running == []
    assert len(opened) == 1
    assert seen == opened * 3
    assert closed == opened


async def test_what_is_made_with_other_values_is_another_one(lab: Lab) -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def pool(name: str) -> AsyncIterator[str]:
        opened.append(name)
        yield name

    @lab.app.job()
    async def use(ctx: Context, name: str) -> str:
        return await ctx.shared(pool, name)

    async with lab.worker():
        for name in ("a", "b", "a"):
            done = await lab.becomes(await use.enqueue(lab.client, name), "done")
            assert done.result == name

    assert opened == ["a", "b"]

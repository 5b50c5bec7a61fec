"""Declares the built-in app: a few kinds of jobs to try before you write your own.

ostinato up
ostinato enqueue tour.greet name=Ada
"""

import asyncio
from typing import Final

from ostinato._core.base.backoff import Retry
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.outcomes import Cancel

app: Final = App("tour")

STEP_SECONDS = 0.2
DRY_SECONDS = 1


@app.job(open=True)
async def greet(ctx: Context, name: str = "world") -> str:
    """Say hello; the greeting is the job's result."""
    greeting = f"Hello, {name}!"
    ctx.log.info("greeted", greeting=greeting)
    return greeting


@app.job(open=True)
async def count(ctx: Context, to: int = 20) -> int:
    """Count slowly and report progress: watch it with `ostinato jobs show`."""
    for n in range(1, to + 1):
        await asyncio.sleep(STEP_SECONDS)
        ctx.progress(n, to, f"counted to {n}")
    return to


@app.job(open=True, retry=Retry(delays=(1, 3, 9)))
async def flaky(ctx: Context, failures: int = 2) -> str:
    """Fail some times, then succeed: the retry policy brings it back after 1, 3 and 9 seconds."""
    if ctx.job.failures < failures:
        raise ConnectionError(f"no answer (failure {ctx.job.failures + 1} of {failures})")
    return f"succeeded after {failures} failures"


@app.job(open=True)
async def slow(ctx: Context, seconds: float = 30) -> Cancel | None:
    """Take long: try `ostinato jobs cancel`, or Ctrl-C while it runs."""
    for _ in range(int(seconds / STEP_SECONDS)):
        if ctx.cancelled:
            return Cancel("somebody asked for it")
        await asyncio.sleep(STEP_SECONDS)
    return None


@app.job(open=True)
async def page(ctx: Context, number: int = 1) -> int:
    """Print one page of a book."""
    ctx.log.info("printed", page=number)
    return number


@app.job(open=True)
async def book(ctx: Context, pages: int = 3) -> int:
    """Print a book whose pages are jobs of their own: the console draws them below it."""
    printed = await ctx.join(await ctx.spawn_many(page, ({"number": n} for n in range(1, pages + 1))))
    await ctx.sleep(DRY_SECONDS)
    return printed.done


@app.job(open=True, retry=Retry(permanent=(ValueError,)))
async def poison(ctx: Context, reason: str = "no retry can fix this", cured_by: int = 0) -> str | None:
    """Fail for good: see it with `ostinato jobs dead`. With cured_by=2 a redrive succeeds."""
    if 0 < cured_by <= ctx.job.attempt:
        return f"cured by attempt {ctx.job.attempt}"
    raise ValueError(reason)

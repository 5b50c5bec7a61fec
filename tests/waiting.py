"""Waiting on conditions, not on time: each of these returns as soon as the condition holds."""

import asyncio
import inspect
import threading
from collections.abc import Callable


def until(condition: Callable[[], object]) -> None:
    """Block until the condition holds; the test's own timeout bounds it."""
    pause = threading.Event()
    while not condition():
        pause.wait(0.01)


async def until_async(condition: Callable[[], object]) -> None:
    """As `until`, without blocking the event loop; the condition may be asynchronous."""
    never = asyncio.Event()
    while not await _holds(condition):
        try:
            await asyncio.wait_for(never.wait(), 0.01)
        except TimeoutError:
            continue


async def let_pass(seconds: float) -> None:
    """Let time pass: what a handler may do, and a test may not."""
    try:
        await asyncio.wait_for(asyncio.Event().wait(), seconds)
    except TimeoutError:
        return


async def _holds(condition: Callable[[], object]) -> object:
    found = condition()
    return await found if inspect.isawaitable(found) else found

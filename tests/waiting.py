"""Waiting on conditions, not on time: each of these returns soon after the condition holds.

The pauses grow with what was waited already: to look every ten milliseconds, which often asks the
database, took a third of a core from what was waited for.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator

FIRST_PAUSE = 0.005
LONGEST_PAUSE = 0.1
GROWTH = 1.25


def pauses() -> Iterator[float]:
    """The seconds between two looks: a quarter of what was waited so far, a tenth of a second at most."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * GROWTH, LONGEST_PAUSE)


def until(condition: Callable[[], object]) -> None:
    """Block until the condition holds; the test's own timeout bounds it."""
    never, next_pause = threading.Event(), pauses()
    while not condition():
        never.wait(next(next_pause))


async def until_async(condition: Callable[[], object]) -> None:
    """As `until`, without blocking the event loop; the condition may be asynchronous."""
    next_pause = pauses()
    while not await _holds(condition):
        await let_pass(next(next_pause))


async def let_pass(seconds: float) -> None:
    """Let time pass: what a handler may do, and a test may not."""
    try:
        await asyncio.wait_for(asyncio.Event().wait(), seconds)
    except TimeoutError:
        return


async def _holds(condition: Callable[[], object]) -> object:
    found = condition()
    return await found if inspect.isawaitable(found) else found

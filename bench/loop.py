"""Runs the asynchronous part of a benchmark on the event loop that our processes have, its yardstick included."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ostinato._faces.cli.serve.process import event_loop

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(work)

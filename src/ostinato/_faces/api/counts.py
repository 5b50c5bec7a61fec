"""Counts of all processes of the API that share an address: each tells its own, and asks the others for theirs.

The metrics page has one address too, and whichever process answers there shows all of them: what a process counts
by itself carries its number in the label `process`, so that one that is replaced starts at zero alone. Each listens on
a socket of its own in a folder that only this user can read; one that gives no answer is left out of that page.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import API_METRICS, REPLICA_LAG, Metric, Recorder

log = get_logger("metrics")

COUNTED = tuple(metric for metric in API_METRICS if metric is not REPLICA_LAG)
"""Each process counts these by itself; the rest of the page is the same in all."""
BY_PROCESS: dict[Metric, Metric] = {metric: replace(metric, labels=(*metric.labels, "process")) for metric in COUNTED}
ANSWER_SECONDS = 1.0

Told = dict[str, list[Any]]
"""The series of each metric: labels, bucket counts, value."""


def line_of(folder: Path, number: int) -> Path:
    """Return where a process listens."""
    return folder / f"{number}.sock"


class Counts:
    """The counts of this process and of those beside it."""

    def __init__(self, number: int, processes: int, folder: Path) -> None:
        self._number = number
        self._processes = processes
        self._folder = folder

    @asynccontextmanager
    async def telling(self, line: socket.socket, recorder: Recorder) -> AsyncIterator[None]:
        """Send the counts of this process to a process that asks."""

        async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                writer.write(json.dumps(_told(recorder)).encode())
                await writer.drain()
            writer.close()

        server = await asyncio.start_unix_server(tell, sock=line)
        try:
            yield
        finally:
            server.close()

    async def gathered(self, recorder: Recorder) -> Recorder:
        """Return what all processes have counted, each under its number."""
        others = [number for number in range(1, self._processes + 1) if number != self._number]
        answers = await asyncio.gather(*(self._ask(number) for number in others))
        found = Recorder()
        for number, told in zip((self._number, *others), (_told(recorder), *answers), strict=True):
            for metric, by_process in BY_PROCESS.items():
                for labels, counts, value in told.get(metric.name, ()):
                    found.include(by_process, (*labels, str(number)), counts, value)
        return found

    async def _ask(self, number: int) -> Told:
        """Ask another process; return nothing if it is being replaced, or busy for longer than a reader waits."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(line_of(self._folder, number))
                try:
                    told: Told = json.loads(await reader.read())
                finally:
                    writer.close()
        except (OSError, ValueError, TimeoutError) as error:
            log.warning("process_not_counted", process=number, error=type(error).__name__)
            return {}
        return told


def _told(recorder: Recorder) -> Told:
    return {metric.name: [list(series) for series in recorder.series(metric)] for metric in COUNTED}

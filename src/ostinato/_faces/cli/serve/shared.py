"""Opens what the processes of the API share: its address, its metrics page, and a line to each for its counts.

The supervisor holds all of them, and its processes inherit them: connections come to whichever process takes them
first, and while one is replaced the others go on.
"""

import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from ostinato._core.base.settings import Settings
from ostinato._faces.api.counts import line_of
from ostinato._faces.cli.serve import listening
from ostinato._faces.cli.serve.supervisor import Part

MOST_PROCESSES = 8  # unless somebody wants more: each has connections to the database of its own


class Shared(NamedTuple):
    """What some processes listen on."""

    api: socket.socket
    metrics: socket.socket | None
    lines: Sequence[socket.socket]
    """One for each process, or none where there is one process."""
    folder: Path | None
    """Where the lines are."""
    scheme: str

    @property
    def url(self) -> str:
        """The address of the API."""
        return listening.url_of(self.api, scheme=self.scheme)

    @property
    def page(self) -> str | None:
        """The address of the metrics page."""
        return None if self.metrics is None else f"{listening.url_of(self.metrics)}/metrics"


def processes_of(settings: Settings) -> int:
    """Return how many processes the API is to have. Cells are served by one, which knows them all."""
    if settings.cells_file is not None:
        return 1
    return settings.api_workers or min(MOST_PROCESSES, cores())


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def opened(settings: Settings, *, scheme: str = "http") -> Iterator[Shared]:
    """Open the sockets."""
    count = processes_of(settings)
    with ExitStack() as stack:
        api = stack.enter_context(listening.listen(settings.api_host, settings.api_port))
        metrics = listening.listen_for_metrics(settings)
        if metrics is not None:
            stack.enter_context(metrics)
        if count == 1:
            yield Shared(api, metrics, (), None, scheme)
            return
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ostinato-api-")))
        lines = [stack.enter_context(_line(folder, number)) for number in range(1, count + 1)]
        yield Shared(api, metrics, lines, folder, scheme)


def part(shared: Shared, argv: Sequence[str]) -> Part:
    """Return the part of a supervisor that runs the processes, by this command."""
    own = [f"--fd={shared.api.fileno()}"]
    sockets = [shared.api, *shared.lines]
    if shared.metrics is not None:
        own.append(f"--metrics-fd={shared.metrics.fileno()}")
        sockets.append(shared.metrics)

    def of(number: int) -> list[str]:
        if not shared.lines:
            return [*argv, *own]
        line = shared.lines[number - 1]
        beside = [f"--number={number}", f"--processes={len(shared.lines)}", f"--lines={shared.folder}"]
        return [*argv, *own, *beside, f"--line-fd={line.fileno()}"]

    return Part("api", of, max(1, len(shared.lines)), sockets=tuple(sockets))


def _line(folder: Path, number: int) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(line_of(folder, number)))
    made.listen()
    return made

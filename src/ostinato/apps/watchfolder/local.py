"""PREP and OCR as processes beside us, for who did not say where others run.

They end when our end of their standard input closes, however we end.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ostinato.base.errors import NotConfigured
from ostinato.base.log import get_logger

__all__ = ["Local", "running"]

STOP_SECONDS = 20

log = get_logger("watchfolder")


@dataclass
class Local:
    """One service of ours, which is started again when it dies."""

    name: str
    work_dir: Path
    options: Sequence[str] = ()
    log_to: IO[bytes] | None = None
    url: str = ""
    starts: int = 0
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        port = self.url.rpartition(":")[2] or "0"
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            [
                sys.executable,
                "-m",
                "ostinato",
                self.name,
                "--json",
                "--until-eof",
                f"--work-dir={self.work_dir}",
                f"--port={port}",
                *self.options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log_to or subprocess.DEVNULL,
            start_new_session=True,
        )
        self.starts += 1
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        said = ""
        for line in self._process.stdout:
            said = line.decode("utf-8", "replace")
            with contextlib.suppress(ValueError):
                told = json.loads(said)
                if told.get("event") == "ready":
                    self.url = str(told["url"])
                    return
        self.stop()
        raise NotConfigured(
            f"{self.name} did not start: {said.strip()[:300] or 'it said nothing'}",
            hint=f"Try `ostinato {self.name}` by itself.",
        )

    def mend(self) -> None:
        """Start it again at its place, if it is gone."""
        if self._process is not None and self._process.poll() is not None:
            log.warning("service_died", service=self.name, code=self._process.returncode)
            self.stop()
            self.start()

    def stop(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def running(*services: Local) -> Iterator[None]:
    """The services, until the end of the block."""
    try:
        with ThreadPoolExecutor(max(len(services), 1)) as threads:
            list(threads.map(Local.start, services))
        yield
    finally:
        for service in services:
            service.stop()

"""Starts PREP and OCR as processes of this machine, where no URL names others.

They end when our end of their standard input closes, however we end.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.station import client
from ostinato.apps.watchfolder.station.places import address
from ostinato.errors import NotConfigured
from ostinato.observe import get_logger

STOP_SECONDS = 20
LONGEST_PAUSE = 60.0
WATCH_SECONDS = 1.0
LEAST_BEAT_SECONDS, BEAT_SECONDS = 0.1, 5.0

log = get_logger("watchfolder")


@dataclass
class ServiceProcess:
    """One service as a process of ours, which is restarted when it dies."""

    name: str
    work_dir: Path | None
    """The one folder that it serves; None when its options name a root."""
    options: Sequence[str] = ()
    log_to: Path | None = None
    url: str = ""
    starts: int = 0
    _wanted: bool = field(default=False, repr=False)
    _failed: int = field(default=0, repr=False)
    _not_before: float = field(default=float("-inf"), repr=False)
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        port = self.url.rpartition(":")[2] or "0"
        self._wanted = True
        errors = self._opened_log()
        try:
            self._begin(port, errors)
        finally:
            if errors != subprocess.DEVNULL:
                os.close(errors)
        self._await_ready()

    def _opened_log(self) -> int:
        """Open the log, or nothing: a folder or a link in its place keeps no service from starting."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        flags |= os.O_APPEND if self.starts else os.O_TRUNC
        try:
            return subprocess.DEVNULL if self.log_to is None else os.open(self.log_to, flags, 0o666)
        except OSError as error:
            log.warning("log_not_opened", service=self.name, error=str(error))
            return subprocess.DEVNULL

    def _begin(self, port: str, errors: int) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            [
                sys.executable,
                "-m",
                "ostinato",
                self.name,
                "--json",
                "--until-eof",
                *([] if self.work_dir is None else [f"--work-dir={self.work_dir}"]),
                f"--port={port}",
                *self.options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        self.starts += 1

    def _await_ready(self) -> None:
        assert self._process is not None  # noqa: S101 - just begun
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        said = ""
        for line in self._process.stdout:
            said = line.decode("utf-8", "replace")
            with contextlib.suppress(ValueError):
                news = json.loads(said)
                if news.get("event") == "ready":
                    self.url = str(news["url"])
                    return
        self._end()
        raise NotConfigured(
            f"{self.name} did not start: {said.strip()[:300] or 'it said nothing'}",
            hint=f"Try `ostinato {self.name}` by itself.",
        )

    def restart_if_dead(self) -> None:
        """Restart it at its address, if it is gone; with growing pauses when that fails."""
        running = self._process is not None and self._process.poll() is None
        if running or not self._wanted or time.monotonic() < self._not_before:
            return
        log.warning("service_died", service=self.name)
        self._end()
        try:
            self.start()
        except (NotConfigured, OSError) as error:
            self._failed += 1
            pause = min(LONGEST_PAUSE, 2.0 ** min(self._failed - 1, 10))
            self._not_before = time.monotonic() + pause
            log.warning("service_not_started", service=self.name, error=str(error), pause=pause)
        else:
            self._failed = 0

    def stop(self) -> None:
        """End it, for good."""
        self._wanted = False
        self._end()

    def _end(self) -> None:
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
def running(*processes: ServiceProcess) -> Iterator[None]:
    """Run the services until the end of the block."""
    try:
        with ThreadPoolExecutor(max(len(processes), 1)) as threads:
            list(threads.map(ServiceProcess.start, processes))
        yield
    finally:
        for process in processes:
            process.stop()


@contextlib.asynccontextmanager
async def services(chosen: WatchfolderSettings, root: Path) -> AsyncIterator[dict[str, str]]:
    """Yield the URLs of PREP and OCR for all folders; one without a URL runs as a process of ours.

    What ours log goes to `.prep.log` and `.ocr.log` in the root.
    """
    urls = {"prep": chosen.prep_url, "ocr": chosen.ocr_url}
    ours = {}
    beat = min(BEAT_SECONDS, max(LEAST_BEAT_SECONDS, chosen.job_timeout_seconds / 4))
    options = {
        "prep": [f"--concurrency={chosen.prep_concurrency}"],
        "ocr": [f"--engine={chosen.ocr_engine}", f"--concurrency={chosen.ocr_concurrency}"],
    }
    await asyncio.to_thread(root.mkdir, parents=True, exist_ok=True)
    for name in [name for name, url in urls.items() if not url]:
        shared = [f"--root={root}", f"--beat-seconds={beat:g}"]
        ours[name] = ServiceProcess(name, None, [*options[name], *shared], root / f".{name}.log")
    watching = None
    try:
        await asyncio.gather(*(asyncio.to_thread(process.start) for process in ours.values()))
        urls |= {name: process.url for name, process in ours.items()}
        watching = asyncio.create_task(_keep_alive(list(ours.values())))
        yield urls
    finally:
        if watching is not None:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
        await asyncio.gather(*(asyncio.to_thread(process.stop) for process in ours.values()))


@contextlib.asynccontextmanager
async def at(
    chosen: WatchfolderSettings, urls: dict[str, str], folders: Folders, lang: str
) -> AsyncIterator[dict[str, str]]:
    """Yield the addresses of the services for one folder; those of ours leave it at the end.

    Another worker may watch the folder next, and its services have to lock it.
    """
    where = {f"{name}_url": address(url, folders.work, lang) for name, url in urls.items()}
    try:
        yield where
    finally:
        given = {"prep": chosen.prep_url, "ocr": chosen.ocr_url}
        for name in [name for name in urls if not given[name]]:
            await asyncio.to_thread(client.leave, where[f"{name}_url"].rpartition("/")[0])


async def _keep_alive(ours: list[ServiceProcess]) -> None:
    while ours:
        await asyncio.sleep(WATCH_SECONDS)
        for process in ours:
            await asyncio.to_thread(process.restart_if_dead)

"""What a service knows of itself and of its jobs."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.model import JOB_KEY
from ostinato.apps.watchfolder.station.refused import NO_ROOM, Refused
from ostinato.apps.watchfolder.station.sandbox import Limits
from ostinato.apps.watchfolder.utils import now_iso

__all__ = ["JOB_KEY", "Conflict", "Job", "Plan", "Unavailable", "crash", "task_of"]


MOST_PAGES = 5_000
SLACK_SECONDS = 0.5
"""More time for each page of a document before its first and after its last one."""


class Conflict(Exception):
    """The request contradicts what is known of the job."""

    def __init__(self, code: str, attempt: int) -> None:
        super().__init__(code)
        self.code = code
        self.attempt = attempt


class Unavailable(Exception):
    """No more work is taken, now (429) or at all (503)."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Plan:
    """What a service is."""

    name: str
    work: str
    """The module whose `run` does the work, in a worker process."""
    output: str
    limits: Limits
    concurrency: int = 1
    queue_length: int = 1000
    beat_seconds: float = 5.0
    page_seconds: float = 120.0
    """Longest time without a new page."""
    cores: int = 0
    """Cores that its worker processes may use together: one that is alone has all of them."""
    options: dict[str, Any] = field(default_factory=dict)
    """Handed to every task."""
    options_for: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """More of them, that depend on what was submitted."""

    def still_seconds(self, page: int, pages: int) -> float:
        """Return how long a document may stand still there: longer where all of it is looked at, or written."""
        return self.page_seconds + (SLACK_SECONDS * min(pages, MOST_PAGES) if page in (0, pages) else 0.0)


@dataclass
class Job:
    """A job, as it is answered for."""

    folder: Path
    """`work/<jobKey>` of the watched folder that it is of."""
    attempt: int
    body: dict[str, Any]
    state: str = "RUNNING"
    started_at: str = field(default_factory=now_iso)
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    page: tuple[int, int, str] = (0, 0, "")
    """Page, pages, step."""
    moved: float = field(default_factory=time.monotonic)
    """When one of them changed last."""
    options: dict[str, Any] = field(default_factory=dict)
    """What the plan has for this one: see `Plan.options_for`."""
    queued: float = field(default_factory=time.monotonic)
    """When it came."""
    pid: int | None = None
    """Its worker process, which leads a group of its own."""
    doom: Refused | None = None
    """Why its worker process was killed."""

    @property
    def job_key(self) -> str:
        """The key of the job in its folder; two folders may have jobs of one key."""
        return self.folder.name

    @property
    def id(self) -> str:
        """Its name for the fork server."""
        return f"{self.folder}.{self.attempt}"

    @property
    def tenant(self) -> Path:
        """Whose it is: watched folders are `<root>/<tenant>/<name>`."""
        above = self.folder.parents
        return above[2] if len(above) > 2 else above[-1]  # noqa: PLR2004 - key, work, name

    @property
    def pages(self) -> int | None:
        """How many pages it has, as far as the one who sent it knows."""
        return self.body.get("pages")

    def document(self, beat: dict[str, Any]) -> dict[str, Any]:
        """Return it as the answer to a poll, with what its last heartbeat said."""
        page, pages = beat.get("page", self.page[0]), beat.get("pages", self.page[1])
        step = beat.get("step", self.page[2])
        return {
            "jobKey": self.job_key,
            "attempt": self.attempt,
            "state": self.state,
            "progress": {"page": page, "pages": pages} | ({"step": step} if step else {}),
            "startedAt": self.started_at,
            "heartbeatAt": beat.get("at"),
            "result": self.result,
            "error": self.error,
        }


def crash(ended: dict[str, Any]) -> Refused:
    """Explain a process that left no outcome: killed by a limit, or by its input; or no room."""
    if ended["code"] == NO_ROOM:
        return Refused("DISK_FULL", "the worker process could not write how it ended: no space left")
    how = f"signal {ended['signal']}" if ended["signal"] else f"code {ended['code']}"
    used = f"{ended['rssKb'] // 1024} MB, {ended['cpu']:g} s of processor time"
    if ended["said"]:
        used = f"{used}; it said: {ended['said']}"
    return Refused("WORKER_CRASHED", f"the worker process ended with {how}, having used {used}")


def task_of(plan: Plan, job: Job, sharing: int) -> dict[str, Any]:
    """Return the order to a worker process, which shares the cores with so many."""
    return {
        **plan.options,
        **job.options,
        **({"threads": max(1, plan.cores // sharing)} if plan.cores else {}),
        **job.body,
        "service": plan.name,
        "folder": str(job.folder),
        "part": str(job.folder / f"{plan.output}.a{job.attempt}.part"),
        "beatSeconds": plan.beat_seconds,
        "memoryBytes": plan.limits.memory_bytes,
    }

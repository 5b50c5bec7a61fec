"""Remembers from tick to tick; after a crash the files say all of it again."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Sight:
    """A file in `in/`, as it was seen."""

    identity: tuple[int, int, int]
    """Size, time of the last change, number: as long as they stay, nobody writes."""
    since: float
    first: float
    """When it was seen first, whatever changed since."""
    failed: int = 0
    not_before: float = float("-inf")
    """When it may be tried again, after so many failures."""
    why: str = ""
    """Why it still lies in `in/`."""


@dataclass
class Staged:
    """A file that was taken from `in/` and has no job yet."""

    path: Path
    name: str
    size: int
    hashing: "Future[str] | None" = None
    job_key: str | None = None
    """The job that it is becoming: its move may have been done when something was in the way."""


@dataclass
class Memory:
    """What is kept between ticks."""

    sights: dict[str, Sight] = field(default_factory=dict)
    passed: dict[str, str] = field(default_factory=dict)
    """What lies in `in/` and is never taken (folders, links), each with the reason."""
    staged: list[Staged] = field(default_factory=list)
    staging_swept: bool = False
    scanned_at: float = float("-inf")
    reported: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each problem was seen last: one that had been over is logged again."""
    local: bool | None = None
    """Whether `in/` is on a file system of this machine, once that was looked up."""
    unrecovered: set[str] = field(default_factory=set)
    """Jobs of a process before us that could not be taken up yet."""
    reports_complete: bool = True
    """Whether every duplicate that is held has its report."""
    bad_decisions: dict[str, int] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    """Jobs that have ended and whose work folders can go once the index is saved."""
    dirty: bool = False
    saved_at: float = float("-inf")
    save_seconds: float = 0.0
    executor: ThreadPoolExecutor | None = None

    def hasher(self) -> ThreadPoolExecutor:
        """Return the threads that read large files, so that no tick waits for them."""
        if self.executor is None:
            self.executor = ThreadPoolExecutor(2, thread_name_prefix="sha256")
        return self.executor

    def close(self) -> None:
        """Let the threads go."""
        if self.executor is not None:
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = None

"""What one process remembers from tick to tick, and the hand that every step of a tick is given.

Nothing here is needed after a crash: the files are the truth.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import FINAL, Config, Document, Index, InFlight
from ostinato.apps.watchfolder.utils import atomic_write_json, now_iso, update_state
from ostinato.observe import get_logger

__all__ = ["Memory", "Sight", "Staged", "Tick", "log"]

SAVE_SHARE = 10
"""A slow save of a large index is done at most so rarely that it takes a tenth of the time."""

OVER_SECONDS = 300.0
"""A problem that has not been seen for so long was over; when it comes again it is news."""
MOST_TOLD = 10_000

log = get_logger("watchfolder")


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
    staged: list[Staged] = field(default_factory=list)
    staging_swept: bool = False
    scanned_at: float = float("-inf")
    told: dict[tuple[str, str], float] = field(default_factory=dict)
    """What was said, and when it was so last: it is said again when it had been over."""
    local: bool | None = None
    """Whether `in/` is on a file system of this machine, once that was looked up."""
    unrecovered: set[str] = field(default_factory=set)
    """Jobs of a process before us that could not be taken up yet."""
    mended: bool = True
    """Whether every duplicate that is held has its report."""
    bad_decisions: dict[str, int] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    """Jobs that have ended and whose work folders can go once the index is saved."""
    dirty: bool = False
    saved_at: float = float("-inf")
    save_seconds: float = 0.0
    executor: ThreadPoolExecutor | None = None

    def hasher(self) -> ThreadPoolExecutor:
        """Threads that read large files, so that no tick waits for them."""
        if self.executor is None:
            self.executor = ThreadPoolExecutor(2, thread_name_prefix="sha256")
        return self.executor

    def close(self) -> None:
        """Let the threads go."""
        if self.executor is not None:
            self.executor.shutdown(wait=True, cancel_futures=True)
            self.executor = None


@dataclass
class Tick:
    """One tick: what it may use, and what it did."""

    folders: Folders
    in_flight: InFlight
    index: Index
    index_path: str
    profile: Document | None
    config: Config
    memory: Memory
    away: set[str] = field(default_factory=set)
    """Services that did not answer in this tick: they are not asked again in it."""
    summary: dict[str, Any] = field(
        default_factory=lambda: {
            "claimed": 0,
            "duplicates": 0,
            "submitted": 0,
            "done": 0,
            "errors": 0,
            "problems": [],
        }
    )

    def __post_init__(self) -> None:
        self.index.setdefault("version", 1)
        self.index.setdefault("jobs", {})
        self.index.setdefault("forced", {})

    @property
    def jobs(self) -> dict[str, Document]:
        """The jobs of the index."""
        found: dict[str, Document] = self.index["jobs"]
        return found

    def setting(self, name: str, default: Any) -> Any:  # noqa: ANN401 - as the config has it
        """A value of the config, or its default."""
        found = self.config.get(name)
        return default if found is None else found

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""
        clock: Callable[[], float] = self.config.get("clock", time.monotonic)
        return clock()

    @property
    def halted(self) -> bool:
        """Whether whoever ticks wants to stop: what is not begun is left to the next one."""
        halt: threading.Event | None = self.config.get("halt")
        return halt is not None and halt.is_set()

    def state(self, job_key: str, **patch: object) -> Document:
        """Write down a new state of a job, in its folder and in the index, and tell it."""
        document = update_state(self.folders.work, job_key, patch)
        self.learn(document)
        self.tell({"kind": "job", **document})
        return document

    def learn(self, document: Document) -> None:
        """Let the index know what a state.json says."""
        job_key = document["jobKey"]
        entry = self.jobs.setdefault(job_key, {})
        known = {name: document[name] for name in INDEXED if name in document}
        if document["state"] in FINAL:
            known["finishedAt"] = document["updatedAt"]
            self.memory.finished.add(job_key)
        if any(entry.get(name) != value for name, value in known.items()):
            entry |= known
            self.memory.dirty = True
        nonce = (document.get("profile") or {}).get("force")
        if document["state"] != "INGESTING" and self.index["forced"].pop(nonce, None):
            self.memory.dirty = True  # a nonce is good for once

    def tell(self, event: Document) -> None:
        """Tell whoever listens: the engine, or a person at a terminal."""
        listen: Callable[[Document], None] | None = self.config.get("on_event")
        if listen is not None:
            listen(event)

    def problem(self, what: str, error: BaseException, *, once: bool = False, **where: str) -> None:
        """Note a failure that is not the end of the tick."""
        said = f"{type(error).__name__}: {error}"
        self.summary["problems"].append({"what": what, "error": said, **where})
        told, now, key = self.memory.told, self.now(), (what, str(where))
        if not once or now - told.get(key, float("-inf")) > OVER_SECONDS:
            log.warning(what, error=said, **where)
        told[key] = now
        if len(told) > MOST_TOLD:
            told.clear()

    @contextlib.contextmanager
    def guarded(self, what: str, **where: str) -> Any:  # noqa: ANN401 - a context
        """What fails in this block fails alone: one bad file must never stop the others."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - told, and tried again by the next tick
            self.problem(what, error, once=True, **where)

    def save_index(self, *, force: bool = False) -> bool:
        """Save the index if it changed; rarely, when it is so large that it takes long."""
        memory = self.memory
        if not memory.dirty and not force:
            return False
        started = time.monotonic()
        if not force and started - memory.saved_at < memory.save_seconds * SAVE_SHARE:
            return False
        self.index["savedAt"] = now_iso()
        atomic_write_json(self.index_path, self.index)
        memory.dirty = False
        memory.saved_at = time.monotonic()
        memory.save_seconds = memory.saved_at - started
        return True


INDEXED = (
    "state",
    "fileName",
    "nameRaw",
    "fileHash",
    "profileHash",
    "sizeBytes",
    "attemptPrep",
    "attemptOcr",
    "outPath",
    "resultPath",
    "archivePath",
    "errorPath",
    "errorCode",
    "errorStage",
    "cause",
    "pages",
    "result",
    "seq",
    "createdAt",
)
"""What the index knows of a job, of all that its state.json says."""

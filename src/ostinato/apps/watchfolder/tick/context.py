"""Carries what every step of a tick is given, and what the tick did."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import FINAL, Document, Index, InFlight
from ostinato.apps.watchfolder.tick.memory import Memory
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.apps.watchfolder.utils import atomic_write_json, now_iso, update_state
from ostinato.observe import get_logger

SAVE_SHARE = 10
"""A slow save of a large index is done at most so rarely that it takes a tenth of the time."""

OVER_SECONDS = 300.0
"""A problem that has not been seen for so long was over; when it comes again it is logged again."""
MOST_REPORTED = 10_000

log = get_logger("watchfolder")


@dataclass
class Hooks:
    """What the process around the ticks brings: a clock, who listens, and when to stop."""

    clock: Callable[[], float] = time.monotonic
    """Seconds; it only goes forward."""
    on_event: Callable[[Document], None] | None = None
    """Hears every event: the engine, or a person at a terminal."""
    is_recorded: Callable[[str], bool] | None = None
    """Whether the engine has every state of a job; until then its work folder stays."""
    halt: threading.Event = field(default_factory=threading.Event)
    """Set when the process is to stop: what is not begun is left to the next one."""


@dataclass
class Tick:
    """One tick: what it may use, and what it did."""

    folders: Folders
    options: Options
    in_flight: InFlight
    index: Index
    index_path: str
    profile: Document | None
    """None when the services did not say what they are made of: nothing new is taken."""
    metrics: Document
    memory: Memory
    hooks: Hooks
    away: set[str] = field(default_factory=set)
    """Services that did not answer in this tick: they are not asked again in it."""
    summary: dict[str, Any] = field(
        default_factory=lambda: {"claimed": 0, "duplicates": 0, "submitted": 0, "done": 0, "errors": 0, "problems": []}
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

    def now(self) -> float:
        """Return the time of the orchestrator's clock, which only goes forward."""
        return self.hooks.clock()

    @property
    def halted(self) -> bool:
        """Whether the orchestrator is to stop."""
        return self.hooks.halt.is_set()

    def state(self, job_key: str, **patch: object) -> Document:
        """Write a new state of a job, in its folder and in the index, and emit it."""
        document = update_state(self.folders.work, job_key, patch)
        self.learn(document)
        self.emit({"kind": "job", **document})
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

    def emit(self, event: Document) -> None:
        """Emit an event to the process around the tick, if it listens."""
        if self.hooks.on_event is not None:
            self.hooks.on_event(self.folders.shown(event))

    def problem(self, what: str, error: BaseException, *, once: bool = False, **where: str) -> None:
        """Note a failure that is not the end of the tick."""
        said = f"{type(error).__name__}: {error}"
        self.summary["problems"].append({"what": what, "error": said, **where})
        seen, now, key = self.memory.reported, self.now(), (what, str(where))
        if not once or now - seen.get(key, float("-inf")) > OVER_SECONDS:
            log.warning(what, error=said, **where)
        seen[key] = now
        if len(seen) > MOST_REPORTED:
            seen.clear()

    @contextlib.contextmanager
    def guarded(self, what: str, **where: str) -> Any:  # noqa: ANN401 - a context
        """Let what fails in this block fail alone: one bad file must never stop the others."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - logged, and retried by the next tick
            self.problem(what, error, once=True, **where)

    def save_index(self, *, force: bool = False) -> bool:
        """Save the index if it changed; rarely, when it is so large that it takes long."""
        memory = self.memory
        if not memory.dirty and not force:
            return False
        started = self.now()
        if not force and started - memory.saved_at < memory.save_seconds * SAVE_SHARE:
            return False
        self.index["savedAt"] = now_iso()
        atomic_write_json(self.index_path, self.index)
        memory.dirty = False
        memory.saved_at = self.now()
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

"""A worker process: it beats while it runs the work, and writes how the work ended."""

import contextlib
import json
import os
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ostinato.apps.watchfolder.station.refused import Refused, of_system
from ostinato.apps.watchfolder.utils import atomic_write_json, now_iso


class Progress(Protocol):
    """How the work reports how far it is. Whatever changes shows that it does not stand still."""

    def __call__(self, page: int, pages: int, step: str = "", /) -> None:
        """Report the page of so many, and the step: a name such as "read" or "write"."""


Work = Callable[[dict[str, Any], Progress], dict[str, Any]]
"""The work: it takes the task and a way to report progress, and returns the result."""


def outcome_name(service: str, attempt: int) -> str:
    """Return the file in which a worker process says how it ended."""
    return f"{service}.outcome.a{attempt}.json"


def tmp_name(service: str, attempt: int) -> str:
    """Return the folder for temporary files of a worker process; each attempt has its own."""
    return f"tmp-{service}.a{attempt}"


MOST_OFTEN_SECONDS = 0.25


class Heartbeat:
    """A heartbeat from a thread of the worker process: it proves that the process lives."""

    def __init__(self, path: Path, attempt: int, seconds: float) -> None:
        self._path = path
        self._attempt = attempt
        self._seconds = seconds
        self._page = self._pages = 0
        self._step = ""
        self._beaten = float("-inf")
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self.beat()
        self._thread.start()

    def stop(self) -> None:
        """Beat no more."""
        self._over.set()

    def report(self, page: int, pages: int, step: str = "", /) -> None:
        """Report how far the work is."""
        self._page, self._pages, self._step = page, pages, step
        if time.monotonic() - self._beaten >= MOST_OFTEN_SECONDS:
            self.beat()  # else the thread does

    def beat(self) -> None:
        """Touch the file, with what is known."""
        said = {
            "attempt": self._attempt,
            "pid": os.getpid(),
            "page": self._page,
            "pages": self._pages,
            "step": self._step,
            "at": now_iso(),
        }
        self._beaten = time.monotonic()
        with self._lock:
            temporary = self._path.with_name(f".{self._path.name}.a{self._attempt}")
            temporary.write_text(json.dumps(said), encoding="ascii")
            temporary.replace(self._path)

    def _run(self) -> None:
        while not self._over.wait(self._seconds):
            with contextlib.suppress(OSError):  # a full disk may have room at the next beat
                self.beat()


def run_task(work: Work, task: dict[str, Any]) -> None:
    """Run the work of a task, and write its outcome; raises only when that cannot be written."""
    folder, service, attempt = Path(task["folder"]), task["service"], int(task["attempt"])
    beat = Heartbeat(folder / f"{service}.heartbeat", attempt, float(task["beatSeconds"]))
    outcome: dict[str, Any]
    try:
        beat.start()
        outcome = {"result": work(task, beat.report)}
    except Refused as error:
        outcome = {"error": error.document()}
    except MemoryError:
        limit = task.get("memoryBytes", 0)
        outcome = {"error": Refused("MEMORY", f"needs more than {limit:,} bytes").document()}
    except OSError as error:
        outcome = {"error": of_system(error).document()}
    except Exception as error:  # noqa: BLE001 - whatever a library raises about a strange file
        traceback.print_exc()
        outcome = {"error": _crashed(error)}
    beat.stop()
    outcome["sandbox"] = task.get("sandbox")
    atomic_write_json(folder / outcome_name(service, attempt), outcome)


def _crashed(error: Exception) -> dict[str, Any]:
    said = f"{type(error).__name__}: {error}"
    if "bad_alloc" in said or "allocate" in said:
        return Refused("MEMORY", said[:500]).document()
    return Refused("WORKER_CRASHED", said[:500]).document()

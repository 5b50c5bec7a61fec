"""The orchestrator as the specification names it: `python -m ostinato.apps.watchfolder.main`.

    in/ → PREP → OCR → out/, with the original in archive/

One process, no HTTP server, no database. The folders are the names in capitals below; everything
else that a tick needs is handed to it. Nothing runs at import. `tick.orchestrator` does the work.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.core import make_empty_metrics
from ostinato.apps.watchfolder.folders import LAYOUT, Folders
from ostinato.apps.watchfolder.model import Document, Index, InFlight
from ostinato.apps.watchfolder.station.client import poll_job, submit_ocr, submit_prep
from ostinato.apps.watchfolder.tick import decisions, duplicates, orchestrator, stages
from ostinato.apps.watchfolder.tick.context import Hooks, Tick, log
from ostinato.apps.watchfolder.tick.memory import Memory
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.apps.watchfolder.utils import move_atomic, sha256_file
from ostinato.apps.watchfolder.utils import update_state as write_state
from ostinato.errors import OstinatoError
from ostinato.observe import configure

__all__ = [
    "check_duplicate_decisions",
    "check_stale_jobs",
    "move_atomic",
    "poll_job",
    "process_loop",
    "process_tick",
    "sha256_file",
    "submit_ocr",
    "submit_prep",
    "update_state",
    "write_duplicate_report",
]

DATA_DIR = os.environ.get("DATA_DIR", "data")


def _folder(name: str, part: str) -> str:
    return os.environ.get(name, str(Path(DATA_DIR) / LAYOUT[part]))


IN_DIR = _folder("IN_DIR", "incoming")
STAGING_DIR = _folder("STAGING_DIR", "staging")
WORK_DIR = _folder("WORK_DIR", "work")
OUT_DIR = _folder("OUT_DIR", "out")
ARCHIVE_DIR = _folder("ARCHIVE_DIR", "archive")
ERROR_DIR = _folder("ERROR_DIR", "error")
HOLD_DUP_DIR = _folder("HOLD_DUP_DIR", "hold")
REPORTS_DUP_DIR = _folder("REPORTS_DUP_DIR", "reports")
RESULTS_DIR = _folder("RESULTS_DIR", "results")
INDEX_DIR = _folder("INDEX_DIR", "index")

Config = dict[str, Any]
"""The config of a tick. The specification fixes it as a dict, so it is one here and nowhere else:
`Options` and `Folders` are read from it. A caller hands the same dict to every tick; what is to
last from one to the next (`metrics`, as the specification says, and `memory`) is kept in it."""


def _folders(config: Mapping[str, Any] | None = None) -> Folders:
    """Return the folders that the names above say at this moment, and those that a config names."""
    given = config or {}
    named = {
        "incoming": IN_DIR,
        "staging": STAGING_DIR,
        "work": given.get("work_dir", WORK_DIR),
        "out": OUT_DIR,
        "archive": ARCHIVE_DIR,
        "error": ERROR_DIR,
        "hold": HOLD_DUP_DIR,
        "reports": REPORTS_DUP_DIR,
        "results": RESULTS_DIR,
        "index": given.get("index_dir", INDEX_DIR),
    }
    return Folders(**{name: Path(path).absolute() for name, path in named.items()})


def process_tick(
    in_flight: InFlight, index: Index, index_path: str | os.PathLike[str], profile: Document | None, config: Config
) -> dict[str, Any]:
    """Run one tick, in eight steps, and return what it did.

    `profile` None means that the services did not say what they are made of: nothing new is taken.
    """
    return orchestrator.run(_tick(in_flight, index, index_path, profile, config))


def _tick(
    in_flight: InFlight, index: Index, index_path: str | os.PathLike[str], profile: Document | None, config: Config
) -> Tick:
    return Tick(
        _folders(config),
        Options.of(config),
        in_flight,
        index,
        os.fspath(index_path),
        profile,
        config.setdefault("metrics", make_empty_metrics()),
        config.setdefault("memory", Memory()),
        Hooks(),
    )


def update_state(job_key: str, patch: Mapping[str, Any]) -> Document:
    """Change what `WORK_DIR/<jobKey>/state.json` says."""
    return write_state(WORK_DIR, job_key, patch)


def write_duplicate_report(
    job_key: str, incoming_path: str | os.PathLike[str], existing: Document, profile: Document
) -> str:
    """Hold a duplicate for a decision, and report it; returns the path of the report."""
    folders = _folders()
    duplicates.hold(folders, job_key, Path(incoming_path), existing, profile)
    return str(folders.reports / f"{job_key}.json")


def check_duplicate_decisions(index: Index, index_path: str | os.PathLike[str]) -> None:
    """Carry out every decision.json; never decides anything by itself."""
    tick = _tick({}, index, index_path, None, {})
    decisions.apply_decisions(tick)
    if tick.memory.dirty:
        tick.save_index(force=True)


def check_stale_jobs(in_flight: InFlight, timeout_s: float) -> list[str]:
    """Take jobs back whose heartbeat is stale: PREP_RETRY or OCR_RETRY."""
    return stages.check_stale(in_flight, timeout_s, WORK_DIR)


def process_loop() -> None:
    """Tick until SIGTERM or SIGINT, which let the current tick end."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    orchestrator.Orchestrator(_folders(), Options.from_environ(os.environ)).loop(stop)


def _main() -> int:
    configure()
    try:
        process_loop()
    except OstinatoError as error:
        log.error("orchestrator_refused", error=str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())

"""The orchestrator of one watched folder: `python -m ostinato.apps.watchfolder.main`.

    in/ → PREP → OCR → out/, with the original in archive/

One process, no HTTP server, no database: the files are the truth, and a tick can be cut off at any
point. Everything that a tick needs is handed to it; the folders are the names in capitals below,
unless `config["folders"]` has others. Nothing runs at import.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder import arrivals, decisions, duplicates, recovery, stages
from ostinato.apps.watchfolder.core import make_empty_metrics, write_metrics
from ostinato.apps.watchfolder.finishing import sweep_finished
from ostinato.apps.watchfolder.folders import LAYOUT, Folders
from ostinato.apps.watchfolder.memory import Memory, Tick, log
from ostinato.apps.watchfolder.model import Config, Document, Index, InFlight
from ostinato.apps.watchfolder.remote import poll_job, submit_ocr, submit_prep
from ostinato.apps.watchfolder.setup import (
    BUSY_TICK_SECONDS,
    TICK_SECONDS,
    Profile,
    config_of,
    locked,
)
from ostinato.apps.watchfolder.utils import move_atomic, sha256_file
from ostinato.apps.watchfolder.utils import update_state as write_state
from ostinato.errors import OstinatoError
from ostinato.observe import configure

__all__ = [
    "begin",
    "check_duplicate_decisions",
    "check_stale_jobs",
    "config_from",
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


def _folders(config: Mapping[str, Any] | None = None) -> Folders:
    """The folders of a config, or those named above, as they are at this moment."""
    given = config or {}
    if given.get("folders") is not None:
        found: Folders = given["folders"]
        return found
    named = {
        "incoming": given.get("in_dir", IN_DIR),
        "staging": given.get("staging_dir", STAGING_DIR),
        "work": given.get("work_dir", WORK_DIR),
        "out": given.get("out_dir", OUT_DIR),
        "archive": given.get("archive_dir", ARCHIVE_DIR),
        "error": given.get("error_dir", ERROR_DIR),
        "hold": given.get("hold_dup_dir", HOLD_DUP_DIR),
        "reports": given.get("reports_dup_dir", REPORTS_DUP_DIR),
        "results": given.get("results_dir", RESULTS_DIR),
        "index": given.get("index_dir", INDEX_DIR),
    }
    return Folders(**{name: Path(path).absolute() for name, path in named.items()})


def process_tick(
    in_flight: InFlight,
    index: Index,
    index_path: str | os.PathLike[str],
    profile: Document | None,
    config: Config,
) -> dict[str, Any]:
    """One tick, in eight steps; what it did. One file that fails never keeps others waiting.

    `profile` None: the services did not say what they are made of, and nothing new is taken.
    """
    tick = _tick(in_flight, index, index_path, profile, config)
    if profile is None:
        tick.summary["degraded"] = "services"
    recovery.recover_rest(tick)
    with tick.guarded("decisions"):
        check_duplicate_decisions(index, index_path, tick=tick)  # 1
    with tick.guarded("discovery"):
        arrivals.discover(tick)  # 2
    stages.schedule(tick, stages.PREP)  # 3
    stages.poll(tick, stages.PREP)  # 4
    stages.schedule(tick, stages.OCR)  # 5
    stages.poll(tick, stages.OCR)  # 6
    stages.finish_pending(tick)
    with tick.guarded("stale_jobs"):
        check_stale_jobs(in_flight, config["job_timeout_s"], tick=tick)  # 7
    with tick.guarded("index_not_saved"):
        if tick.save_index() or not tick.memory.dirty:
            sweep_finished(tick)
    _gauge(config["metrics"], in_flight, tick.summary.get("degraded"))
    with tick.guarded("metrics_not_written"):
        write_metrics(config["metrics"], config["index_dir"])  # 8
    return tick.summary


def _tick(
    in_flight: InFlight,
    index: Index,
    index_path: str | os.PathLike[str],
    profile: Document | None,
    config: Config,
) -> Tick:
    memory: Memory = config.setdefault("memory", Memory())
    config.setdefault("metrics", make_empty_metrics())
    path = os.fspath(index_path)
    return Tick(_folders(config), in_flight, index, path, profile, config, memory)


def _gauge(metrics: Document, in_flight: InFlight, degraded: str | None) -> None:
    running = sum(meta["stage"].endswith("_RUNNING") for meta in in_flight.values())
    metrics["running"], metrics["queued"] = running, len(in_flight) - running
    metrics.pop("degraded", None)
    if degraded is not None:
        metrics["degraded"] = degraded


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


def check_duplicate_decisions(
    index: Index, index_path: str | os.PathLike[str], *, tick: Tick | None = None
) -> None:
    """Carry out every decision.json; never decides anything by itself."""
    at = tick or _tick({}, index, index_path, None, {})
    decisions.apply_decisions(at)
    if at.memory.dirty and tick is None:
        at.save_index(force=True)


def check_stale_jobs(
    in_flight: InFlight, timeout_s: float, *, tick: Tick | None = None
) -> list[str]:
    """Take jobs back whose heartbeat is stale: PREP_RETRY or OCR_RETRY."""
    if tick is None:
        return stages.check_stale(in_flight, timeout_s, WORK_DIR)
    return stages.check_stale(
        in_flight,
        timeout_s,
        tick.folders.work,
        now=tick.now(),
        tell=lambda job_key, patch: tick.state(job_key, **patch),
    )


def config_from(environ: Mapping[str, str], folders: Folders | None = None) -> Config:
    """The config of a tick, from the environment."""
    if folders is None:
        return config_of(environ, WORK_DIR, INDEX_DIR)
    return config_of(environ, str(folders.work), str(folders.index)) | {"folders": folders}


def begin(config: Config, profile: Document | None = None) -> tuple[InFlight, Index, str]:
    """Make the folders, redo what was left half done: `(in_flight, index, index_path)`."""
    folders = _folders(config)
    folders.make()
    for folder in folders.scattered():
        log.warning("folder_on_another_file_system", folder=str(folder))
    index = recovery.load_index(folders)
    in_flight: InFlight = {}
    tick = _tick(in_flight, index, folders.index_file, profile, config)
    recovery.recover(tick)
    return in_flight, index, str(folders.index_file)


def process_loop(config: Config | None = None, stop: threading.Event | None = None) -> None:
    """Tick until told to stop: SIGTERM and SIGINT let the tick in hand end."""
    chosen = config_from(os.environ) if config is None else config
    halt = stop or threading.Event()
    if threading.current_thread() is threading.main_thread() and stop is None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: halt.set())
    folders = _folders(chosen)
    with locked(folders):
        in_flight, index, index_path = begin(chosen)
        profile = Profile(chosen)
        memory: Memory = chosen["memory"]
        try:
            while not halt.is_set():
                done = process_tick(in_flight, index, index_path, profile.get(), chosen)
                if chosen.get("on_tick") is not None:
                    chosen["on_tick"](done, in_flight)
                busy = in_flight or memory.staged
                pause = float(chosen.get("tick_s", TICK_SECONDS))
                halt.wait(min(pause, BUSY_TICK_SECONDS) if busy else pause)
        finally:
            memory.close()
            last = _tick(in_flight, index, index_path, None, chosen)
            with last.guarded("index_not_saved"):
                last.save_index(force=memory.dirty)
                sweep_finished(last)


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

"""Finishes before the first tick what an earlier process left half done.

The order matters. First the index, from its file and from what the folders say; then the jobs in
`work/`, each by the intention that was written last; then duplicates without a report. Files in
`_staging/` are taken up by the first tick, when it is known which jobs there are.
"""

import contextlib
import os
from pathlib import Path

from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import FINAL, JOB_KEY, Document, Index, in_hand
from ostinato.apps.watchfolder.tick import duplicates
from ostinato.apps.watchfolder.tick.arrivals import arrive
from ostinato.apps.watchfolder.tick.context import INDEXED, Tick, log
from ostinato.apps.watchfolder.tick.finishing import finish_error, sweep_finished
from ostinato.apps.watchfolder.utils import move_atomic, move_unique, now_iso, read_json, remove_tree, timestamp, unlink


def load_index(folders: Folders) -> Index:
    """Load the index; made anew from the results and the error reports when its file is of no use."""
    path = folders.index_file
    try:
        found = read_json(path)
    except (ValueError, OSError) as error:
        log.warning("index_unreadable", error=str(error))
        with contextlib.suppress(OSError):
            move_atomic(path, path.with_name(f"index.json.broken-{timestamp()}"))
        found = None
    return _empty() | found if isinstance(found, dict) else _rebuilt(folders)


def _empty() -> Index:
    return {"version": 1, "jobs": {}, "forced": {}}


def _rebuilt(folders: Folders) -> Index:
    index = _empty()
    for result in folders.results.glob("*.pdf") if folders.results.is_dir() else ():
        index["jobs"][result.stem] = {
            "state": "DONE",
            "fileHash": result.stem.partition("__")[0],
            "profileHash": result.stem.partition("__")[2],
            "resultPath": folders.stored("resultPath", result),
        }
    for report in folders.error.glob("*/error.json") if folders.error.is_dir() else ():
        with contextlib.suppress(ValueError, OSError):
            document = read_json(report, {})
            if isinstance(document, dict) and isinstance(document.get("jobKey"), str):
                known = {name: document[name] for name in INDEXED if name in document}
                place = folders.stored("errorPath", report.parent)
                index["jobs"][document["jobKey"]] = {"state": "ERROR", "errorPath": place} | known
    return index


def recover(tick: Tick) -> None:
    """Bring the folders into order and take up the jobs; see the head of this file."""
    with tick.guarded("parts_not_removed"):
        _remove_parts(tick.folders)
    for folder in sorted(tick.folders.work.iterdir()):
        if not folder.is_dir():
            continue
        if JOB_KEY.fullmatch(folder.name) is None:
            tick.problem("folder_not_ours", ValueError("no jobKey"), once=True, folder=str(folder))
            continue
        tick.memory.unrecovered.add(folder.name)
    recover_rest(tick)
    _give_up_lost(tick)
    with tick.guarded("reports_not_restored"):
        duplicates.restore_reports(tick)
    metrics = tick.metrics
    states = [entry.get("state") for entry in tick.jobs.values()]
    refused = sum(1 for _ in tick.folders.error.glob("empty-*/error.json"))
    metrics["done"], metrics["error"] = states.count("DONE"), states.count("ERROR") + refused
    with tick.guarded("index_not_saved"):
        tick.save_index(force=tick.memory.dirty)
        sweep_finished(tick)


def recover_rest(tick: Tick) -> None:
    """Take up the jobs that were not yet: a full disk may have been in the way."""
    for job_key in sorted(tick.memory.unrecovered):
        with tick.guarded("job_not_recovered", job_key=job_key):
            _recover_job(tick, tick.folders.job(job_key))
            tick.memory.unrecovered.discard(job_key)


def _give_up_lost(tick: Tick) -> None:
    """End jobs in flight whose folders are gone: nobody may wait for them."""
    for job_key, entry in list(tick.jobs.items()):
        known = job_key in tick.in_flight or job_key in tick.memory.unrecovered
        if known or entry.get("state") in FINAL or tick.folders.job(job_key).exists():
            continue
        tick.memory.dirty = True
        if entry.get("state") == "INGESTING":
            del tick.jobs[job_key]  # it never was a job
            continue
        cause = {"code": "LOST", "message": "its folder in work/ is gone", "retryable": False}
        at, seq = now_iso(), int(entry.get("seq") or 0) + 1
        entry |= {"state": "ERROR", "errorCode": "LOST", "cause": cause, "seq": seq}
        entry["finishedAt"] = at
        lost = {**entry, "history": [{"seq": seq, "state": "ERROR", "at": at}], "updatedAt": at}
        tick.emit({"kind": "job", "jobKey": job_key, **lost})


def _recover_job(tick: Tick, folder: Path) -> None:
    job_key = folder.name
    try:
        document: Document | None = read_json(folder / "state.json")
    except ValueError as error:
        tick.problem("state_unreadable", error, job_key=job_key)
        document = None
    if not document or "state" not in document:
        _abandon(tick, folder)
        return
    if document["state"] in {"INGESTING", "DISCOVERED"}:
        arrive(tick, job_key, document)
        return
    tick.learn(document)
    tick.emit({"kind": "job", "recovered": True, **document})
    if document["state"] in FINAL:
        if document["state"] == "ERROR":
            finish_error(tick, job_key)
        return
    tick.in_flight[job_key] = in_hand(document)


def _abandon(tick: Tick, folder: Path) -> None:
    """Give up a folder that does not say what it is: whatever came from a person goes back to `in/`."""
    for path in sorted(folder.glob("input*")):
        move_unique(path, tick.folders.incoming, f"{folder.name[:8]}-{path.name}")
    remove_tree(folder)


def _remove_parts(folders: Folders) -> None:
    """Remove copies and texts that a crash left unfinished. All of them begin with a dot."""
    for top in folders.all():
        if top == folders.incoming or not top.is_dir():
            continue
        for place, _, names in os.walk(top):
            for name in names:
                if name.startswith(".") and name.endswith((".part", ".tmp")):
                    unlink(Path(place) / name)

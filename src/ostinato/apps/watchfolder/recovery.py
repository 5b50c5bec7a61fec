"""What is done once, before the first tick: everything that a process before us left half done.

The order matters. First the index, from its file and from what the folders say; then the jobs in
`work/`, each by the intention that was written last; then duplicates without a report. Files in
`_staging/` are taken up by the first tick, when it is known which jobs there are.
"""

import contextlib
import os
from pathlib import Path

from ostinato.apps.watchfolder import duplicates
from ostinato.apps.watchfolder.finishing import finish_error, sweep_finished
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.memory import INDEXED, Tick, log
from ostinato.apps.watchfolder.model import FINAL, Document, Index, in_hand
from ostinato.apps.watchfolder.utils import (
    move_atomic,
    move_unique,
    now_iso,
    read_json,
    remove_tree,
    sha256_file,
    timestamp,
    unlink,
)

__all__ = ["load_index", "recover"]


def load_index(folders: Folders) -> Index:
    """The index; made anew from the results and the error reports when its file is unreadable."""
    path = folders.index_file
    try:
        found = read_json(path)
    except (ValueError, OSError) as error:
        log.warning("index_unreadable", error=str(error))
        with contextlib.suppress(OSError):
            move_atomic(path, path.with_name(f"index.json.broken-{timestamp()}"))
        found = None
        return _rebuilt(folders)
    if not isinstance(found, dict):
        return _rebuilt(folders) if found is not None else _empty()
    return _empty() | found


def _empty() -> Index:
    return {"version": 1, "jobs": {}, "forced": {}}


def _rebuilt(folders: Folders) -> Index:
    index = _empty()
    for result in folders.results.glob("*.pdf") if folders.results.is_dir() else ():
        index["jobs"][result.stem] = {
            "state": "DONE",
            "fileHash": result.stem.partition("__")[0],
            "profileHash": result.stem.partition("__")[2],
            "resultPath": str(result),
        }
    for report in folders.error.glob("*/error.json") if folders.error.is_dir() else ():
        with contextlib.suppress(ValueError):
            document = read_json(report, {})
            if "jobKey" in document:
                known = {name: document[name] for name in INDEXED if name in document}
                place = str(report.parent)
                index["jobs"][document["jobKey"]] = {"state": "ERROR", "errorPath": place} | known
    return index


def recover(tick: Tick) -> None:
    """Bring the folders into order and take up the jobs; see the head of this file."""
    _remove_parts(tick.folders)
    for folder in sorted(tick.folders.work.iterdir()):
        if folder.is_dir():
            with tick.guarded("job_not_recovered", job_key=folder.name):
                _recover_job(tick, folder)
    duplicates.mend(tick)
    metrics = tick.config["metrics"]
    states = [entry.get("state") for entry in tick.jobs.values()]
    metrics["done"], metrics["error"] = states.count("DONE"), states.count("ERROR")
    tick.save_index(force=tick.memory.dirty)
    sweep_finished(tick)


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
    if document["state"] == "INGESTING":
        document = _ingested(tick, folder, document)
        if document is None:
            return
    entry = tick.jobs.setdefault(job_key, {})
    known = {name: document[name] for name in INDEXED if name in document}
    if any(entry.get(name) != value for name, value in known.items()):
        entry |= known
        tick.memory.dirty = True
    tick.tell({"kind": "job", "recovered": True, **document})
    if document["state"] in FINAL:
        entry.setdefault("finishedAt", document.get("updatedAt", now_iso()))
        if document["state"] == "ERROR":
            finish_error(tick, job_key)
        tick.memory.finished.add(job_key)
        return
    tick.in_flight[job_key] = in_hand(document)


def _ingested(tick: Tick, folder: Path, document: Document) -> Document | None:
    """Finish the move that was intended; None when there is nothing to move."""
    staged, target = Path(document["stagedPath"]), Path(document["inputPath"])
    if staged.exists() and target.exists():  # copied from another file system, not yet removed
        if sha256_file(staged) == sha256_file(target):
            unlink(staged)
    elif staged.exists():
        move_atomic(staged, target)
    elif not target.exists():
        remove_tree(folder)  # what it was about is back in `in/`, or was never here
        return None
    return tick.state(folder.name, state="DISCOVERED")


def _abandon(tick: Tick, folder: Path) -> None:
    """A folder that does not say what it is: whatever came from a person goes back to `in/`."""
    for path in sorted(folder.glob("input*")):
        move_unique(path, tick.folders.incoming, f"{folder.name[:8]}-{path.name}")
    remove_tree(folder)


def _remove_parts(folders: Folders) -> None:
    """Copies and texts that a crash left unfinished. All of them begin with a dot."""
    for top in folders.all():
        if top == folders.incoming or not top.is_dir():
            continue
        for place, _, names in os.walk(top):
            for name in names:
                if name.startswith(".") and name.endswith((".part", ".tmp")):
                    unlink(Path(place) / name)

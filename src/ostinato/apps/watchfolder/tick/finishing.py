"""Ends a job: its result in `out/` and its input archived, or both in `error/`.

Each way first writes down where everything will go (FINALIZING, ERROR), then moves file by file;
what a crash left undone is done again from what was written.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ostinato.apps.watchfolder.core import update_metrics
from ostinato.apps.watchfolder.folders import PLACES
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.names import candidates, safe_name, shown_name, split_name
from ostinato.apps.watchfolder.tick.context import Tick
from ostinato.apps.watchfolder.utils import (
    atomic_write_json,
    link_or_copy,
    move_atomic,
    move_unique,
    now_iso,
    read_json,
    remove_tree,
)


def finalize(tick: Tick, job_key: str, result: Document | None = None) -> None:
    """Hand out the result: `out/`, archive, DONE. Begun anew, it goes on where it stopped."""
    document = _document(tick, job_key)
    if document["state"] != "FINALIZING" or not set(CHOSEN) <= set(document):
        if _was_changed(tick, document):
            said = "the file was written to after it was read"
            cause = {"code": "INPUT_CHANGED", "message": said, "retryable": False}
            fail(tick, job_key, "OCR", cause)
            return
        document = tick.state(job_key, state="FINALIZING", **_choose(tick, job_key, document, result))
        tick.in_flight[job_key]["stage"] = "FINALIZING"
    final = tick.folders.job(job_key) / "final.pdf"
    if final.exists():
        kept = _path(tick, document, "resultPath")
        if not kept.exists():
            with contextlib.suppress(FileExistsError):
                link_or_copy(final, kept)
        document = _moved(tick, job_key, document, final, "outPath")
    source = _path(tick, document, "inputPath")
    if source.exists():
        document = _moved(tick, job_key, document, source, "archivePath")
    tick.state(job_key, state="DONE")
    tick.in_flight.pop(job_key, None)
    update_metrics(tick.metrics, "done")
    tick.summary["done"] += 1


CHOSEN = ("outPath", "archivePath", "resultPath")


def _path(tick: Tick, document: Document, name: str) -> Path:
    """Return where a path of a document leads, which `_document` has checked."""
    found = tick.folders.found(name, document[name])
    assert found is not None  # noqa: S101 - checked
    return found


def _was_changed(tick: Tick, document: Document) -> bool:
    """Return whether somebody wrote to the input after it had arrived: the result is not of this file."""
    known = document.get("inputMtimeNs")
    if known is None:
        return False
    try:
        found = _path(tick, document, "inputPath").lstat()
    except FileNotFoundError:
        return False
    return (found.st_size, found.st_mtime_ns) != (document.get("sizeBytes"), known)


def _choose(tick: Tick, job_key: str, document: Document, result: Document | None) -> Document:
    stem = split_name(safe_name(document["fileName"]))[0]
    month, stored = now_iso(), tick.folders.stored
    archive = tick.folders.archive / month[:4] / month[5:7]
    return {
        "inputPath": document["inputPath"],
        "outPath": stored("outPath", _free(tick.folders.out, f"{stem}.pdf")),
        "archivePath": stored("archivePath", _free(archive, safe_name(document["fileName"]))),
        "resultPath": stored("resultPath", tick.folders.results / f"{job_key}.pdf"),
        "result": _told(document, result) if result else document.get("result"),
        "pages": (result or {}).get("pages"),
    }


def _told(document: Document, result: Document) -> Document:
    """Return the result of OCR, with what PREP had to say before: nothing is left out without being told.

    Without the path that OCR told: the file is moved from there, and folders can be, too.
    """
    notes = [*(document.get("notes") or []), *(result.get("notes") or [])]
    told = {name: value for name, value in result.items() if name != "path"}
    return {**told, "notes": notes} if notes else told


def _moved(tick: Tick, job_key: str, document: Document, source: Path, to: str) -> Document:
    """Move a file to the path that the document has under a name; a taken name is chosen anew."""
    target = _path(tick, document, to)
    try:
        move_atomic(source, target)
    except FileExistsError:
        path = _free(target.parent, target.name)
        document = tick.state(job_key, state="FINALIZING", **{to: tick.folders.stored(to, path)})
        move_atomic(source, path)
    return document


def _free(folder: Path, name: str) -> Path:
    """Return a place that is not taken, also not by a name that only differs in case."""
    folder.mkdir(parents=True, exist_ok=True)
    for candidate in candidates(name):
        for spelled in _spellings(candidate):
            if (folder / spelled).exists():
                break
        else:
            return folder / candidate
    raise AssertionError("unreachable")


def _spellings(name: str) -> Iterator[str]:
    yield from dict.fromkeys((name, name.lower(), name.upper()))


def fail(tick: Tick, job_key: str, step: str, cause: Document) -> None:
    """End a job that cannot go on: its input goes to `error/<jobKey>/`, with a report."""
    tick.state(
        job_key,
        state="ERROR",
        errorStage=step,
        errorCode=f"ERROR_{step}",
        cause=cause,
        message=str(cause.get("message", ""))[:2000],
        errorPath=tick.folders.stored("errorPath", tick.folders.error / job_key),
    )
    update_metrics(tick.metrics, "error")
    tick.summary["errors"] += 1
    tick.in_flight.pop(job_key, None)
    finish_error(tick, job_key)


def finish_error(tick: Tick, job_key: str) -> None:
    """Move what is left of a failed job to its folder in `error/`."""
    document = _document(tick, job_key)
    place = tick.folders.error / job_key
    place.mkdir(parents=True, exist_ok=True)
    known = ("fileName", "nameRaw", "fileHash", "errorStage", "errorCode", "cause")
    counted = ("attemptPrep", "attemptOcr", "createdAt", "history")
    report = {"jobKey": job_key, **{name: document.get(name) for name in (*known, *counted)}}
    atomic_write_json(place / "error.json", {**report, "at": document["updatedAt"]}, pretty=True)
    raw = tick.folders.job(job_key) / "raw.pdf"
    if raw.exists() and document.get("errorStage") == "OCR":
        with contextlib.suppress(FileExistsError):
            move_atomic(raw, place / "raw.pdf")
    source = _path(tick, document, "inputPath")
    if source.exists():
        move_unique(source, place, safe_name(document["fileName"]))


def refuse_input(tick: Tick, path: Path, code: str, message: str, *, name: str | None = None) -> None:
    """Put a file that can be no job into `error/`, under the name that it came with, with a report beside it."""
    name = name or path.name
    mark = now_iso().replace(":", "").replace(".", "")
    place = tick.folders.error / f"{code.lower()}-{mark}"
    place.mkdir(parents=True, exist_ok=True)
    cause = {"code": code, "message": message, "retryable": False}
    report = {"fileName": shown_name(name), "cause": cause, "at": now_iso()}
    try:
        atomic_write_json(place / "error.json", report, pretty=True)
        move_unique(path, place, safe_name(name))
    except OSError:
        if path.exists():
            with contextlib.suppress(OSError):
                remove_tree(place)
        raise
    update_metrics(tick.metrics, "error")
    tick.summary["errors"] += 1
    tick.emit({"kind": "refused", **report})


def sweep_finished(tick: Tick) -> None:
    """Remove the work folders of jobs that have ended, once the index on disk knows of them."""
    is_recorded = tick.hooks.is_recorded
    for job_key in list(tick.memory.finished):
        if is_recorded is not None and not is_recorded(job_key):
            continue  # the engine has not every state of it yet
        with tick.guarded("work_not_removed", job_key=job_key):
            if _input_left(tick, job_key):
                finish_error(tick, job_key)
            remove_tree(tick.folders.job(job_key))
            tick.memory.finished.discard(job_key)


def _input_left(tick: Tick, job_key: str) -> bool:
    """Return whether the only copy of somebody's file is still there: then nothing is removed."""
    if not (tick.folders.job(job_key) / "state.json").exists():
        return False
    return _path(tick, _document(tick, job_key), "inputPath").exists()


def _document(tick: Tick, job_key: str) -> Document:
    """Read what is written of a job, without paths that lead elsewhere: a worker may write it."""
    folders, folder = tick.folders, tick.folders.job(job_key)
    document: Document | None = read_json(folder / "state.json")
    if document is None:
        raise FileNotFoundError(f"work/{job_key}/state.json")
    for name in PLACES:
        path = folders.found(name, document[name]) if name in document else None
        if path is None or (name == "inputPath" and path.parent != folder):
            document.pop(name, None)
        else:
            document[name] = folders.stored(name, path)
    if "inputPath" not in document:
        there = next(iter(folder.glob("input*")), folder / "input")
        document["inputPath"] = folders.stored("inputPath", there)
    return document

"""Carries out decisions about duplicates.

A decision is done file by file, each with one atomic move, and decision.json goes last: after a
crash it is simply done again.
"""

import itertools
import uuid
from pathlib import Path

from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.names import candidates, fit, forced_name, safe_name, split_name
from ostinato.apps.watchfolder.tick.context import Tick, log
from ostinato.apps.watchfolder.tick.duplicates import (
    PENDING,
    Undecidable,
    held_files,
    read_decision,
    remove_if_empty,
    restore_reports,
)
from ostinato.apps.watchfolder.utils import (
    append_json,
    atomic_write_json,
    copy_to,
    move_atomic,
    move_unique,
    now_iso,
    read_json,
    sha256_file,
    unlink,
)

DISCARDED = "discarded.jsonl"
"""The file in `index/` with a line for every file that was deleted."""
PATIENCE = 10  # ticks that an unreadable decision may be just being written


class NotYet(Exception):
    """A decision that has to wait for the job that it is about."""


def apply_decisions(tick: Tick) -> None:
    """Carry out every decision.json that there is."""
    if not tick.folders.hold.is_dir():
        return
    if not tick.memory.reports_complete:
        with tick.guarded("reports_not_restored"):
            restore_reports(tick)
    for place in sorted(tick.folders.hold.iterdir()):
        if (place / "decision.json").exists():
            with tick.guarded("decision_not_done", job_key=place.name):
                _apply(tick, place)


def _apply(tick: Tick, place: Path) -> None:
    job_key = place.name
    try:
        decision = read_decision(place)
    except Undecidable as error:
        count = tick.memory.bad_decisions.get(job_key, 0) + 1
        tick.memory.bad_decisions[job_key] = count
        if count == PATIENCE:
            _status(tick, place, "DECISION_INVALID", str(error))
        return
    tick.memory.bad_decisions.pop(job_key, None)
    wanted = decision.get("files")
    files = [path for path in held_files(place) if wanted is None or path.name in wanted]
    try:
        if files and decision["action"] == "USE_EXISTING_RESULT":
            _existing(tick, job_key)
        if wanted is not None:
            _begin(place, decision, {path.name for path in files})
        for path in files:
            _do(tick, job_key, path, decision)
    except NotYet:
        return
    except Undecidable as error:
        _status(tick, place, "DECISION_FAILED", str(error))
        return
    _clean(tick, place)
    tick.emit(
        {
            "kind": "duplicate",
            "jobKey": job_key,
            "state": "DECIDED",
            "action": decision["action"],
            "decidedBy": decision.get("decidedBy"),
            "files": [path.name for path in files],
            "left": len(held_files(place)) if place.is_dir() else 0,
        }
    )


def _begin(place: Path, decision: Document, held: set[str]) -> None:
    """Refuse a decision that names a file that is not held; note in it that none was missing.

    After a crash some of them are done already: then the note says that they were held.
    """
    wanted, begun = decision["files"], decision.get("begun")
    if begun == wanted:
        return
    gone = [name for name in wanted if name not in held]
    if gone:
        raise Undecidable(f"not held any more: {', '.join(gone)}; nothing was done, decide about what is held")
    atomic_write_json(place / "decision.json", {**decision, "begun": wanted})


def _do(tick: Tick, job_key: str, path: Path, decision: Document) -> None:
    name = path.name.partition("__")[2] or path.name
    match decision["action"]:
        case "DISCARD":
            _write_off(tick, job_key, path, decision)
            unlink(path)
        case "USE_EXISTING_RESULT":
            _use_existing(tick, job_key, name)
            move_unique(path, _archive_path(tick), safe_name(name))
        case "FORCE_REPROCESS":
            force(tick, job_key, path, name, decision)
        case _:
            raise AssertionError("unreachable")


def _write_off(tick: Tick, job_key: str, path: Path, decision: Document) -> None:
    """Record the one deletion that there is, before it is done and whatever the level of the log."""
    facts = {
        "jobKey": job_key,
        "fileName": path.name.partition("__")[2] or path.name,
        "sha256": sha256_file(path),
        "sizeBytes": path.stat().st_size,
        "decidedBy": decision.get("decidedBy"),
        "at": now_iso(),
    }
    append_json(tick.folders.index / DISCARDED, facts)
    log.warning("duplicate_discarded", job_key=job_key, sha256=facts["sha256"])
    tick.emit({"kind": "discarded", **facts})


def _use_existing(tick: Tick, job_key: str, name: str) -> None:
    """Put the result that there is into `out/`, under the name of what came in."""
    result = _existing(tick, job_key)
    stem = split_name(safe_name(name))[0]
    wanted = sha256_file(result)
    other = f"{stem}__{job_key[:8]}.pdf"
    for candidate in itertools.chain([fit(f"{stem}.pdf")], candidates(other)):
        target = tick.folders.out / candidate
        try:
            copy_to(result, target)
        except FileExistsError:
            if target.is_file() and sha256_file(target) == wanted:
                return
            continue
        return


def _existing(tick: Tick, job_key: str) -> Path:
    """Return the result that there is; raises `NotYet` while the job runs, `Undecidable` where there is none."""
    entry = tick.jobs.get(job_key, {})
    state = entry.get("state")
    if state == "ERROR":
        raise Undecidable("the existing job ended in an error: there is no result")
    if state != "DONE":
        raise NotYet
    places = [tick.folders.found(key, entry[key]) for key in ("resultPath", "outPath") if entry.get(key)]
    result = next((place for place in places if place is not None and place.is_file()), None)
    if result is None:
        raise Undecidable("the existing result is gone: use FORCE_REPROCESS")
    return result


def force(tick: Tick, job_key: str, path: Path, name: str, decision: Document, **facts: str) -> None:
    """Send the file through again. Its nonce is known, with the facts, before the file is back in `in/`."""
    forced = tick.index["forced"]
    nonce = _known_nonce(forced, job_key, path.name)
    if nonce is None:
        nonce = _new_nonce(decision, taken=set(forced))
        forced[nonce] = {
            "jobKey": job_key,
            "fileHash": job_key.partition("__")[0],
            "held": path.name,
            "decidedBy": decision.get("decidedBy"),
            "registeredAt": now_iso(),
            **facts,
        }
        tick.memory.dirty = True
    if tick.memory.dirty:
        tick.save_index(force=True)
    target = tick.folders.incoming / forced_name(safe_name(name), nonce)
    try:
        move_atomic(path, target)
    except FileExistsError:
        move_unique(path, tick.folders.incoming, target.name)


def _known_nonce(forced: dict[str, Document], job_key: str, held: str) -> str | None:
    for nonce, entry in forced.items():
        if entry.get("jobKey") == job_key and entry.get("held") == held:
            return nonce
    return None


def _new_nonce(decision: Document, taken: set[str]) -> str:
    given = str(decision.get("nonce") or "")[:8].lower()
    usable = len(given) == 8 and all(digit in "0123456789abcdef" for digit in given)  # noqa: PLR2004 - digits of a nonce
    return given if usable and given not in taken else uuid.uuid4().hex[:8]


def _clean(tick: Tick, place: Path) -> None:
    """Remove what spoke of the duplicate; decision.json last, because it is what is redone."""
    left = held_files(place)
    report = tick.folders.reports / f"{place.name}.json"
    if left:
        names = {path.name for path in left}
        document = read_json(report, {})
        stay = [each for each in document.get("incomings", []) if Path(each["path"]).name in names]
        atomic_write_json(
            report, {**document, "incoming": stay[-1] if stay else None, "incomings": stay, "count": len(stay)}
        )
        atomic_write_json(place / "status.json", PENDING)
    else:
        unlink(report)
        unlink(place / "status.json")
    unlink(place / "decision.json")
    if not left:
        remove_if_empty(place)


def _status(tick: Tick, place: Path, state: str, message: str) -> None:
    wanted = {"state": state, "message": message}
    path = place / "status.json"
    try:
        known = read_json(path)
    except ValueError:
        known = None
    if known != wanted:
        atomic_write_json(path, wanted)
        log.warning("decision_refused", job_key=place.name, state=state, reason=message)
        tick.emit({"kind": "duplicate", "jobKey": place.name, **wanted})


def _archive_path(tick: Tick) -> Path:
    """Return the folder of the archive for what is archived now: `archive/<year>/<month>/`."""
    today = now_iso()
    return tick.folders.archive / today[:4] / today[5:7]

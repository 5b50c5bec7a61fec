"""Holds duplicates until a person decides; `decisions` carries that out.

hold/duplicates/<jobKey>/<time>__<name>     the files that came again
hold/duplicates/<jobKey>/status.json        {"state": "DUPLICATE_PENDING"}
hold/duplicates/<jobKey>/decision.json      {"action": …}, by a person, the API or the CLI
reports/duplicates/<jobKey>.json            what came, what is there, what may be done
"""

import contextlib
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import ACTIONS, JOB_KEY, Document
from ostinato.apps.watchfolder.names import fit, safe_name, shown_name
from ostinato.apps.watchfolder.tick.context import Tick, log
from ostinato.apps.watchfolder.utils import atomic_write_json, move_unique, now_iso, read_json, timestamp, unlink
from ostinato.errors import InvalidInput, NotFound

PENDING = {"state": "DUPLICATE_PENDING"}
OURS = {"status.json", "decision.json"}


class Undecidable(Exception):
    """A decision that cannot be carried out; nothing was deleted."""


def hold(
    folders: Folders, job_key: str, incoming: Path, existing: Document, profile: Document, *, name: str | None = None
) -> Document:
    """Move a duplicate to where it waits, and report it; returns what the report says came in."""
    shown = name if name is not None else incoming.name
    place = folders.hold / job_key
    stamp = timestamp()
    target = move_unique(incoming, place, f"{stamp}__{fit(safe_name(shown), 255 - 40)}")
    came = {"fileName": shown_name(shown), "path": target, "sizeBytes": Path(target).stat().st_size}
    _report(folders, job_key, came, existing, profile)
    atomic_write_json(place / "status.json", PENDING)
    log.info("duplicate_held", job_key=job_key, path=target)
    return {"incoming": came}


def _report(folders: Folders, job_key: str, came: Document, existing: Document, profile: Document) -> None:
    folders.reports.mkdir(parents=True, exist_ok=True)
    path = folders.reports / f"{job_key}.json"
    try:
        before = read_json(path, {}).get("incomings", [])
    except ValueError:
        before = []
    all_ = [each for each in before if each["path"] != came["path"]] + [came]
    report = {
        "jobKey": job_key,
        "detectedAt": now_iso(),
        "incoming": came,
        "existing": copy.deepcopy(existing),
        "profile": profile,
        "actions": list(ACTIONS),
        "incomings": all_,
        "count": len(all_),
    }
    atomic_write_json(path, report, pretty=True)


def held_files(place: Path) -> list[Path]:
    """Return the files that wait in the folder of a jobKey, in the order in which they came."""
    return sorted(
        path for path in place.iterdir() if path.is_file() and path.name not in OURS and not path.name.startswith(".")
    )


@dataclass(frozen=True)
class Held:
    """A jobKey with files that wait for a decision."""

    job_key: str
    state: str
    message: str | None
    detected_at: str | None
    files: list[str]
    existing_state: str | None
    existing_name: str | None
    decided: bool
    """A decision was written; it waits for the next tick, unless `state` says that it failed."""
    decided_at: str | None = None
    """When it was taken, as decision.json says."""
    fault: str | None = None
    """Why what was written decides nothing."""


def held(folders: Folders) -> list[Held]:
    """Return what waits for a decision."""
    found = []
    for place in _places(folders):
        if not (files := held_files(place)):
            continue
        report = _document_at(folders.reports / f"{place.name}.json")
        status = _document_at(place / "status.json")
        decision = _document_at(place / "decision.json")
        existing = report.get("existing")
        existing = existing if isinstance(existing, dict) else {}
        decided_at = decision.get("decidedAt")
        found.append(
            Held(
                place.name,
                status.get("state", PENDING["state"]),
                status.get("message"),
                report.get("detectedAt"),
                [path.name for path in files],
                existing.get("state"),
                existing.get("fileName"),
                (place / "decision.json").exists(),
                decided_at if isinstance(decided_at, str) else None,  # by a person, it may say anything
                _fault(place),
            )
        )
    return found


def known_jobs(folders: Folders) -> dict[str, Document]:
    """Return what the index knows of every job, as it was last saved."""
    jobs = _document_at(folders.index_file).get("jobs")
    return jobs if isinstance(jobs, dict) else {}


def read_decision(place: Path) -> Document:
    """Read the decision about what is held in a folder; raises `Undecidable` for one that decides nothing."""
    try:
        decision = read_json(place / "decision.json")
    except (ValueError, OSError) as error:
        raise Undecidable(f"decision.json cannot be read: {error}") from None
    if not isinstance(decision, dict) or decision.get("action") not in ACTIONS:
        raise Undecidable(f"decision.json names no action: one of {', '.join(ACTIONS)}")
    files = decision.get("files")
    if files is not None and not (isinstance(files, list) and files and all(isinstance(each, str) for each in files)):
        raise Undecidable("files in decision.json must be a list of names, at least one; without it all are meant")
    return decision


def _fault(place: Path) -> str | None:
    if not (place / "decision.json").exists():
        return None
    try:
        read_decision(place)
    except Undecidable as error:
        return str(error)
    return None


def _places(folders: Folders) -> list[Path]:
    """Return the folders of jobKeys; what others put there (`@eaDir`) is left alone."""
    there = sorted(folders.hold.iterdir()) if folders.hold.is_dir() else []
    return [path for path in there if JOB_KEY.fullmatch(path.name) and path.is_dir()]


def _document_at(path: Path) -> Document:
    with contextlib.suppress(ValueError, OSError):
        found = read_json(path, {})
        return found if isinstance(found, dict) else {}
    return {}


def decide(folders: Folders, job_key: str, action: str, by: str, files: Sequence[str] | None = None) -> None:
    """Write a decision about duplicates that are held; the next tick carries it out."""
    place = folders.hold / job_key
    if action not in ACTIONS:
        raise InvalidInput(f"there is no action {action!r}", hint=f"One of: {', '.join(ACTIONS)}.")
    there = [path.name for path in held_files(place)] if place.is_dir() else []
    if not there or "/" in job_key:
        raise NotFound(f"no duplicate of {job_key} is held", hint="See what is: `ostinato held`.")
    unknown = set(files or ()) - set(there)
    if unknown:
        held_now = f"Held are: {', '.join(there)}."
        raise NotFound(f"{', '.join(sorted(unknown))} is not held for {job_key}", hint=held_now)
    # The files are named: one that comes later was not decided about.
    write_down(place, {"action": action, "decidedBy": by, "decidedAt": now_iso(), "files": list(files or there)})


def write_down(place: Path, decision: Document) -> None:
    """Write a decision where something is held; the next tick carries it out, or says why it cannot."""
    if _document_at(place / "status.json") != PENDING:
        atomic_write_json(place / "status.json", PENDING)  # one before it could not be done
    atomic_write_json(place / "decision.json", decision)


def restore_reports(tick: Tick) -> None:
    """Write the report and the status of held files where a crash left none."""
    tick.memory.reports_complete = False
    problems = len(tick.summary["problems"])
    for place in _places(tick.folders):
        with tick.guarded("report_not_restored", job_key=place.name):
            _restore_report(tick, place)
    tick.memory.reports_complete = len(tick.summary["problems"]) == problems


def _restore_report(tick: Tick, place: Path) -> None:
    files = held_files(place)
    report = tick.folders.reports / f"{place.name}.json"
    if not files:
        if not (place / "decision.json").exists():
            unlink(place / "status.json")
            unlink(report)
            remove_if_empty(place)
        return
    if report.exists() and (place / "status.json").exists():
        return
    for path in files:
        came = {"fileName": path.name.partition("__")[2], "path": str(path), "sizeBytes": path.stat().st_size}
        existing = tick.jobs.get(place.name, {})
        _report(tick.folders, place.name, came, existing, tick.profile or {})
    atomic_write_json(place / "status.json", PENDING)


def remove_if_empty(place: Path) -> None:
    """Remove the folder of a jobKey under which nothing is held any more."""
    try:
        place.rmdir()
    except OSError as error:
        log.info("hold_folder_kept", place=str(place), reason=str(error))

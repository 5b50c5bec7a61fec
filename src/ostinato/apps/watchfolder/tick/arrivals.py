"""Takes files from `in/` when they are finished, and makes them jobs (step 2).

    in/ → _staging/ → (sha256, jobKey) → work/<jobKey>/      or hold/duplicates/<jobKey>/

`sights` says which files are finished. One that cannot be read or moved stays in `in/` and takes no
slot, so that it keeps no other waiting.
"""

import contextlib
import errno
import heapq
import re
import secrets
from pathlib import Path

from ostinato.apps.watchfolder.core import make_job_key
from ostinato.apps.watchfolder.model import Document, in_hand
from ostinato.apps.watchfolder.names import FORCED, fit, raw_name, safe_name, shown_name, split_name
from ostinato.apps.watchfolder.tick import duplicates
from ostinato.apps.watchfolder.tick.context import Tick, log
from ostinato.apps.watchfolder.tick.finishing import refuse_input
from ostinato.apps.watchfolder.tick.memory import Sight, Staged
from ostinato.apps.watchfolder.tick.sights import (
    BUSY,
    UNREADABLE,
    check_readable,
    ends_too_soon,
    is_being_written,
    may_ask,
    ripe,
    say_if_endless,
)
from ostinato.apps.watchfolder.utils import (
    Changed,
    NotPlain,
    atomic_write_json,
    move_atomic,
    move_unique,
    now_iso,
    read_json,
    remove_tree,
    sha256_file,
    unlink,
)

LONGEST_PAUSE = 60.0
UNFINISHED_PDF = 3
ROOM_FACTOR = 3
STAGED = re.compile(r"([0-9a-f]{8})__(.+)", re.DOTALL)
NOTED = re.compile(r"\.([0-9a-f]{8})\.name")
PASSING = {errno.EBUSY, errno.EACCES, errno.EPERM, errno.ESTALE, errno.ETXTBSY}


def discover(tick: Tick) -> None:
    """Take what is finished, as long as there is room for more jobs."""
    if tick.profile is None:
        return  # without the versions of the tools a jobKey would mean nothing
    if not tick.memory.staging_swept:
        _sweep_staging(tick)
    free = _free_slots(tick)
    waiting = ripe(tick, free)
    if free <= 0 or not _has_room(tick):
        return
    heapq.heapify(waiting)
    while waiting and len(tick.memory.staged) < free and not tick.halted:
        _, name = heapq.heappop(waiting)
        with tick.guarded("file_not_taken", file=shown_name(name)):
            _try_to_stage(tick, name)
    for staged in list(tick.memory.staged):
        if _free_slots(tick) <= 0 or tick.halted:
            break
        with tick.guarded("file_not_ingested", file=shown_name(staged.name)):
            _classify(tick, staged)


def _free_slots(tick: Tick) -> int:
    return tick.options.max_jobs_in_flight - len(tick.in_flight)


def _has_room(tick: Tick) -> bool:
    sizes = [int(meta.get("sizeBytes", 0)) for meta in tick.in_flight.values()]
    least = max(tick.options.min_free_bytes, ROOM_FACTOR * max(sizes, default=0))
    free = tick.folders.free_bytes()
    if free < least:
        error = OSError(errno.ENOSPC, f"{free:,} bytes are free, {least:,} are needed")
        tick.problem("disk_nearly_full", error, once=True)
        tick.summary["degraded"] = "disk"
        return False
    return True


def _try_to_stage(tick: Tick, name: str) -> None:
    """Take a file; one that cannot be taken is left for a while, and keeps nobody waiting."""
    sight = tick.memory.sights[name]
    try:
        _stage(tick, name, sight)
    except FileNotFoundError:
        tick.memory.sights.pop(name, None)  # its writer took it away again
    except OSError as error:
        _postpone(tick, sight, error)
        if error.errno not in PASSING:
            raise
        tick.problem(BUSY, error, once=True, file=shown_name(name))


def _postpone(tick: Tick, sight: Sight, error: OSError) -> None:
    sight.failed += 1
    sight.why = error.strerror or str(error)
    sight.not_before = tick.now() + min(LONGEST_PAUSE, 2.0 ** min(sight.failed - 1, 10))


def _stage(tick: Tick, name: str, sight: Sight) -> None:
    source = tick.folders.incoming / name
    check_readable(source)
    if ends_too_soon(source):
        ends = sight.since + UNFINISHED_PDF * tick.options.stable_s
        if tick.now() < ends:
            sight.not_before, sight.why = ends, "it is a PDF without its end"
            return
    if may_ask(tick) and is_being_written(source):
        sight.since, sight.why = tick.now(), "somebody is writing to it"
        say_if_endless(tick, name, sight)
        return
    mark = secrets.token_hex(4)
    safe = fit(safe_name(name), 240)
    note = tick.folders.staging / f".{mark}.name"
    target = tick.folders.staging / f"{mark}__{safe}"
    try:
        if safe != name:
            atomic_write_json(note, {"name": name})
        _take(source, target)
    except OSError:
        with contextlib.suppress(OSError):
            unlink(note)
        raise
    tick.memory.sights.pop(name, None)
    tick.memory.staged.append(Staged(target, name, target.stat().st_size))
    tick.summary["claimed"] += 1


def _take(source: Path, target: Path) -> None:
    """Move a file to `_staging/`; when that fails, it is where it was and nowhere else."""
    try:
        move_atomic(source, target)
    except OSError:
        if not target.exists():
            raise
        if source.exists():  # copied from another file system, where it cannot be removed
            unlink(target)
            raise


def _sweep_staging(tick: Tick) -> None:
    """Take up what a process before us had taken from `in/` and not yet made a job of."""
    known = {staged.path for staged in tick.memory.staged}
    there = sorted(tick.folders.staging.iterdir())
    marks = {match[1] for path in there if (match := STAGED.fullmatch(path.name))}
    for path in there:
        with tick.guarded("staged_not_taken_up", file=shown_name(path.name)):
            noted = NOTED.fullmatch(path.name)
            if noted is not None and noted[1] not in marks:
                unlink(path)  # written, but its file was not moved
            match = STAGED.fullmatch(path.name)
            if match is not None and path not in known and path.is_file():
                tick.memory.staged.append(Staged(path, _noted_name(tick, match), path.stat().st_size))
    tick.memory.staging_swept = True


def _noted_name(tick: Tick, staged: re.Match[str]) -> str:
    """Return the name that a staged file had in `in/`: the noted one, or what is left of it."""
    noted = None
    with contextlib.suppress(ValueError, OSError):
        noted = read_json(tick.folders.staging / f".{staged[1]}.name")
    return str(noted["name"]) if isinstance(noted, dict) and "name" in noted else staged[2]


def _classify(tick: Tick, staged: Staged) -> None:
    """Hash a staged file, and make it a job or a duplicate."""
    if staged.job_key is not None:
        document = read_json(tick.folders.job(staged.job_key) / "state.json", {})
        if document.get("stagedPath") == tick.folders.stored("stagedPath", staged.path):
            arrive(tick, staged.job_key, document)
            _drop(tick, staged)
            return
    if staged.hashing is None:
        if staged.size > tick.options.inline_bytes:
            staged.hashing = tick.memory.hasher().submit(sha256_file, staged.path)
            return
    elif not staged.hashing.done():
        return
    try:
        ready = staged.hashing
        file_hash = sha256_file(staged.path) if ready is None else ready.result()
        _check_size(staged)
    except Changed:
        log.warning("file_still_written", file=shown_name(staged.name))
        move_unique(staged.path, tick.folders.incoming, staged.name)
        _drop(tick, staged)
        return
    except FileNotFoundError:
        _drop(tick, staged)
        raise
    except OSError as error:
        staged.hashing = None
        if error.errno in UNREADABLE or isinstance(error, NotPlain):
            _give_back(tick, staged, error)
        raise
    ingest(tick, staged, file_hash)
    _drop(tick, staged)


def _give_back(tick: Tick, staged: Staged, error: OSError) -> None:
    """Put a file that cannot be read back where people see it: in `_staging/` it would keep a slot for ever."""
    back = Path(move_unique(staged.path, tick.folders.incoming, staged.name))
    found = back.lstat()
    sight = Sight((found.st_size, found.st_mtime_ns, found.st_ino), tick.now(), tick.now())
    _postpone(tick, sight, error)
    tick.memory.sights[back.name] = sight
    _drop(tick, staged)


def _check_size(staged: Staged) -> None:
    if staged.path.stat().st_size != staged.size:
        raise Changed(str(staged.path))


def _drop(tick: Tick, staged: Staged) -> None:
    tick.memory.staged.remove(staged)
    unlink(tick.folders.staging / f".{staged.path.name[:8]}.name")


def ingest(tick: Tick, staged: Staged, file_hash: str) -> None:
    """Make a file of known content a job, or hold it as a duplicate."""
    assert tick.profile is not None  # noqa: S101 - asked first
    profile, name, nonce = tick.profile, staged.name, _nonce(tick, staged.name, file_hash)
    if nonce is not None:
        profile = {**profile, "force": nonce}
        name = FORCED.sub("", name)
    profile_hash, job_key = make_job_key(file_hash, profile)
    if job_key in tick.jobs:
        existing = tick.jobs[job_key]
        try:
            held = duplicates.hold(tick.folders, job_key, staged.path, existing, profile, name=name)
        except OSError:
            tick.memory.reports_complete = False  # it may be there, without its report
            raise
        tick.summary["duplicates"] += 1
        tick.emit({"kind": "duplicate", "jobKey": job_key, "state": "DUPLICATE_PENDING", **held})
        return
    target = tick.folders.job(job_key) / f"input{split_name(safe_name(name))[1].lower()}"
    facts = {
        "fileName": shown_name(name),
        "nameRaw": raw_name(name),
        "fileHash": file_hash,
        "profileHash": profile_hash,
        "sizeBytes": staged.size,
        "inputPath": tick.folders.stored("inputPath", target),
        "stagedPath": tick.folders.stored("stagedPath", staged.path),
        "profile": profile,
        "attemptPrep": 0,
        "attemptOcr": 0,
        "createdAt": now_iso(),
    }
    staged.job_key = job_key
    arrive(tick, job_key, tick.state(job_key, state="INGESTING", **facts))


def arrive(tick: Tick, job_key: str, document: Document) -> None:
    """Finish what INGESTING intends, at once or when something had been in the way."""
    if document["state"] == "INGESTING":
        staged = tick.folders.staging / Path(document["stagedPath"]).name
        target = tick.folders.job(job_key) / Path(document["inputPath"]).name
        if staged.exists() and (target.is_dir() or target.is_symlink()):
            said = f"a folder or a link lies where it is to be: work/{job_key}/{target.name}"
            refuse_input(tick, staged, "UNSAFE", said, name=document.get("fileName"))
            _forget(tick, job_key)
            return
        if staged.exists() and target.exists():  # copied from another file system
            if sha256_file(staged) == sha256_file(target):
                unlink(staged)
        elif staged.exists():
            move_atomic(staged, target)
        elif not target.exists():  # what it was about is back in `in/`, or was never here
            _forget(tick, job_key)
            return
        changed = target.stat().st_mtime_ns
        document = tick.state(job_key, state="DISCOVERED", inputMtimeNs=changed)
    else:
        tick.learn(document)
        tick.emit({"kind": "job", "recovered": True, **document})
    tick.in_flight[job_key] = in_hand(document)


def _forget(tick: Tick, job_key: str) -> None:
    """Remove what never was a job."""
    tick.jobs.pop(job_key, None)
    tick.memory.dirty = True
    remove_tree(tick.folders.job(job_key))


def _nonce(tick: Tick, name: str, file_hash: str) -> str | None:
    """Return the nonce of a decision to process this very file again; the name alone proves nothing."""
    match = FORCED.search(name)
    if match is None:
        return None
    registered = tick.index["forced"].get(match[1])
    fits = registered is not None and registered.get("fileHash") == file_hash
    return match[1] if fits else None

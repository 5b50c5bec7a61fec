"""Reads what a worker process leaves behind, with care: a stranger's file may have written it."""

import fcntl
import hashlib
import json
import os
import stat
import time
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.station.ownuser import give_back
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.station.worker import outcome_name
from ostinato.errors import InvalidInput, LeaseHeld

CHUNK = 1 << 20
MOST_OUTCOME = 1 << 20
MOST_BEAT, MOST_WORD = 1 << 12, 100
PASSED = ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "TESSDATA_PREFIX", "PYTHONPATH", "SYSTEMROOT")
PREFIXES = ("LC_", "OMP_", "ORT_", "OPENBLAS_", "MKL_", "PYTHON", "COV_", "COVERAGE_")


def environment() -> dict[str, str]:
    """Return what worker processes see of our environment: where programs are. No secrets."""
    kept = {name: value for name, value in os.environ.items() if name in PASSED or name.startswith(PREFIXES)}
    return kept | {"ORT_DISABLE_TELEMETRY": "1", "OMP_THREAD_LIMIT": os.environ.get("OMP_THREAD_LIMIT", "1")}


def lock(work_dir: Path, service: str, *, patience: float) -> int:
    """Lock a folder for one service of its name; one before us is given time to end.

    The descriptor is kept open for as long as anybody works there, the fork server included.
    """
    path = work_dir / f".{service}.lock"
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be locked: {error.strerror}", hint="Remove what lies there.") from None
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= end:
                os.close(number)
                raise LeaseHeld(
                    f"another {service} works in {work_dir}",
                    hint="Stop that one first; a folder has one service of each name.",
                ) from None
            time.sleep(0.1)
        else:
            return number


def outcome_of(folder: Path, service: str, attempt: int) -> dict[str, Any]:
    """Return what a worker process said of its end; nothing when that cannot be read."""
    path = folder / outcome_name(service, attempt)
    try:
        with _opened(path) as file:
            found = json.loads(file.read(MOST_OUTCOME))
    except (OSError, ValueError, Refused, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    if isinstance(found.get("result"), dict):
        return found
    error = found.get("error")
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        return {"error": {"code": error["code"], "message": str(error.get("message", ""))}}
    return {}


def beat_of(path: Path, attempt: int) -> dict[str, Any]:
    """Return what the heartbeat of an attempt says: page, pages, step, at; nothing if it is odd."""
    try:
        with _opened(path) as file:
            said = json.loads(file.read(MOST_BEAT))
    except (OSError, ValueError, Refused, RecursionError):
        return {}
    if not isinstance(said, dict) or said.get("attempt") != attempt:
        return {}
    numbers = {name: said.get(name, 0) for name in ("page", "pages")}
    if not all(isinstance(each, int) for each in numbers.values()):
        return {}
    words = {name: str(said.get(name) or "")[:MOST_WORD] for name in ("step", "at")}
    return {**numbers, "step": words["step"], "at": words["at"] or None}


def hashed(path: Path) -> tuple[str, int]:
    """Return the SHA-256 and the size of an output: a plain file that has no other name anywhere."""
    digest, size = hashlib.sha256(), 0
    with _opened(path) as file:
        give_back(file.fileno())
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def _opened(path: Path) -> Any:  # noqa: ANN401 - a file
    """Open a file by its name in its folder: never a link, and never waiting for a FIFO."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        number = os.open(path.name, flags, dir_fd=folder)
    finally:
        os.close(folder)
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(number)
        raise Refused("UNSAFE", f"{path.name} is a link, or no file at all")
    return os.fdopen(number, "rb")

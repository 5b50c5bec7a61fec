"""Files as they must be handled so that none is lost: whole or not there, moved or not moved.

Every change goes through `_rename`, `_replace`, `_link`, `_unlink`, `_rmtree` or `_write` below:
that is where the tests crash it, before and after each one.
"""

import contextlib
import ctypes
import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Any

from ostinato.apps.watchfolder.names import candidates

CHUNK = 1 << 20
SHOWN_NOTES = 500
AT_FDCWD = -100
RENAME_NOREPLACE = 1
MOST_HISTORY = 200
UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}
PathLike = str | os.PathLike[str]


class NotPlain(OSError):
    """A link, a FIFO or a device stands where a file is to be read."""


class Changed(Exception):
    """A file was written to while it was read."""


def now_iso() -> str:
    """Return this moment, UTC, as the files write it."""
    return _utc().isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp() -> str:
    """Return this moment as a part of a file name, without colons."""
    return _utc().strftime("%Y%m%dT%H%M%S%fZ")


def read_json(path: PathLike, default: Any = None) -> Any:  # noqa: ANN401 - whatever it says
    """Read a JSON file, also as PowerShell writes them; `default` when there is none.

    Raises `ValueError` when it is not JSON.
    """
    try:
        with _opened(path) as file:
            raw = file.read()
    except FileNotFoundError:
        return default
    except NotPlain as error:
        raise ValueError(str(error)) from error
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return json.loads(raw.decode(encoding))
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def atomic_write_json(path: PathLike, value: object, *, durable: bool = True, pretty: bool = False) -> None:
    """Write JSON so that a reader sees the old or the new file, never a part of one."""
    place = Path(path)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, _encoded(value, 1 if pretty else None), durable=durable)
        _replace(temporary, place)
    except Exception:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        fsync_dir(place.parent)


def append_json(path: PathLike, value: object) -> None:
    """Add a line of JSON to a file, on the disk before this returns."""
    with Path(path).open("ab") as file:
        file.write(_encoded(value, None) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def update_state(work_dir: PathLike, job_key: str, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Change what `work/<jobKey>/state.json` says; every state that it had stays in `history`."""
    folder = Path(work_dir) / job_key
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "state.json"
    try:
        document: dict[str, Any] = read_json(path, {})
    except ValueError:
        document = {}
    before = document.get("state")
    document = {"jobKey": job_key, **document, **patch, "updatedAt": now_iso()}
    if document.get("state") != before or "state" in patch:
        seq = int(document.get("seq", 0)) + 1
        entry = {"seq": seq, "state": document.get("state"), "at": document["updatedAt"]}
        if document.get("message") and "message" in patch:
            entry["message"] = document["message"]
        document["seq"] = seq
        document["history"] = [*document.get("history", []), entry][-MOST_HISTORY:]
    atomic_write_json(path, document)
    return document


def sha256_file(path: PathLike) -> str:
    """Return the SHA-256 of a file, 64 lower-case digits; raises `Changed` when it was written to meanwhile."""
    digest = hashlib.sha256()
    with _opened(path) as file:
        before = os.fstat(file.fileno())
        while chunk := file.read(CHUNK):
            digest.update(chunk)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Changed(os.fspath(path))
    return digest.hexdigest()


def move_atomic(source: PathLike, target: PathLike) -> str:
    """Move a file, never over another one; also to another file system. Returns the target.

    Raises `FileExistsError` when the name is taken. After a crash the file is at its old place, at
    its new one, or (between two file systems only) at both.
    """
    old, new = Path(source), Path(target)
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        _rename(old, new)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_to(old, new)
        _unlink(old)
    fsync_dir(new.parent)
    if old.parent != new.parent:
        fsync_dir(old.parent)
    return os.fspath(new)


def move_unique(source: PathLike, folder: PathLike, name: str) -> str:
    """Move a file into a folder under this name, or the first free one like it."""
    Path(folder).mkdir(parents=True, exist_ok=True)  # here: a file in its place is no name that is taken
    for candidate in candidates(name):
        try:
            return move_atomic(source, Path(folder) / candidate)
        except FileExistsError:
            continue
    raise AssertionError("unreachable")


def copy_to(source: PathLike, target: PathLike) -> None:
    """Copy a file so that the target is whole or not there; never over another one."""
    new = Path(target)
    new.parent.mkdir(parents=True, exist_ok=True)
    part = new.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with _opened(source) as reading, part.open("xb") as writing:
            shutil.copyfileobj(reading, writing, CHUNK)
            writing.flush()
            os.fsync(writing.fileno())
        shutil.copystat(source, part)
        _check_same(source, part)
        _rename(part, new)
    except Exception:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    fsync_dir(new.parent)


def link_or_copy(source: PathLike, target: PathLike) -> None:
    """Link the same file under a second name, or copy it where file systems know no links."""
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    try:
        _link(source, target)
    except FileExistsError:
        raise
    except OSError:
        copy_to(source, target)
    fsync_dir(Path(target).parent)


def unlink(path: PathLike) -> None:
    """Remove a file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        _unlink(path)


def remove_tree(path: PathLike) -> None:
    """Remove a folder that may be gone already."""
    if Path(path).is_dir():
        _rmtree(path)


def fsync_dir(path: PathLike) -> None:
    """Make the names in a folder survive a power cut, where the system can."""
    with contextlib.suppress(OSError, AttributeError):
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _opened(path: PathLike) -> IO[bytes]:
    """Open a plain file: a worker process may have left a link to another one, or a FIFO.

    Links of the folders above it are followed: those are not for worker processes to write.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotPlain(error.errno, "it is a link", os.fspath(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise NotPlain(errno.EINVAL, "it is no plain file", os.fspath(path))
    return os.fdopen(number, "rb")


def _check_same(source: PathLike, copy: PathLike) -> None:
    if sha256_file(source) != sha256_file(copy):
        raise Changed(os.fspath(source))


def _encoded(value: object, indent: int | None) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent).encode("utf-8")
    except UnicodeEncodeError:  # a name that is no UTF-8: its escapes are read back as they were
        return json.dumps(value, indent=indent).encode("ascii")


def _utc() -> datetime:
    return datetime.now(UTC)


def _write(path: Path, data: bytes, *, durable: bool) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _replace(source: PathLike, target: PathLike) -> None:
    os.replace(source, target)  # noqa: PTH105 - a text or a path


def _link(source: PathLike, target: PathLike) -> None:
    os.link(source, target, follow_symlinks=False)


def _unlink(path: PathLike) -> None:
    os.unlink(path)  # noqa: PTH108 - a text or a path


def _rmtree(path: PathLike) -> None:
    shutil.rmtree(path)


def _rename(source: PathLike, target: PathLike) -> None:
    """Rename without replacing: `os.rename` would silently overwrite."""
    if os.name == "nt":
        os.rename(source, target)  # noqa: PTH104 - refuses by itself there
        return
    code = _renameat2(os.fsencode(source), os.fsencode(target))
    if code == 0:
        return
    if code not in UNSUPPORTED:
        raise OSError(code, os.strerror(code), os.fspath(source), None, os.fspath(target))
    os.link(source, target, follow_symlinks=False)
    os.unlink(source)  # noqa: PTH108 - as above


@cache
def _libc_renameat2() -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _renameat2(source: bytes, target: bytes) -> int:
    """Rename by the system call; return 0, or the number of the error."""
    call = _libc_renameat2()
    if call is None:
        return errno.ENOSYS
    done = call(AT_FDCWD, source, AT_FDCWD, target, ctypes.c_uint(RENAME_NOREPLACE))
    return 0 if done == 0 else ctypes.get_errno()


def shortened(notes: Iterable[object]) -> str:
    """Return notes as a line to be read: the names of hundreds of members stand in the result, not here."""
    told = "; ".join(map(str, notes))
    return told if len(told) <= SHOWN_NOTES else f"{told[:SHOWN_NOTES].rstrip()} …"

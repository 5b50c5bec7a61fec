"""Looks at `in/`: which files are finished, and why each other one waits.

A file is finished when it has not changed for a while, by our own clock from our first sight on, and
when nobody has it open for writing, where the system knows it. Nothing is ever given up: a file
that keeps changing just stays. Notifications are not trusted; every tick looks.
"""

import errno
import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

from ostinato.apps.watchfolder.folders import is_local
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.names import is_ignored, one_line, shown_name
from ostinato.apps.watchfolder.tick.context import Tick
from ostinato.apps.watchfolder.tick.finishing import refuse_input
from ostinato.apps.watchfolder.tick.memory import Sight

UNFINISHED_SECONDS = 3600.0
UNREADABLE = {errno.EACCES, errno.EPERM}
BUSY = "file_busy"
"""How the log calls a file that cannot be taken now."""


def ripe(tick: Tick, free: int) -> list[tuple[tuple[int, str], str]]:
    """Find the names of finished files, each with what it is sorted by: the oldest first."""
    memory, now = tick.memory, tick.now()
    window = tick.options.stable_s
    if free <= 0 and now - memory.scanned_at < window / 2:
        return []
    memory.scanned_at = now
    seen: dict[str, Sight] = {}
    found_ripe = []
    passed: dict[str, str] = {}
    for entry in _entries(tick):
        with tick.guarded("file_not_seen", file=shown_name(entry.name)):
            found = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                passed[entry.name] = _kind(found.st_mode)
                continue
            identity = (found.st_size, found.st_mtime_ns, found.st_ino)
            sight = memory.sights.get(entry.name)
            if sight is None or sight.identity != identity:
                sight = Sight(identity, now, now if sight is None else sight.first)
            seen[entry.name] = sight
            if found.st_size == 0:
                sight.why = f"it is empty; refused when it stays so for {tick.options.empty_s:g} s"
                _judge_empty(tick, entry, sight)
            elif now - sight.since < window:
                sight.why = "it may still be written to"
                say_if_endless(tick, entry.name, sight)
            elif now >= sight.not_before:
                sight.why = "its turn comes"
                found_ripe.append(((found.st_mtime_ns, entry.name), entry.name))
    memory.sights, memory.passed = seen, passed
    return found_ripe


def _kind(mode: int) -> str:
    """Say why what is no plain file is left alone."""
    if stat.S_ISDIR(mode):
        return "a folder: only what lies in in/ itself is taken"
    return "a link: only plain files are taken" if stat.S_ISLNK(mode) else "no plain file"


def _entries(tick: Tick) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(tick.folders.incoming) as found:
            yield from (entry for entry in found if not is_ignored(entry.name))
    except OSError as error:
        tick.problem("in_not_readable", error, once=True)
        tick.summary["degraded"] = "in"


def _judge_empty(tick: Tick, entry: "os.DirEntry[str]", sight: Sight) -> None:
    """Refuse a file that stays empty: files are made empty and filled later."""
    if tick.now() - sight.since >= tick.options.empty_s:
        refuse_input(tick, Path(entry.path), "EMPTY", "the file is empty")


def say_if_endless(tick: Tick, name: str, sight: Sight) -> None:
    """Report a file that is never finished: it is waited for all the same, but somebody should know."""
    if tick.now() - sight.first >= UNFINISHED_SECONDS:
        why = TimeoutError("somebody has been writing to it for more than an hour")
        tick.problem("file_never_finished", why, once=True, file=shown_name(name))


def ends_too_soon(path: Path) -> bool:
    """Return whether it is a PDF without its last line: it may still be on its way."""
    try:
        with path.open("rb") as file:
            if file.read(5) != b"%PDF-":
                return False
            file.seek(max(0, path.stat().st_size - 2048))
            return b"%%EOF" not in file.read()
    except OSError:
        return False


def is_being_written(path: Path) -> bool:
    """Return whether some process of this machine has the file open for writing, as far as can be seen.

    A read lease is granted only when there is no writer. When one comes while we hold it, the
    kernel sends a signal: one that nobody minds is chosen, because SIGIO would end us.
    """
    if not hasattr(fcntl, "F_SETLEASE") or not hasattr(fcntl, "F_SETSIG"):
        return False
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    try:
        fcntl.fcntl(number, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(number, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(number, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    finally:
        os.close(number)
    return False


def may_ask(tick: Tick) -> bool:
    """Return whether a lease means anything: on a share the answer is always that somebody writes."""
    if tick.memory.local is None:
        tick.memory.local = is_local(tick.folders.incoming)
    return tick.memory.local


def check_readable(path: Path) -> None:
    """Raise `PermissionError` for a file that can be moved, but not read: it is not ours to take.

    A scanner that uploads with umask 077 leaves such files; once moved, nobody would find them.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in UNREADABLE:
            said = "it cannot be read: let the watching user read it"
            raise PermissionError(error.errno, said, os.fspath(path)) from None
        raise
    os.close(number)


def last_problem(done: Document) -> Document | None:
    """Return the last problem of a tick; `blocked_sentence` has the files that cannot be taken."""
    return next((each for each in reversed(done["problems"]) if each["what"] != BUSY), None)


def blocked_sentence(blocked: dict[str, str]) -> str | None:
    """Say which files of `in/` cannot be taken, in one sentence; None when there is none."""
    if not blocked:
        return None
    name, why = next(iter(blocked.items()))
    more = f", and {len(blocked) - 1} more" if len(blocked) > 1 else ""
    return f"{one_line(name)} cannot be taken: {why}{more}"

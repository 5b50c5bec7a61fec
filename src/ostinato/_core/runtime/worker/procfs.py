"""Reads the kernel's list of processes: whether one is stopped, and what a dead one left behind.

Only Linux has `/proc` in this form; elsewhere a worker has no warden. Only the standard library is
imported here, because the warden must start in a few milliseconds.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

PROC = Path("/proc")
STOPPED = ("T", "t", "Z", "X")  # by a signal or a debugger, or dead
GROUP_AT = 2  # behind the name: state, parent, group
BEGAN_AT = 19  # in ticks since the machine started; with the number it is one process and no other
NOBODY: Mapping[int, str] = MappingProxyType({})
LAST_WORDS_SECONDS = 2.0
LOOK_SECONDS = 0.05


def is_stopped(pid: int) -> bool:
    """Return whether a process cannot run: stopped by a signal or a debugger, or dead."""
    fields = _stat(pid)
    return not fields or fields[0] in STOPPED


def family(pid: int) -> dict[int, str]:
    """Return the children of a process, and theirs, each with the time when it began.

    The kernel lists the children of each thread, so nothing but the family is read.
    """
    found: dict[int, str] = {}
    with contextlib.suppress(OSError):
        for task in os.scandir(PROC / str(pid) / "task"):
            with contextlib.suppress(OSError):
                for child in Path(task.path, "children").read_text().split():
                    if fields := _stat(int(child)):
                        found |= {int(child): fields[BEGAN_AT]} | family(int(child))
    return found


def alive(noted: Mapping[int, str]) -> dict[int, str]:
    """Return those of a family that still are the same processes."""
    return {pid: began for pid, began in noted.items() if (fields := _stat(pid)) and fields[BEGAN_AT] == began}


def left_behind(mark: str, group: int | None = None, noted: Mapping[int, str] = NOBODY) -> list[int]:
    """Return the processes with a variable, `NAME=value`, in their environment, of a process group, or of a family."""
    wanted = mark.encode()
    found = []
    for pid in _pids():
        fields = _stat(pid)
        if pid == os.getpid() or not fields or fields[0] in ("Z", "X"):
            continue
        of_group = group is not None and int(fields[GROUP_AT]) == group
        if of_group or noted.get(pid) == fields[BEGAN_AT] or wanted in _environ(pid):
            found.append(pid)
    return found


def end_all(
    mark: str,
    group: int | None = None,
    *,
    noted: Mapping[int, str] = NOBODY,
    first: signal.Signals = signal.SIGTERM,
    seconds: float = LAST_WORDS_SECONDS,
) -> None:
    """End what `left_behind` finds: by a first signal, and after some seconds by SIGKILL."""
    left = left_behind(mark, group, noted)
    over = time.monotonic() + seconds
    number = first
    while left:
        for pid in left:
            _send(pid, number)
        while (left := left_behind(mark, group, noted)) and time.monotonic() < over:
            time.sleep(LOOK_SECONDS)
        number = signal.SIGKILL
        over = time.monotonic() + LOOK_SECONDS


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # it has ended, or is another user's by now


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in os.scandir(PROC) if entry.name.isdigit())


def _stat(pid: int) -> list[str]:
    """Return the fields behind the name of the program, which may hold anything; [] if it is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _environ(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []

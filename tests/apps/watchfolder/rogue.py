"""Work that misbehaves, as the file tells it to: what a sandbox and a service must withstand."""

import contextlib
import ctypes
import errno
import json
import os
import platform
import resource
import signal
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.station.seccomp import SECOND_SELF_ONLY, SELF_ONLY
from ostinato.apps.watchfolder.station.worker import Progress, outcome_name

CLONE_NEWUSER = 0x10000000


def _tmp(task: dict[str, Any], order: list[str]) -> None:
    """Keep something in TMPDIR until the test says that the attempt before is settled."""
    kept = Path(os.environ["TMPDIR"]) / "kept"
    kept.write_text("mine")
    go = Path(task["folder"]) / "go"
    while int(task["attempt"]) > 1 and not go.exists():
        time.sleep(0.02)  # noqa: TID251 - until a file is there
    if int(task["attempt"]) == 1:
        time.sleep(3600)  # noqa: TID251 - it is to be ended
    kept.read_text()


def _list(task: dict[str, Any], order: list[str]) -> None:
    """An outcome and a heartbeat that are no objects."""
    folder = Path(task["folder"])
    (folder / "prep.heartbeat").write_text("[1]")
    (folder / outcome_name("prep", int(task["attempt"]))).write_text('["result"]')
    os._exit(0)


def _symlink(task: dict[str, Any], order: list[str]) -> None:
    """Have somebody else's file published."""
    Path(task["part"]).symlink_to(order[1])


def _hardlink(task: dict[str, Any], order: list[str]) -> None:
    """Have a file published that goes by another name too, and is written by that after it was looked at."""
    other = Path(task["folder"]) / "other"
    other.write_text("of another tenant")
    Path(task["part"]).hardlink_to(other)


def _environ(task: dict[str, Any], order: list[str]) -> None:
    (Path(task["folder"]) / "environ").write_text(json.dumps(dict(os.environ)))


def _full(task: dict[str, Any], order: list[str]) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _hang(task: dict[str, Any], order: list[str]) -> None:
    time.sleep(3600)  # noqa: TID251 - it is to be ended


def _memory(task: dict[str, Any], order: list[str]) -> None:
    for kept in [bytearray(64 << 20) for _ in range(1000)]:
        kept.clear()


def _vanish(task: dict[str, Any], order: list[str]) -> None:
    os._exit(3)


def _connect(task: dict[str, Any], order: list[str]) -> None:
    socket.create_connection(("127.0.0.1", int(order[1])), timeout=5).close()


def _read(task: dict[str, Any], order: list[str]) -> None:
    Path(order[1]).read_text()


def _write(task: dict[str, Any], order: list[str]) -> None:
    Path(order[1]).write_text("escaped")


def _unix(task: dict[str, Any], order: list[str]) -> None:
    """Reach a socket that has a path, as PostgreSQL's has."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(order[1])


def _uring(task: dict[str, Any], order: list[str]) -> None:
    """Ask for a ring of the kernel, which opens sockets as well."""
    refused = ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(256))
    raise OSError(ctypes.get_errno(), "no ring" if refused == -1 else "a ring")


def _namespace(task: dict[str, Any], order: list[str]) -> None:
    """Begin a process in a name space of users, in which it would have all rights."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone, clone3 = (56, 435) if platform.machine() == "x86_64" else (220, 435)
    flags = CLONE_NEWUSER | signal.SIGCHLD
    if order[1] == "clone":
        pid = libc.syscall(clone, ctypes.c_long(flags), None, None, None, None)
    else:
        given = struct.pack("8Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
        pid = libc.syscall(clone3, given, ctypes.c_size_t(len(given)))
    if pid == 0:
        os._exit(0)
    raise OSError(
        ctypes.get_errno() if pid == -1 else 0, os.strerror(ctypes.get_errno()) if pid == -1 else "a name space"
    )


def _limits(task: dict[str, Any], order: list[str]) -> None:
    """Change what another process may use, and how it is served; then the same of ourselves, as libraries do."""
    column = 0 if platform.machine() == "x86_64" else 1
    libc = ctypes.CDLL(None, use_errno=True)

    def tried(name: str, pid: int) -> str:
        number = {**SELF_ONLY, **SECOND_SELF_ONLY}[name][column]
        given = [ctypes.c_long(pid), *ARGUMENTS[name]]
        if name in SECOND_SELF_ONLY:
            given[:2] = [given[1], given[0]]
        ctypes.set_errno(0)
        done = libc.syscall(number, *given)
        return "ok" if done != -1 else errno.errorcode[ctypes.get_errno()]

    other = os.fork()  # of our own user, so that the kernel itself has nothing against it
    if other == 0:
        time.sleep(3600)  # noqa: TID251 - it is ended with us
    told = {name: [tried(name, pid) for pid in (other, 0)] for name in ARGUMENTS}
    for name, user in (("setpriority", os.PRIO_USER), ("ioprio_set", 3)):
        ARGUMENTS[name][0] = user  # 0 is then whoever asks, with all that it runs
        told[name][0] += tried(name, 0)
    (Path(task["folder"]) / "told").write_text(json.dumps(told))


ARGUMENTS: dict[str, list[Any]] = {
    "prlimit64": [resource.RLIMIT_CORE, struct.pack("2Q", 0, 0), None],
    "sched_setaffinity": [ctypes.c_size_t(128), b"\xff" * 128],
    "sched_setscheduler": [os.SCHED_BATCH, struct.pack("i", 0)],
    "sched_setparam": [struct.pack("i", 0)],
    "sched_setattr": [struct.pack("IIQiIQQQ", 48, os.SCHED_BATCH, 0, 1, 0, 0, 0, 0), ctypes.c_uint(0)],
    "setpriority": [os.PRIO_PROCESS, ctypes.c_int(19)],
    "ioprio_set": [1, ctypes.c_int(3 << 13)],
}
"""What follows the number of the process; of the last two, what stands before it comes first."""


def _rights(task: dict[str, Any], order: list[str]) -> None:
    """Change what belongs to our user and lies outside, which Landlock lets everybody do; then use what outlives us."""
    path = order[1]
    libc = ctypes.CDLL(None, use_errno=True)
    tried: dict[str, Callable[[], object]] = {
        "chmod": lambda: Path(path).chmod(0o666),
        "chown": lambda: os.chown(path, os.geteuid(), -1),
        "utime": lambda: os.utime(path, (0, 0)),
        "setxattr": lambda: os.setxattr(path, "user.note", b"here"),
        "shmget": lambda: _called(libc.shmget(0, ctypes.c_size_t(4096), 0o1600)),
        "msgget": lambda: _called(libc.msgget(0, 0o1600)),
    }
    (Path(task["folder"]) / "told").write_text(json.dumps({name: _met(trying) for name, trying in tried.items()}))


def _called(found: int) -> None:
    if found == -1:
        raise OSError(ctypes.get_errno(), "refused")


def _met(trying: Callable[[], object]) -> str:
    try:
        trying()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "ok"


def _who(task: dict[str, Any], order: list[str]) -> None:
    status = Path("/proc/self/status").read_text()
    (Path(task["folder"]) / "who").write_text(status)


def _signal(task: dict[str, Any], order: list[str]) -> None:
    os.kill(os.getppid(), 0)


def _log(task: dict[str, Any], order: list[str]) -> None:
    """Put links to a file of the service where logs may be, and die without a word."""
    for name in ("prep.log", "ocr.log"):
        (Path(task["folder"]) / name).unlink(missing_ok=True)
        (Path(task["folder"]) / name).symlink_to(order[1])
    os.write(2, b"WRITTEN BY A CAGED CHILD")
    os._exit(3)


def _fifo(task: dict[str, Any], order: list[str]) -> None:
    """Put a FIFO where the service looks every second, and stand still."""
    folder = Path(task["folder"])
    os.mkfifo(folder / "fifo")
    (folder / "fifo").rename(folder / "prep.heartbeat")
    os.mkfifo(folder / outcome_name("prep", int(task["attempt"])))
    (folder / "placed").touch()
    os.kill(os.getpid(), signal.SIGSTOP)  # no more heartbeats


def _steal(task: dict[str, Any], order: list[str]) -> None:
    """Read for ever from every pipe that the fork server left open, in its place."""
    found = []
    for number in range(3, 256):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                threading.Thread(target=_read_all, args=(number,), daemon=True).start()
                found.append(number)
    (Path(task["folder"]) / "stealing").write_text(str(len(found)))
    time.sleep(3600)  # noqa: TID251 - it is to be ended


def _read_all(number: int) -> None:
    while os.read(number, 1 << 16):
        pass


def _grandchild(task: dict[str, Any], order: list[str]) -> None:
    """Leave a process behind that has tried to leave the group."""
    folder = Path(task["folder"])
    child = "import os, sys, time\ntry:\n os.setsid()\nexcept OSError: pass\n"
    child += "open('left', 'w').write(str(os.getpid()))\ntime.sleep(3600)"
    if os.fork() == 0:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-c", child])  # noqa: S606 - the point
    while not (folder / "left").exists():
        time.sleep(0.02)  # noqa: TID251 - until a file is there
    if len(order) > 1 and order[1] == "stay":
        time.sleep(3600)  # noqa: TID251 - it is to be ended


TRICKS: dict[str, Callable[[dict[str, Any], list[str]], None]] = {
    "tmp": _tmp,
    "list": _list,
    "symlink": _symlink,
    "hardlink": _hardlink,
    "environ": _environ,
    "full": _full,
    "hang": _hang,
    "memory": _memory,
    "vanish": _vanish,
    "connect": _connect,
    "read": _read,
    "write": _write,
    "unix": _unix,
    "uring": _uring,
    "namespace": _namespace,
    "limits": _limits,
    "rights": _rights,
    "who": _who,
    "signal": _signal,
    "log": _log,
    "fifo": _fifo,
    "steal": _steal,
    "grandchild": _grandchild,
}


def run(task: dict[str, Any], report: Progress) -> dict[str, Any]:
    """Do what the input says."""
    order = Path(task["inputPath"]).read_text().split()
    report(1, 2)
    if order[0] in TRICKS:
        TRICKS[order[0]](task, order)
    if order[0] == "steps":
        for number in range(5):  # longer on one page than one may stand still
            report(1, 2, f"step {number}")
            while not Path(task["folder"], f"go {number}").exists():
                time.sleep(0.02)  # noqa: TID251 - until a file is there
    if order[0] not in {"lie", "symlink", "hardlink"}:
        Path(task["part"]).write_bytes(f"attempt {task['attempt']}".encode())
    return {"pages": 2}

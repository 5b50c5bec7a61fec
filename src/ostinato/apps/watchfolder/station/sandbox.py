"""A sandbox for the process that reads a stranger's file: pure Python, without privileges.

    rlimit      memory, processor time, size of files, open files, no core dumps
    landlock    only the job's own folder can be written, only programs and libraries read
    netns       no network at all
    seccomp     no socket of any kind, no other process group, no look into other processes
    user        a user of its own, where the service is root

Where the kernel lacks one of the last four, the process runs with the rest; `level` says what
holds, `missing` what does not, in words.
"""

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ostinato.apps.watchfolder.station.ownuser import become_own_user
from ostinato.apps.watchfolder.station.seccomp import close_doors
from ostinato.observe import get_logger

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
VERSION_FLAG, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
FIRST_ABI_RIGHTS = (1 << 13) - 1
REFER, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
RIGHTS_OF_ABI = {1: FIRST_ABI_RIGHTS, 2: FIRST_ABI_RIGHTS | REFER}
TRUNCATE_ABI, NET_ABI, IOCTL_ABI, SCOPE_ABI = 3, 4, 5, 6
TCP = 3
"""To bind and to connect."""
SCOPES = 3
"""No signals to, and no abstract sockets of, processes outside."""
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL

log = get_logger("watchfolder.station")
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Limits:
    """What a worker process may use."""

    memory_bytes: int
    cpu_seconds: int
    file_bytes: int
    open_files: int = 256


def confine(limits: Limits, writable: Iterable[Path], *, parent: int, offline: bool = False) -> str:
    """Confine this process, for good; returns what holds. It must have one thread only.

    `offline` means that the process that forked us has left the network already, and we with it.
    """
    os.setsid()
    _set_limits(limits)
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    held = []
    if offline or leave_network():
        held.append("netns")
    folders = [*writable]
    rules = _landlock_rules(folders)
    # Root without Landlock may read everything: a user that cannot reach its folder helps nobody.
    if rules is not None and folders and become_own_user(folders[0]):
        held.append("user")
    if rules is not None and _restrict(rules):
        held.append("landlock")
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a change of the user resets it
    if os.getppid() != parent:
        os._exit(1)  # the parent died before we could hear of it
    if close_doors():
        held.append("seccomp")
    return "+".join(sorted(held)) or "rlimit"


def _set_limits(limits: Limits) -> None:
    for what, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        _, most = resource.getrlimit(what)
        wanted = value if most == resource.RLIM_INFINITY else min(value, most)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (wanted, wanted))


def missing(held: str) -> list[str]:
    """Return what does not hold of the sandbox, one sentence each."""
    told = {
        "landlock": "no Landlock: a decoder can read and write all files of the service's user",
        "netns": "no network namespace: seccomp alone keeps a decoder from the network",
        "seccomp": "no seccomp filter: a decoder can open local sockets and leave its group",
    }
    if os.geteuid() == 0:
        told["user"] = "no user of its own: a decoder runs as root"
    return [sentence for name, sentence in told.items() if name not in held.split("+")]


def level() -> str:
    """Return what would hold on this machine, tried in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return _level_in(Path(folder))


def told_level(service: str) -> str:
    """Return what holds, and log what does not: nobody is to believe in a sandbox that is none."""
    found = level()
    for sentence in missing(found):
        log.warning("sandbox_incomplete", service=service, missing=sentence)
    return found


def _level_in(folder: Path) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            ample = Limits(1 << 40, 60, 1 << 40)
            os.write(writing, confine(ample, [folder], parent=os.getppid()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        found = answer.read()
    os.waitpid(pid, 0)
    return found or "none"


def leave_network() -> bool:
    """Leave the network, with all processes forked later; returns whether the system let us."""
    if os.geteuid() == 0 and _libc.unshare(CLONE_NEWNET) == 0:
        return True  # without a name space of users, in which no other user could be had
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    return True


def _landlock_rules(writable: Iterable[Path]) -> int | None:
    abi = _libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(VERSION_FLAG))
    if abi < 1:
        return None
    rights = RIGHTS_OF_ABI.get(abi, FIRST_ABI_RIGHTS | REFER)
    rights |= TRUNCATE if abi >= TRUNCATE_ABI else 0
    rights |= IOCTL if abi >= IOCTL_ABI else 0
    attributes = struct.pack("Q", rights)
    attributes += struct.pack("Q", TCP) if abi >= NET_ABI else b""
    attributes += struct.pack("Q", SCOPES) if abi >= SCOPE_ABI else b""
    rules = _libc.syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if rules < 0:
        return None
    for path in readable():
        _allow(rules, path, (READ_FILE | READ_DIR | EXECUTE) & rights)
    for path in (*writable, *DEVICES):
        _allow(rules, path, rights)
    return int(rules)


def _restrict(rules: int) -> bool:
    done = _libc.syscall(LANDLOCK_RESTRICT, rules, ctypes.c_uint(0))
    os.close(rules)
    return bool(done == 0)


DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")))


def readable() -> list[Path]:
    """Return where programs, libraries and their data are; nothing of a person."""
    ours = Path(__file__).parents[4]
    paths = {Path(sys.prefix), Path(sys.base_prefix), ours, Path(sysconfig.get_path("stdlib"))}
    system = ("/usr", "/lib", "/lib64", "/bin", "/opt/homebrew", "/proc/self", "/proc/cpuinfo")
    config = ("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime", "/sys/devices/system/cpu")
    return [path for path in (*paths, *map(Path, (*system, *config))) if path.exists()]


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        number = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= FILE_RIGHTS
        rule = struct.pack("=Qi", rights, number)
        _libc.syscall(LANDLOCK_ADD, rules, ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint(0))
    finally:
        os.close(number)

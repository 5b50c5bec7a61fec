"""A user of their own for worker processes, where the service runs as root.

The user has a number and no name: nothing else on the machine is its. It keeps one right of root,
to read and pass through folders that are closed to others, because the job's folder may be below
one; Landlock, without which there is no such user, still bounds what can be read.
"""

import ctypes
import os
import pwd
import struct
from pathlib import Path

FIRST, LAST = 60_990, 61_183
"""Numbers that neither distributions nor systemd give out."""
PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 8, 47, 2
CAP_DAC_READ_SEARCH = 2
CAPABILITIES_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def become_own_user(folder: Path) -> bool:
    """Become another user than root, who may write to the folder; return whether we are now.

    A folder that belongs to somebody else, such as the orchestrator of another container, is left
    to them, and the process is theirs.
    """
    if os.geteuid() != 0:
        return False
    owner = os.lstat(folder).st_uid
    uid = owner or _free_number()
    try:
        if owner == 0:
            os.chown(folder, uid, -1, follow_symlinks=False)
        _libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError:  # a name space in which this number means nobody
        return False
    _keep_only(CAP_DAC_READ_SEARCH)
    return True


def give_back(number: int) -> None:
    """Make an open file ours, which a worker process of another user wrote."""
    if os.geteuid() == 0:
        os.fchown(number, 0, 0)


def _keep_only(capability: int) -> None:
    """Keep one right, in this process and the programs that it starts."""
    header = struct.pack("=Ii", CAPABILITIES_VERSION, 0)
    bit = 1 << capability
    _libc.capset(header, struct.pack("=6I", bit, bit, bit, 0, 0, 0))
    _libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)


def _free_number() -> int:
    for number in range(FIRST, LAST):
        try:
            pwd.getpwuid(number)
        except KeyError:
            return number
    return LAST

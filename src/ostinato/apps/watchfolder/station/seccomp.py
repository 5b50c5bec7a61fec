"""A filter on system calls: no sockets, no way out of the process group, no look into others, no change of them.

Landlock and a network namespace do not stop `connect()` to a socket that has a path, such as
PostgreSQL's. A worker process inherits no socket, and with this filter it opens none. It also
stays in its process group, so that one signal ends it with all that it started.

The filter is a few lines of classic BPF, handed to the kernel by `prctl`. The bindings of
libseccomp were weighed: LGPL-2.1, and one more library to have, for a list that fits on this page.
"""

import ctypes
import errno
import platform
import struct
import sys

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, LACK = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT, SECOND_ARGUMENT_AT = 0, 4, 16, 24
REFUSED_AT, LACK_AT, FLAGS_AT, FIRST_AT, SECOND_AT = 1, 2, 3, 7, 11
"""How many lines behind the last comparison a verdict begins."""
X32 = 0x40000000
"""Calls of x86-64 from this number on are those of another ABI, with other numbers."""

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

CLONE, CLONE3 = (56, 220), (435, 435)
NAME_SPACES = 0x7E020000
"""The flags of `clone` that begin one: in one of users a process has all rights. Those of `clone3` cannot be seen
here, so there is none: libraries fall back on `clone`."""

REFUSED: dict[str, tuple[int | None, int | None]] = {  # by name: the number on x86-64, on aarch64 if it is there
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "bind": (49, 200),
    "listen": (50, 201),
    "socketpair": (53, 199),
    "accept4": (288, 242),
    # It opens and connects sockets, too, past every filter on calls.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    # It opens files past their folders, for who has the right to read that the own user keeps.
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "personality": (135, 92),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    # Landlock lets whose a file is, who may read it and when it was changed be set of every file of the user.
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    # What is kept in these is no memory of the process, outlives it, and may be that of another.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # They change the memory of others of the user.
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
SELF_ONLY = {  # as above; their first argument is a process, or a thread, and 0 is the one that calls
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
SECOND_SELF_ONLY = {  # their second argument is, and the first one says what it is a number of
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
}
"""All processes of one service have one user, which the kernel lets change each other: the limits of the service that
reads other tenants' files could be set to nothing. Libraries ask for 0 where they mean their own."""
OF_MANY = 2
"""Whose the number is: from here on a user's, which is that of the service, too; for `ioprio_set` also a group's."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def close_doors() -> bool:
    """Refuse those calls to this process and all that it starts; return whether the kernel does.

    The process must have set `no_new_privs`, and have one thread.
    """
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in ARCHITECTURES:
        return False
    code = _filter(machine)
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    return bool(done == 0)


def _filter(machine: str) -> bytes:
    column = list(ARCHITECTURES).index(machine)
    numbers = [number for pair in REFUSED.values() if (number := pair[column]) is not None]
    lines = [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    if machine == "x86_64":
        lines += [(IF_AT_LEAST, 0, 1, X32), (RETURN, 0, 0, KILL)]
    # Each comparison jumps over those behind it, and over ALLOW, to a verdict at the end.
    asked = [(number, REFUSED_AT) for number in numbers] + [(CLONE3[column], LACK_AT), (CLONE[column], FLAGS_AT)]
    asked += [(pair[column], FIRST_AT) for pair in SELF_ONLY.values()]
    asked += [(pair[column], SECOND_AT) for pair in SECOND_SELF_ONLY.values()]
    lines += [(IF_EQUAL, len(asked) - place - 1 + verdict, 0, number) for place, (number, verdict) in enumerate(asked)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, LACK)]
    lines += [(LOAD, 0, 0, FIRST_ARGUMENT_AT), (IF_ANY_BIT, 1, 0, NAME_SPACES)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    # A process is a number of 32 bits: the kernel looks at no more of the argument, and nor do we.
    mine = [(IF_EQUAL, 1, 0, 0), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    lines += [(LOAD, 0, 0, FIRST_ARGUMENT_AT), *mine]
    lines += [(LOAD, 0, 0, FIRST_ARGUMENT_AT), (IF_AT_LEAST, 2, 0, OF_MANY), (LOAD, 0, 0, SECOND_ARGUMENT_AT), *mine]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)

"""The operating-system user that the embedded server runs as.

PostgreSQL refuses to run as root. When we are root (a container, mostly) the server runs as
another user, and that user needs access to its folder and to the binaries. An access control list
on each folder of the path lets this one user through, because opening a folder such as /root to
everybody would be too much.
"""

import errno
import os
import pwd
import random
import shutil
import stat
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ostinato._core.base.errors import EmbeddedError
from ostinato._core.base.log import get_logger

log = get_logger("embedded")

PREFERRED = "pgserver"
STAND_INS = ("postgres", "nobody")
USERADD_ATTEMPTS = 20

# The kernel's layout of a POSIX access control list: a version, then (tag, permissions, id).
ACL = "system.posix_acl_access"
ACL_VERSION = 2
ACL_ENTRY = struct.Struct("<HHI")
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
NO_ID = 0xFFFFFFFF
SEARCH = 1


@dataclass(frozen=True, slots=True)
class OsUser:
    """A user of this machine."""

    name: str
    uid: int
    gid: int


def myself() -> OsUser:
    """Return the user that this process runs as."""
    return _by_id(os.geteuid())


def _by_id(uid: int) -> OsUser:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedError(
            f"The embedded PostgreSQL cannot run: user id {uid} has no name on this machine.",
            hint="Add the user to /etc/passwd, or set OSTINATO_DATABASE_URL.",
            uid=uid,
        ) from None
    return OsUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def server_user(pgdata: Path) -> OsUser:
    """Return the user to run the server as.

    It is the owner of the server's files; before there are any, ourselves; and when that would
    be root, a user made for the purpose.
    """
    me = myself()
    owner = pgdata.stat().st_uid if pgdata.exists() else None
    if me.uid != 0:
        if owner not in (None, me.uid):
            raise EmbeddedError(
                f"The database in {pgdata} belongs to user id {owner}, this process is {me.name} (user id {me.uid}).",
                hint="Run as the user that created it, or choose another folder with --data-dir.",
                folder=str(pgdata),
                owner=owner,
                uid=me.uid,
            )
        return me
    return _by_id(owner) if owner else _made_for_the_purpose()


def let_in(user: OsUser, folder: Path) -> None:
    """Let `user` pass through `folder` and everything above it, without letting anyone else in."""
    for step in (folder, *folder.parents):
        if not _may_search(user, step.stat()):
            _grant_search(user, step)


def _made_for_the_purpose() -> OsUser:
    useradd = shutil.which("useradd")
    for _ in range(USERADD_ATTEMPTS if useradd else 0):
        if made := _by_name(PREFERRED):
            return made
        # No home, no shell, no password: nobody logs in as this user. It fails while another
        # process holds the lock of /etc/passwd, perhaps because it adds the same user.
        subprocess.run(  # noqa: S603 - found on the PATH of root, with fixed arguments
            [str(useradd), "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", PREFERRED],
            capture_output=True,
            check=False,
        )
        time.sleep(random.uniform(0.01, 0.1))  # noqa: S311 - spreads attempts, guards nothing
    for name in (PREFERRED, *STAND_INS):
        if found := _by_name(name):
            return found
    raise EmbeddedError(
        "PostgreSQL refuses to run as root, and no other user could be found or made.",
        hint=f"Run as an ordinary user, or add one first: useradd {PREFERRED}",
        wanted=(PREFERRED, *STAND_INS),
    )


def _by_name(name: str) -> OsUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return OsUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _may_search(user: OsUser, info: os.stat_result) -> bool:
    if info.st_uid == user.uid:
        return bool(info.st_mode & stat.S_IXUSR)
    if info.st_gid == user.gid:
        return bool(info.st_mode & stat.S_IXGRP)
    return bool(info.st_mode & stat.S_IXOTH)


def _grant_search(user: OsUser, folder: Path) -> None:
    try:
        # Not on macOS, whose lists look different; nobody runs this as root there.
        os.setxattr(folder, ACL, _with_entry(user, folder))
    except (AttributeError, OSError) as error:
        log.warning("folder_opened_for_passing_through", folder=str(folder), why=str(error))
        folder.chmod(folder.stat().st_mode | stat.S_IXOTH)


def _with_entry(user: OsUser, folder: Path) -> bytes:
    entries = _entries(folder)
    entries[USER, user.uid] = entries.get((USER, user.uid), 0) | SEARCH
    # The mask bounds what groups and named users may do: without the bit the entry is void.
    entries[MASK, NO_ID] = entries.get((MASK, NO_ID), entries[GROUP_OBJ, NO_ID]) | SEARCH
    packed = (ACL_ENTRY.pack(tag, perm, id_) for (tag, id_), perm in sorted(entries.items()))
    return struct.pack("<I", ACL_VERSION) + b"".join(packed)


def _entries(folder: Path) -> dict[tuple[int, int], int]:
    try:
        raw = os.getxattr(folder, ACL)
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
    else:
        return {(tag, id_): perm for tag, perm, id_ in ACL_ENTRY.iter_unpack(raw[4:])}
    mode = folder.stat().st_mode
    return {(USER_OBJ, NO_ID): (mode >> 6) & 7, (GROUP_OBJ, NO_ID): (mode >> 3) & 7, (OTHER, NO_ID): mode & 7}

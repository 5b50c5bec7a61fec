"""Restores a server from a base backup and the log after it, into an empty folder.

The log is laid into the server's own folder for it, and the server is told to look nowhere else (`restore_command` is
`false`): nothing that a shell reads is put together from a path, and the user that the server runs as needs no access
to the repository. Recovery ends on a timeline of its own, so a mistaken restore to a time takes nothing away from the
repository. Until it has ended the copy has another name; a restore that is killed leaves nothing that could be taken
for a database, and is repeated.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict
from ostinato._core.db import embedded
from ostinato._core.db.backup.repository import PARTIAL, Base, Log, Repository, private, sync
from ostinato._core.db.cluster import START_SECONDS, Cluster, CommandFailed, usable_folder

LOOK_SECONDS = 0.05
LOCK_SECONDS = 3.0  # so long a server may take to be started or stopped; a restore takes longer
# A base backup has these empty, and an object store has no empty folders; without them no server starts.
FOLDERS = (
    *("pg_commit_ts", "pg_dynshmem", "pg_logical/mappings", "pg_logical/snapshots", "pg_notify", "pg_replslot"),
    *("pg_serial", "pg_snapshots", "pg_stat", "pg_stat_tmp", "pg_subtrans", "pg_tblspc", "pg_twophase"),
    "pg_wal/archive_status",
)
STATUS_LINE = 7  # of postmaster.pid: the eighth
# The copy must not wait for the copies that its original had, nor follow anybody.
INHERITED = ("synchronous_standby_names", "primary_conninfo", "primary_slot_name", "restore_command", "hot_standby")
TARGETS = re.compile(r"recovery_\w+")
LAST_COMMIT = re.compile(r"last completed transaction was at log time (\S+ \S+)")
ASSIGNED = re.compile(r"\s*(\w+)\s*=?")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, from what, and until when."""

    folder: Path
    base: Base
    segments: int
    recovered: bool
    """False: the server was not started; it recovers when its owner starts it."""
    last_commit: str | None = None
    """The time of the last commit that is in it, as the server wrote it; None: none after the base backup."""
    missing: str | None = None
    """What was received and is not in it, as a sentence; None: all of it is."""


def restore_embedded(
    repository: Repository, base: Base, data_dir: Path, to: datetime | None = None, step: Callable[[str], None] = print
) -> Restored:
    """Restore the embedded server into its data folder, which must have no database yet."""
    folder = usable_folder(data_dir)
    with embedded.locked(folder, LOCK_SECONDS):  # a second restore, or a start that would make a new database, waits
        return _restore_embedded(repository, base, folder, to, step)


def _restore_embedded(
    repository: Repository, base: Base, folder: Path, to: datetime | None, step: Callable[[str], None]
) -> Restored:
    if (folder / "postgres").exists():
        raise Conflict(
            f"{folder} has a database already: nothing is restored over it",
            hint="Name an empty folder with --data-dir, or move the old one away: mv"
            f" {folder / 'postgres'} {folder / 'postgres.old'}",
            folder=str(folder),
        )
    making = folder / "restoring"
    _clear(Cluster.at(making))
    cluster = Cluster.at(making)
    if cluster.major != repository.about.major:
        raise Conflict(
            f"the backup is of PostgreSQL {repository.about.major}; this release brings PostgreSQL {cluster.major}",
            hint="Install the release of Ostinato that it was made with, and restore there.",
            of=repository.about.major,
            brought=cluster.major,
        )
    try:
        step(f"Copying {base.bytes >> 20:,} MB of {base.label}")
        log = lay_out(repository, base, cluster.pgdata, to)
        _give(making, cluster)
        step(f"Replaying the log: {len(log.segments)} x {repository.about.segment_bytes >> 20} MB")
        said = _recover(cluster, to)
        settle(cluster.pgdata)
        (folder / "superuser.pgpass").unlink(missing_ok=True)  # of the server before; a new one is made
        cluster.pgdata.rename(folder / "postgres")
        sync(folder)
    finally:
        _clear(cluster)
    found = LAST_COMMIT.search(said)
    return Restored(
        folder,
        base,
        len(log.segments),
        recovered=True,
        last_commit=found[1] if found else None,
        missing=_missing(repository, base, log),
    )


def _clear(cluster: Cluster) -> None:
    """Leave nothing of a restore that failed, or that was killed: neither its server nor its files."""
    if cluster.pid() is not None:
        with suppress(CommandFailed, subprocess.TimeoutExpired):
            cluster.halt("immediate")
    shutil.rmtree(cluster.data_dir, ignore_errors=True)


def restore_folder(repository: Repository, base: Base, pgdata: Path, to: datetime | None = None) -> Restored:
    """Lay the data folder of a server of one's own out; it recovers when it is started."""
    if pgdata.exists() and any(pgdata.iterdir()):
        raise Conflict(
            f"{pgdata} is not empty: nothing is restored over it",
            hint="Name an empty folder, or one that does not exist.",
            folder=str(pgdata),
        )
    try:
        log = lay_out(repository, base, pgdata, to)
    except BaseException:
        for left in pgdata.glob("*"):  # the folder itself may be a disk's
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        raise
    return Restored(pgdata, base, len(log.segments), recovered=False, missing=_missing(repository, base, log))


def lay_out(repository: Repository, base: Base, pgdata: Path, to: datetime | None) -> Log:
    """Copy a base backup with its log to a folder, as a server that recovers at its next start."""
    log = repository.log_after(base)
    try:
        _copy(repository, base, log, pgdata)
    except OSError as error:
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise BackupFailed(
            f"{base.label} was not copied: {why}",
            hint=f"Nothing is left in {pgdata}. Remove the cause, or name a folder on another disk; then repeat it.",
        ) from error
    wanted = {"restore_command": "false", "recovery_target_action": "promote"}
    if to is not None:
        wanted["recovery_target_time"] = to.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00")
    set_own(pgdata, wanted)
    (pgdata / "recovery.signal").touch(mode=0o600)
    return log


def _copy(repository: Repository, base: Base, log: Log, pgdata: Path) -> None:
    with private():
        pgdata.mkdir(parents=True, exist_ok=True)
        pgdata.chmod(0o700)  # before the first file is in it
        _check_room(pgdata, base.bytes + log.bytes)
        shutil.copytree(repository.files(base), pgdata, symlinks=True, dirs_exist_ok=True)
        pgdata.chmod(0o700)
        for name in FOLDERS:
            (pgdata / name).mkdir(parents=True, exist_ok=True)
        (pgdata / "backup_manifest").unlink(missing_ok=True)
        for segment in log.segments:
            shutil.copyfile(segment, pgdata / "pg_wal" / segment.name.removesuffix(PARTIAL))


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BackupFailed(
            f"there is no room: the disk of {folder} has {free >> 20:,} MB free, and {needed >> 20:,} MB are to be"
            " restored",
            hint="Make room, or name a folder on another disk.",
            free_bytes=free,
            needed_bytes=needed,
        )


def _missing(repository: Repository, base: Base, log: Log) -> str | None:
    """Say what the repository has and this restore cannot use."""
    newest = repository.log_without_base()
    if newest is not None:
        return (
            f"The log of timeline {newest} is not in it: the server began that after a restore or a failover, and no"
            " base backup was taken since."
        )
    if log.gap is not None:
        return f"The log after {base.label} has a gap: {log.gap} is missing, and what follows it is not in it."
    return None


def settle(pgdata: Path) -> None:
    """Remove the settings of a recovery that has ended."""
    set_own(pgdata, {})


def set_own(pgdata: Path, wanted: dict[str, str]) -> None:
    """Set what concerns copies in a stopped server, as ALTER SYSTEM would, and forget what it had of that."""
    path = pgdata / "postgresql.auto.conf"
    kept = [line for line in path.read_text().splitlines() if not _concerns_copies(line)] if path.exists() else []
    lines = [
        f"{name} = '{value.replace(chr(92), chr(92) * 2).replace(chr(39), chr(39) * 2)}'"
        for name, value in wanted.items()
    ]
    path.write_text("\n".join([*kept, *lines, ""]))
    path.chmod(0o600)


def _concerns_copies(line: str) -> bool:
    found = ASSIGNED.match(line)
    return found is not None and (found[1] in INHERITED or TARGETS.fullmatch(found[1]) is not None)


def _recover(cluster: Cluster, to: datetime | None) -> str:
    """Let the server replay its log, and stop it; returns what it wrote. Nobody can connect meanwhile."""
    cluster.configure()
    cluster.log_path.touch(mode=0o600)
    os.chown(cluster.log_path, cluster.user.uid, cluster.user.gid)
    try:
        cluster.command.run(
            "pg_ctl",
            *("start", "--wait", "--silent", f"--timeout={START_SECONDS}", "--options=-c hot_standby=off"),
            *("--pgdata", str(cluster.pgdata), "--log", str(cluster.log_path)),
            seconds=START_SECONDS + 30,
        )
        while not _is_open(cluster):  # pg_ctl says "started" as soon as recovery begins
            time.sleep(LOOK_SECONDS)
    except (CommandFailed, subprocess.TimeoutExpired) as error:
        raise _explained(cluster.log_tail(), to) from error
    cluster.halt("fast")
    return cluster.log_tail(lines=200)


def _is_open(cluster: Cluster) -> bool:
    """Return whether the server has left recovery, as its own file says; an error if it has ended instead."""
    lines = cluster.pid_file()
    if len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == "ready":
        return True
    if cluster.pid() is None:
        raise CommandFailed("it has ended")
    return False


def _explained(said: str, to: datetime | None) -> BackupFailed:
    if "before configured recovery target was reached" in said:
        return BackupFailed(
            f"the log ends before {to}: nothing was committed later, or it was not received",
            hint="Restore without --to, which brings back all there is; or name an earlier time.",
        )
    if "No space left" in said:
        return BackupFailed(
            "the server could not replay the log: the disk is full", hint="Make room, or restore to another disk."
        )
    return BackupFailed(
        f"the server could not replay the log. PostgreSQL says:\n{said}",
        hint="Try an older base backup with --label; `ostinato backup verify` checks each.",
    )


def _give(folder: Path, cluster: Cluster) -> None:
    if cluster.user.uid == os.geteuid():
        return
    for at, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(Path(at, name), cluster.user.uid, cluster.user.gid, follow_symlinks=False)

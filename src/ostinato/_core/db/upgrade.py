"""Moves the embedded server of a folder to the PostgreSQL that this release brings, with `pg_upgrade`.

    <data_dir>/upgrade/postgres   the new cluster in the making; begun anew when an upgrade was interrupted
    <data_dir>/upgrade/done       exists once it is complete
    <data_dir>/postgres-16        the old one, as it was; delete it when all is well

The old cluster is copied, never changed, and gives its name to the new one last: until then the release that wrote it
goes on with it. A start of the server between the two renames finds the new cluster by the file `done`.
Programs of both versions are needed: the wheel has some older ones, the system may have others.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ostinato._core.base.errors import Conflict, EmbeddedError, NotFound
from ostinato._core.db import binaries, embedded
from ostinato._core.db.backup import programs
from ostinato._core.db.backup.restore import set_own
from ostinato._core.db.cluster import Cluster, CommandFailed
from ostinato._core.db.osuser import let_in

UPGRADE_SECONDS = 7 * 86_400.0
TRUST = "# Written by Ostinato for pg_upgrade, whose socket is in a folder of its own.\nlocal all all trust\n"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What was done."""

    found: int
    brought: int
    old: Path | None
    """Where the old cluster is; None: there was nothing to do."""
    seconds: float


def upgrade(data_dir: Path, say: Say, target: Path | None = None) -> Upgraded:
    """Upgrade the server of a folder, which must not run; `target` has the programs of another version than ours."""
    began = time.monotonic()
    folder = data_dir.expanduser().resolve()
    version = folder / "postgres" / "PG_VERSION"
    if not version.exists():
        raise NotFound(f"{folder} has no database", hint="Name its folder with --data-dir.")
    with embedded.locked(folder):
        found = int(version.read_text())
        new_programs = target or binaries.embedded()
        brought = binaries.major_version(new_programs)
        if found == brought:
            return Upgraded(found, brought, None, time.monotonic() - began)
        if found > brought:
            raise Conflict(
                f"the database in {folder} is of PostgreSQL {found}, newer than {brought}",
                hint="Nobody can go back: use the release of Ostinato that wrote it.",
            )
        old = Cluster.at(folder, _programs(found))
        if old.pid() is not None or old.answers():
            raise Conflict(
                f"the server in {folder} runs (process {old.pid()})",
                hint="Stop what uses it (`ostinato up`, workers, the API); then upgrade.",
            )
        old.check_room(_size(old.pgdata), "A copy of the database needs")
        new = _copied(old, new_programs, say)
        kept = _swap(old, new, say)
    embedded.start(folder, binaries=target).stop()
    return Upgraded(found, brought, kept, time.monotonic() - began)


def _programs(major: int) -> Path:
    """Return the folder with the programs of an older version."""
    with suppress(EmbeddedError, KeyError):
        return binaries.embedded(major)
    for pattern in programs.SYSTEM_FOLDERS:
        folder = Path(pattern.format(major=major))
        if (folder / "postgres").exists():
            return folder
    raise EmbeddedError(
        f"The database was written by PostgreSQL {major}, whose programs are not on this machine.",
        hint=f"Install them for the upgrade (Debian: postgresql-{major}), and try again.",
        major=major,
    )


def _copied(old: Cluster, folder: Path, say: Say) -> Cluster:
    """Make a new cluster with everything of the old one."""
    place = old.data_dir / "upgrade"
    shutil.rmtree(place, ignore_errors=True)  # of an upgrade that was interrupted: the old one may have changed since
    place.mkdir(mode=0o700)
    new = Cluster(place, folder, binaries.major_version(folder), old.user)
    if old.user.uid != os.geteuid():
        os.chown(place, old.user.uid, old.user.gid)
        let_in(old.user, place)
        binaries.let_run(folder, old.user)
    say(f"Stopping PostgreSQL {old.major} in order")
    old.forget_dead()
    old.configure()
    old.launch()
    old.halt("fast")
    say(f"Making a database of PostgreSQL {new.major}")
    new.init()
    for cluster in (old, new):  # written anew at every start
        (cluster.pgdata / "pg_hba.conf").write_text(TRUST)
    say("Copying with pg_upgrade")
    with tempfile.TemporaryDirectory(prefix="ostinato-upgrade-") as sockets:
        os.chown(sockets, old.user.uid, old.user.gid)
        try:
            new.command.run(
                "pg_upgrade",
                *(f"--old-bindir={old.folder_of_binaries}", f"--new-bindir={new.folder_of_binaries}"),
                *(f"--old-datadir={old.pgdata}", f"--new-datadir={new.pgdata}"),
                *("--username=postgres", f"--socketdir={sockets}"),
                seconds=UPGRADE_SECONDS,
                at=place,
            )
        except (CommandFailed, subprocess.TimeoutExpired) as error:
            raise EmbeddedError(
                f"pg_upgrade failed, and the database is as it was: {error}",
                hint="Remove the cause that it names, and try again; or go on with the release that wrote it.",
                folder=str(old.data_dir),
            ) from error
    # What was set with ALTER SYSTEM stays; what concerned copies does not, which have to be made anew.
    shutil.copyfile(old.pgdata / "postgresql.auto.conf", new.pgdata / "postgresql.auto.conf")
    set_own(new.pgdata, {})
    os.chown(new.pgdata / "postgresql.auto.conf", old.user.uid, old.user.gid)
    return new


def _swap(old: Cluster, new: Cluster, say: Say) -> Path:
    """Give the new cluster the name of the old one; returns where the old one is."""
    kept = old.data_dir / f"postgres-{old.major}"
    if kept.exists():
        raise Conflict(f"{kept} is there already", hint="It is of an earlier upgrade: delete it, or move it away.")
    (new.data_dir / embedded.UPGRADED).touch()
    os.sync()
    say(f"The old one stays in {kept}")
    old.pgdata.rename(kept)
    embedded.adopt_upgraded(old)
    return kept


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())

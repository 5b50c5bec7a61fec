"""A standby in one command: a second server that has every commit, for who runs no Patroni.

    create     copies the running server into a folder, starts the copy, and lets commits wait for it
    promote    makes the copy the server; a person decides that, never a program
    rejoin     makes the old server a copy of the new one, with pg_rewind; or starts a standby that was stopped

The traps, and what is done about them:

- A base backup has the `synchronous_standby_names` of its original: promoted, it would wait for a copy that it does not
  have. They are taken out when the copy is made and once more when it is promoted.
- Two servers that both take commits: promotion is refused while the old one answers, be it with a refusal. A
  synchronous old one that is only cut off acknowledges nothing meanwhile, and what it wrote without acknowledgement
  goes when it rejoins.
- A commit whose wait was cancelled is reported as done by PostgreSQL: our clients raise `CommitUnknown` (db/pool.py).
- The zombie of a killed server holds its lock file: whether it lives is asked of the system, not of that file.
"""

import asyncio
import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn, Ping

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, InvalidInput, NotFound, OstinatoError
from ostinato._core.db import binaries, serverconf
from ostinato._core.db.backup import programs, server
from ostinato._core.db.backup.programs import Source, Told
from ostinato._core.db.backup.restore import set_own
from ostinato._core.db.cluster import START_SECONDS, Cluster, CommandFailed, usable_folder
from ostinato._core.db.superuser import password_file

NAME = re.compile(r"[a-z_][a-z0-9_]{0,50}")
PASSFILE = "standby.pgpass"
PLACE = ("host", "hostaddr", "port", "user", "service")
LOOK_SECONDS = 0.1
REWIND_SECONDS = 7 * 86_400.0
LEFTOVER_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Standby:
    """A copy that follows a server, or did."""

    folder: Path
    name: str
    synchronous: bool
    started: bool
    """False: its settings are elsewhere (Debian: /etc); its owner starts it."""


async def create(
    source: Source, folder: Path, name: str = "standby", *, synchronous: bool = True, told: Told | None = None
) -> Standby:
    """Copy the running server into a folder and start the copy; with `synchronous`, commits wait for it from now on."""
    _check_name(name)
    data_dir = usable_folder(folder)
    if any(data_dir.iterdir()):
        raise Conflict(f"{data_dir} is not empty: nothing is copied over it", hint="Name an empty folder.")
    async with await server.connect(source.url) as conn:
        found = await server.identity(conn)
        server.check(found)
        server.check_primary(found)
        if synchronous and found.waits_for not in ("", name):
            raise Conflict(
                f"commits wait for {found.waits_for} already",
                hint="Add --asynchronous, and then set synchronous_standby_names to what you want by hand.",
                waits_for=found.waits_for,
            )
        made_slot = await server.ensure_slot(conn, name, _taken(name))
    cluster = Cluster.at(data_dir, source.programs)
    try:
        await source.run(
            "pg_basebackup",
            *(f"--pgdata={cluster.pgdata}", f"--dbname={source.conninfo(name)}", f"--slot={name}", "--no-password"),
            *("--wal-method=stream", "--checkpoint=fast", "--progress"),
            told=told,
        )
        return await _follow(source, cluster, name, synchronous=synchronous)
    except BaseException as error:
        undone = await _undo(source, cluster, name, made_slot=made_slot)
        if isinstance(error, OstinatoError):
            kept = "no log is kept for it" if undone else f"but drop the slot {name} first, where the server answers"
            error.hint = f"Remove the cause, and repeat it: {data_dir} is empty again, {kept}."
        raise


def _taken(name: str) -> Conflict:
    return Conflict(
        f"a standby with the name {name} follows this server",
        hint="Another one needs a name of its own: --name standby_2 --asynchronous. To make this one anew, stop it"
        " first (pg_ctl stop).",
        name=name,
    )


async def _undo(source: Source, cluster: Cluster, name: str, *, made_slot: bool) -> bool:
    """Leave no half of a standby: no server, no files, no slot that keeps the log, no commit that waits for it.

    Returns False where the server that was copied could not be asked.
    """
    if cluster.pid() is not None:
        with suppress(CommandFailed, subprocess.TimeoutExpired):
            await asyncio.to_thread(cluster.halt, "immediate")
    for left in cluster.data_dir.iterdir():
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    try:
        async with await server.connect(source.url) as conn:
            await server.let_commits_go(conn, name)
            if made_slot:
                await server.until(lambda: server.drop_slot(conn, name))
    except OstinatoError:
        return False
    return True


async def promote(folder: Path, *, force: bool = False) -> Cluster:
    """Make a standby the server; refused while the one that it follows still answers, unless forced."""
    cluster = _there(folder)
    if not (cluster.pgdata / "standby.signal").exists():
        raise Conflict(f"{folder} is no standby: it follows nobody", hint="Name the folder of the standby.")
    if not force and _answers(_followed(cluster)):
        raise Conflict(
            "the server that it follows answers: two servers would take commits",
            hint="Stop that one first. If it is a mistake of this check, add --force.",
        )
    if cluster.pid() is None:
        await asyncio.to_thread(_start, cluster)
    try:
        await asyncio.to_thread(
            cluster.command.run,
            *("pg_ctl", "promote", "--wait", "--silent", f"--timeout={START_SECONDS}", "--pgdata", str(cluster.pgdata)),
            seconds=START_SECONDS + 30,
        )
    except CommandFailed as error:
        raise BackupFailed(f"the standby could not be promoted: {error}\n{cluster.log_tail()}") from error
    set_own(cluster.pgdata, {})  # it follows nobody, and waits for nobody
    _own(cluster, cluster.pgdata / "postgresql.auto.conf")
    await asyncio.to_thread(cluster.command.run, "pg_ctl", "reload", "--pgdata", str(cluster.pgdata))
    return cluster


async def rejoin(source: Source, folder: Path, name: str = "standby", *, synchronous: bool = True) -> Standby:
    """Make the folder of the old server a standby of the new one: what only the old one had is gone."""
    _check_name(name)
    cluster = _there(folder)
    if cluster.pid() is not None:
        raise Conflict(
            f"the server in {folder} runs (process {cluster.pid()})",
            hint="Stop it first: it must not take commits any more.",
        )
    async with await server.connect(source.url) as conn:
        server.check_primary(await server.identity(conn))
        cluster.forget_dead()
        await server.ensure_slot(conn, name, _taken(name))
        # Until its first checkpoint a promoted server has its old timeline on disk, which pg_rewind reads.
        await conn.execute(server.named("checkpoint"))
    if not (cluster.pgdata / "standby.signal").exists():  # else it is a standby that was stopped, and goes on
        await _rewind(source, cluster, name)
    return await _follow(source, cluster, name, synchronous=synchronous)


async def _rewind(source: Source, cluster: Cluster, name: str) -> None:
    """Take back what only this server has, so that it can follow the other one."""
    programs.needed(cluster.folder_of_binaries, "pg_rewind", cluster.major)
    set_own(cluster.pgdata, {})  # or its own recovery would wait for its standby
    _own(cluster, cluster.pgdata / "postgresql.auto.conf")
    passfile = _write_passfile(source, cluster)
    try:
        await asyncio.to_thread(
            cluster.command.run,
            *("pg_rewind", f"--target-pgdata={cluster.pgdata}", f"--source-server={_conninfo(source, name, passfile)}"),
            seconds=REWIND_SECONDS,
        )
    except CommandFailed as error:
        raise BackupFailed(
            f"pg_rewind failed: {error}",
            hint="Move the folder away, and make a standby anew: ostinato standby create FOLDER",
        ) from error
    for slot in (cluster.pgdata / "pg_replslot").iterdir():
        shutil.rmtree(slot)  # of its own standby and backups: without their readers they would keep the log for ever


async def _follow(source: Source, cluster: Cluster, name: str, *, synchronous: bool) -> Standby:
    """Let a copy follow its original from now on, and commits wait for it."""
    passfile = _write_passfile(source, cluster)
    followed = {"primary_conninfo": _conninfo(source, name, passfile), "primary_slot_name": name}
    set_own(cluster.pgdata, followed)
    (cluster.pgdata / "standby.signal").touch(mode=0o600)
    if source.embedded:
        shutil.copy2(_password_of(source), password_file(cluster.data_dir))
    for at, folders, files in os.walk(cluster.pgdata):
        for each in (".", *folders, *files):
            _own(cluster, Path(at, each))
    if not (cluster.pgdata / "postgresql.conf").exists():
        return Standby(cluster.data_dir, name, synchronous=False, started=False)
    await asyncio.to_thread(_start, cluster)
    async with await server.connect(source.url) as conn:
        watching = asyncio.create_task(_ended(cluster))
        try:
            if synchronous:
                await server.first(server.let_commits_wait(conn, name), watching)
            else:
                await server.first(server.until(lambda: server.reads(conn, name)), watching)
        finally:
            watching.cancel()
    return Standby(cluster.data_dir, name, synchronous=synchronous, started=True)


async def _ended(cluster: Cluster) -> None:
    """Wait for the end of a copy that should run on; raises what it said last."""
    while cluster.pid() is not None:  # noqa: ASYNC110 - nobody tells us
        await asyncio.sleep(LOOK_SECONDS)
    raise BackupFailed(f"the copy in {cluster.data_dir} has ended. PostgreSQL says:\n{cluster.log_tail()}")


def _start(cluster: Cluster) -> None:
    """Start a server that has its password file; what a killed one left behind is waited for."""
    give_up = time.monotonic() + LEFTOVER_SECONDS
    if cluster.ours:
        cluster.configure()
    while True:
        cluster.forget_dead()
        try:
            cluster.launch()
        except (CommandFailed, subprocess.TimeoutExpired) as error:
            if time.monotonic() > give_up:
                raise cluster.explain("started", f"{error}\n{cluster.log_tail()}") from error
            time.sleep(LOOK_SECONDS)
        else:
            return


def _there(folder: Path) -> Cluster:
    """Return the cluster of a folder that `create` was given, or of the data folder of a server of one's own."""
    data_dir = folder.expanduser().resolve()
    found = [within for within in ("postgres", ".") if (data_dir / within / "PG_VERSION").exists()]
    if not found:
        raise NotFound(
            f"{data_dir} has no database: neither PG_VERSION nor postgres/PG_VERSION is in it",
            hint="Name the folder that `ostinato standby create` was given, or the data directory of your own server.",
            folder=str(data_dir),
        )
    pgdata = data_dir / found[0]
    major = int((pgdata / "PG_VERSION").read_text())
    ours = (pgdata / serverconf.FILE).exists()
    return Cluster.at(data_dir, binaries.embedded(major) if ours else programs.find(major), found[0])


def _followed(cluster: Cluster) -> str | None:
    """Return the address of the server that a standby follows."""
    for line in (cluster.pgdata / "postgresql.auto.conf").read_text().splitlines():
        if line.startswith("primary_conninfo = '"):
            return line.removeprefix("primary_conninfo = '").removesuffix("'").replace("''", "'").replace("\\\\", "\\")
    return None


def _answers(conninfo: str | None) -> bool:
    """Return whether a server is there: also one that is full, starts, or lets us in no more."""
    if conninfo is None:
        return False
    # Asked as plainly as can be: an expired certificate, or a rule that refuses us, is no dead server.
    given = {name: value for name, value in conninfo_to_dict(conninfo).items() if name in PLACE}
    asked = make_conninfo("", **given, dbname="postgres", connect_timeout="3", sslmode="disable", gssencmode="disable")
    return PGconn.ping(asked.encode()) in (Ping.OK, Ping.REJECT)


def _conninfo(source: Source, name: str, passfile: Path | None) -> str:
    given = conninfo_to_dict(source.conninfo(name))
    given.pop("passfile", None)
    return make_conninfo("", **given | ({"passfile": str(passfile)} if passfile else {}))


def _write_passfile(source: Source, cluster: Cluster) -> Path | None:
    """Write the password of the original where only the copy's own user can read it."""
    given = conninfo_to_dict(source.url)
    if source.embedded:
        text = _password_of(source).read_text()
    elif given.get("password"):
        user, password = (re.sub(r"([\\:])", r"\\\1", str(given.get(part) or "*")) for part in ("user", "password"))
        text = f"*:*:*:{user}:{password}\n"
    else:
        return None
    path = cluster.data_dir / PASSFILE
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    _own(cluster, path)
    return path


def _password_of(source: Source) -> Path:
    return Path(str(conninfo_to_dict(source.url)["passfile"]))


def _own(cluster: Cluster, path: Path) -> None:
    if cluster.user.uid != os.geteuid():
        os.chown(path, cluster.user.uid, cluster.user.gid, follow_symlinks=False)


def _check_name(name: str) -> None:
    if NAME.fullmatch(name) is None:
        raise InvalidInput(f"{name!r} cannot name a standby", hint="Small letters, digits and _, such as standby_2.")

"""The files and processes of one embedded PostgreSQL cluster.

    <data_dir>/lock           locked while a process initialises, starts or stops the server
    <data_dir>/users          locked, shared, by every process that uses the server
    <data_dir>/keep           exists when the server is to outlive its users
    <data_dir>/postgres/      the cluster; it gets this name only once it is complete
    <data_dir>/postgres.new/  a cluster in the making; deleted when its process died
    <data_dir>/postgres.log   the log of the server
    <data_dir>/superuser.pgpass  the password of the superuser, for our user only
    <data_dir>/run/           its socket, unless the path is too long for one

`embedded.py` decides when to start and stop it; this module does it.
"""

import hashlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ostinato._core.base.errors import EmbeddedError
from ostinato._core.base.mark import MARK
from ostinato._core.db import binaries, serverconf
from ostinato._core.db.osuser import OsUser, let_in, server_user
from ostinato._core.db.superuser import SUPERUSER, ensure_password

PORT = 5432  # names the socket; nothing listens on TCP
LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107
LONGEST_FOLDER = 900  # PostgreSQL keeps paths in 1,024 bytes, file names of its own included
ROOM_TO_INIT = 256 * 2**20
ROOM_TO_START = 32 * 2**20
LOG_BYTES_KEPT = 16 * 2**20
START_SECONDS = 300  # crash recovery has to read up to max_wal_size
STOP_SECONDS = 60


class CommandFailed(Exception):
    """A program of PostgreSQL ended with an error; the text is its output."""


@dataclass(frozen=True, slots=True)
class Command:
    """One program of PostgreSQL, run as the server's user."""

    folder: Path
    user: OsUser

    def run(self, program: str, *args: str, seconds: float = 120, given: str = "", at: Path = Path("/")) -> str:
        """Run it to the end, with `given` as its input, and return what it printed."""
        foreign = ("PG", "LC_", "LANG", MARK)
        env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        as_other = self.user.uid != os.geteuid()
        with tempfile.TemporaryFile() as output:
            # A file, not a pipe: the server that pg_ctl starts would keep a pipe open for ever.
            ended = subprocess.run(  # noqa: S603 - our own binary and arguments
                [str(self.folder / program), *args],
                input=given.encode(),
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env | {"LC_ALL": "C"},
                cwd=at,
                user=self.user.uid if as_other else None,
                group=self.user.gid if as_other else None,
                extra_groups=[] if as_other else None,
                timeout=seconds,
                check=False,
            )
            output.seek(0)
            text = output.read().decode(errors="replace")
        if ended.returncode != 0:
            raise CommandFailed(text.strip() or f"{program} ended with {ended.returncode}")
        return text


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster in one data folder, and the binaries that serve it."""

    data_dir: Path
    folder_of_binaries: Path
    major: int
    user: OsUser
    within: str = "postgres"
    """The folder of the cluster in the data folder; `.` for a server of one's own, whose folder is both."""

    @classmethod
    def at(cls, data_dir: Path, folder_of_binaries: Path | None = None, within: str = "postgres") -> "Cluster":
        """Return the cluster of a data folder; creates the folder if it is missing, not the cluster."""
        data_dir = usable_folder(data_dir)
        folder = folder_of_binaries or binaries.embedded()
        user = server_user(data_dir / within)
        if user.uid != os.geteuid():
            let_in(user, data_dir)
            binaries.let_run(folder, user)
        return cls(data_dir, folder, binaries.major_version(folder), user, within)

    @property
    def pgdata(self) -> Path:
        """The folder of the cluster itself."""
        return self.data_dir / self.within

    @property
    def ours(self) -> bool:
        """Whether we configure it; the settings and passwords of a server of one's own are its owner's."""
        return (self.pgdata / serverconf.FILE).exists()

    @property
    def log_path(self) -> Path:
        """Where the server writes its log."""
        return self.data_dir / "postgres.log"

    @property
    def command(self) -> Command:
        """Runs programs of PostgreSQL as the server's user."""
        return Command(self.folder_of_binaries, self.user)

    def check_version(self) -> None:
        """Refuse a cluster that another major version of PostgreSQL wrote."""
        file = self.pgdata / "PG_VERSION"
        if not file.exists():
            raise EmbeddedError(
                f"{self.pgdata} is not a PostgreSQL database: it has no file PG_VERSION.",
                hint="Restore the folder from a backup, or choose another one with --data-dir.",
                folder=str(self.pgdata),
            )
        found = file.read_text().strip()
        if found != str(self.major):
            raise EmbeddedError(
                f"The database in {self.pgdata} is of PostgreSQL {found}; this release of Ostinato"
                f" brings PostgreSQL {self.major}.",
                hint="Stop all that uses it, and `ostinato db upgrade`."
                if found.isdigit() and int(found) < self.major
                else f"Install the release of Ostinato that brings PostgreSQL {found}.",
                found=found,
                brought=self.major,
                folder=str(self.pgdata),
            )

    def init(self) -> None:
        """Create the cluster. It appears under its name complete or not at all."""
        self.check_room(ROOM_TO_INIT, "A new database needs")
        fresh = self.data_dir / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        self._give(fresh)
        locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        try:
            self.command.run(
                "initdb",
                *("--pgdata", str(fresh), f"--username={SUPERUSER}", "--encoding=UTF8", "--no-locale"),
                *("--auth=peer", "--data-checksums", "--no-instructions"),
                *(locale if self.major >= binaries.BUILTIN_LOCALES_SINCE else []),
            )
        except (CommandFailed, subprocess.TimeoutExpired) as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise self.explain("initialised", str(error)) from error
        with (fresh / "postgresql.conf").open("a") as conf:
            conf.write(f"\n{serverconf.INCLUDE}\n")
        fresh.rename(self.pgdata)
        _sync(self.data_dir)

    def configure(self) -> None:
        """Write the settings that this release needs; called before every start."""
        files = {
            serverconf.FILE: serverconf.settings(self.major, self._socket_dir(), _lz4(self)),
            "pg_hba.conf": serverconf.HBA,
            "pg_ident.conf": serverconf.ident(self.user.name),
        }
        for name, text in files.items():
            path = self.pgdata / name
            path.write_text(text)
            path.chmod(0o600)
            self._give(path)

    def launch(self) -> None:
        """Start the server and wait until it accepts connections."""
        self.check_room(ROOM_TO_START, "To start, the database needs")
        self._renew_log()
        if self.ours:
            ensure_password(self.data_dir, self.command)
        self.command.run(
            "pg_ctl",
            *("start", "--wait", "--silent", f"--timeout={START_SECONDS}"),
            *("--pgdata", str(self.pgdata), "--log", str(self.log_path)),
            seconds=START_SECONDS + 30,
        )

    def halt(self, mode: str) -> None:
        """Stop the server: `fast` writes everything out first, `immediate` is a crash."""
        self.command.run(
            "pg_ctl",
            *("stop", "--wait", "--silent", f"--timeout={STOP_SECONDS}", f"--mode={mode}"),
            *("--pgdata", str(self.pgdata)),
            seconds=STOP_SECONDS + 30,
        )

    def pid_file(self) -> list[str]:
        """Return the lines of postmaster.pid: pid, folder, start, port, socket folder, …; [] if none."""
        try:
            return (self.pgdata / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def pid(self) -> int | None:
        """Return the process id of the server, if it is alive and serves this folder."""
        import psutil  # type: ignore[import-untyped]  # noqa: PLC0415  # only for a server here

        lines = self.pid_file()
        if not lines or not lines[0].strip().isdigit():
            return None
        pid = int(lines[0])
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            same = Path(process.cwd()) == self.pgdata
        except psutil.NoSuchProcess:
            return None
        except psutil.AccessDenied:
            # Another user's process has the number now: we could look at a process of ours.
            return None
        return pid if same else None

    def answers(self) -> bool:
        """Return whether something accepts connections on the socket named in postmaster.pid.

        Used beside `pid()` because a server in another container, on a shared folder, has a
        process id that means nothing here.
        """
        folder = self.socket_dir()
        if folder is None:
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(folder / f".s.PGSQL.{PORT}"))
            except OSError:
                return False
        return True

    def socket_dir(self) -> Path | None:
        """Return the folder of the running server's socket."""
        lines = self.pid_file()
        return Path(lines[4]) if len(lines) > 4 and lines[4] else None  # noqa: PLR2004 - fifth line

    def forget_dead(self) -> None:
        """Remove the files of a dead server that would keep a new one from starting.

        The zombie of a killed server, or a process that got its number since, would make
        PostgreSQL refuse to start. Its own lock on shared memory still guards against backends
        that outlived it.
        """
        (self.pgdata / "postmaster.pid").unlink(missing_ok=True)

    def log_size(self) -> int:
        """Return the size of the server's log; later messages are written behind it."""
        return self.log_path.stat().st_size if self.log_path.exists() else 0

    def log_tail(self, since: int = 0, lines: int = 12) -> str:
        """Return the last lines of the server's log, written after it had the size `since`."""
        size = self.log_size()
        if size == 0:
            return ""
        with self.log_path.open("rb") as file:
            file.seek(max(0, since if since <= size else 0, size - 16_384))
            text = file.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def check_room(self, least: int, who: str) -> None:
        """Raise an error when the disk has too little room for what is to begin."""
        free = shutil.disk_usage(self.data_dir).free
        if free < least:
            raise EmbeddedError(
                f"The disk of {self.data_dir} is full: {free >> 20} MB free. {who} at least {least >> 20} MB.",
                hint="Free some space, or choose a folder on another disk with --data-dir.",
                folder=str(self.data_dir),
                free_bytes=free,
                needed_bytes=least,
            )

    def explain(self, what: str, said: str) -> EmbeddedError:
        """Return the error for a program that failed, from its output and the server's log."""
        values = {"folder": str(self.data_dir), "log": str(self.log_path)}
        if "No space left on device" in said or "Disk quota exceeded" in said:
            free = shutil.disk_usage(self.data_dir).free
            return EmbeddedError(
                f"The database in {self.data_dir} could not be {what}: the disk is full ({free >> 20} MB free).",
                hint="Free some space and start again: nothing that was committed is lost.",
                free_bytes=free,
                **values,
            )
        if "could not map anonymous shared memory" in said:
            return EmbeddedError(
                f"The database in {self.data_dir} could not be {what}: not enough memory.",
                hint="Give the machine or container more memory, or set OSTINATO_DATABASE_URL.",
                **values,
            )
        return EmbeddedError(
            f"The database in {self.data_dir} could not be {what}. PostgreSQL says:\n{said}",
            hint=f"The whole log is in {self.log_path}.",
            **values,
        )

    def _renew_log(self) -> None:
        with suppress(FileNotFoundError):
            if self.log_path.stat().st_size > LOG_BYTES_KEPT:
                self.log_path.replace(self.log_path.with_suffix(".log.old"))
        self.log_path.touch(mode=0o600)
        self._give(self.log_path)

    def _give(self, path: Path) -> None:
        if path.stat().st_uid != self.user.uid:
            os.chown(path, self.user.uid, self.user.gid)

    def _socket_dir(self) -> Path:
        """Return a folder that only the server's user (and root) can enter, with a short enough path."""
        name = f"ostinato-{hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:12]}"
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if os.geteuid() == 0 or not runtime:
            runtime = tempfile.gettempdir()
        for folder in (self.data_dir / "run", Path(runtime, name), Path("/tmp", name)):  # noqa: S108 - checked below
            if self._holds_socket(folder):
                return folder
        raise EmbeddedError(
            f"No folder was found for the database's socket: the path of {self.data_dir} is too"
            f" long for one, and {runtime} and /tmp cannot be used.",
            hint="Choose a shorter --data-dir.",
            folder=str(self.data_dir),
            longest_path=LONGEST_SOCKET_PATH,
        )

    def _holds_socket(self, folder: Path) -> bool:
        path = folder / f".s.PGSQL.{PORT}"
        if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
            return False
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            info = folder.lstat()
            # In a folder that all may write to, another user may have taken the name first.
            if not stat.S_ISDIR(info.st_mode) or info.st_uid not in (self.user.uid, os.geteuid()):
                return False
            folder.chmod(0o700)
            for leftover in (path, path.with_name(f"{path.name}.lock")):
                leftover.unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX) as probe:  # some network file systems cannot
                probe.bind(str(path))
            path.unlink()
            self._give(folder)
            if self.user.uid != os.geteuid():
                let_in(self.user, folder.parent)
        except OSError:
            return False
        return True


def usable_folder(data_dir: Path) -> Path:
    """Return the absolute path of the data folder: created if missing, and checked to be writable."""
    try:
        data_dir = data_dir.expanduser().resolve()
        if len(os.fsencode(data_dir)) > LONGEST_FOLDER:
            raise EmbeddedError(
                f"The path of the data folder has {len(os.fsencode(data_dir))} bytes;"
                f" PostgreSQL takes at most {LONGEST_FOLDER}.",
                hint="Choose a shorter --data-dir.",
                folder=str(data_dir),
            )
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_dir):
            pass
    except (FileExistsError, NotADirectoryError) as error:
        raise EmbeddedError(
            f"The data folder {data_dir} is not a folder.",
            hint="Choose another one with --data-dir.",
            folder=str(data_dir),
        ) from error
    except OSError as error:
        raise EmbeddedError(
            f"The data folder {data_dir} cannot be written: {error.strerror or error}.",
            hint="Make it writable for this user, or choose another one with --data-dir.",
            folder=str(data_dir),
            errno=error.errno,
        ) from error
    return data_dir


def _lz4(cluster: Cluster) -> bool:
    return "--with-lz4" in cluster.command.run("pg_config", "--configure")


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

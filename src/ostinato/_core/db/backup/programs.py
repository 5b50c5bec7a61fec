"""PostgreSQL's own programs, run by us: those of the server's major version, found in the wheel or on the machine.

The system's come first for a server of one's own, because those of the wheel have no TLS. No program gets a password
on its command line, where every user of the machine could read it.
"""

import asyncio
import os
import re
import shutil
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import EmbeddedError, NotConfigured
from ostinato._core.base.mark import MARK
from ostinato._core.db import binaries

Told = Callable[[int], None]
"""Is told how many percent are done, now and then."""

SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/{major}/bin",
    "/usr/pgsql-{major}/bin",
    "/opt/homebrew/opt/postgresql@{major}/bin",
    "/usr/local/opt/postgresql@{major}/bin",
)
VERSION = re.compile(r"\(PostgreSQL\) (\d{1,4})")
PERCENT = re.compile(rb"\((\d{1,3})%\)")
LINES_KEPT = 12
KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Source:
    """A server to copy: how its own programs reach it, and where they are."""

    url: str = field(repr=False)
    """For a role that may copy the server."""
    programs: Path
    major: int
    embedded: bool

    def conninfo(self, name: str) -> str:
        """Return the address without its password, for a program that the server knows by this name."""
        given = conninfo_to_dict(self.url)
        given.pop("password", None)
        if given.pop("sslpassword", None):  # no variable of the environment takes it
            raise NotConfigured(
                "sslpassword would stand on the command line of PostgreSQL's programs, where every user can read it",
                hint="Use a key without a passphrase, of mode 600, or another way to log in.",
            )
        return make_conninfo("", **given | {"application_name": name})

    def environment(self) -> dict[str, str]:
        """Return the environment of a program: with the password, if the address has one."""
        foreign = ("PG", MARK) if self.embedded else (MARK,)
        env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        password = conninfo_to_dict(self.url).get("password")
        return env | ({"PGPASSWORD": str(password)} if password else {}) | {"LC_ALL": "C"}

    async def run(self, program: str, *args: str, told: Told | None = None) -> str:
        """Run a program to its end; returns the last lines that it wrote."""
        return await run(self.programs / program, *args, env=self.environment(), told=told)

    async def start(self, program: str, *args: str) -> Process:
        """Start a program that runs on; its output is a pipe."""
        return await _started(self.programs / program, args, self.environment())


def find(major: int) -> Path:
    """Return the folder with the programs for a server of one's own of this version."""
    on_path = shutil.which("pg_basebackup")
    folders = [Path(folder.format(major=major)) for folder in SYSTEM_FOLDERS]
    for folder in [*folders, *([Path(on_path).resolve().parent] if on_path else [])]:
        if version(folder / "pg_basebackup") == major:
            return folder
    with suppress(EmbeddedError, KeyError):
        return binaries.embedded(major)
    raise NotConfigured(
        f"pg_basebackup and pg_receivewal of PostgreSQL {major} are not on this machine",
        hint=f"Debian, Ubuntu: apt install postgresql-client-{major} (from apt.postgresql.org if need be). "
        f"Fedora, RHEL: dnf install postgresql{major}. macOS: brew install postgresql@{major}.",
        major=major,
    )


def needed(folder: Path, program: str, major: int) -> Path:
    """Return one program that only a server's package has; raises an error that says how to get it."""
    if (folder / program).exists():
        return folder / program
    raise NotConfigured(
        f"{program} of PostgreSQL {major} is not in {folder}",
        hint=f"Debian, Ubuntu: apt install postgresql-{major}.",
        program=program,
        major=major,
    )


async def run(path: Path, *args: str, env: Mapping[str, str], told: Told | None = None) -> str:
    """Run a program to its end; returns its last lines, or raises what it said."""
    process = await _started(path, args, env)
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    last: deque[str] = deque(maxlen=LINES_KEPT)
    try:
        while line := await _line(process.stdout):
            if found := PERCENT.search(line):
                if told is not None:
                    told(int(found[1]))
            elif text := line.decode(errors="replace").strip():
                last.append(text)
        code = await process.wait()
    finally:
        await end(process)
    said = "\n".join(last)
    if code != 0:
        raise BackupFailed(f"{path.name} failed: {said or f'exit code {code}'}", program=path.name, exit_code=code)
    return said


async def end(process: Process) -> None:
    """Ask a program to stop, and wait until it has."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), KILL_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _started(path: Path, args: tuple[str, ...], env: Mapping[str, str]) -> Process:
    return await asyncio.create_subprocess_exec(
        str(path),
        *args,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        env=dict(env),
        start_new_session=True,  # Ctrl-C is for us: we end it in order
    )


async def _line(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.readline()
    except ValueError:  # longer than any line that matters
        return await stream.read(1 << 16)


def version(program: Path) -> int | None:
    """Return the major version of a program; None: it is not there, or does not run.

    The wheel's pg_verifybackup of PostgreSQL 18.4 is such a one: it ends with SIGSEGV whatever it is asked.
    """
    try:
        said = subprocess.run(  # noqa: S603 - a program of PostgreSQL
            [str(program), "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = VERSION.search(said)
    return int(found[1]) if found else None

"""Receives the log of a server into a repository, and begins again by itself when the connection breaks.

- The server restarts, fails, or is cut off: it is tried again, with pauses that grow. The slot keeps the log meanwhile,
  and where the reader is synchronous, commits wait for it.
- The slot is gone, or the server has removed what comes next: the log has a gap, which no new attempt closes. That ends
  it, with what to do; so does a server that is another one.
- It is stopped: commits go on without it first. Killed, it does not do that: they wait until it is back. Where
  pg_receivewal has survived it, the next one takes its place: only one holds the repository's lock.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from pathlib import Path

import psycopg

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, DatabaseUnavailable, OstinatoError
from ostinato._core.db.backup import programs, server
from ostinato._core.db.backup.programs import Source
from ostinato._core.db.backup.repository import Repository

STATUS_SECONDS = 1
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
LINES_KEPT = 3
REMOVED = "has already been removed"
"""What a server says that no longer has the log from where a reader stands."""
PASSES = (BackupFailed, DatabaseUnavailable, psycopg.OperationalError)


async def receive(
    source: Source,
    repository: Repository,
    *,
    synchronous: bool = False,
    ready: Callable[[int], None] = lambda _timeline: None,
    warn: Callable[[str], None] = lambda _text: None,
) -> None:
    """Receive the log until cancelled; with `synchronous` every commit waits until it is here.

    `ready` is called with the timeline whenever it is received, also once it is received again.
    """
    with repository.receiving():
        await _Receiver(source, repository, synchronous, ready, warn).run()


class _Receiver:
    """One reader of the log, from its first connection to its last."""

    def __init__(
        self,
        source: Source,
        repository: Repository,
        synchronous: bool,  # noqa: FBT001 - as `receive` was given it
        ready: Callable[[int], None],
        warn: Callable[[str], None],
    ) -> None:
        self._source = source
        self._repository = repository
        self._name = repository.about.slot
        self._synchronous = synchronous
        self._ready = ready
        self._warn = warn
        self._has_begun = False
        """Whether the log was received before: what fails until then is not tried again."""
        self._is_reader = False
        """Whether commits may wait for this reader."""
        self._pause = FIRST_PAUSE

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._receive()
                except PASSES as error:
                    if not self._has_begun:
                        raise
                    self._warn(
                        f"{_said(error)}. It is tried again in {self._pause:g} s; until then the server keeps the log."
                    )
                await asyncio.sleep(self._pause)
                self._pause = min(2 * self._pause, LONGEST_PAUSE)
        finally:
            await self._let_go()

    async def _receive(self) -> None:
        """Receive until the connection breaks, which is an error."""
        async with await server.connect(self._source.url) as conn:
            found = await server.identity(conn)
            self._repository.check_server(found.system)
            server.check_primary(found)
            timeline = found.timeline_number
            folder = self._repository.log_folder(timeline)
            if self._has_begun:
                await server.check_slot(conn, self._name)
            else:
                await server.end_left_reader(conn, self._name)  # of a receiver that was killed: it reads on
                made = await server.ensure_slot(conn, self._name)
                self._warn_of_gaps(timeline, made=made)
            self._is_reader = True
            folder.mkdir(mode=0o700, exist_ok=True)
            process = await self._source.start(
                "pg_receivewal",
                *(f"--directory={folder}", f"--slot={self._name}", f"--dbname={self._source.conninfo(self._name)}"),
                *("--no-password", "--no-loop", "--synchronous", f"--status-interval={STATUS_SECONDS}"),
            )
            running = asyncio.create_task(_ended(process, folder))
            try:
                if self._synchronous:
                    await server.first(server.let_commits_wait(conn, self._name), running)
                else:
                    await server.first(server.until(lambda: server.reads(conn, self._name)), running)
                self._has_begun, self._pause = True, FIRST_PAUSE
                self._ready(timeline)
                await conn.close()
                await running
            except asyncio.CancelledError:
                await self._let_go()  # while it still reads: no commit waits for who is gone
                raise
            finally:
                running.cancel()
                await programs.end(process)

    def _warn_of_gaps(self, timeline: int, *, made: bool) -> None:
        if made and self._repository.log_folder(timeline).exists():
            self._warn("The server no longer had all of the log. Take a base backup now: ostinato backup run")
        elif all(base.timeline != timeline for base in self._repository.bases()):
            self._warn("No base backup precedes this log yet, and alone it restores nothing: ostinato backup run")

    async def _let_go(self) -> None:
        if not (self._synchronous and self._is_reader):
            return
        self._is_reader = False
        try:
            async with await server.connect(self._source.url) as conn:
                await server.let_commits_go(conn, self._name)
        except (OstinatoError, psycopg.Error) as error:
            self._warn(
                f"Commits may wait for this copy, which ends now ({_said(error)}). Start it again,"
                " or: alter system reset synchronous_standby_names; select pg_reload_conf()"
            )


async def _ended(process: asyncio.subprocess.Process, folder: Path) -> None:
    """Wait for a program that should run on; raises what it said last."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    last: deque[str] = deque(maxlen=LINES_KEPT)
    while line := await process.stdout.readline():
        last.append(line.decode(errors="replace").strip())
    code = await process.wait()
    said = "; ".join(last) or f"exit code {code}"
    if REMOVED in said:
        raise Conflict(
            f"the log has a gap: {said}",
            hint=f"Move {folder} out of the repository: what it has ends here. Then start `ostinato backup stream`"
            " again, and take a base backup: ostinato backup run",
            folder=str(folder),
        )
    raise BackupFailed(
        f"the log is received no longer: {said}",
        hint="Remove the cause and start `ostinato backup stream` again: the server has kept the log meanwhile.",
        exit_code=code,
    )


def _said(error: Exception) -> str:
    return error.message if isinstance(error, OstinatoError) else str(error).partition("\n")[0]

"""Makes a repository, takes base backups, receives the log, and prunes what is old."""

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import OstinatoError
from ostinato._core.db.backup import programs, server
from ostinato._core.db.backup.programs import Source, Told
from ostinato._core.db.backup.repository import About, Base, Repository, sync

NAME = "ostinato_backup"
STATUS_SECONDS = 1


async def init(source: Source, folder: Path) -> Repository:
    """Make the repository of a server; the server itself is not changed."""
    async with await server.connect(source.url) as conn:
        found = await server.identity(conn)
    server.check(found)
    slot = f"{NAME}_{secrets.token_hex(3)}"
    about = About(found.system, found.major, found.segment_bytes, slot, source.embedded)
    return Repository.create(folder, about)


async def take(source: Source, repository: Repository, told: Told | None = None) -> Base:
    """Take a base backup. It has the log that it needs, so that it can be restored alone."""
    with repository.locked():
        async with await server.connect(source.url) as conn:
            before = await server.identity(conn)
        repository.check_server(before.system)
        label = _free_label(repository, f"{before.now:%Y%m%dT%H%M%SZ}")
        fresh = repository.folder / "base" / f".{label}.new"
        _sweep(repository)
        try:
            await source.run(
                "pg_basebackup",
                *(f"--pgdata={fresh}", f"--dbname={source.conninfo(NAME)}", f"--label={label}", "--no-password"),
                *("--wal-method=stream", "--checkpoint=fast", "--manifest-checksums=SHA256", "--progress"),
                told=told,
            )
            ranges = json.loads((fresh / "backup_manifest").read_bytes())["WAL-Ranges"]
        except BaseException as error:
            shutil.rmtree(fresh, ignore_errors=True)
            if isinstance(error, BackupFailed) and "No space left" in error.message:
                raise BackupFailed(
                    f"{repository.folder} is full: {shutil.disk_usage(repository.folder).free >> 20} MB free",
                    hint="`ostinato backup prune --keep 1` makes room; or use a larger disk.",
                ) from error
            raise
        async with await server.connect(source.url) as conn:
            after = await server.identity(conn)
        fresh.rename(repository.folder / "base" / label)
        sync(repository.folder / "base")
        base = Base(
            label=label,
            started_at=before.now,
            finished_at=after.now,
            bytes=await asyncio.to_thread(size_of, repository.folder / "base" / label),
            timeline=ranges[-1]["Timeline"],
            start_lsn=ranges[-1]["Start-LSN"],
            end_lsn=ranges[-1]["End-LSN"],
        )
        repository.keep(base)
        return base


async def receive(
    source: Source,
    repository: Repository,
    *,
    synchronous: bool = False,
    ready: Callable[[int], None] = lambda _timeline: None,
    warn: Callable[[str], None] = lambda _text: None,
) -> None:
    """Receive the log until cancelled; with `synchronous` every commit waits until it is here.

    Cancelled, it lets commits go on without it first. Killed, it does not: they wait until it is back, and
    nothing that was acknowledged can be lost.
    """
    name = repository.about.slot
    async with await server.connect(source.url) as conn:
        found = await server.identity(conn)
        repository.check_server(found.system)
        begun = await server.ensure_slot(conn, name)
        folder = repository.log_folder(found.timeline_number)
        if begun and folder.exists():
            warn("The server no longer had all of the log. Take a base backup now: ostinato backup run")
        elif all(base.timeline != found.timeline_number for base in repository.bases()):
            warn("No base backup precedes this log yet, and alone it restores nothing: ostinato backup run")
        folder.mkdir(mode=0o700, exist_ok=True)
        process = await source.start(
            "pg_receivewal",
            *(f"--directory={folder}", f"--slot={name}", f"--dbname={source.conninfo(name)}", "--no-password"),
            *("--synchronous", f"--status-interval={STATUS_SECONDS}"),
        )
        running = asyncio.create_task(_ended(process))
        try:
            if synchronous:
                await _first(server.let_commits_wait(conn, name), running)
            else:
                await _first(server.until(lambda: server.reads(conn, name)), running)
            ready(found.timeline_number)
            await conn.close()
            await running
        finally:
            running.cancel()
            if synchronous:
                await _let_go(source, name, warn)
            await programs.end(process)


def prune(repository: Repository, keep: int, *, preview: bool = False) -> tuple[list[Base], list[Path]]:
    """Delete base backups but the newest `keep`, and the log that none of the others needs.

    The newest that was verified is kept in any case: a backup that nobody has checked may be none.
    """
    with repository.locked():
        there = repository.bases()
        kept = there[:keep]
        if not any(base.verified for base in kept):
            kept += [base for base in there[keep:] if base.verified][:1]
        gone = [base for base in there if base not in kept]
        log = repository.prunable_log(kept) if kept else []
        if not preview:
            for base in gone:
                repository.drop(base)
            for path in log:
                path.unlink(missing_ok=True)
            for folder in (repository.folder / "log").iterdir():
                with suppress(OSError):
                    folder.rmdir()  # only an empty one
        return gone, log


def size_of(folder: Path) -> int:
    """Count the bytes of all files below a folder."""
    return sum(Path(at, name).lstat().st_size for at, _, names in os.walk(folder) for name in names)


def _free_label(repository: Repository, label: str) -> str:
    taken = {base.label for base in repository.bases()}
    names = [label, *(f"{label}-{n}" for n in range(2, 100))]
    return next(name for name in names if name not in taken)


def _sweep(repository: Repository) -> None:
    """Delete what an earlier call left when it was killed: the lock says that none runs."""
    known = {base.label for base in repository.bases()}
    for path in (repository.folder / "base").iterdir():
        if path.is_dir() and path.name not in known:
            shutil.rmtree(path, ignore_errors=True)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for a program that should run on; raises what it said last."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    last = b""
    while line := await process.stdout.readline():
        last = line
    code = await process.wait()
    raise BackupFailed(
        f"the log is received no longer: {last.decode(errors='replace').strip() or f'exit code {code}'}",
        hint="Remove the cause and start `ostinato backup stream` again: the server has kept the log meanwhile.",
        exit_code=code,
    )


async def _first(work: Coroutine[Any, Any, None], running: "asyncio.Task[None]") -> None:
    """Do some work, unless the program that it is about ends before."""
    doing = asyncio.create_task(work)
    try:
        await asyncio.wait({doing, running}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        await doing
    finally:
        doing.cancel()


async def _let_go(source: Source, name: str, warn: Callable[[str], None]) -> None:
    try:
        async with await server.connect(source.url) as conn:
            await server.let_commits_go(conn, name)
    except OstinatoError as error:
        warn(
            f"Commits may wait for this copy, which ends now ({error.message}). Start it again, or: alter system"
            " reset synchronous_standby_names; select pg_reload_conf()"
        )

"""Makes a repository, takes base backups, and prunes what is old."""

import asyncio
import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.db.backup import server
from ostinato._core.db.backup.programs import Source, Told
from ostinato._core.db.backup.repository import About, Base, Repository, sync

NAME = "ostinato_backup"


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
            for _, folder in repository.timelines():
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

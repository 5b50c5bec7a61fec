"""Verifies a backup: every file by its checksum, and every record of the log by its own."""

import asyncio
import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import OstinatoError
from ostinato._core.db.backup import programs
from ostinato._core.db.backup.programs import Told
from ostinato._core.db.backup.repository import PARTIAL, Base, Repository

ENV = {"LC_ALL": "C"}
PROGRESS_SINCE = 16


@dataclass(frozen=True, slots=True)
class Verified:
    """What was verified, and by which program."""

    base: Base
    files_by: str
    """`pg_verifybackup`, or `manifest` where that is not installed."""
    log_by: str
    """`pg_waldump`, or `sizes` where that is not installed."""
    segments: int
    """Segments of the log after it, without a gap."""
    log_bytes: int


async def verify(repository: Repository, base: Base, folder: Path | None, told: Told | None = None) -> Verified:
    """Check a base backup and the log after it; raises `BackupFailed` with what is wrong.

    `folder` is where PostgreSQL's programs are. Without them the manifest's checksums are compared by us.
    """
    with repository.locked():
        repository.keep(dataclasses.replace(base, verified=False))  # until it is known
        files_by = await _files(repository.files(base), folder, told)
        log = await asyncio.to_thread(repository.log_after, base)
        if log.gap is not None:
            raise BackupFailed(
                f"the log after {base.label} has a gap: {log.gap} is missing",
                hint="It can be restored up to there. Take a base backup now: ostinato backup run",
                gap=log.gap,
            )
        log_by = await _log(repository, log.segments, folder)
        whole = dataclasses.replace(base, verified=True)
        repository.keep(whole)
    return Verified(whole, files_by, log_by, len(log.segments), log.bytes)


def programs_of(major: int) -> Path | None:
    """Return where the programs of a version are; None: not on this machine."""
    try:
        return programs.find(major)
    except OstinatoError:
        return None


async def _files(folder: Path, tools: Path | None, told: Told | None) -> str:
    version = None if tools is None else programs.version(tools / "pg_verifybackup")
    if tools is not None and version is not None:
        # The log has its own check below, with a program that not every machine has.
        progress = ("--progress",) if version >= PROGRESS_SINCE else ()
        args = ("--exit-on-error", "--no-parse-wal", *progress, str(folder))
        await programs.run(tools / "pg_verifybackup", *args, env=ENV, told=told)
        return "pg_verifybackup"
    await asyncio.to_thread(check_manifest, folder)
    return "manifest"


async def _log(repository: Repository, segments: tuple[Path, ...], tools: Path | None) -> str:
    whole = [path for path in segments if not path.name.endswith(PARTIAL)]
    for path in whole:
        if path.stat().st_size != repository.about.segment_bytes:
            raise BackupFailed(
                f"{path.name} has {path.stat().st_size:,} bytes instead of {repository.about.segment_bytes:,}",
                hint="Take a base backup now: ostinato backup run",
                segment=path.name,
            )
    if tools is None or programs.version(tools / "pg_waldump") is None:
        return "sizes"
    if whole:
        args = ("--quiet", f"--path={whole[0].parent}", whole[0].name, whole[-1].name)
        await programs.run(tools / "pg_waldump", *args, env=ENV)
    return "pg_waldump"


def check_manifest(folder: Path) -> None:
    """Compare every file with the size and SHA-256 that PostgreSQL wrote into the manifest."""
    try:
        listed = json.loads((folder / "backup_manifest").read_bytes())["Files"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BackupFailed(
            f"the manifest of {folder.name} cannot be read: {error}",
            hint="Nobody can tell whether its files are whole: restore from another backup, and take a new one.",
        ) from error
    wrong = [entry["Path"] for entry in listed if "Path" in entry and _differs(folder / entry["Path"], entry)]
    if wrong:
        raise BackupFailed(
            f"{len(wrong)} of {len(listed)} files are not as they were written, such as {wrong[0]}",
            hint="Restore from another backup, take a new one, and look at the disk.",
            files=wrong[:20],
        )


def _differs(path: Path, entry: dict[str, object]) -> bool:
    try:
        if path.stat().st_size != entry["Size"]:
            return True
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return True
    return found != entry["Checksum"]

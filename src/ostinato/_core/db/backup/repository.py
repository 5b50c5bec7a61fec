"""A repository: the folder with the backups of one server.

    repository.json           whose backups these are
    lock                      locked while a backup is made, verified or pruned
    receiving                 locked while the log is received
    base/LABEL/               a base backup, as PostgreSQL wrote it, with its manifest
    base/LABEL.json           what we know of it; written last, so that a backup without it does not count
    log/TIMELINE/             the log that follows, in segments; the last one ends with .partial

A timeline is what a restore or a promotion begins anew. Each has a folder of its own, because the log of a server that
was restored to yesterday has nothing to do with what it logged today, before that.
"""

import dataclasses
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, InvalidInput, NotFound

FORMAT = 1
ABOUT = "repository.json"
SEGMENT = re.compile(r"[0-9A-F]{24}")
TIMELINE = re.compile(r"[0-9A-F]{8}")
PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class About:
    """Whose backups these are."""

    system: str
    """PostgreSQL's own name of the server: a copy of it has the same."""
    major: int
    segment_bytes: int
    slot: str
    """The replication slot that keeps the log until it was received; also the name of its reader."""
    embedded: bool
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Base:
    """A base backup."""

    label: str
    started_at: datetime
    finished_at: datetime
    """By the server's clock; a restore to an earlier time needs an older one."""
    bytes: int
    timeline: int
    start_lsn: str
    end_lsn: str
    verified: bool = False
    """Whether every file of it was found to be as it was written."""


@dataclass(frozen=True, slots=True)
class Log:
    """What was received of the log after a base backup."""

    segments: tuple[Path, ...]
    """In order, without a gap; the last may be partial."""
    gap: str | None = None
    """The first segment that is missing before others that are there."""

    @property
    def bytes(self) -> int:
        """How much that is."""
        return sum(path.stat().st_size for path in self.segments)


class Repository:
    """The backups of one server, in a folder."""

    def __init__(self, folder: Path, about: About) -> None:
        self.folder = folder
        self.about = about

    @classmethod
    def create(cls, folder: Path, about: About) -> Self:
        """Make an empty repository; one that is there already for the same server stays as it is."""
        if (folder / ABOUT).exists():
            found = cls.open(folder)
            found.check_server(about.system)
            return found
        if folder.exists() and any(folder.iterdir()):
            raise Conflict(
                f"{folder} has files in it, and is no repository of backups",
                hint=f"Choose an empty folder, on another disk than the database's, such as {folder / 'ostinato'}",
                folder=str(folder),
            )
        for part in (folder, folder / "base", folder / "log"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(folder / ABOUT, dataclasses.asdict(about))
        return cls(folder, about)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a repository that was made before."""
        try:
            found = json.loads((folder / ABOUT).read_text())
            if found.get("format") != FORMAT:
                raise InvalidInput(
                    f"{folder} has format {found.get('format')}; this release reads {FORMAT}",
                    hint="Use the release of Ostinato that made it.",
                    folder=str(folder),
                )
            return cls(folder, About(**found))
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(
                f"{folder} is no repository of backups: it has no {ABOUT}",
                hint="Make one with `ostinato backup init FOLDER`, or name it with OSTINATO_BACKUP_DIR.",
                folder=str(folder),
            ) from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise BackupFailed(
                f"{folder / ABOUT} cannot be read: {error}",
                hint="Take that file from a copy (`ostinato backup fetch` has it in an object store); else make a new"
                " repository.",
                file=str(folder / ABOUT),
            ) from error

    def check_server(self, system: str) -> None:
        """Refuse another server than the one that these backups are of."""
        if system != self.about.system:
            raise Conflict(
                f"{self.folder} has the backups of another server ({self.about.system}, not {system})",
                hint="Name the repository of this server, or make a new one with `ostinato backup init`.",
                folder=str(self.folder),
                of=self.about.system,
                server=system,
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock by which one at a time makes, verifies or prunes backups."""
        busy = Conflict(
            f"another process makes, verifies or prunes backups in {self.folder}",
            hint="Wait until it has ended, and try again.",
            folder=str(self.folder),
        )
        with alone(self.folder / "lock", busy):
            yield

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Hold the lock by which one at a time receives the log. The program that it starts has no part in it."""
        busy = Conflict(
            f"the log is being received already: another process does it in {self.folder}",
            hint="One is enough. If it hangs, end that process.",
            folder=str(self.folder),
        )
        with alone(self.folder / "receiving", busy):
            yield

    def bases(self) -> list[Base]:
        """Return the base backups, the newest first."""
        found = [_base(path) for path in (self.folder / "base").glob("*.json")]
        return sorted(found, key=lambda base: base.finished_at, reverse=True)

    def base(self, label: str | None = None, at: datetime | None = None) -> Base:
        """Return one base backup: by its label, or the newest, or the newest that had ended at a time."""
        there = self.bases()
        for base in there:
            if label in (None, base.label) and (at is None or base.finished_at <= at):
                return base
        oldest = f"; the oldest one ended at {there[-1].finished_at:%Y-%m-%d %H:%M:%S %Z}" if there else ""
        wanted = f" {label}" if label else f" that had ended at {at}" if at else ""
        raise NotFound(
            f"there is no base backup{wanted} in {self.folder}{oldest}",
            hint="`ostinato backup list` shows them; `ostinato backup run` makes one.",
            folder=str(self.folder),
        )

    def files(self, base: Base) -> Path:
        """Return the folder of a base backup."""
        return self.folder / "base" / base.label

    def log_folder(self, timeline: int) -> Path:
        """Return the folder that the log of a timeline is received in."""
        return self.folder / "log" / f"{timeline:08X}"

    def keep(self, base: Base) -> None:
        """Write down what is known of a base backup."""
        fields = dataclasses.asdict(base)
        times = {name: fields[name].isoformat() for name in ("started_at", "finished_at")}
        write_json(self.folder / "base" / f"{base.label}.json", fields | times)

    def drop(self, base: Base) -> None:
        """Delete a base backup: first what makes it count."""
        (self.folder / "base" / f"{base.label}.json").unlink(missing_ok=True)
        shutil.rmtree(self.files(base), ignore_errors=True)

    def timelines(self) -> list[tuple[int, Path]]:
        """Return the timelines whose log was received, and the folder of each; what else lies there is none of ours."""
        there = sorted((self.folder / "log").glob("*"))
        return [(int(path.name, 16), path) for path in there if path.is_dir() and TIMELINE.fullmatch(path.name)]

    def log_after(self, base: Base) -> Log:
        """Return the log that was received from the start of a base backup on."""
        there = {path.name.removesuffix(PARTIAL): path for path in self._segments(base.timeline)}
        number = self.number_of(base.start_lsn)
        # What was logged while it was taken is in the backup itself: receiving may have begun after it.
        own = self.files(base) / "pg_wal"
        while (name := self.segment_name(base.timeline, number)) not in there and (own / name).exists():
            number += 1
        found: list[Path] = []
        while path := there.get(self.segment_name(base.timeline, number)):
            found.append(path)
            number += 1
        missing = self.segment_name(base.timeline, number)
        gap = missing if any(name > missing for name in there) else None
        return Log(tuple(found), gap)

    def log_without_base(self) -> int | None:
        """Return the newest timeline if its log was received and no base backup is of it: that log restores nothing."""
        received = [timeline for timeline, folder in self.timelines() if any(folder.iterdir())]
        newest = max(received, default=0)
        return newest if newest > max((base.timeline for base in self.bases()), default=newest) else None

    def prunable_log(self, kept: list[Base]) -> list[Path]:
        """Return the segments that no base backup that is kept needs; all timelines without one included."""
        first: dict[int, str] = {}
        for base in kept:
            name = self.segment_name(base.timeline, self.number_of(base.start_lsn))
            first[base.timeline] = min(name, first.get(base.timeline, name))
        newest = max((timeline for timeline, _ in self.timelines()), default=0)
        found: list[Path] = []
        for timeline, _ in self.timelines():
            if timeline in first:
                found += [path for path in self._segments(timeline) if path.name < first[timeline]]
            elif timeline != newest:  # the newest may wait for its first base backup
                found += self._segments(timeline)
        return found

    def number_of(self, lsn: str) -> int:
        """Return the number of the segment that a position is in."""
        high, _, low = lsn.partition("/")
        return ((int(high, 16) << 32) + int(low, 16)) // self.about.segment_bytes

    def segment_name(self, timeline: int, number: int) -> str:
        """Return the name of a segment."""
        per_id = 0x1_0000_0000 // self.about.segment_bytes
        return f"{timeline:08X}{number // per_id:08X}{number % per_id:08X}"

    def _segments(self, timeline: int) -> list[Path]:
        found = (path for path in self.log_folder(timeline).glob("*") if SEGMENT.match(path.name))
        return sorted(found, key=lambda path: path.name)


@contextmanager
def alone(path: Path, busy: Conflict) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends; raises `busy` where another one holds it."""
    with path.open("ab+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        yield


@contextmanager
def private() -> Iterator[None]:
    """Let what this process makes within the block be our user's alone, whichever library makes it."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all, whatever dies."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("w") as file:
        json.dump(value, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    sync(path.parent)


def sync(folder: Path) -> None:
    """Make the names in a folder survive a crash."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _base(path: Path) -> Base:
    try:
        found = json.loads(path.read_text())
        times = {name: datetime.fromisoformat(found[name]) for name in ("started_at", "finished_at")}
        return Base(**found | times)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackupFailed(
            f"{path} cannot be read: {error}",
            hint="If the backup beside it is whole, write the file again from another copy; else delete both.",
            file=str(path),
        ) from error

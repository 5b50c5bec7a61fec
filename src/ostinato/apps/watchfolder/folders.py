"""Lays out the folders of one watched place, and checks them."""

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from ostinato.errors import InvalidInput, LeaseHeld

LAYOUT = {
    "incoming": "in",
    "staging": "_staging",
    "work": "work",
    "out": "out",
    "archive": "archive",
    "error": "error",
    "hold": "hold/duplicates",
    "reports": "reports/duplicates",
    "results": "results",
    "index": "index",
}

PLACES = {
    "inputPath": ("work", 2),
    "stagedPath": ("staging", 1),
    "outPath": ("out", 1),
    "archivePath": ("archive", 3),
    "resultPath": ("results", 1),
    "errorPath": ("error", 1),
}
"""The paths in state.json and index.json: the folder that each lies in, and how many parts of it are written."""


@dataclass(frozen=True)
class Folders:
    """Where everything is. All of it is ours, but `in/` (others write) and `out/` (others take)."""

    incoming: Path
    staging: Path
    """What was taken from `in/` and is being looked at."""
    work: Path
    """One folder for each job that goes on."""
    out: Path
    archive: Path
    """The originals, byte by byte, by year and month."""
    error: Path
    hold: Path
    """Duplicates that wait for a decision."""
    reports: Path
    results: Path
    """A second name of every result, because people empty `out/`."""
    index: Path

    @classmethod
    def below(cls, root: str | os.PathLike[str]) -> "Folders":
        """Make the usual layout below one folder."""
        base = Path(root).absolute()
        return cls(**{name: base / part for name, part in LAYOUT.items()})

    @property
    def index_file(self) -> Path:
        """What is known of every job that ever was."""
        return self.index / "index.json"

    @property
    def lock_file(self) -> Path:
        """Held by the one process that watches this place."""
        return self.index / "orchestrator.lock"

    def all(self) -> Iterator[Path]:
        """Yield every folder."""
        return (getattr(self, field.name) for field in fields(self))

    def make(self) -> None:
        """Make the folders that are missing; refuse a layout in which results would be taken as input."""
        self.check()
        for folder in self.all():
            folder.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Refuse a layout in which results would be taken as input."""
        incoming = Path(os.path.realpath(self.incoming))
        for folder in self.all():
            real = Path(os.path.realpath(folder))
            if folder is not self.incoming and (real == incoming or incoming in real.parents):
                raise InvalidInput(
                    f"{folder} lies in {self.incoming}, so that results would be taken for input",
                    hint="Choose folders side by side.",
                )

    def scattered(self) -> list[Path]:
        """Return the folders on another file system than `work/`: moves there are copies."""
        here = self.work.stat().st_dev
        return [folder for folder in self.all() if folder.stat().st_dev != here]

    def free_bytes(self) -> int:
        """Return the room on the fullest of the file systems that we write to."""
        ours = (self.work, self.staging, self.out, self.archive, self.results, self.hold)
        disks = {folder.stat().st_dev: folder for folder in ours if folder.is_dir()}
        return min(shutil.disk_usage(folder).free for folder in disks.values())

    def job(self, job_key: str) -> Path:
        """Return the folder of a job that goes on."""
        return self.work / job_key

    def stored(self, name: str, path: Path) -> str:
        """Return a path as the files have it: `out/x.pdf`, wherever the folders are, so that they can be moved."""
        kind, depth = PLACES[name]
        return "/".join((LAYOUT[kind], *path.parts[-depth:]))

    def found(self, name: str, text: object) -> Path | None:
        """Return the path that the files mean, in the folder of its kind; None when it leads elsewhere.

        An absolute path, as an earlier release wrote it, is found by its last parts.
        """
        kind, depth = PLACES[name]
        parts = PurePath(str(text)).parts
        if ".." in parts or len(parts) < depth:
            return None
        return Path(getattr(self, kind)).joinpath(*parts[-depth:])

    def shown(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the document with whole paths, for those who look at it from outside."""
        whole = {name: self.found(name, document[name]) for name in PLACES if document.get(name)}
        return {**document, **{name: None if path is None else str(path) for name, path in whole.items()}}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock these folders for this process alone, or raise `LeaseHeld`."""
        self.index.mkdir(parents=True, exist_ok=True)
        with self.lock_file.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read(100).strip() or "another process"
                raise LeaseHeld(
                    f"{self.index.parent} is watched by {holder} already",
                    hint="Stop that one first; one folder has one orchestrator.",
                ) from None
            file.truncate(0)
            file.write(f"process {os.getpid()}")
            file.flush()
            yield


ESCAPED = re.compile(r"\\([0-7]{3})")
ELSEWHERE = ("nfs", "cifs", "smb", "fuse", "9p", "afs", "ceph", "glusterfs", "ncpfs", "vboxsf")
"""Types of file systems whose files others may write without this machine knowing."""


def is_local(path: Path, mounts: str | None = None) -> bool:
    """Return whether only processes of this machine can write there; `mounts` as /proc lists them."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
        except OSError:
            return True
    real = Path(os.path.realpath(path))
    longest, found = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields_before, fields_after = before.split(), after.split()
        if len(fields_before) < 5 or not fields_after:  # noqa: PLR2004 - as proc(5) has them
            continue
        point = Path(ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), fields_before[4]))
        if (point == real or point in real.parents) and len(point.parts) >= longest:
            longest, found = len(point.parts), fields_after[0]
    return not found.startswith(ELSEWHERE)

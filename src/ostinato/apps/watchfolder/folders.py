"""The folders of one watched place, and what must hold for them."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from ostinato.base.errors import InvalidInput, NotConfigured

__all__ = ["LAYOUT", "Folders"]

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


@dataclass(frozen=True)
class Folders:
    """Where everything is. All of it is ours, but `in/` (others write) and `out/` (others take)."""

    incoming: Path
    staging: Path
    """What was taken from `in/` and is being looked at."""
    work: Path
    """One folder for each job in hand."""
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
        """The usual layout below one folder."""
        base = Path(root).absolute()
        return cls(**{name: base / part for name, part in LAYOUT.items()})

    @property
    def index_file(self) -> Path:
        """What is known of every job that ever was."""
        return self.index / "index.json"

    @property
    def lock_file(self) -> Path:
        """Held by the one process that tends this place."""
        return self.index / "orchestrator.lock"

    def all(self) -> Iterator[Path]:
        """Every folder."""
        return (getattr(self, field.name) for field in fields(self))

    def make(self) -> None:
        """Make what is not there; refuse folders that would feed on themselves."""
        self.check()
        for folder in self.all():
            folder.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Refuse a layout in which what comes out would come in again."""
        incoming = Path(os.path.realpath(self.incoming))
        for folder in self.all():
            real = Path(os.path.realpath(folder))
            if folder is not self.incoming and (real == incoming or incoming in real.parents):
                raise InvalidInput(
                    f"{folder} lies in {self.incoming}, so that results would be taken for input",
                    hint="Choose folders side by side.",
                )

    def scattered(self) -> list[Path]:
        """Folders on another file system than `work/`: moves there are copies."""
        here = self.work.stat().st_dev
        return [folder for folder in self.all() if folder.stat().st_dev != here]

    def free_bytes(self) -> int:
        """Room on the file system of `work/`."""
        return shutil.disk_usage(self.work).free

    def job(self, job_key: str) -> Path:
        """The folder of a job in hand."""
        return self.work / job_key

    def require(self) -> None:
        """Say so when the place is not there at all, such as a share that is not mounted."""
        if not self.incoming.is_dir():
            raise NotConfigured(
                f"there is no folder {self.incoming}",
                hint="Is the share mounted? `ostinato watch` makes the folders.",
            )

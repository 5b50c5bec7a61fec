"""A small disk of its own, where the machine lets us make one: for what happens when it is full."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.needs import lacking


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A folder with room for so much; a test without the right to mount is left out."""
    folder = Path(tempfile.mkdtemp(prefix="ostinato-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        folder.rmdir()
        lacking("disk", f"no small disk can be mounted, so a full one is not tested: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(disk: Path) -> Path:
    """Leave no room at all."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**20, 2**12):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue
    return filler

"""A folder in memory for the servers that the tests share.

Tests make, empty and drop tables by the thousand, and a journalling file system pays for each file
that goes: a fresh database took ten times as long there.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["folder_in_memory"]

MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of our own is made in it
PREFIX = "ostinato-tests-"
ENOUGH = 6 * 2**30
"""Bytes that must be free; the servers of a whole run take a tenth."""


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder that goes with the block; the other one where memory has no file system or room."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH:
        yield otherwise
        return
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", dir=MEMORY) as folder:
        yield Path(folder)


def _remove_leftovers() -> None:
    """What runs that were killed could not remove; memory is no place to forget things."""
    for folder in MEMORY.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).split("-", 1)[0]
        if not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)

"""A place for files that are written once: a folder, or an object store (`objects`).

A file gets its name when it is whole. What was put is what comes back: `put` says its SHA-256, `get` is given it.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.db.backup import objects

CHUNK = 1 << 20


class Shelf:
    """The files of one place."""

    def __init__(self, place: str) -> None:
        """`place` is a folder, or a URL such as s3://bucket/prefix."""
        self.place = place
        self._store = objects.store(place) if "://" in place else None
        self._folder = Path(place).expanduser().resolve()

    async def put(self, path: Path, name: str) -> None:
        """Store a file under a name, over what is there by that name."""
        if self._store is not None:
            await objects.put(self._store, self.place, name, path)
            return
        await asyncio.to_thread(self._copy, path, name)

    def _copy(self, path: Path, name: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._folder / f".{name}.new"
        try:
            with path.open("rb") as source, fresh.open("wb") as to:
                fresh.chmod(0o600)
                shutil.copyfileobj(source, to, CHUNK)
                to.flush()
                os.fsync(to.fileno())
            fresh.replace(self._folder / name)
        except OSError:
            fresh.unlink(missing_ok=True)  # a full disk stays no fuller for it
            raise
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    async def get(self, name: str) -> AsyncIterator[bytes]:
        """Yield the pieces of a file."""
        try:
            if self._store is not None:
                async for piece in objects.get(self._store, self.place, name):
                    yield piece
                return
            with (self._folder / name).open("rb") as file:
                while piece := await asyncio.to_thread(file.read, CHUNK):
                    yield piece
        except FileNotFoundError:
            raise BackupFailed(
                f"{self.place} has no file {name}", hint="Archive its week again, if it is there."
            ) from None

    async def sum_of(self, name: str) -> str:
        """Return the SHA-256 of a file as it is stored."""
        found = hashlib.sha256()
        async for piece in self.get(name):
            found.update(piece)
        return found.hexdigest()

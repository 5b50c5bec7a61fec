"""The file that one tenant is copied through (`tenant_copy.py`).

It is text, gzipped: a line of JSON, then for each table a line of JSON and its rows as PostgreSQL copies them, to a
line with a backslash and a point; the last line has their number and the SHA-256 of all before it.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from ostinato._core.base.errors import InvalidInput

FORMAT = "ostinato tenant 1"
END = b"\\.\n"
LONGEST_LINE = 2**30


class Writer:
    """The file that is written: it has another name until it is whole."""

    def __init__(self, path: Path) -> None:
        self.rows: dict[str, int] = {}
        self._path, self._fresh = path, path.with_name(f".{path.name}.new")
        self._hash = hashlib.sha256()

    def __enter__(self) -> Self:
        # Made anew, by nobody else: a link, or a file that others may read, could stand there.
        self._fresh.unlink(missing_ok=True)
        self._raw = os.fdopen(os.open(self._fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._file: gzip.GzipFile = gzip.GzipFile(fileobj=self._raw, filename="", mode="wb", compresslevel=6)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            with self._raw:
                self._file.close()  # which writes the rest: a full disk refuses that too
            if kind is None:
                self._fresh.replace(self._path)
        finally:
            self._fresh.unlink(missing_ok=True)

    def line(self, value: dict[str, Any]) -> None:
        """Write a line of JSON."""
        self.write(json.dumps(value).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Write rows."""
        self._hash.update(data)
        self._file.write(data)

    def end_table(self, name: str, count: int) -> None:
        """End the rows of a table."""
        self.write(END)
        if count:
            self.rows[name] = count

    def finish(self) -> None:
        """Write the last line."""
        self.line({"end": sum(self.rows.values()), "sha256": self._hash.hexdigest()})


class Reader:
    """The file that is read, and what it says of itself."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._last: dict[str, Any] = {}
        self.header = self._json()
        if self.header.get("format") != FORMAT:
            raise InvalidInput(f"this is no file of a tenant ({FORMAT})", hint="`ostinato tenants dump` writes them.")

    def tables(self) -> Iterator[dict[str, Any]]:
        """Yield what the file says of each table; its rows must be read before the next."""
        while "end" not in (described := self._json()):
            yield described
        self._last = described

    def rows(self) -> Iterator[bytes]:
        """Yield the rows of the table."""
        while (line := self._line()) != END:
            yield line

    def check(self) -> None:
        """Refuse a file that is not as it was written."""
        if self._last.get("sha256") != self._sum:
            raise InvalidInput("the file is damaged: its checksum is another", hint="Dump it again.")

    def _line(self) -> bytes:
        line = self._file.readline(LONGEST_LINE)
        if not line:
            raise InvalidInput("the file is not whole: its end is missing", hint="Dump it again.")
        self._sum = self._hash.hexdigest() if line.startswith(b'{"end"') else ""
        self._hash.update(line)
        return line

    def _json(self) -> dict[str, Any]:
        try:
            found = json.loads(self._line())
        except ValueError:
            raise InvalidInput("the file is damaged, or no file of a tenant", hint="Dump it again.") from None
        return found if isinstance(found, dict) else {}


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """Open a file of a tenant for the block."""
    try:
        with gzip.open(path, "rb") as file:
            yield Reader(file)
    except (OSError, EOFError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint="Dump it again.", file=str(path)) from error

"""Reads what OCR leaves beside a result: the text, and a picture of the first page before and after.

A worker process wrote them, which a stranger's file may have taken over: only plain files count, of a
size that is known, and only what begins as a JPEG is a picture.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TEXT: Final = "text.txt"
FIRST_PAGE: Final = "first.jpg"
RESULT_PAGE: Final = "result.jpg"
PAGE_WIDTH, PAGE_HEIGHT = 900, 1270
"""The most that a picture has, in pixels."""
MOST_LETTERS: Final = 200_000
MOST_BYTES: Final = 400_000
JPEG: Final = b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a file."""

    body: str
    first_page: bytes | None
    """The first page of what came in."""
    result_page: bytes | None
    """The first page of what came out."""


def read(folder: Path) -> Reading | None:
    """Read what OCR left in the folder of a job; None when it left neither a text nor a first page."""
    text = _bytes(folder / TEXT, MOST_LETTERS * 4)
    if text is None:
        first = _picture(folder / FIRST_PAGE)
        return None if first is None else Reading("", first, None)
    body = text.decode("utf-8", "replace").replace("\0", "")[:MOST_LETTERS]
    return Reading(body, _picture(folder / FIRST_PAGE), _picture(folder / RESULT_PAGE))


def _picture(path: Path) -> bytes | None:
    found = _bytes(path, MOST_BYTES + 1)
    return found if found is not None and found.startswith(JPEG) and len(found) <= MOST_BYTES else None


def _bytes(path: Path, most: int) -> bytes | None:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(number).st_mode):  # asked first: to open a folder as a file raises
        os.close(number)
        return None
    with os.fdopen(number, "rb") as file:
        return file.read(most)

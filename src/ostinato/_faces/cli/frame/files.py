"""Reads what is given in a file or on stdin: a command line is seen by every user of the machine, and kept.

text = read_given("-", "--args-file")
known = told(error)                        # what a disk or a folder refused to any command, with what to do
"""

import errno
import sys
from pathlib import Path

from ostinato._core.base.errors import InvalidInput, OstinatoError

FULL = (errno.ENOSPC, errno.EDQUOT)

MOST_CHARACTERS = 16 * 1024 * 1024
"""More than any argument or header may have: a file that never ends is not read to its end."""


def read_given(path: str, option: str) -> str:
    """Return the text of a file, or for `-` of stdin."""
    try:
        if path == "-":
            text = sys.stdin.read(MOST_CHARACTERS)
        else:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(MOST_CHARACTERS)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise InvalidInput(
            f"{option}: cannot read {'stdin' if path == '-' else path}: {why}", hint="Name a file, or - for stdin."
        ) from None
    if not text.strip():
        raise InvalidInput(
            f"{option}: {'stdin' if path == '-' else path} is empty", hint="Name a file, or - for stdin."
        )
    return text


def told(error: OSError) -> OstinatoError | None:
    """Return what a disk or a folder refused as an error of ours; None: it was neither."""
    why, place = error.strerror or str(error), error.filename
    if error.errno in FULL:
        where = f" ({place})" if place else ""
        return OstinatoError(f"the disk is full{where}: {why}", hint="Make room on it, and repeat the command.")
    if place is None:
        return None
    return OstinatoError(
        f"{place}: {why}", hint="Check the path, and what this user may do there; then repeat the command."
    )

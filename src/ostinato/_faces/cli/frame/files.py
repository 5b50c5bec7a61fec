"""Reads what is given in a file or on stdin: a command line is seen by every user of the machine, and kept.

text = read_given("-", "--args-file")
"""

import sys
from pathlib import Path

from ostinato._core.base.errors import InvalidInput

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

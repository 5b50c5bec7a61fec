"""Writes files that must not be lost: whole or as they were, also after a power cut."""

import os
import secrets
from pathlib import Path


def write_whole(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Write a file anew. Nobody ever sees a part of it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(made, "w", encoding="utf-8") as file:  # noqa: PTH123 - the mode was given when it was made
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # The name is kept with the folder, not with the file.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

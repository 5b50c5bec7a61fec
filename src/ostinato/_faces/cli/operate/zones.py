"""Finds the time zone data that Python reads here: the system's, else the package tzdata.

All hosts of an installation should have the same release, and the database too: a zone that only
one of them knows, or whose rules are newer there, is computed in two ways.
"""

import zoneinfo
from importlib import metadata
from pathlib import Path

SAMPLE = "Europe/Paris"


def release() -> str | None:
    """Return the release, and where it comes from; None: there is no data at all."""
    try:
        zoneinfo.ZoneInfo.no_cache(SAMPLE)
    except zoneinfo.ZoneInfoNotFoundError:
        return None
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / SAMPLE).is_file():
            return f"{_version(folder)} of the system"
    return f"{metadata.version('tzdata')} of the package tzdata"


def _version(folder: Path) -> str:
    """Return what the folder's own files say; distributions have the one or the other."""
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (folder / name).open(encoding="utf-8") as file:
                return file.readline(100).removeprefix("# version ").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return "an unnamed release"

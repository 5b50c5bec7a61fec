"""A folder for the files of one run, which no other run touches.

pytest gives all runs of a user one common folder, and takes the rights of others on it away each time
a run begins. The PostgreSQL of a run that is under way has a user of its own (for root), and
could not reach its files any more.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

__all__ = ["choose", "of_run"]

FOLDER = "OSTINATO_TEST_FOLDER"
PREFIX = "ost-"  # short: sockets below it may have 107 characters in all


def of_run() -> Path:
    """The folder of this run, also in the processes that it has started."""
    return Path(os.environ[FOLDER])


def choose(config: pytest.Config) -> None:
    """Make the folder; it is removed at the end, or, if a test failed, when another run begins."""
    root = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()).resolve()
    _remove_leftovers(root)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=root))
    os.environ[FOLDER] = str(folder)
    if config.option.basetemp is None:
        config.option.basetemp = str(folder / "t")
    config.pluginmanager.register(_Removal(folder))


class _Removal:
    """Removes the folder of a run that went well."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed = True

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._failed = exitstatus != pytest.ExitCode.OK

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if not self._failed:
            _remove(self._folder)


def _remove_leftovers(root: Path) -> None:
    """Remove what runs that failed or were killed have left."""
    for folder in root.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).split("-", 1)[0]
        if not Path("/proc", pid).exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, however deep: `shutil.rmtree` calls itself for each level, and a test may make a thousand."""
    subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)

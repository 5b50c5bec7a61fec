"""The folder of a run is removed whatever tests have left in it."""

import os
from pathlib import Path

from tests import tempfolder

LEVELS = 1500
"""More than Python's own functions may call themselves."""


def test_a_folder_with_many_levels_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)

    tempfolder._remove(top)

    assert not top.exists()

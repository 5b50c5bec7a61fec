"""A disk that is really full: each step of a folder meets it, and every file is done after it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.apps.watchfolder.smalldisk import SCENARIOS
from tests.needs import lacking


def test_a_full_disk_at_any_step_is_lived_through(tmp_path: Path) -> None:
    """Nothing lost, nothing stranded, no attempt counted, no half of a file left."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.apps.watchfolder.smalldisk", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )

    said = json.loads(ended.stdout)
    if said["refused"]:
        lacking("namespace", f"no disk of its own can be made here: {said['refused']}")
    bad = {name: how for name, how in said["told"].items() if how != "well"}
    assert not bad, "\n".join(f"{name}:\n{how}" for name, how in bad.items())
    assert set(said["told"]) == set(SCENARIOS)

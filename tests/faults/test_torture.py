"""`ostinato torture`, in short: everything at random from a seed, and every promise counted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.site import say

ROOT = Path(__file__).parents[2]

SEED = 20260115

# All on one process: they share a server, and would take the machine's time from each other.
pytestmark = pytest.mark.xdist_group("faults")


def test_a_short_torture_breaks_no_promise() -> None:
    say(f"seed {SEED}")
    argv = [sys.executable, "-m", "ostinato", "torture", "--json"]
    ended = subprocess.run(
        [*argv, "--minutes=0.2", f"--seed={SEED}", "--workers=3"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    say(ended.stdout + ended.stderr)
    report = json.loads(ended.stdout)

    assert (ended.returncode, report["holds"], report["seed"]) == (0, True, SEED)
    found = {count["name"]: count["value"] for count in report["counts"]}
    # How much happens in that time is up to the machine; that something did is not.
    assert found["jobs acknowledged"] >= found["jobs done"] > 0
    assert found["effects in transactions"] > 0
    assert sum(report["harm"].values()) > 0


def test_a_broken_promise_is_an_exit_code() -> None:
    """With an engine that forgets jobs: the count is not only for show."""
    program = (
        "from ostinato.cli import torture_checks, torture_run\n"
        "from ostinato.cli.main import main\n"
        "async def run(seed, minutes, workers, say):\n"
        "    report = torture_run.Report(seed, minutes, workers)\n"
        "    report.counts = [torture_checks.Count('jobs lost', 1, 0)]\n"
        "    return report\n"
        "torture_run.run = run\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "torture", "--seed=1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )

    assert ended.returncode == 1
    assert "BROKEN" in ended.stdout
    assert "seed 1" in ended.stdout

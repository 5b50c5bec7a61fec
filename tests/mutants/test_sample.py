"""A few of the mutants, so that a list which no longer kills is noticed before somebody runs all of them.

There are hundreds, and each is a run of pytest: `make mutants` takes them all. Here two that need no database run with
the other tests, and one part of all with the long proofs: the first, unless MUTANT_PART names another. The continuous
integration runs every part, each week.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import part
from tests.mutants.mutant import ROOT, listed

PARTS = 25


def mutants(*asked: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.mutants", *asked], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_some_rules_are_broken_and_their_tests_notice() -> None:
    done = mutants("--fast", "--sample", "2", "--seed", "1", "--jobs", "1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 killed" in done.stdout


@pytest.mark.proof
@pytest.mark.timeout(2400)
def test_the_rules_of_one_part_are_broken_and_their_tests_notice() -> None:
    """The same part each time: what CI says of a change must not depend on the day it runs."""
    wanted = os.environ.get("MUTANT_PART") or f"0/{PARTS}"

    done = mutants("--part", wanted, "--jobs", "1")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_run_that_is_ended_by_a_signal_leaves_no_copy(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.mutants", "--app", "rounds", "--fast", "--jobs", "1"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("killed")  # so the next one runs
    assert list(tmp_path.iterdir())

    process.send_signal(signal.SIGTERM)

    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_test_that_waits_instead_of_failing_kills_nothing() -> None:
    """The time is over at once, so that nothing hangs on how fast a machine is."""
    code = (
        "import sys; from tests.mutants import rounds, runner, __main__ as m;"
        "runner.LONGEST_SECONDS = 0.0; runner._check = lambda *_: None; rounds.MUTANTS[:] = rounds.MUTANTS[:1];"
        "sys.argv = ['mutants', '--app', 'rounds']; sys.exit(m.main())"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr
    assert "TIMEOUT" in done.stdout
    assert "0 of 1 killed" in done.stdout


def test_all_parts_together_are_every_mutant() -> None:
    pairs = [(each, mutant) for each in listed().values() for mutant in each.mutants]

    parts = [part(pairs, number, PARTS) for number in range(PARTS)]

    assert [pair for index in range(len(parts[0])) for each in parts for pair in each[index : index + 1]] == pairs
    assert {each.app for each, _ in parts[0]} == set(listed())


def test_a_mutant_whose_text_is_gone_is_an_error() -> None:
    code = (
        "import dataclasses, sys; from tests.mutants import watchfolder as w, __main__ as m;"
        "w.MUTANTS[:] = [dataclasses.replace(w.MUTANTS[0], old='nowhere to be found')];"
        "sys.argv = ['mutants', '--app', 'watchfolder']; sys.exit(m.main())"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "has 0 times: 'nowhere to be found'" in done.stderr

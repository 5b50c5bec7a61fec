"""A few of the mutants, so that a list which no longer kills is noticed before the long proofs run."""

import subprocess
import sys

import pytest

from tests.mutants.mutant import ROOT


@pytest.mark.slow
def test_some_rules_are_broken_and_their_tests_notice() -> None:
    asked = ["--fast", "--sample", "2", "--seed", "1", "--jobs", "1"]

    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants", *asked], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 killed" in done.stdout


def test_a_mutant_whose_text_is_gone_is_an_error() -> None:
    code = (
        "import dataclasses, sys; from tests.mutants import watchfolder as w, __main__ as m;"
        "w.MUTANTS[:] = [dataclasses.replace(w.MUTANTS[0], old='nowhere to be found')];"
        "sys.argv = ['mutants', '--app', 'watchfolder']; sys.exit(m.main())"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "has 0 times: 'nowhere to be found'" in done.stderr

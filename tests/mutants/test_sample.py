"""A few of the mutants, so that a list which no longer kills is noticed before somebody runs all of them.

There are hundreds, and each is a run of pytest: `make mutants` takes them all. Here two that need no database run with
the other tests, and one of each application with the long proofs.
"""

import subprocess
import sys

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
@pytest.mark.parametrize("app", sorted(listed()))
def test_a_rule_of_each_application_is_broken_and_its_tests_notice(app: str) -> None:
    """The same one each time: what CI says of a change must not depend on the day it runs."""
    done = mutants("--app", app, "--sample", "1", "--jobs", "1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 1 killed" in done.stdout


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

"""The catalogue of faults is complete, and what it names exists."""

from tests.house.catalogue import missing_tests, numbered_rows, without_test
from tests.house.source import ROOT

PAGE = ROOT / "docs" / "faults.md"
GUARANTEES = ROOT / "docs" / "guarantees.md"
FAULTS = 80
# Each has a line in docs/guarantees.md that says why.
NOT_TESTED = {80}


def catalogue() -> str:
    """The part of the page with the numbers of the catalogue."""
    return PAGE.read_text(encoding="utf-8").partition("## The catalogue")[2].partition("\n## ")[0]


def test_all_faults_are_listed_in_their_order() -> None:
    assert list(numbered_rows(catalogue())) == list(range(1, FAULTS + 1))


def test_every_fault_has_a_test_or_a_reason() -> None:
    reasons = GUARANTEES.read_text(encoding="utf-8").partition("## What is not tested")[2]

    assert without_test(catalogue()) == NOT_TESTED
    assert all(f"fault {number}" in reasons for number in NOT_TESTED)


def test_every_test_that_is_named_exists() -> None:
    assert missing_tests(PAGE.read_text(encoding="utf-8")) == []


def test_a_name_that_nobody_has_is_noticed() -> None:
    text = "| 7 | x | `tests/house/test_faults.py::test_of_nobody` |\n| 8 | y | none |"

    assert missing_tests(text) == ["`tests/house/test_faults.py::test_of_nobody"]
    assert without_test(text) == {8}

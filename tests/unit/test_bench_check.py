"""What `make bench-check` decides from ratios; measuring is not tested here."""

import json

import pytest
from rich.console import Console

from bench import apps, check, quiet
from bench.check import FIGURES
from bench.places import BASELINE as BASELINE_FILE

BASELINE = {figure.name: 100.0 for figure in FIGURES}


def ratios(**rounds: list[float]) -> check.Ratios:
    return {name: rounds.get(name, [100.0] * 3) for name in BASELINE}


def test_a_median_that_is_worse_is_a_regression() -> None:
    found = ratios(drain=[80.0, 80.0, 100.0], latency_p50=[120.0, 100.0, 120.0])

    assert check.regressions(found, BASELINE) == ["drain", "start latency p50"]


def test_a_round_that_is_fine_makes_a_regression_uncertain() -> None:
    found = ratios(drain=[60.0, 60.0, 99.0], single=[74.0, 70.0, 60.0])

    assert check.certain_regressions(found, BASELINE, timed=True) == ["one by one"]


def test_a_slow_machine_fails_nothing_in_continuous_integration() -> None:
    found = ratios(drain=[30.0] * 3, bulk=[30.0] * 3, single=[30.0] * 3, latency_p50=[300.0] * 3)

    assert check.certain_regressions(found, BASELINE, timed=False) == []


def test_a_job_that_writes_more_fails_on_every_machine() -> None:
    found = ratios(wal=[120.0] * 3)

    assert check.certain_regressions(found, BASELINE, timed=False) == ["write-ahead log per job"]


def test_what_is_better_is_no_regression() -> None:
    found = ratios(drain=[300.0] * 3, wal=[50.0] * 3)

    assert check.certain_regressions(found, BASELINE, timed=True) == []
    assert check.certain_regressions(found, BASELINE, timed=False) == []


@pytest.mark.parametrize(("cores", "version"), [(4, "18.1"), (2, "17.6")])
def test_a_baseline_of_another_machine_says_nothing(cores: int, version: str) -> None:
    reason = check.unlike({"cores": 2, "postgresql": "18.4"}, cores, version)

    assert reason.startswith("the baseline is of 2 cores and PostgreSQL 18, here are")


def test_a_baseline_of_such_a_machine_counts() -> None:
    assert check.unlike({"cores": 2, "postgresql": "18.4"}, 2, "18.9") == ""


def test_a_busy_machine_is_a_reason_to_skip(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quiet, "wait_for_quiet", lambda _: 0.63)

    assert check.check_if_quiet(150, Console()) == 0

    said = capsys.readouterr().out
    assert said == "bench-check: skipped, other work takes 63% of the machine.\n"


def test_the_rows_of_the_applications_are_guarded_each_by_a_name_of_its_own() -> None:
    names = [figure.name for figure in check.GUARDED]
    measured = [row for row in apps.ROWS if row.share is not None]

    assert len(set(names)) == len(names) == len(FIGURES) + len(measured)
    assert set(json.loads(BASELINE_FILE.read_text())["ratios"]) <= set(names)


def test_an_application_that_is_slower_against_its_yardstick_is_a_regression() -> None:
    found = ratios() | {"POST / bare POST": [0.5]}

    assert check.regressions(found, BASELINE | {"POST / bare POST": 0.6}) == [
        "POST that enqueues / bare FastAPI, same insert"
    ]


def test_what_was_not_measured_is_no_regression() -> None:
    assert check.regressions(ratios(), BASELINE | {"POST / bare POST": 0.6}) == []

"""The minimal cases of the specification for `main`, by its own names."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ostinato.apps.watchfolder import main as orch
from ostinato.apps.watchfolder.core import make_empty_metrics
from ostinato.apps.watchfolder.tick.context import Hooks
from tests.apps.watchfolder.place import PROFILE, Services

KEY = f"{'ab' * 32}__{'0' * 16}"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, part in {
        "IN_DIR": "in",
        "STAGING_DIR": "_staging",
        "WORK_DIR": "work",
        "OUT_DIR": "out",
        "ARCHIVE_DIR": "archive",
        "ERROR_DIR": "error",
        "HOLD_DUP_DIR": "hold/duplicates",
        "REPORTS_DUP_DIR": "reports/duplicates",
        "RESULTS_DIR": "results",
        "INDEX_DIR": "index",
    }.items():
        (tmp_path / part).mkdir(parents=True)
        monkeypatch.setattr(orch, name, str(tmp_path / part))
    return tmp_path


def report_one(data: Path) -> dict[str, Any]:
    incoming = data / "in" / "scan.pdf"
    incoming.write_bytes(b"again")
    orch.write_duplicate_report(KEY, str(incoming), {"state": "DONE"}, PROFILE)
    found: dict[str, Any] = json.loads((data / f"reports/duplicates/{KEY}.json").read_text())
    return found


def test_a_duplicate_is_moved_to_hold_and_reported(data: Path) -> None:
    report_one(data)

    held = [path for path in (data / "hold/duplicates" / KEY).iterdir() if "__" in path.name]
    assert [path.name.partition("__")[2] for path in held] == ["scan.pdf"]
    assert not (data / "in" / "scan.pdf").exists()
    status = data / "hold/duplicates" / KEY / "status.json"
    assert json.loads(status.read_text()) == {"state": "DUPLICATE_PENDING"}


def test_the_report_has_every_required_field(data: Path) -> None:
    report = report_one(data)

    assert {"jobKey", "detectedAt", "incoming", "existing", "profile", "actions"} <= set(report)
    assert report["jobKey"] == KEY
    assert report["incoming"]["fileName"] == "scan.pdf"
    assert report["incoming"]["sizeBytes"] == 5
    assert Path(report["incoming"]["path"]).read_bytes() == b"again"
    assert report["existing"] == {"state": "DONE"}
    assert report["profile"] == PROFILE
    assert report["actions"] == ["USE_EXISTING_RESULT", "DISCARD", "FORCE_REPROCESS"]


@pytest.mark.parametrize("step", ["PREP", "OCR"])
def test_a_stale_heartbeat_leads_to_a_retry(data: Path, step: str) -> None:
    beat = data / "work" / KEY / f"{step.lower()}.heartbeat"
    beat.parent.mkdir()
    beat.touch()
    os.utime(beat, (time.time() - 1000,) * 2)
    in_flight = {KEY: {"stage": f"{step}_RUNNING"}}

    orch.check_stale_jobs(in_flight, 60)

    assert in_flight[KEY]["stage"] == f"{step}_RETRY"
    state = json.loads((data / "work" / KEY / "state.json").read_text())
    assert state["state"] == f"{step}_TIMEOUT"
    assert state["message"] == "heartbeat stale after 60s"


@pytest.mark.parametrize("step", ["PREP", "OCR"])
def test_a_recent_heartbeat_changes_nothing(data: Path, step: str) -> None:
    beat = data / "work" / KEY / f"{step.lower()}.heartbeat"
    beat.parent.mkdir()
    beat.touch()
    in_flight = {KEY: {"stage": f"{step}_RUNNING"}}

    orch.check_stale_jobs(in_flight, 60)

    assert in_flight[KEY]["stage"] == f"{step}_RUNNING"


def test_a_discovered_job_has_no_heartbeat_to_miss(data: Path) -> None:
    in_flight = {KEY: {"stage": "DISCOVERED"}}

    orch.check_stale_jobs(in_flight, 0)

    assert in_flight == {KEY: {"stage": "DISCOVERED"}}


def test_a_heartbeat_that_never_came_is_missed_when_its_grace_is_over(data: Path) -> None:
    young: dict[str, Any] = {"stage": "PREP_RUNNING", "stageStartedAt": time.monotonic() - 100}
    old: dict[str, Any] = {"stage": "OCR_RUNNING", "stageStartedAt": time.monotonic() - 121}
    in_flight = {"young": young, "old": old}

    orch.check_stale_jobs(in_flight, 60)

    assert (young["stage"], old["stage"]) == ("PREP_RUNNING", "OCR_RETRY")


def test_a_heartbeat_frozen_in_the_future_is_missed_all_the_same(data: Path) -> None:
    beat = data / "work" / KEY / "prep.heartbeat"
    beat.parent.mkdir()
    beat.touch()
    os.utime(beat, (time.time() + 9_000,) * 2)
    meta: dict[str, Any] = {"stage": "PREP_RUNNING"}

    orch.check_stale_jobs({KEY: meta}, 60)
    meta["beat"] = (meta["beat"][0], meta["beat"][1] - 121)
    orch.check_stale_jobs({KEY: meta}, 60)

    assert meta["stage"] == "PREP_RETRY"


def test_a_heartbeat_of_the_future_that_beats_is_not_missed(data: Path) -> None:
    beat = data / "work" / KEY / "prep.heartbeat"
    beat.parent.mkdir()
    beat.touch()
    meta: dict[str, Any] = {"stage": "PREP_RUNNING"}
    for seconds in (9_000, 9_060):
        os.utime(beat, (time.time() + seconds,) * 2)
        orch.check_stale_jobs({KEY: meta}, 60)
        meta["beat"] = (meta["beat"][0], meta["beat"][1] - 121)
    os.utime(beat, (time.time() + 9_120,) * 2)

    orch.check_stale_jobs({KEY: meta}, 60)

    assert meta["stage"] == "PREP_RUNNING"


def test_a_tick_needs_no_more_than_the_config_of_the_specification(
    data: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "in" / "scan.pdf").write_bytes(b"content")
    config: dict[str, Any] = {
        "prep_url": "http://prep:1",
        "ocr_url": "http://ocr:1",
        "work_dir": str(data / "work"),
        "max_jobs_in_flight": 5,
        "prep_concurrency": 1,
        "ocr_concurrency": 1,
        "max_attempts_prep": 3,
        "max_attempts_ocr": 3,
        "job_timeout_s": 60,
        "index_dir": str(data / "index"),
        "metrics": make_empty_metrics(),
    }
    clock = iter(range(0, 1000, 6))
    # The window of five seconds passes in the test.
    monkeypatch.setattr(orch, "Hooks", lambda: Hooks(clock=lambda: float(next(clock))))

    in_flight: dict[str, Any] = {}
    index: dict[str, Any] = {}
    for _ in range(6):
        orch.process_tick(in_flight, index, data / "index/index.json", PROFILE, config)

    assert (data / "out" / "scan.pdf").read_bytes() == b"content"
    assert json.loads((data / "index/metrics.json").read_text())["done"] == 1


def test_nothing_runs_at_import(tmp_path: Path) -> None:
    code = (
        "import os, threading; before = set(os.listdir('.'));"
        "import ostinato.apps.watchfolder.main;"
        "assert threading.active_count() == 1; assert set(os.listdir('.')) == before"
    )

    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)

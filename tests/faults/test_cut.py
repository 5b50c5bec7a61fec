"""A test run that is cut short, or hangs, ends and leaves nothing behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from ostinato._core.runtime.worker import procfs
from tests import reaper, tempfolder
from tests.waiting import until


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.proof),
        signal.SIGTERM,
        pytest.param(signal.SIGKILL, marks=pytest.mark.proof),
    ],
)
def test_a_run_that_is_cut_short_leaves_no_server_and_no_service(tmp_path: Path, how: signal.Signals) -> None:
    told = tmp_path / "told"
    run = [sys.executable, "-m", "pytest", "-q", "-n", "1", f"--basetemp={tmp_path / 'base'}"]
    with subprocess.Popen(
        [*run, "tests/faults/cut_short.py"],
        env=os.environ | {"OSTINATO_TEST_TOLD": str(told)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        until(told.exists)
        started = [psutil.Process(int(pid)) for pid in told.read_text().split()]
        os.killpg(process.pid, how)

    for each in started:
        until(lambda each=each: not runs(each))  # type: ignore[misc]


def test_a_run_that_is_a_test_of_another_one_is_cut_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that ends what it started survives the end of what the outer run started."""
    monkeypatch.setenv(reaper.MARK, "outer")
    beside = subprocess.Popen
    started: list[subprocess.Popen[bytes]] = []

    def noted(*args: Any, **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401 - as Popen
        started.append(beside(*args, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    end = reaper.start()
    try:
        until(lambda: f"{reaper.MARK}={os.environ[reaper.MARK]}" in psutil.Process(started[0].pid).cmdline())

        assert started[0].pid not in procfs.left_behind(f"{reaper.MARK}=outer")
    finally:
        end()


def runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_another_run_takes_no_rights_on_the_folders_of_this_one(tmp_path: Path) -> None:
    """pytest does, on a folder that all runs of a user share: a server with a user of its own is locked out."""
    above = [folder for folder in tmp_path.parents if folder.is_relative_to(tempfolder.of_run())]
    for folder in above:
        folder.chmod(0o711)

    run = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/faults/hangs.py"]
    subprocess.run(run, stdout=subprocess.DEVNULL, check=True)

    assert above
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in above} == {0o711}


def test_a_teardown_that_hangs_after_a_failure_is_ended_and_says_where_it_stood(tmp_path: Path) -> None:
    """pytest takes its own watch back after a failure, and the timeout of the test is used up by then."""
    run = [sys.executable, "-m", "pytest", "-q", f"--basetemp={tmp_path / 'base'}", "tests/faults/hangs.py"]
    ran = subprocess.run(
        run, env=os.environ | {"OSTINATO_TEST_TEARDOWN_SECONDS": "1"}, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 1
    assert "hangs.py" in ran.stderr
    assert "in _hanging" in ran.stderr


@pytest.mark.proof  # of a wait: shorter, a busy machine would not come to its end in time
def test_a_process_that_has_nothing_left_waits_for_the_others(tmp_path: Path) -> None:
    """The watch over its end rang while another process was at a long test: it died, with a trace of nothing."""
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        f"--basetemp={tmp_path / 'base'}",
        "tests/faults/lingers.py",
    ]
    ran = subprocess.run(
        run, env=os.environ | {"OSTINATO_TEST_TEARDOWN_SECONDS": "30"}, capture_output=True, text=True, check=False
    )

    assert "Timeout" not in ran.stderr
    assert (ran.returncode, "2 passed" in ran.stdout) == (0, True)

"""The API runs in several processes that share an address and a metrics page."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.faces.conftest import Shell
from tests.faces.processes import Running, running
from tests.waiting import until

ASKED = 40


def processes_of(command: Running) -> list[int]:
    """The processes of the API that a command has started."""
    children = psutil.Process(command.process.pid).children()
    return sorted(int(child.pid) for child in children if "api" in words(child))


def words(process: psutil.Process) -> list[str]:
    """The command line of a process; none if it has just ended."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def ask(url: str) -> int:
    return httpx.get(url, trust_env=False, timeout=60).status_code


def requests_by_process(page: str) -> dict[str, float]:
    """How many requests the metrics page says that each process has answered."""
    found: dict[str, float] = {}
    text = httpx.get(page, trust_env=False, timeout=60).text
    for family in text_string_to_metric_families(text):
        if family.name == "ostinato_http_requests":
            for sample in family.samples:
                if sample.labels["path"] == "/health/live":
                    number = sample.labels["process"]
                    found[number] = found.get(number, 0) + sample.value
    return found


@pytest.fixture
def api(shell: Shell, tmp_path: Path) -> Iterator[Running]:
    env = shell.env | {"OSTINATO_API_METRICS_PORT": "19764"}
    with running(tmp_path, env, "api", "--port", "0", "--api-workers", "2", "--json") as command:
        yield command


def test_several_processes_answer_and_one_page_shows_what_each_has_counted(api: Running) -> None:
    ready = api.event("ready")
    assert sorted(ready["processes"]) == processes_of(api)
    assert len(set(ready["processes"])) == 2

    first, second = (psutil.Process(pid) for pid in ready["processes"])
    for asleep in (first, second):  # whoever is awake answers: each of them alone, and so both
        asleep.suspend()
        try:
            assert {ask(f"{ready['url']}/health/live") for _ in range(ASKED)} == {200}
        finally:
            asleep.resume()

    until(lambda: requests_by_process(ready["metrics"]) == {"1": ASKED, "2": ASKED})
    api.signal()
    assert api.ended() == 0
    assert '"level": "error"' not in api.stderr


def test_of_several_processes_one_that_is_killed_is_replaced_and_no_caller_is_refused(api: Running) -> None:
    ready = api.event("ready")
    victim, other = ready["processes"]

    os.kill(victim, signal.SIGKILL)
    assert {ask(f"{ready['url']}/health/live") for _ in range(ASKED)} == {200}

    until(lambda: len(processes_of(api)) == 2 and victim not in processes_of(api))
    assert other in processes_of(api)
    assert ask(f"{ready['url']}/health/ready") == 200
    assert "api 1 was killed by SIGKILL; starting another" in api.stderr
    api.signal()
    assert api.ended() == 0
    with pytest.raises(httpx.ConnectError):
        ask(f"{ready['url']}/health/live")

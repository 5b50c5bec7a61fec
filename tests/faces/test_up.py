"""`ostinato up`, `ostinato api` and `ostinato demo`: everything under one supervisor."""

import json
import os
import re
import signal
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from ostinato._core.db import embedded
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.output import Output
from ostinato._faces.cli.serve.upview import watched
from ostinato.lab.sandbox.server import stand_ins
from tests.faces import canary
from tests.faces.conftest import Place, Shell
from tests.faces.processes import Running, at_terminal, running
from tests.servers import certificate
from tests.waiting import until

API = "/api/v1/engine"

SLOW_APP = """
import asyncio
from ostinato import App

app = App("slow", http="slow_http:router")

@app.job()
async def work(ctx) -> None: ...
"""
SLOW_HTTP = """
import asyncio
from pathlib import Path

from ostinato._core.web.routes import Router

router = Router()
begun = 0

@router.get("/begun", public=True)
async def count() -> int:
    return begun

@router.get("/slow", public=True)
async def slow() -> str:
    global begun
    begun += 1
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return "done all the same"
"""


class Demo:
    """A demo that runs, in a folder that was empty."""

    def __init__(self, up: Running, folder: Path, ready: dict[str, Any]) -> None:
        self.up = up
        self.folder = folder
        self.ready = ready
        self.key_file = folder / ".ostinato" / "demo-key"
        self.shell = Shell({"OSTINATO_DATA_DIR": str(folder / ".ostinato")})

    def get(self, path: str) -> Any:  # noqa: ANN401 - the document
        bearer = {"Authorization": f"Bearer {self.key_file.read_text().strip()}"}
        answer = httpx.get(f"{self.ready['url']}{path}", headers=bearer, trust_env=False, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pid_of(self, part: str) -> int:
        for child in psutil.Process(self.up.process.pid).children():
            if part in child.cmdline():
                return int(child.pid)
        raise AssertionError(f"no process of {part}")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """One for all tests here: it takes seconds to make."""
    folder = tmp_path_factory.mktemp("demo")
    with running(folder, {"OSTINATO_LOG_LEVEL": "debug"}, "up", "--json") as up:
        yield Demo(up, folder, up.event("ready"))
        up.signal(signal.SIGINT)
        assert up.ended() == 0
    assert not (folder / ".ostinato" / "demo.json").exists()


def answers(url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/health/ready", trust_env=False, timeout=60).status_code == 200)
    except httpx.HTTPError:
        return False


@pytest.mark.slow
def test_ready_means_that_everything_answers(demo: Demo) -> None:
    health = httpx.get(f"{demo.ready['url']}/health/ready", trust_env=False, timeout=60)
    sandbox = httpx.get(f"{demo.ready['sandbox']}/_sandbox", trust_env=False, timeout=60)

    assert health.json()["status"] == "ok"
    assert sandbox.json() == {"sandbox": [each.name for each in stand_ins(installed_apps())]}
    assert len(demo.ready["workers"]) == 1


@pytest.mark.slow
def test_the_metrics_have_an_address_of_their_own(demo: Demo) -> None:
    page = httpx.get(demo.ready["metrics"], trust_env=False, timeout=60)

    assert page.status_code == 200
    assert "ostinato_workers 1.0" in page.text
    assert httpx.get(f"{demo.ready['url']}/metrics", trust_env=False, timeout=60).status_code == 404


@pytest.mark.slow
def test_the_api_is_no_worker_in_the_database(demo: Demo) -> None:
    """By default, without a setting: what it is connected as sees no tenant."""
    demo.get(f"{API}/jobs")
    sessions = "select distinct usename::text from pg_stat_activity where application_name = 'ostinato/api'"
    with embedded.attach(demo.folder / ".ostinato") as server, psycopg.connect(server.admin_url) as conn:
        found = conn.execute(sessions).fetchall()

    assert found == [("ostinato_api",)]


def test_a_key_is_printed_to_a_terminal_only_whatever_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    cli = Cli(Output())  # the streams of a test are files

    assert cli.out.for_people
    assert not watched(cli)


@pytest.mark.slow
def test_the_key_is_for_this_user_only_and_opens_the_api(demo: Demo) -> None:
    assert stat.S_IMODE(demo.key_file.stat().st_mode) == 0o600
    assert demo.ready["key_file"] == str(demo.key_file)
    assert demo.key_file.read_text().strip() not in json.dumps(demo.ready)
    assert demo.get(f"{API}/workers")["items"]


@pytest.mark.slow
def test_the_key_of_the_demo_is_in_no_file_that_a_person_has_not_asked_for(tmp_path: Path) -> None:
    """What people read on a terminal goes into somebody's log where none is."""
    with running(tmp_path, {}, "up", "--demo", "--only", "api") as up:
        assert up.process.stdout is not None
        said = ""
        while not (line := up.process.stdout.readline()).startswith("ready http"):
            assert line, f"it ended: {said}\n{up.stderr}"
            said += line
        up.signal(signal.SIGINT)
        said += "".join(up.rest())
        assert up.ended() == 0

    key = (tmp_path / ".ostinato" / "demo-key").read_text().strip()
    assert "keys create --tenant demo" in said  # how to get another is said instead
    assert key.startswith("ost_")
    assert key not in said
    assert key not in up.stderr


@pytest.mark.slow
def test_the_embedded_database_has_a_key_for_secrets_that_only_this_user_reads(demo: Demo) -> None:
    file = demo.folder / ".ostinato" / "secret.key"

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(demo.shell.json("secrets", "status")["keys"]) == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_log_line_metric_or_error_tells_of_a_person_or_a_secret(demo: Demo) -> None:
    """Check 15: on the main paths of all applications, at the level debug."""
    key = demo.key_file.read_text().strip()
    bearer = {"Authorization": f"Bearer {key}"}
    with (
        httpx.Client(base_url=demo.ready["url"], headers=bearer, trust_env=False, timeout=60) as api,
        httpx.Client(base_url=demo.ready["sandbox"], trust_env=False, timeout=60) as sandbox,
    ):
        walk = canary.Walk(api, sandbox)
        walk.outbound()
        walk.rounds()
        walk.capture(datetime.now(UTC).isoformat())
        walk.enrichment()
        walk.watchfolder()
        walk.engine()
        metrics = httpx.get(demo.ready["metrics"], trust_env=False, timeout=60).text
        found = {"the log": demo.up.stderr, "metrics": metrics, "errors": "\n".join(walk.errors)}
    secrets = (demo.folder / ".ostinato" / "secret.key").read_text().split()
    password = (demo.folder / ".ostinato" / "superuser.pgpass").read_text().strip().rpartition(":")[2]

    assert len(walk.errors) > 10
    assert "tour.poison" in found["the log"]
    assert "ostinato_" in found["metrics"]
    assert canary.told({"a control": f"{canary.NAME} called"}) != []
    assert canary.told(found, (*canary.PLANTED, key.rpartition("_")[2], *secrets, password)) == []


@pytest.mark.slow
def test_the_sample_data_is_there_in_several_states(demo: Demo) -> None:
    def states() -> set[str]:
        return {job["state"] for job in demo.get(f"{API}/jobs?limit=200")["items"]}

    until(lambda: {"done", "dead", "scheduled", "cancelled"} <= states())
    assert [each["name"] for each in demo.get(f"{API}/schedules")["items"]] == ["demo-morning"]
    types = {event["type"] for event in demo.get(f"{API}/events?limit=200")["items"]}
    assert {"demo.order_placed", "demo.order_paid"} <= types


@pytest.mark.slow
def test_a_scenario_holds_on_it(demo: Demo) -> None:
    told = demo.shell.json("demo", "--scenario", "webhook")

    assert [each["name"] for each in told["scenarios"]] == ["webhook"]
    assert told["holds"]


@pytest.mark.proof
def test_every_scenario_holds_on_it(demo: Demo) -> None:
    told = demo.shell.json("demo")

    assert [each["name"] for each in told["scenarios"]][:2] == ["engine", "webhook"]
    assert told["holds"]
    assert all(each["proved"] for each in told["scenarios"])


@pytest.mark.slow
def test_a_scenario_that_fails_is_said_and_counts(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ost_1_nobody\n")
    args = ("demo", "--scenario", "engine", "--key-file", str(tmp_path / "key"))

    result = demo.shell.run(*args, code=1)

    assert "FAILED" in result.stdout
    assert "401" in result.stdout
    assert "1 scenario failed" in result.stdout


@pytest.mark.proof
def test_where_nothing_runs_the_demo_brings_its_own_system_and_leaves_nothing(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()

    with running(tmp_path, env, "demo", "--scenario", "webhook", "--json") as process:
        told = process.event("scenarios")
        assert process.ended() == 0

    assert told["holds"]
    assert list((tmp_path / "tmp").glob("ostinato-demo-*")) == []
    assert not (tmp_path / ".ostinato").exists()


def test_a_scenario_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    said = Shell({}).fails("demo", "--scenario", "nothing")

    assert "engine, webhook" in said


@pytest.mark.slow
@pytest.mark.parametrize("part", ["api", "sandbox"])
def test_a_part_that_is_killed_is_named_replaced_and_answers_at_the_same_place(demo: Demo, part: str) -> None:
    victim = demo.pid_of(part)
    os.kill(victim, signal.SIGKILL)

    until(lambda: re.search(rf"{part}( \d+)? was killed by SIGKILL; starting another", demo.up.stderr))
    # Nobody is refused: the supervisor listens on, and the next process takes the call.
    url = demo.ready["url"] if part == "api" else demo.ready["sandbox"]
    path = "/health/live" if part == "api" else "/_sandbox"
    assert httpx.get(f"{url}{path}", trust_env=False, timeout=60).status_code == 200
    assert demo.pid_of(part) != victim


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_while_the_api_goes_on(demo: Demo) -> None:
    victim, api = demo.pid_of("worker"), demo.pid_of("api")
    os.kill(victim, signal.SIGKILL)

    until(lambda: "worker was killed by SIGKILL; starting another" in demo.up.stderr)
    assert demo.pid_of("api") == api
    assert answers(demo.ready["url"])


def test_a_stop_under_load_finishes_the_running_requests(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW_APP)
    (tmp_path / "slow_http.py").write_text(SLOW_HTTP)
    with (
        running(tmp_path, shell.env, "up", "--app", "slow:app", "--api-workers", "1") as up,
        ThreadPoolExecutor(20) as callers,
    ):
        url = up.line("ready http://").removeprefix("ready ")
        waiting = [callers.submit(httpx.get, f"{url}/slow", trust_env=False, timeout=300) for _ in range(20)]
        until(lambda: httpx.get(f"{url}/begun", trust_env=False, timeout=60).json() == 20)
        up.signal(signal.SIGINT)
        until(lambda: "stopping" in up.stderr)
        (tmp_path / "go").touch()
        answered = [each.result() for each in waiting]
        assert up.ended() == 0

    assert [each.json() for each in answered] == ["done all the same"] * 20
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/begun", trust_env=False)


@pytest.mark.parametrize("command", ["up", "api"])
def test_a_port_that_is_taken_is_said_with_what_to_do(shell: Shell, tmp_path: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with running(tmp_path, shell.env, command, "--port", port) as process:
            assert process.ended() == 2

    assert f"port {port} of 127.0.0.1 is taken" in process.stderr
    assert "--port 0 takes any free one" in process.stderr
    assert "Starting" not in process.stderr


@pytest.mark.parametrize("command", ["up", "api"])
def test_an_address_that_is_not_of_this_machine_is_said(shell: Shell, tmp_path: Path, command: str) -> None:
    with running(tmp_path, shell.env, command, "--host", "192.0.2.1") as process:
        assert process.ended() == 2

    assert "cannot listen on" in process.stderr


def test_one_api_process_says_where_it_is_and_stops_with_zero(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path, shell.env, "api", "--port", "0") as api:
        url = api.line("ready http://127.0.0.1:").removeprefix("ready ")
        assert answers(url)
        api.signal()
        assert api.rest() == []
        assert api.ended() == 0


def test_the_api_serves_tls_with_a_certificate_of_its_own(shell: Shell, tmp_path: Path) -> None:
    key, cert = certificate(tmp_path)
    with running(tmp_path, shell.env, "api", "--port", "0", "--tls-cert", str(cert), "--tls-key", str(key)) as api:
        url = api.line("ready https://127.0.0.1:").removeprefix("ready ")
        trusted = ssl.create_default_context(cafile=str(cert))
        answer = httpx.get(f"{url}/health/ready", verify=trusted, trust_env=False, timeout=60)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{url.replace('https', 'http', 1)}/health/ready", trust_env=False, timeout=60)
        api.signal()
        assert api.ended() == 0

    assert answer.status_code == 200


@pytest.mark.proof
def test_an_api_that_loses_its_supervisor_stops(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path, shell.env, "up", "--only", "api", "--json") as up:
        ready = up.event("ready")
        up.signal(signal.SIGKILL)
        up.ended()
        until(lambda: not answers(ready["url"]))


def test_only_the_api_runs_no_worker(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path, shell.env, "up", "--only", "api", "--json") as up:
        ready = up.event("ready")
        assert answers(ready["url"])
        assert shell.json("workers")["workers"] == []
        up.signal()
        assert up.ended() == 0

    assert '"level": "error"' not in up.stderr
    assert ready["workers"] == []
    assert ready["sandbox"] is None


def test_at_a_terminal_a_link_on_a_line_of_its_own_opens_the_console_once(shell: Shell) -> None:
    with at_terminal(shell.env | {"COLUMNS": "60"}, "up", "--only", "api", "--port", "0") as terminal:
        lines = terminal.reads_until("ready http://").splitlines()
        (link,) = [line for line in lines if "/console/enter?ticket=" in line]
        page, _, ticket = link.partition("?ticket=")
        first, second = (httpx.post(page, data={"ticket": ticket}, timeout=60, trust_env=False) for _ in range(2))
        terminal.types("\x03")
        assert terminal.process.wait() == 0

    assert link.startswith("http://127.0.0.1:")
    assert "set-cookie" in first.headers, first.text
    assert second.status_code == 401


def test_only_services_run_no_jobs_and_no_api(shell: Shell, tmp_path: Path, place: Place) -> None:
    args = ("up", "--only", "ticker", "--only", "relay")
    with running(tmp_path, shell.env, *args) as up:
        up.line("ready 1 worker, 0 kinds")
        (line,) = shell.json("workers")["workers"]
        job = int(shell("enqueue", "tour.greet", "--quiet"))
        assert shell.json("jobs", "show", str(job))["state"] == "ready"
        up.signal()
        assert up.ended() == 0

    assert line["queues"] == []
    assert "Starting ticker+relay" in up.stderr


@pytest.mark.proof
def test_a_demo_on_a_configured_database_keeps_its_key_and_its_data(shell: Shell, tmp_path: Path, place: Place) -> None:
    env = shell.env | {"OSTINATO_DATA_DIR": str(tmp_path / "data")}
    args = ("up", "--demo", "--only", "api", "--json")
    found = []
    for _ in range(2):
        with running(tmp_path, env, *args) as up:
            path = up.event("ready")["key_file"]
            found.append(Path(path).read_text().strip())
            up.signal()
            assert up.ended() == 0

    assert found[0] == found[1]
    assert found[0].startswith("ost_")
    jobs = place.conn.execute("select count(*) from ostinato_data.job where tenant_id = 'demo'")
    assert jobs.fetchone() == (6,)


def test_a_key_that_works_no_more_is_replaced(shell: Shell, tmp_path: Path, place: Place) -> None:
    env = shell.env | {"OSTINATO_DATA_DIR": str(tmp_path)}
    (tmp_path / "demo-key").write_text("ost_1_what was here before\n")
    (tmp_path / "demo-key").chmod(0o644)
    with running(tmp_path, env, "up", "--demo", "--only", "api", "--json") as up:
        ready = up.event("ready")
        up.signal()
        assert up.ended() == 0

    made = (tmp_path / "demo-key").read_text().strip()
    assert made.startswith("ost_")
    assert made != "ost_1_what was here before"
    assert made not in json.dumps(ready) + up.stderr  # neither is a terminal
    assert stat.S_IMODE((tmp_path / "demo-key").stat().st_mode) == 0o600


def test_an_api_beyond_this_machine_is_warned_of(shell: Shell, tmp_path: Path) -> None:
    args = ("up", "--only", "api", "--host", "0.0.0.0")  # noqa: S104 - that is the point
    with running(tmp_path, shell.env, *args) as up:
        assert up.line("ready http://127.0.0.1:")
        up.signal()
        assert up.ended() == 0

    assert "beyond this machine" in up.stderr


@pytest.mark.proof
def test_callers_wait_while_the_api_is_replaced(shell: Shell, tmp_path: Path) -> None:
    """Requests that come between two processes are answered, not refused."""
    with running(tmp_path, shell.env, "up", "--only", "api", "--api-workers", "1", "--json") as up:
        ready = up.event("ready")
        (child,) = psutil.Process(up.process.pid).children()
        refused: list[Exception] = []
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                try:
                    httpx.get(f"{ready['url']}/health/live", trust_env=False, timeout=300)
                except httpx.ConnectError as error:
                    refused.append(error)
                except httpx.HTTPError:
                    pass  # it was in the hands of the one that was killed

        with ThreadPoolExecutor(2) as callers:
            asking = [callers.submit(ask) for _ in range(2)]
            child.kill()
            until(lambda: "starting another" in up.stderr and answers(ready["url"]))
            stop.set()
            for each in asking:
                each.result()
        up.signal()
        assert up.ended() == 0

    assert refused == []

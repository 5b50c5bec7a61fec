"""`ostinato up` and `ostinato worker`, as real processes with real signals."""

import os
import signal
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from ostinato._core.engine.workers import CONTRACT
from tests.faces.conftest import Place, Shell
from tests.faces.processes import running
from tests.waiting import until

TOUR = "ostinato.lab.tour:app"
WHO = "select current_user"

APP = """
import threading
from ostinato import App

app = App("mine")

@app.job()
async def hello(ctx, name: str) -> str:
    print("printed by a handler")
    return f"Hello, {name}!"

@app.job()
def stuck(ctx) -> None:
    threading.Event().wait()

@app.job()
async def crash(ctx) -> None:
    import os
    os._exit(9)
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """An app in the working directory of the worker."""
    (tmp_path / "mine.py").write_text(APP)
    return "mine:app"


def state(shell: Shell, job: int) -> str:
    return str(shell.json("jobs", "show", str(job))["state"])


def names(shell: Shell) -> set[str]:
    return {worker["name"] for worker in shell.json("workers")["workers"]}


def is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
def test_up_makes_everything_and_the_data_stays(tmp_path: Path) -> None:
    """The first minute of a new user, on a folder with nothing in it."""
    shell = Shell({})

    with running(tmp_path, {}, "up") as up:
        panel: list[str] = []
        while not (panel and panel[-1].startswith("ready")):
            panel.append(up.process.stdout.readline())  # type: ignore[union-attr]
        job = int(shell("enqueue", "tour.greet", "name=Ada", "--quiet"))
        until(lambda: state(shell, job) == "done")
        assert shell.json("doctor")["healthy"]
        up.signal()
        rest = up.rest()
        assert up.ended() == 0

    shown = "".join(panel)
    for text in (str(tmp_path / ".ostinato"), "postgres.log", "db psql", "enqueue tour.greet"):
        assert text in shown
    assert panel[-1].startswith("ready http://127.0.0.1:")
    assert not any(line.startswith("ready") for line in [*panel[:-1], *rest])
    result = shell.run("jobs", "show", str(job), "--json")
    assert '"Hello, Ada!"' in result.stdout
    assert result.stderr.startswith(f"Nothing runs in {tmp_path / '.ostinato'}: starting")
    assert not (tmp_path / ".ostinato" / "postgres" / "postmaster.pid").exists()


@pytest.mark.proof
def test_up_starts_a_database_again_that_was_killed(tmp_path: Path) -> None:
    shell = Shell({})

    with running(tmp_path, {}, "up", "--no-demo") as up:
        up.line("ready")
        pid_file = tmp_path / ".ostinato" / "postgres" / "postmaster.pid"
        os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGKILL)
        until(lambda: "died; starting it again" in up.stderr)
        job = int(shell("enqueue", "tour.greet", "--quiet"))
        until(lambda: state(shell, job) == "done")
        up.signal()
        assert up.ended() == 0


@pytest.mark.slow
def test_a_folder_of_its_own_needs_no_up(tmp_path: Path) -> None:
    """Every command alone starts the database, and leaves nothing running behind it."""
    shell = Shell({})
    folder = ("--data-dir", str(tmp_path / "data"))

    assert "there is no database" in shell.fails("jobs", "list", *folder, code=2)
    assert "applied engine: 0001_engine.sql" in shell("db", "migrate", *folder)
    levels = {each["check"]: each["level"] for each in shell.json("doctor", *folder)["findings"]}
    assert levels["disk"] == "ok"
    with running(tmp_path, {}, "db", "psql", *folder, "--role=owner", "--", "-Atc", WHO) as psql:
        assert psql.line("ostinato_owner")
        assert psql.ended() == 0
    for option, who in (("--role=admin", "ostinato_owner"), ("--superuser", "postgres")):
        with running(tmp_path, {}, "db", "psql", *folder, option, "--", "-Atc", WHO) as psql:
            assert psql.line(who)
            assert psql.ended() == 0
    with running(tmp_path, {}, "worker", "--app", TOUR, *folder, "--json") as worker:
        worker.event("ready")
        assert "Nothing runs" not in shell.run("workers", *folder).stderr
        worker.signal()
        assert worker.ended() == 0
    assert not (tmp_path / "data" / "postgres" / "postmaster.pid").exists()


def test_up_runs_your_app_and_prints_how_to_use_it(shell: Shell, tmp_path: Path, mine: str) -> None:
    with running(tmp_path, shell.env, "up", "--app", mine) as up:
        up.line("╭─ Ostinato")
        assert "enqueue mine.hello name=…" in up.line("│ try")
        up.line("ready http://127.0.0.1:")
        job = int(shell("enqueue", "mine.hello", "name=Ada", "--quiet"))
        until(lambda: state(shell, job) == "done")
        up.signal(signal.SIGINT)
        assert up.ended() == 0


def test_up_in_json_tells_its_life_in_lines(shell: Shell, tmp_path: Path, mine: str) -> None:
    with running(tmp_path, shell.env, "up", "--app", mine, "--workers", "2", "--json") as up:
        ready = up.event("ready")
        job = int(shell("enqueue", "mine.hello", "name=Ada", "--quiet"))
        until(lambda: state(shell, job) == "done")
        up.signal()
        assert up.event("stopped") == {"event": "stopped", "exit_code": 0}
        assert up.ended() == 0

    assert len(ready["workers"]) == 2
    assert ready["workers"][0]["kinds"] == ["mine.hello", "mine.stuck", "mine.crash"]
    assert "printed by a handler" in up.stderr
    assert "sesame" not in str(ready)


def test_a_worker_that_is_killed_is_replaced(shell: Shell, tmp_path: Path, mine: str) -> None:
    with running(tmp_path, shell.env, "up", "--only=worker", "--app", mine, "--workers", "2", "--json") as up:
        victim, other = up.event("ready")["workers"]
        os.kill(victim["pid"], signal.SIGKILL)
        until(lambda: names(shell) - {victim["name"], other["name"]})
        up.signal()
        assert up.ended() == 0

    assert "was killed by SIGKILL; starting another" in up.stderr
    assert not is_running(other["pid"])


def test_a_job_that_kills_its_workers_does_not_end_the_supervisor(
    shell: Shell, tmp_path: Path, mine: str, environ: dict[str, str]
) -> None:
    fast = environ | {"OSTINATO_BEAT_SECONDS": "0.3", "OSTINATO_EXPIRY_SECONDS": "15"}
    with running(tmp_path, fast, "up", "--app", mine) as up:
        up.line("ready")
        shell("enqueue", "mine.crash", "--quiet")
        until(lambda: "ended with exit code 9; starting another" in up.stderr)
        job = int(shell("enqueue", "mine.hello", "name=Ada", "--quiet"))
        until(lambda: state(shell, job) == "done")
        up.signal()
        assert up.ended() == 0


def test_workers_do_not_outlive_a_supervisor_that_is_killed(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path, shell.env, "up", "--workers", "2", "--json") as up:
        pids = [worker["pid"] for worker in up.event("ready")["workers"]]
        up.signal(signal.SIGKILL)
        up.ended()
        until(lambda: not any(is_running(pid) for pid in pids))

    assert names(shell) == set()  # they drained and said goodbye


def test_a_second_signal_ends_everything_at_once(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path, shell.env, "up", "--json") as up:
        [worker] = up.event("ready")["workers"]
        job = int(shell("enqueue", "tour.slow", "seconds=600", "--quiet"))
        until(lambda: state(shell, job) == "running")
        up.signal(signal.SIGINT)
        until(lambda: "stopping" in up.stderr)
        up.signal(signal.SIGINT)
        assert up.ended() == 128 + signal.SIGINT

    assert not is_running(worker["pid"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_drains_on_a_signal(shell: Shell, tmp_path: Path, number: int) -> None:
    with running(tmp_path, shell.env, "worker", "--app", TOUR, "--json") as worker:
        worker.event("ready")
        job = int(shell("enqueue", "tour.count", "to=10", "--quiet"))
        until(lambda: state(shell, job) in {"running", "done"})
        worker.signal(number)
        assert worker.ended() == 0

    assert state(shell, job) == "done"
    assert names(shell) == set()


def test_a_job_that_does_not_end_in_time_is_given_back(shell: Shell, tmp_path: Path) -> None:
    args = ("worker", "--app", TOUR, "--drain-seconds", "0", "--json")
    with running(tmp_path, shell.env, *args) as worker:
        worker.event("ready")
        job = int(shell("enqueue", "tour.slow", "seconds=600", "--quiet"))
        until(lambda: state(shell, job) == "running")
        worker.signal()
        assert worker.ended() == 0

    found = shell.json("jobs", "show", str(job))
    assert (found["state"], found["failures"]) == ("ready", 0)


def test_a_stuck_thread_does_not_keep_the_process(shell: Shell, tmp_path: Path, mine: str) -> None:
    args = ("worker", "--app", mine, "--drain-seconds", "0", "--json")
    with running(tmp_path, shell.env, *args) as worker:
        worker.event("ready")
        job = int(shell("enqueue", "mine.stuck", "--quiet"))
        until(lambda: state(shell, job) == "running")
        worker.signal()
        assert worker.ended() == 0

    assert state(shell, job) == "ready"


def test_a_worker_ends_at_once_on_a_second_signal(shell: Shell, tmp_path: Path) -> None:
    with running(tmp_path, shell.env, "worker", "--app", TOUR, "--json") as worker:
        worker.event("ready")
        job = int(shell("enqueue", "tour.slow", "seconds=600", "--quiet"))
        until(lambda: state(shell, job) == "running")
        worker.signal()
        until(lambda: "worker_draining" in worker.stderr)
        worker.signal()
        assert worker.ended() == 128 + signal.SIGTERM


def test_a_worker_serves_the_queues_it_is_told_under_its_name(shell: Shell, tmp_path: Path) -> None:
    args = ("--queues", "mail,bulk", "--queues", "late", "--name", "postman", "--json")
    with running(tmp_path, shell.env, "worker", "--app", TOUR, *args) as worker:
        ready = worker.event("ready")
        [line] = shell.json("workers")["workers"]
        worker.signal()
        assert worker.ended() == 0

    assert ready["queues"] == ["mail", "bulk", "late"]
    assert line["name"] == "postman"


def test_several_processes_are_one_worker_command(shell: Shell, tmp_path: Path) -> None:
    args = ("--processes", "2", "--concurrency", "3", "--name", "postman", "--json")
    with running(tmp_path, shell.env, "worker", "--app", TOUR, *args) as worker:
        ready = worker.event("ready")
        assert names(shell) == {"postman-1", "postman-2"}
        worker.signal()
        assert worker.ended() == 0

    assert len({each["pid"] for each in ready["workers"]}) == 2


def test_a_worker_waits_for_a_database_and_then_gives_up(tmp_path: Path) -> None:
    env = {"OSTINATO_DATABASE_URL": "postgresql://ada:sesame@127.0.0.1:1/app"}
    for args in (("worker", "--app", TOUR), ("up",)):
        with running(tmp_path, env, *args, "--wait-seconds", "0.3") as worker:
            assert worker.ended() == 69
        assert "error:" in worker.stderr
        assert "sesame" not in worker.stderr


@pytest.mark.parametrize("args", [("worker", "--app", TOUR), ("up",)], ids=["worker", "up"])
def test_a_schema_that_does_not_fit_has_its_own_exit_code(
    shell: Shell, place: Place, tmp_path: Path, args: tuple[str, ...]
) -> None:
    speak = "create or replace function ostinato.contract(out current integer, out oldest integer)"
    place.conn.execute(f"{speak} language sql immutable as 'select 99, 98'".encode())
    try:
        with running(tmp_path, shell.env, *args, "--json") as worker:
            told = worker.event("error")
            assert worker.ended() == 78
    finally:
        place.conn.execute(f"{speak} language sql immutable as 'select {CONTRACT}, {CONTRACT}'".encode())

    assert told["error"]["code"] == "contract_mismatch"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("worker", "--app", "nowhere:app"), "there is no module nowhere"),
        (("worker", "--app", "mine:hello"), "not an App"),
        (("worker", "--app", "mine:app", "--processes", "2", "--app", "x"), "there is no module x"),
        (("up", "--app", "nowhere:app"), "there is no module nowhere"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_an_app_that_is_not_there_ends_the_command(
    shell: Shell, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    with running(tmp_path, shell.env, *args) as worker:
        assert worker.ended() == 2

    assert worker.stderr.count(said) == 1
    assert "→" in worker.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("worker",),
        ("worker", "--app", TOUR, "--processes", "0"),
        ("worker", "--app", TOUR, "--concurrency", "0"),
        ("worker", "--app", TOUR, "--drain-seconds", "-1"),
        ("up", "--workers", "0"),
        ("up", "tour"),
    ],
    ids=" ".join,
)
def test_bad_options_are_refused_before_anything_starts(args: tuple[str, ...]) -> None:
    Shell({}).fails(*args, code=2)
    assert '"code": "usage"' in Shell({}).run("--json", *args, code=2).stdout


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    said = Shell({}).fails("up", "--data-dir", str(tmp_path / "file"))

    assert "is not a folder" in said

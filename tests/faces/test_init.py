"""`ostinato init`, `worker --reload` and the plugin of pytest: what a newcomer develops with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostinato._faces.cli.serve import reload
from tests.faces.conftest import Place, Shell
from tests.faces.processes import Running, running
from tests.waiting import until


def pytest_in(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run pytest there as a user does: our own conftest is not seen."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", *args],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was made by the command."""
    monkeypatch.chdir(tmp_path)
    Shell({})("init", "shop")
    return tmp_path / "shop"


def test_what_comes_next_has_a_line_each_and_installs_what_the_tests_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    noted = Shell({}).run("init", "shop").stderr

    assert [line.strip() for line in noted.splitlines()] == [
        "Next:",
        "cd shop",
        "pip install -e '.[dev]'",
        "pytest",
        "ostinato worker --app jobs:app --reload",
    ]


@pytest.mark.slow
def test_the_tests_of_a_new_project_pass(project: Path) -> None:
    ran = pytest_in(project, "--ostinato-figures")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
    assert "ostinato: 2 engines, median" in ran.stdout


def test_nothing_is_written_over(project: Path) -> None:
    (project / "jobs.py").write_text("mine")

    assert "holds" in Shell({}).fails("init", "shop")
    assert (project / "jobs.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["../shop", "Shop", "", "1shop", "a/b"])
def test_a_name_that_is_no_folder_and_no_app_is_refused(name: str) -> None:
    assert "is no name for a project" in Shell({}).fails("init", name)


def result_of(shell: Shell, job: str) -> object:
    return shell.json("jobs", "show", job)["result"]


@pytest.mark.slow
def test_a_worker_that_reloads_runs_new_code_and_waits_while_it_cannot_be_read(
    shell: Shell, place: Place, project: Path
) -> None:
    """The worker of a new project: a save is taken up, a mistake is shown, and its mending is taken up too."""

    def says(worker: Running, text: str) -> None:
        until(lambda: text in worker.stderr)

    def answered(expected: str) -> None:
        job = str(place.enqueue("shop.greet", '{"name": "Ada"}'))
        until(lambda: result_of(shell, job) is not None)
        assert result_of(shell, job) == expected

    code = project / "jobs.py"
    shell("db", "migrate")  # and the partitions of the weeks to come: a worker that makes them is in the way of a job
    with running(project, shell.env, "worker", "--app", "jobs:app", "--reload", "--json") as worker:
        worker.event("ready")
        answered("Hello, Ada!")

        code.write_text(code.read_text().replace("Hello", "Good morning"))
        worker.event("ready")
        answered("Good morning, Ada!")

        right = code.read_text()
        code.write_text("def broken(:\n")
        says(worker, "jobs.py, line 1: ")
        answered("Good morning, Ada!")

        code.write_text("import nowhere_at_all\n" + right)
        says(worker, "waiting for the next save")
        code.write_text(right.replace("morning", "night"))
        worker.event("ready")
        answered("Good night, Ada!")

        worker.signal()
        assert worker.ended() == 0


def test_only_sources_are_looked_at_and_a_change_is_seen(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "lib.py").write_text("")
    (tmp_path / "data.csv").write_text("")
    (tmp_path / "jobs.py").write_text("x = 1")
    before = reload.look(tmp_path)

    (tmp_path / "jobs.py").write_text("x = 12")
    after = reload.look(tmp_path)

    assert list(before) == [str(tmp_path / "jobs.py")]
    assert reload.changes(before, after) == [str(tmp_path / "jobs.py")]
    assert reload.changes(after, after) == []
    assert reload.mistake([str(tmp_path / "jobs.py")]) is None


PLUGIN_TESTS = """
import pytest
from jobs import app, greet

@pytest.mark.parametrize("n", range(2))
{mark}
async def test_each_has_an_empty_engine(ostinato_engine, n):
    assert await ostinato_engine.enqueued() == []
    await greet.enqueue(ostinato_engine.client, name="Ada")
    with pytest.raises(AssertionError, match="found 0 of 1"):
        await ostinato_engine.assert_enqueued(greet, name="Bob")
    before = await ostinato_engine.clock.now()
    assert (await ostinato_engine.clock.move(3600) - before).total_seconds() >= 3600
    assert (await ostinato_engine.run_until_idle(app)).done == 1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mark", "options"),
    [
        ("@pytest.mark.asyncio", ["-o", "asyncio_mode=strict"]),
        ("@pytest.mark.anyio", ["-p", "no:asyncio", "-o", "addopts="]),
    ],
    ids=["asyncio strict", "anyio"],
)
def test_the_fixtures_work_with_each_way_to_run_asynchronous_tests(
    project: Path, mark: str, options: list[str]
) -> None:
    (project / "test_jobs.py").write_text(PLUGIN_TESTS.format(mark=mark))
    anyio = "" if "asyncio" in mark else "import pytest\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    (project / "conftest.py").write_text(anyio)
    if anyio:
        (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")

    ran = pytest_in(project, *options)

    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_a_run_without_the_fixtures_imports_no_engine(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text(
        "import sys\n\ndef test_none():\n    assert 'ostinato._faces.pytest_plugin' in sys.modules\n"
        "    assert not [name for name in sys.modules if name.startswith(('ostinato._core', 'psycopg'))]\n"
    )

    ran = pytest_in(tmp_path)

    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr

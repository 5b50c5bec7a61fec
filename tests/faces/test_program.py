"""The program as a whole: help, shared options, errors, JSON."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from ostinato._core.engine.workers import CONTRACT
from ostinato._faces.cli import places
from ostinato._faces.cli.frame.command import command, own_version
from ostinato._faces.cli.main import app
from tests.faces.conftest import Place, Shell


def commands(group: object, *path: str) -> Iterator[tuple[str, ...]]:
    assert isinstance(group, TyperGroup)
    ctx = typer.Context(group)
    for name in group.list_commands(ctx):
        child = group.get_command(ctx, name)
        if isinstance(child, TyperGroup):
            yield from commands(child, *path, name)
        elif child is not None and not child.hidden:
            yield (*path, name)


COMMANDS = list(commands(typer.main.get_command(app)))


def test_all_commands_are_there() -> None:
    assert {" ".join(path) for path in COMMANDS} >= {
        "up",
        "worker",
        "enqueue",
        "jobs list",
        "jobs show",
        "jobs retry",
        "jobs cancel",
        "jobs dead",
        "jobs redrive",
        "queues list",
        "queues pause",
        "queues resume",
        "queues limit",
        "workers",
        "why",
        "db migrate",
        "db status",
        "db sql",
        "db psql",
        "doctor",
    }


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_teaches_by_example(path: tuple[str, ...]) -> None:
    said = " ".join(Shell({})(*path, "--help").split())

    assert f"Example: ostinato {' '.join(path)}" in said
    assert "--json" in said


@pytest.mark.parametrize("path", [(), ("jobs",), ("queues",), ("db",)], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(path: tuple[str, ...]) -> None:
    result = Shell({}).run(*path, code=2)

    assert "Usage: ostinato" in result.output


def test_the_help_begins_with_what_a_newcomer_needs() -> None:
    said = Shell({})("--help")
    headings = [*places.PANELS, places.BROUGHT]

    assert sorted(name for names in places.PANELS.values() for name in names) == sorted(
        {**places.SINGLE, **places.GROUPS}
    )
    assert sorted(headings, key=said.index) == headings


def test_the_list_of_all_commands_has_the_first_words_of_each_help() -> None:
    """The list is written without the modules of the commands; what it says of them stands there too."""
    shown = {name: place.about for name, place in places.SINGLE.items()}

    assert shown == {name: " ".join(places.single(name).help.partition("\n\n")[0].split()) for name in shown}


def test_a_misspelt_command_is_corrected() -> None:
    assert "Did you mean 'jobs'?" in Shell({}).fails("job", code=2)
    assert "Did you mean 'list'?" in Shell({}).fails("jobs", "lst", code=2)


@pytest.mark.parametrize("args", [("frob",), ("--frob",), ("jobs", "frob"), ("why",), ("up", "x")])
def test_with_json_even_nonsense_is_answered_in_json(args: tuple[str, ...]) -> None:
    result = Shell({}).run("--json", *args, code=2)

    assert json.loads(result.stdout)["error"]["code"] == "usage"
    assert result.stderr == ""


def test_the_version() -> None:
    assert Shell({})("--version").strip() == own_version()


@pytest.mark.parametrize("args", [("--version", "--json"), ("--json", "--version")])
def test_the_version_in_json_says_what_a_report_of_an_error_needs(args: tuple[str, ...]) -> None:
    said = json.loads(Shell({})(*args))

    assert said == {
        "version": own_version(),
        "contract": CONTRACT,
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "libpq": said["libpq"],
    }
    assert re.fullmatch(r"\d+\.\d+", said["libpq"])


def test_shared_options_stand_before_or_after_the_command(shell: Shell) -> None:
    assert shell("--json", "jobs", "list") == shell("jobs", "list", "--json")
    assert shell("jobs", "--help")


def test_data_stays_on_stdout_and_the_rest_on_stderr(shell: Shell, place: Place) -> None:
    place.enqueue()
    place.enqueue()

    result = shell.run("jobs", "list", "--most", "1", "--json")
    quiet = shell.run("jobs", "list", "--most", "1", "--quiet")

    assert json.loads(result.stdout)
    assert "--before" in result.stderr
    assert quiet.stderr == ""


def test_the_folder_named_on_the_command_line_wins_over_the_environment(shell: Shell, tmp_path: Path) -> None:
    said = shell.fails("jobs", "list", "--data-dir", str(tmp_path / "none"), code=2)

    assert "there is no database in" in said


def test_two_databases_at_once_are_refused(shell: Shell) -> None:
    assert "two different databases" in shell.fails(
        "jobs", "list", "--data-dir", "x", "--database-url", "postgresql:///x"
    )


@pytest.mark.parametrize("url", ["postgresql://ada:sesame@db/app", "postgresql://ada@db/app?password=sesame"])
@pytest.mark.parametrize("command", [("jobs", "list"), ("db", "migrate"), ("db", "sql"), ("api",), ("doctor",)])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    shell: Shell, command: tuple[str, ...], url: str
) -> None:
    said = shell.fails(*command, "--database-url", url)

    assert "OSTINATO_DATABASE_URL" in said
    assert "sesame" not in said


def test_settings_come_from_a_file_too(shell: Shell, place: Place, tmp_path: Path) -> None:
    place.enqueue()
    (tmp_path / "mine.toml").write_text(f'database_url = "{place.urls.worker}"\n')

    answer = Shell({}).json("jobs", "list", "--config", "mine.toml")

    assert len(answer["jobs"]) == 1
    assert "cannot read" in shell.fails("jobs", "list", "--config", "none.toml", code=2)


def test_a_misspelt_setting_is_corrected(shell: Shell) -> None:
    wrong = Shell(shell.env | {"OSTINATO_CONCURENCY": "3"})

    assert "Did you mean OSTINATO_CONCURRENCY?" in wrong.fails("jobs", "list", code=2)
    assert wrong.json("jobs", "list", code=2)["error"]["code"] == "settings_invalid"


def test_an_error_has_no_traceback_unless_asked_for(shell: Shell) -> None:
    plain, debug = shell.run("why", "7", code=1), shell.run("why", "7", "--debug", code=1)

    assert "Traceback" not in plain.output
    assert "Traceback" in debug.stderr


def test_what_should_not_happen_is_told_without_a_traceback(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def explode(_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("ostinato._core.engine.inspect.list_queues", explode)

    said = shell.fails("queues", "list")

    assert "ZeroDivisionError: oh" in said
    assert "--debug" in said


def test_a_command_need_not_take_what_all_commands_are_handed() -> None:
    heard: list[int] = []

    def plain(*, times: int = 1) -> None:
        heard.append(times)

    other = typer.Typer()
    command(other)(plain)
    result = CliRunner().invoke(other, ["--times", "3", "--json"])

    assert (result.exit_code, heard) == (0, [3])


def test_a_reader_that_goes_away_is_no_error(shell: Shell, place: Place) -> None:
    place.enqueue()
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [sys.executable, "-m", "ostinato", "db", "sql"],
        env=os.environ | shell.env,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)

    assert "Traceback" not in ended.stderr

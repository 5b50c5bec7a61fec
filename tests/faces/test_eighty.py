"""What people read fits 80 columns, and no id or word is broken there; and what programs read is JSON."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from ostinato._faces.cli.frame import output
from ostinato._faces.cli.main import app
from tests.faces.conftest import Place, Shell

WIDTH = 80
RULE = re.compile(r"[─╭╮╰╯│\s]+")
NUMBER = re.compile(r"[-+]?[\d.,:]+%?|ms|s|min")


def helps(group: object, *path: str) -> Iterator[tuple[str, ...]]:
    """Every command and group there is, those of applications included."""
    assert isinstance(group, TyperGroup)
    yield path
    ctx = typer.Context(group)
    for name in group.list_commands(ctx):
        child = group.get_command(ctx, name)
        if isinstance(child, TyperGroup):
            yield from helps(child, *path, name)
        elif child is not None and not child.hidden:
            yield (*path, name)


@pytest.mark.slow
def test_the_help_of_every_command_fits_80_columns_and_breaks_no_option() -> None:
    wrong = []
    for path in helps(typer.main.get_command(app)):
        narrow = Shell({}).run(*path, "--help", env={"COLUMNS": str(WIDTH)}).stdout
        wide = Shell({}).run(*path, "--help", env={"COLUMNS": "300"}).stdout
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", wide))
        lost = options - set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", narrow))
        if max(map(len, narrow.splitlines())) > WIDTH or lost:
            wrong.append((path, lost))

    assert wrong == []


LISTS = [
    ("jobs", "list"),
    ("jobs", "dead"),
    ("queues", "list"),
    ("workers",),
    ("schedules", "list"),
    ("events", "list"),
    ("events", "subscriptions"),
    ("events", "buried"),
    ("alerts", "list"),
    ("leases", "list"),
    ("keys", "list"),
    ("webhooks", "list"),
    ("audit",),
    ("trail", "shop-4f1c9e80-8d0a-4a51-9a30-5b0c2a5f7d11"),
    ("metrics",),
    ("doctor",),
    ("db", "status"),
]


def words_of(text: str) -> set[str]:
    """The words that are shown, but for headings, and numbers, which differ from call to call."""
    _, _, rows = text.partition("─\n")
    return {word for word in (rows or text).split() if not RULE.fullmatch(word) and not NUMBER.fullmatch(word)}


def furnish(place: Place) -> None:
    correlation = "shop-4f1c9e80-8d0a-4a51-9a30-5b0c2a5f7d11"
    for n in range(3):
        place.enqueue(
            f"billing.remind_customer_of_an_invoice_{n}",
            tenant_id="acme-cooperative-of-the-north",
            queue="reminders-of-invoices",
            correlation_id=correlation,
        )
    place.worker("worker-on-a-host.with-a-long-name.example.org", kinds=("billing.remind_customer_of_an_invoice_0",))
    place.call(
        "ostinato.emit_event(%s, %s, tenant_id => %s, correlation_id => %s, producer => %s, occurred_at => now())",
        *("shop.order_placed_by_a_customer", '{"n": 1}', "acme-cooperative-of-the-north", correlation, "shop"),
    )


SPARE = {
    "jobs": {"queue", "attempt", "last"},
    "alerts": {"condition", "since"},
    "queues": {"oldest", "workers", "limits"},
}
"""The headings of columns that a list leaves out where there is no room for them."""


def spared(text: str, command: tuple[str, ...]) -> set[str]:
    """The words of columns that may be left out, cut from a table by the places of its headings."""
    head, _, rows = text.partition("\n")
    starts = [*(found.start() for found in re.finditer(r"(?<!\S)\S", head)), len(head)]
    cut = [slice(*ends) for ends in pairwise(starts) if head[slice(*ends)].strip() in SPARE.get(command[0], ())]
    return {word for line in rows.splitlines() for each in cut for word in line[each].split()}


@pytest.mark.parametrize("width", [80, 60])
def test_no_table_breaks_a_word_or_an_id_or_overflows(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    furnish(place)
    wrong = {}
    for command in LISTS:
        monkeypatch.setattr(output, "PIPE_WIDTH", 2000)
        shown = shell.run(*command, code=1 if command == ("doctor",) else 0).stdout
        wide = words_of(shown) - spared(shown, command)
        monkeypatch.setattr(output, "PIPE_WIDTH", width)
        narrow = shell.run(*command, code=1 if command == ("doctor",) else 0).stdout
        broken = {word for word in wide - set(narrow.split()) if len(word) < width - 20}
        too_wide = [line for line in narrow.splitlines() if len(line) > width]
        if broken or too_wide:
            wrong[command] = (broken, too_wide)

    assert wrong == {}


def test_a_job_or_a_queue_is_one_line_at_80_columns(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(place)
    monkeypatch.setattr(output, "PIPE_WIDTH", WIDTH)

    jobs, queues = shell("jobs", "list").splitlines(), shell("queues", "list").splitlines()

    assert [line.split()[0] for line in jobs[:2]] == ["id", "─" * len(jobs[1])]
    assert len(jobs) == 2 + 3
    assert queues[0].split()[:2] == ["queue", "state"]
    assert len(queues) == 2 + 1


def test_a_time_stays_on_its_line_where_the_remark_beside_it_wraps(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", WIDTH)

    rule = ("--at-time", "02:30", "--zone", "Europe/Paris", "--after", "2026-03-28T00:00:00Z", "-n", "3")
    lines = shell("schedules", "next", *rule).splitlines()

    assert [line.split("   ")[0] for line in lines[2:] if line[:1].strip()] == [
        "Sat 2026-03-28 02:30:00",
        "Sun 2026-03-29 02:30:00",
        "Mon 2026-03-30 02:30:00",
    ]


def test_the_programs_own_flags_have_no_type_either() -> None:
    assert "<bool>" not in Shell({})("--help")


def test_every_list_answers_in_json(shell: Shell, place: Place) -> None:
    furnish(place)

    answers = {
        command: shell.json(*command, code=1 if command == ("doctor",) else 0)
        for command in LISTS
        if command != ("metrics",)
    }

    assert all(isinstance(answer, dict | list) for answer in answers.values())
    assert isinstance(json.loads(shell("metrics", "--json")), dict | list)


RUNS_ON = {
    ("up",),
    ("api",),
    ("mcp",),
    ("sandbox",),
    ("demo",),
    ("torture",),
    ("prep",),
    ("ocr",),
    ("backup", "stream"),
}
"""Commands that run until they are stopped; their own tests read the lines that they say with --json."""


def free_of_arguments(group: object, *path: str) -> Iterator[tuple[str, ...]]:
    """The commands that can be typed as they are, and end by themselves."""
    assert isinstance(group, TyperGroup)
    ctx = typer.Context(group)
    for name in group.list_commands(ctx):
        child = group.get_command(ctx, name)
        if isinstance(child, TyperGroup):
            yield from free_of_arguments(child, *path, name)
        elif child is not None and not child.hidden and not any(each.required for each in child.params):
            yield (*path, name)


@pytest.mark.slow
def test_every_command_answers_in_json_also_when_it_refuses(
    shell: Shell, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One document on stdout, whatever becomes of it; `db psql` is the program psql."""
    furnish(place)
    monkeypatch.chdir(tmp_path)
    commands = set(free_of_arguments(typer.main.get_command(app))) - RUNS_ON - {("db", "psql")}

    wrong = {}
    for command in sorted(commands):
        said = CliRunner().invoke(app, [*command, "--json"], env=shell.env | {"OSTINATO_DATA_DIR": str(tmp_path)})
        try:
            json.loads(said.stdout)
        except ValueError:
            wrong[command] = said.stdout[:200]

    assert len(commands) > 40
    assert wrong == {}


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "show", "7"),
        ("why", "7"),
        ("enqueue", "a.b", "x"),
        ("queues", "limit", "mail"),
        ("schedules", "show", "none"),
        ("jobs", "list", "--data-dir", "none"),
        ("jobs", "list", "--state", "lost"),
        ("jobs", "list", "--queue"),
        ("--data-dir",),
        ("doctor", "--plan", "--rate", "many"),
        ("worker", "--app", "nowhere:app"),
        ("frob",),
    ],
)
def test_an_error_fits_80_columns_and_names_the_next_step(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", WIDTH)

    ran = CliRunner().invoke(app, list(words), env={**shell.env, "COLUMNS": str(WIDTH)})

    assert ran.exit_code != 0
    assert "→ " in ran.stderr or "Try '" in ran.stderr
    assert "Value error" not in ran.stderr
    assert "unable to parse" not in ran.stderr
    assert [line for line in ran.stderr.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize(
    ("shell_name", "given"),
    [
        ("bash", {"COMP_WORDS": "ostinato jobs re", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "ostinato jobs re"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "ostinato jobs re", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_a_shell_completes_commands(shell_name: str, given: dict[str, str]) -> None:
    env = os.environ | given | {"_OSTINATO_COMPLETE": f"complete_{shell_name}"}

    ran = subprocess.run([sys.executable, "-m", "ostinato"], env=env, capture_output=True, text=True, check=False)

    assert {"retry", "restart", "redrive"} <= set(re.findall(r"[a-z]+", ran.stdout))
    assert "list" not in ran.stdout.split()

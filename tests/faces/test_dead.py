"""`ostinato jobs dead | redrive`."""

import signal

import pytest

from tests.faces.conftest import Place, Shell
from tests.faces.processes import at_terminal


def state(shell: Shell, job: int) -> str:
    return str(shell.json("jobs", "show", str(job))["state"])


def test_dead_letters_are_grouped_by_what_killed_them(shell: Shell, place: Place) -> None:
    place.bury(message="no such mailbox")
    last = place.bury(message="no such mailbox")
    place.bury(kind="bill.print", message="no paper")

    result = shell.run("jobs", "dead")
    first, second = shell.json("jobs", "dead")["groups"]

    assert [line.split()[:2] for line in result.stdout.splitlines()[2:]] == [["2", "mail.send"], ["1", "bill.print"]]
    assert "ostinato jobs redrive --signature 'no such mailbox'" in result.stderr
    assert (first["count"], first["example_job_id"]) == (2, last)
    assert second["signature"] == "no paper"


def test_dead_letters_one_by_one(shell: Shell, place: Place) -> None:
    first, second = place.bury(), place.bury()

    lines = shell("jobs", "dead", "--each").splitlines()

    assert [line.split()[0] for line in lines[2:]] == [str(second), str(first)]


@pytest.mark.parametrize(
    ("option", "value"), [("--queue", "mail"), ("--kind", "b.c"), ("--tenant", "acme"), ("--signature", "burnt")]
)
def test_a_filter_lists_the_dead_letters_that_match(shell: Shell, place: Place, option: str, value: str) -> None:
    place.bury()
    wanted = place.bury(kind="b.c", message="burnt", queue="mail", tenant_id="acme")

    found = shell.json("jobs", "dead", option, value)["dead_letters"]

    assert [letter["job_id"] for letter in found] == [wanted]


def test_a_list_of_dead_letters_goes_on_with_the_next_page(shell: Shell, place: Place) -> None:
    ids = [place.bury() for _ in range(3)]

    page = shell.json("jobs", "dead", "--each", "--most", "2")
    rest = shell.json("jobs", "dead", "--before", str(page["next"]))

    assert page["next"] == ids[1]
    assert [letter["job_id"] for letter in rest["dead_letters"]] == [ids[0]]


def test_no_dead_letters_are_no_error(shell: Shell) -> None:
    assert shell("jobs", "dead") == "No dead letters.\n"
    assert shell("jobs", "dead", "--each") == "No dead letters.\n"
    assert shell("jobs", "redrive", "--all", "--yes") == "No dead letter matches.\n"


def test_redrive_wants_to_know_which(shell: Shell) -> None:
    assert "--all" in shell.fails("jobs", "redrive")
    assert shell.json("jobs", "redrive", code=1)["error"]["code"] == "invalid_input"


def test_a_preview_counts_and_touches_nothing(shell: Shell, place: Place) -> None:
    job = place.bury()
    place.bury()

    said = shell("jobs", "redrive", "--all", "--preview")
    canary = shell("jobs", "redrive", "--all", "--most", "1", "--preview")

    assert said == "2 dead letters would run again.\n"
    assert canary == "1 dead letter of 2 that match would run again.\n"
    assert state(shell, job) == "dead"


def test_redrive_runs_the_matching_ones_again(shell: Shell, place: Place) -> None:
    wanted, other = place.bury(kind="bill.print"), place.bury()

    said = shell("jobs", "redrive", "--kind", "bill.print", "--yes")

    assert said == "1 job runs again.\n"
    assert (state(shell, wanted), state(shell, other)) == ("ready", "dead")


def test_a_canary_takes_the_oldest(shell: Shell, place: Place) -> None:
    first, second = place.bury(), place.bury()

    answer = shell.json("jobs", "redrive", "--all", "--most", "1", "--yes")

    assert answer == {"matching": 2, "chosen": 1, "redriven": 1, "conflicts": 0}
    assert (state(shell, first), state(shell, second)) == ("ready", "dead")


def test_redrive_takes_ids(shell: Shell, place: Place) -> None:
    wanted, other = place.bury(), place.bury()

    shell("jobs", "redrive", str(wanted), "--yes")

    assert (state(shell, wanted), state(shell, other)) == ("ready", "dead")


def test_a_dead_letter_whose_key_is_taken_stays(shell: Shell, place: Place) -> None:
    place.bury(unique_key="letter-7")
    place.enqueue(unique_key="letter-7")

    said = shell("jobs", "redrive", "--all", "--yes")

    assert said.splitlines()[0] == "0 jobs run again."
    assert "another job holds the unique key" in said


def test_many_are_redriven_in_chunks(shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato._faces.cli.operate.dead.CHUNK", 2)
    for _ in range(5):
        place.bury()

    assert shell.json("jobs", "redrive", "--all", "--yes")["redriven"] == 5


def test_where_nobody_can_answer_redrive_asks_for_yes(shell: Shell, place: Place) -> None:
    job = place.bury()

    assert "--yes" in shell.fails("jobs", "redrive", "--all")
    assert shell.json("jobs", "redrive", "--all", code=1)["error"]["code"] == "invalid_input"
    assert state(shell, job) == "dead"


@pytest.mark.parametrize(
    ("answer", "then", "code"),
    [("y\n", "ready", 0), ("n\n", "dead", 0), ("\n", "dead", 0), ("\x03", "dead", 130)],
    ids=["yes", "no", "enter", "Ctrl-C"],
)
def test_at_a_terminal_redrive_asks_first(shell: Shell, place: Place, answer: str, then: str, code: int) -> None:
    job = place.bury()

    with at_terminal(shell.env, "jobs", "redrive", "--all") as terminal:
        asked = terminal.reads_until("[y/N]")
        terminal.types(answer)
        assert terminal.process.wait() == code

    assert "Run 1 dead letter again?" in asked
    assert state(shell, job) == then


def test_a_question_can_be_ended_by_a_signal(shell: Shell, place: Place) -> None:
    job = place.bury()

    with at_terminal(shell.env, "jobs", "redrive", "--all") as terminal:
        terminal.reads_until("[y/N]")
        terminal.process.terminate()
        assert terminal.process.wait() == 128 + signal.SIGTERM

    assert state(shell, job) == "dead"


@pytest.mark.parametrize(
    "args",
    [
        ("redrive", "x"),
        ("redrive", "--most", "0"),
        ("redrive", "--every"),
        ("dead", "--most", "0"),
        ("dead", "--before", "x"),
    ],
    ids=" ".join,
)
def test_bad_input_is_refused(shell: Shell, args: tuple[str, ...]) -> None:
    shell.fails("jobs", *args, code=2)
    assert '"code": "usage"' in shell.run("--json", "jobs", *args, code=2).stdout


def test_a_group_is_redriven_by_what_the_list_shows(shell: Shell, place: Place) -> None:
    place.bury(message="no mailbox <n>")

    listed = shell("jobs", "dead")

    assert "no mailbox <n>" in listed
    assert "ValueError" not in listed  # the words of one of them, which find no other
    assert shell("jobs", "redrive", "--signature", "no mailbox <n>", "-y") == "1 job runs again.\n"

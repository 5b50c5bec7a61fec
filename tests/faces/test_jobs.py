"""`ostinato jobs list | show | retry | cancel`."""

import json

import pytest

from tests.faces.conftest import Place, Shell


def test_the_list_shows_jobs_newest_first(shell: Shell, place: Place) -> None:
    first = place.enqueue("mail.send")
    second = place.enqueue("mail.bounce", queue="mail")

    lines = shell("jobs", "list").splitlines()

    assert [line.split()[0] for line in lines[2:]] == [str(second), str(first)]
    assert lines[2].split()[1:4] == ["mail.bounce", "ready", "mail"]


@pytest.mark.parametrize("given", ["abc", "1e3", "9" * 20])
def test_what_is_no_id_of_a_job_is_refused_with_an_example(shell: Shell, given: str) -> None:
    refused = " ".join(shell.fails("why", given, code=2).replace("│", " ").split())

    assert f"'{given}' is not the id of a job, such as 3200000000002: ostinato jobs list" in refused


def test_an_empty_list_says_so(shell: Shell) -> None:
    assert shell("jobs", "list") == "No jobs.\n"
    assert shell.json("jobs", "list") == {"jobs": [], "next": None}


@pytest.mark.parametrize(
    ("option", "value"), [("--state", "scheduled"), ("--queue", "mail"), ("--kind", "mail.late"), ("--tenant", "acme")]
)
def test_the_list_is_filtered(shell: Shell, place: Place, option: str, value: str) -> None:
    place.enqueue("mail.send")
    wanted = place.enqueue("mail.late", queue="mail", tenant_id="acme", run_at="2100-01-01T00:00:00Z")

    assert [job["id"] for job in shell.json("jobs", "list", option, value)["jobs"]] == [wanted]


def test_jobs_of_one_request_are_found_by_its_correlation_id(shell: Shell, place: Place) -> None:
    place.enqueue()
    wanted = place.enqueue(correlation_id="request-7")

    found = shell.json("jobs", "list", "--correlation", "request-7")["jobs"]

    assert [job["id"] for job in found] == [wanted]


def test_a_list_goes_on_with_the_next_page(shell: Shell, place: Place) -> None:
    ids = [place.enqueue() for _ in range(3)]

    page = shell.run("jobs", "list", "--most", "2")
    answer = shell.json("jobs", "list", "--most", "2")
    rest = shell.json("jobs", "list", "--most", "2", "--before", str(answer["next"]))

    assert f"--before {ids[1]}" in page.stderr
    assert [job["id"] for job in answer["jobs"] + rest["jobs"]] == ids[::-1]
    assert rest["next"] is None


def test_verbose_adds_tenant_priority_and_correlation(shell: Shell, place: Place) -> None:
    place.enqueue(tenant_id="acme", correlation_id="request-7", priority=-3)

    shown = shell("jobs", "list", "--verbose")

    assert all(word in shown for word in ("acme", "request-7", "-3"))


def test_names_with_brackets_are_shown_as_they_are(shell: Shell, place: Place) -> None:
    place.enqueue("odd[red]kind", queue="q[/]")

    assert "odd[red]kind" in shell("jobs", "list")
    assert "q[/]" in shell("queues", "list")


def test_stored_text_cannot_steer_the_terminal(shell: Shell, place: Place) -> None:
    job = place.bury(kind="evil\x1b[2Jkind", message="red \x1b[31m\x07 and\x9b renamed")

    for args in (("list",), ("show", str(job)), ("dead",), ("dead", "--each")):
        assert not {"\x1b", "\x07", "\x9b"} & set(shell("jobs", *args))
    assert "\x1b" not in shell("why", str(job))
    assert shell.json("jobs", "show", str(job))["kind"] == "evil\x1b[2Jkind"


def test_show_tells_everything_about_a_dead_job(shell: Shell, place: Place) -> None:
    job = place.bury(args='{"to": "ada"}', unique_key="letter-7", limit_key="ada")

    shown = shell("jobs", "show", str(job))

    for text in (
        str(job),
        "mail.send",
        "dead (permanent_error)",
        '{"to": "ada"}',
        "letter-7",
        "ValueError: no such mailbox",
        "Trace: here",
    ):
        assert text in shown


def test_show_tells_about_a_running_job(shell: Shell, place: Place) -> None:
    job = place.enqueue()
    [(claim, _, attempt)] = place.claim(place.worker("busy-bee"))
    place.conn.execute(
        "select ostinato.note_progress(%s, %s, %s, %s, %s, %s)",
        [[claim], [job], [attempt], [3], [4], ["three of four"]],
    )
    place.call("ostinato.cancel_job(%s, 'too late')", job)

    shown = shell("jobs", "show", str(job))

    for text in ("running", "busy-bee", "3 of 4 (75 %), three of four", "too late"):
        assert text in shown


def test_numbers_come_out_digit_by_digit(shell: Shell, place: Place) -> None:
    number = "12345678901234567890.1234567890123456789"
    job = place.enqueue(args=f'{{"n": {number}, "big": {2**80}, "e": 1e400}}')

    raw = shell("jobs", "show", str(job), "--json")

    assert f'"args": {{"n": {number}, "big": {2**80}, "e": 1e400}}' in raw


def test_show_as_json_has_every_attempt(shell: Shell, place: Place) -> None:
    job = place.bury()

    answer = shell.json("jobs", "show", str(job))

    assert answer["id"] == job
    assert answer["state"] == "dead"
    assert [run["outcome"] for run in answer["attempts"]] == ["dead"]
    assert answer["attempts"][0]["error"]["message"] == "no such mailbox"


def test_a_job_that_is_not_there_is_an_error(shell: Shell) -> None:
    assert "there is no job 7" in shell.fails("jobs", "show", "7")
    assert shell.json("jobs", "show", "7", code=1)["error"]["code"] == "not_found"


def test_retry_runs_a_waiting_job_now(shell: Shell, place: Place) -> None:
    job = place.enqueue(run_at="2100-01-01T00:00:00Z")

    assert shell("jobs", "retry", str(job)) == f"job {job} runs again; it was scheduled\n"
    assert shell.json("jobs", "show", str(job))["state"] == "ready"


def test_one_job_that_cannot_be_retried_does_not_stop_the_others(shell: Shell, place: Place) -> None:
    ready, dead = place.enqueue(queue="mail"), place.bury()

    result = shell.run("jobs", "retry", str(ready), "7", str(dead), code=1)

    assert result.stdout == f"job {dead} runs again; it was dead\n"
    assert "only scheduled, dead and cancelled jobs can be retried" in result.stderr
    assert "there is no job 7" in result.stderr


def test_retry_as_json_answers_for_each_job(shell: Shell, place: Place) -> None:
    dead = place.bury()

    first, second = shell.json("jobs", "retry", str(dead), "7", code=1)["jobs"]

    assert first == {"id": dead, "was": "dead"}
    assert second["error"]["code"] == "not_found"


def test_cancel_ends_waiting_jobs_and_keeps_the_reason(shell: Shell, place: Place) -> None:
    one, two = place.enqueue(), place.enqueue()

    said = shell("jobs", "cancel", str(one), str(two), "--reason", "order withdrawn")

    assert said == f"job {one} is cancelled; it was ready\njob {two} is cancelled; it was ready\n"
    assert shell.json("jobs", "show", str(one))["reason"] == "order withdrawn"


def test_cancelling_a_running_job_asks_it_to_stop(shell: Shell, place: Place) -> None:
    job = place.enqueue()
    place.claim(place.worker())

    assert shell.json("jobs", "cancel", str(job)) == {"jobs": [{"id": job, "was": "running"}]}
    assert shell("jobs", "cancel", str(job)) == f"job {job} is asked to stop; it is running\n"
    assert shell.json("jobs", "show", str(job))["cancel_requested_at"]


def test_cancelling_what_is_over_says_that_nothing_changed(shell: Shell, place: Place) -> None:
    over, again = place.enqueue(), place.enqueue()
    shell("jobs", "cancel", str(again))
    ((_, job, attempt),) = place.claim(place.worker())
    place.call("ostinato.complete_job(%s, %s)", job, attempt)

    said = shell("jobs", "cancel", str(over), str(again))

    assert said == (f"job {over} stays as it is: it is done\njob {again} stays as it is: it was cancelled before\n")


@pytest.mark.parametrize(
    "args",
    [
        ("list", "--state", "lost"),
        ("list", "--most", "0"),
        ("list", "--most", "1001"),
        ("list", "--before", "x"),
        ("show",),
        ("show", "x"),
        ("show", "--", "-1"),
        ("retry",),
        ("retry", "x"),
        ("cancel",),
        ("cancel", "1.5"),
        ("frobnicate",),
    ],
    ids=" ".join,
)
def test_bad_input_is_refused_before_anything_is_done(shell: Shell, args: tuple[str, ...]) -> None:
    answer = shell.run("--json", "jobs", *args, code=2)

    assert json.loads(answer.stdout)["error"]["code"] == "usage"
    shell.fails("jobs", *args, code=2)

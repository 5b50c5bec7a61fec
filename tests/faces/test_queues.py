"""`ostinato queues list | pause | resume | limit`."""

from typing import Any

import pytest

from tests.faces.conftest import Place, Shell


def queue(shell: Shell, name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = shell.json("queues", "list")["queues"]
    return next(each for each in found if each["name"] == name)


def test_the_list_counts_what_is_in_each_queue(shell: Shell, place: Place) -> None:
    place.bury(queue="mail")
    place.enqueue(queue="mail")
    place.enqueue(queue="mail", run_at="2100-01-01T00:00:00Z")

    lines = shell("queues", "list").splitlines()

    assert lines[0].split()[:6] == ["queue", "state", "ready", "scheduled", "running", "dead"]
    assert lines[2].split()[:6] == ["mail", "open", "1", "1", "0", "1"]
    assert queue(shell, "mail")["dead"] == 1


def test_without_queues_the_list_says_so(shell: Shell) -> None:
    assert shell("queues", "list") == "No queues yet.\n"
    assert shell.json("queues", "list") == {"queues": []}


def test_a_paused_queue_gives_nothing_until_it_is_resumed(shell: Shell, place: Place) -> None:
    place.enqueue(queue="mail")
    worker = place.worker()

    assert shell("queues", "pause", "mail") == "queue mail is paused\n"
    assert place.claim(worker, "mail") == []
    assert "paused" in shell("queues", "list")

    assert shell("queues", "resume", "mail") == "queue mail is open\n"
    assert len(place.claim(worker, "mail")) == 1


def test_pause_and_resume_answer_in_json(shell: Shell, place: Place) -> None:
    place.enqueue(queue="mail")
    assert shell.json("queues", "pause", "mail") == {"queue": "mail", "paused": True}
    assert shell.json("queues", "resume", "mail") == {"queue": "mail", "paused": False}


def test_limits_are_set_changed_one_by_one_and_taken_away(shell: Shell) -> None:
    assert shell("queues", "limit", "mail", "--concurrency", "5") == "queue mail: 5 at once\n"

    said = shell("queues", "limit", "mail", "--rate", "100/m", "--key-rate", "1/90s")
    assert said == "queue mail: 5 at once, 100 in 1 min 0 s, 1 in 1 min 30 s per key\n"

    shell("queues", "limit", "mail", "--rate", "none", "--key-rate", "none")
    assert queue(shell, "mail")["rate_count"] is None
    assert queue(shell, "mail")["concurrency"] == 5

    assert shell("queues", "limit", "mail", "--concurrency", "none") == "queue mail: no limit\n"


def test_a_limit_holds(shell: Shell, place: Place) -> None:
    place.enqueue(queue="mail")
    place.enqueue(queue="mail")

    answer = shell.json("queues", "limit", "mail", "--concurrency", "1")

    assert answer["concurrency"] == 1
    assert len(place.claim(place.worker(), "mail")) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no limit is given"),
        (("--concurrency", "0"), "'0' is no limit"),
        (("--concurrency", "many"), "'many' is no limit"),
        (("--concurrency", str(2**31)), "is no limit"),
        (("--key-concurrency", "-1"), "'-1' is no limit"),
        (("--rate", "5"), "--rate: '5' is no rate"),
        (("--rate", "0/s"), "is no rate"),
        (("--rate", "5/0"), "is no rate"),
        (("--key-rate", "x/s"), "--key-rate: 'x/s' is no rate"),
    ],
)
def test_limits_that_make_no_sense_are_refused(shell: Shell, options: tuple[str, ...], said: str) -> None:
    assert said in shell.fails("queues", "limit", "mail", *options)
    assert shell.json("queues", "limit", "mail", *options, code=1)["error"]["hint"]
    assert shell.json("queues", "list") == {"queues": []}


@pytest.mark.parametrize("verb", ["pause", "resume", "limit"])
def test_a_queue_must_be_named(shell: Shell, verb: str) -> None:
    shell.fails("queues", verb, code=2)


def test_a_name_that_no_queue_can_have_is_refused(shell: Shell) -> None:
    assert "queue must be 1 to 200 characters" in shell.fails("queues", "pause", "")


def test_pausing_a_queue_that_nobody_knows_is_done_with_a_warning(shell: Shell, place: Place) -> None:
    place.enqueue(queue="mail")

    wrong, right = shell.run("queues", "pause", "mial"), shell.run("queues", "pause", "mail")

    assert "nobody knows a queue mial" in wrong.stderr
    assert "did you mean mail?" in wrong.stderr
    assert right.stderr == ""
    assert "did you mean mail?" in shell.json("queues", "pause", "maill")["warning"]

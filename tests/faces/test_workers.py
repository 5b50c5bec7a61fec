"""`ostinato workers` and `ostinato why`."""

import pytest

from tests.faces.conftest import Place, Shell


def test_workers_are_listed_with_what_they_hold(shell: Shell, place: Place) -> None:
    place.enqueue()
    place.claim(place.worker("busy-bee"))

    line = shell("workers").splitlines()[2].split()
    [worker] = shell.json("workers")["workers"]

    assert line[:3] == ["busy-bee", "alive", "1"]
    assert (worker["name"], worker["held"], worker["expired"]) == ("busy-bee", 1, False)


def test_a_worker_of_many_kinds_lists_a_few(shell: Shell, place: Place) -> None:
    place.worker(kinds=tuple(f"kind.{n}" for n in range(9)))

    assert "kind.4, and 4 more" in shell("workers")
    assert "kind.8" in shell("workers", "--verbose")


def test_silent_and_draining_workers_are_told_from_living_ones(shell: Shell, place: Place) -> None:
    place.worker("alive")
    place.call("ostinato.heartbeat_worker(%s, true)", place.worker("leaving"))
    place.worker("dead")
    place.conn.execute("update ostinato_data.worker set beat_at = beat_at - interval '1 hour' where name = 'dead'")

    lines = shell("workers").splitlines()[2:]

    assert {line.split()[0]: line.split()[1] for line in lines} == {
        "alive": "alive",
        "leaving": "draining",
        "dead": "silent",
    }


def test_without_workers_it_says_how_to_start_one(shell: Shell) -> None:
    assert "ostinato worker --app" in shell("workers")
    assert shell.json("workers") == {"workers": []}


@pytest.mark.parametrize("extra", ["x", "--frob"])
def test_workers_takes_no_argument(shell: Shell, extra: str) -> None:
    shell.fails("workers", extra, code=2)


def test_why_names_what_is_in_the_way_and_what_to_do(shell: Shell, place: Place) -> None:
    job = place.enqueue(queue="mail")
    place.worker()
    shell("queues", "pause", "mail")

    said = shell("why", str(job))
    answer = shell.json("why", str(job))

    assert said.splitlines()[0] == f"job {job}  mail.send  ready"
    assert "→ Let it go on with: ostinato queues resume mail" in said
    assert answer["job_id"] == job
    assert answer["reasons"][0]["code"] == "queue_paused"
    assert answer["reasons"][0]["detail"] == {"queue": "mail"}


def test_why_about_a_dead_job_quotes_the_error(shell: Shell, place: Place) -> None:
    job = place.bury(message="no such mailbox")

    assert "ValueError: no such mailbox" in shell("why", str(job))
    assert shell.json("why", str(job))["state"] == "dead"


def test_why_about_no_job_is_an_error(shell: Shell) -> None:
    assert "there is no job 7" in shell.fails("why", "7")
    assert shell.json("why", "7", code=1)["error"]["code"] == "not_found"
    shell.fails("why", "seven", code=2)
    shell.fails("why", code=2)

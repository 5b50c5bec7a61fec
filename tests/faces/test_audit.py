"""`ostinato audit`, and who commands say that acts."""

import os
import pwd
import socket

from tests.faces.conftest import Place, Shell

ME = f"{pwd.getpwuid(os.getuid()).pw_name}@{socket.gethostname()}"


def test_a_command_is_recorded_with_the_user_of_the_machine_and_a_reason(shell: Shell, place: Place) -> None:
    job = place.enqueue()

    shell("jobs", "cancel", str(job), "--reason", "the order was withdrawn")
    shell("queues", "pause", "mail", "--reason", "the mail server is away")

    pause, cancel = shell.json("audit")["entries"]
    assert (cancel["actor"], cancel["actor_type"], cancel["reason"]) == (ME, "operator", "the order was withdrawn")
    assert (cancel["verb"], cancel["target"], cancel["login"]) == ("cancel", str(job), "ostinato_worker")
    assert (pause["verb"], pause["target"], pause["reason"]) == ("pause", "mail", "the mail server is away")


def test_as_names_somebody_else(shell: Shell, place: Place) -> None:
    shell("--as", "pager-bot", "queues", "pause", "mail")
    shell("queues", "resume", "mail", "--as", "ann")

    assert [entry["actor"] for entry in shell.json("audit")["entries"]] == ["ann", "pager-bot"]


def test_a_job_that_is_added_by_hand_is_recorded(shell: Shell, place: Place) -> None:
    added = shell.json("enqueue", "mail.send")

    (entry,) = shell.json("audit", "--verb", "enqueue")["entries"]
    assert (entry["target"], entry["detail"]) == (str(added["id"]), {"kind": "mail.send"})


def test_a_redrive_is_recorded_with_its_filter(shell: Shell, place: Place) -> None:
    jobs = [place.bury(kind="mail.send") for _ in range(2)]

    shell("jobs", "redrive", "--kind", "mail.send", "--yes")

    (entry,) = shell.json("audit", "--target", str(jobs[0]))["entries"]
    assert (entry["verb"], entry["count"], entry["job_ids"]) == ("redrive", 2, jobs)
    assert entry["filter"]["kind"] == "mail.send"


def test_the_list_is_filtered(shell: Shell, place: Place) -> None:
    job = place.enqueue()
    shell("jobs", "cancel", str(job), "--reason", "a typo in the address of the customer, who called twice")
    shell("queues", "pause", "mail", "--as", "ann")

    shown = shell("audit", "--actor", "ann", "--since", "1h", "--limit", "5")

    assert "pause queue" in shown
    assert "cancel" not in shown
    assert "Nothing was done." in shell("audit", "--since", "2999-01-01T00:00:00Z")
    assert "is no time" in shell.fails("audit", "--since", "yesterday")


def test_a_page_says_how_to_ask_for_the_next(shell: Shell, place: Place) -> None:
    for name in ("a", "b", "c"):
        shell("queues", "pause", name)

    first = shell.json("audit", "--limit", "2")
    last = shell.json("audit", "--limit", "2", "--before", str(first["next"]))

    assert [entry["target"] for entry in first["entries"]] == ["c", "b"]
    assert [entry["target"] for entry in last["entries"]] == ["a"]
    assert last["next"] is None


def test_a_job_and_its_trail_show_who_acted_on_it(shell: Shell, place: Place) -> None:
    job = place.enqueue(correlation_id="req-1")
    shell("jobs", "cancel", str(job), "--as", "ann")

    assert "ann" in shell("jobs", "show", str(job))
    assert "cancel job" in shell("trail", "req-1")

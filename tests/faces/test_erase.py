"""`ostinato erase`."""

from tests.faces.conftest import Place, Shell

PERSON = "+33639980001"


def test_a_person_is_erased_with_a_certificate(shell: Shell, place: Place) -> None:
    job = place.enqueue(args=f'{{"phone": "{PERSON}"}}', subject=PERSON, tenant_id="acme")

    shown = shell("erase", PERSON, "--tenant", "acme", "--yes", "--reason", "request 4711", "--as", "ann")

    assert "Erased for tenant acme, by ann" in shown
    assert PERSON not in shown
    assert shell.json("jobs", "show", str(job))["args"] == {}
    (entry,) = shell.json("audit", "--verb", "erase")["entries"]
    assert (entry["actor"], entry["reason"], entry["detail"]["erased"]["job"]) == ("ann", "request 4711", 1)


def test_a_preview_counts_and_the_certificate_is_a_document(shell: Shell, place: Place) -> None:
    place.enqueue(subject=PERSON)

    counted = shell.json("erase", PERSON, "--preview")
    erased = shell.json("erase", PERSON, "--yes")

    assert (counted["preview"], counted["erased"]["job"]) == (True, 1)
    assert (erased["complete"], erased["erased"]["job"], erased["cancelled"]) == (True, 1, 1)


def test_it_asks_first(shell: Shell, place: Place) -> None:
    place.enqueue(subject=PERSON)

    assert "Erase 1 job and 0 events?" in shell.fails("erase", PERSON)


def test_a_job_that_runs_on_is_said(shell: Shell, place: Place) -> None:
    place.enqueue(subject=PERSON)
    place.claim(place.worker())

    result = shell.run("erase", PERSON, "--yes", "--wait", "0", code=1)

    assert "still running" in result.stdout
    assert "run it again" in result.stderr


def test_a_job_added_by_hand_has_a_subject(shell: Shell, place: Place) -> None:
    shell("enqueue", "mail.send", "--subject", PERSON)

    assert shell.json("erase", PERSON, "--preview")["erased"]["job"] == 1

"""`ostinato trail`."""

from tests.faces.conftest import Place, Shell


def test_a_trail_is_shown_in_order(shell: Shell, place: Place) -> None:
    first = place.bury(correlation_id="req-42")
    place.enqueue("mail.later", correlation_id="req-42")

    lines = [line.split() for line in shell("trail", "req-42").splitlines()[2:]]

    # date, time, +seconds, s, source, what, state
    assert [line[4:7] for line in lines] == [
        ["job", "mail.send", "enqueued"],
        ["attempt", "mail.send", "dead"],
        ["job", "mail.later", "enqueued"],
    ]
    assert f"{first}/1" in lines[1]


def test_with_json_every_field_is_there(shell: Shell, place: Place) -> None:
    job = place.enqueue(tenant_id="acme", correlation_id="req-42", queue="mail")
    place.enqueue(tenant_id="other", correlation_id="req-42")

    document = shell.json("trail", "req-42", "--tenant", "acme")

    assert document["correlation_id"] == "req-42"
    (line,) = document["trail"]
    assert (line["source"], line["state"], line["job_id"]) == ("job", "enqueued", job)
    assert (line["tenant_id"], line["detail"]["queue"]) == ("acme", "mail")
    assert len(shell.json("trail", "req-42", "--most", "1")["trail"]) == 1


def test_a_job_without_a_correlation_id_has_one(shell: Shell, place: Place) -> None:
    job = place.enqueue()

    assert "mail.send" in shell("trail", f"job-{job}")


def test_an_id_that_nobody_knows_is_said(shell: Shell, place: Place) -> None:
    assert "nothing is known of correlation id 'nobody'" in shell.fails("trail", "nobody")
    assert shell.json("trail", "nobody", code=1)["error"]["code"] == "not_found"

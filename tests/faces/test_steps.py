"""Steps on the command line: `ostinato jobs show` lists them, `ostinato jobs restart` forgets."""

from tests.faces.conftest import Place, Shell


def stepped(place: Place, *names: str, end: bool = True) -> int:
    """A job with some steps, done unless it is still to run."""
    job = place.enqueue()
    [(claim, _, attempt)] = place.claim(place.worker())
    for position, name in enumerate(names, 1):
        place.conn.execute(
            "select ostinato.save_steps(%s, %s, %s, %s, %s, %s, %s)",
            [[claim], [job], [attempt], [position], [name], ['{"n": 1}'], [1500]],
        )
    if end:
        place.call("ostinato.complete_jobs(%s, %s, %s)", [claim], [job], [attempt])
    else:
        place.call(
            "ostinato.wait_jobs(%s, %s, %s, %s, '{order.paid}', '{7}', '{3600}')",
            [claim],
            [job],
            [attempt],
            [len(names) + 1],
        )
    return job


def test_show_lists_the_steps_of_a_job(shell: Shell, place: Place) -> None:
    job = stepped(place, "fetch", "charge")

    shown = shell("jobs", "show", str(job))
    answer = shell.json("jobs", "show", str(job))

    assert [line.split()[:3] for line in shown.splitlines() if " call " in line] == [
        ["1", "fetch", "call"],
        ["2", "charge", "call"],
    ]
    assert "1.5 s" in shown
    assert [(step["name"], step["bytes"], step["result"]) for step in answer["steps"]] == [
        ("fetch", 8, {"n": 1}),
        ("charge", 8, {"n": 1}),
    ]


def test_show_tells_what_a_job_waits_for(shell: Shell, place: Place) -> None:
    job = stepped(place, "ask", end=False)

    shown = shell("jobs", "show", str(job))

    assert "order.paid/7" in shown
    assert "waiting" in shown
    assert "order.paid" in shell("why", str(job))


def test_restart_runs_a_job_again_from_a_step(shell: Shell, place: Place) -> None:
    job = stepped(place, "fetch", "charge", "ship")

    said = shell("jobs", "restart", str(job), "--from", "charge")

    assert said == f"job {job} runs again; it was done\n"
    assert place.call("ostinato.job_state(%s)", job) == "ready"
    assert [step["name"] for step in shell.json("jobs", "show", str(job))["steps"]] == ["fetch"]


def test_a_step_that_is_not_stored_is_an_error_that_says_where_to_look(shell: Shell, place: Place) -> None:
    job = stepped(place, "fetch")

    said = shell.run("jobs", "restart", str(job), "--from", "pack", code=1).stderr

    assert "'pack'" in said
    assert "jobs show" in said

"""`ostinato enqueue`."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.base.vault import is_sealed
from ostinato._core.runtime.testing import KEY
from tests.faces.conftest import Place, Shell
from tests.opened import OPEN, opened

TOUR = "ostinato.lab.tour:app"


def job(shell: Shell, job_id: object) -> dict[str, Any]:
    found: dict[str, Any] = shell.json("jobs", "show", str(job_id))
    return found


def test_it_says_the_id_and_what_to_ask_next(shell: Shell, place: Place) -> None:
    place.worker()

    said = shell("enqueue", "mail.send").splitlines()
    job_id = said[0].split()[1]

    assert said[0] == f"job {job_id}  (mail.send, queue default, ready)"
    assert said[1].endswith(f" why {job_id}")
    assert job(shell, job_id)["args"] == {}


def test_quietly_it_says_the_id_alone(shell: Shell) -> None:
    said = shell("enqueue", "mail.send", "--quiet")

    assert job(shell, int(said))["kind"] == "mail.send"


@pytest.mark.parametrize(
    ("words", "args"),
    [
        (["name=Ada"], {"name": "Ada"}),
        (["n=7", "vip=true", "nothing=null"], {"n": 7, "vip": True, "nothing": None}),
        (['list=[1, "a"]', "empty="], {"list": [1, "a"], "empty": ""}),
        (["zip=01234", "nan=NaN"], {"zip": "01234", "nan": "NaN"}),
        (["a=b=c", "ü=é"], {"a": "b=c", "ü": "é"}),
        (['quoted="7"'], {"quoted": "7"}),
        (['{"n": {"deep": [1]}}'], {"n": {"deep": [1]}}),
        ([], {}),
    ],
)
def test_arguments_are_json_or_pairs(shell: Shell, words: list[str], args: object) -> None:
    job_id = shell("enqueue", "a.b", *words, "--quiet").strip()

    assert job(shell, job_id)["args"] == args


def test_numbers_keep_their_digits(shell: Shell) -> None:
    number = "0.12345678901234567890123"
    job_id = shell("enqueue", "a.b", f"n={number}", "--quiet").strip()

    assert f'"args": {{"n": {number}}}' in shell("jobs", "show", job_id, "--json")


def test_arguments_come_from_a_file_or_stdin(shell: Shell) -> None:
    Path("args.json").write_text('{"n": 7}\n', encoding="utf-8")

    of_file = shell("enqueue", "a.b", "--args-file", "args.json", "--quiet").strip()
    of_stdin = shell.run("enqueue", "a.b", "--args-file", "-", "--quiet", stdin='{"n": 8}').stdout.strip()

    assert [job(shell, each)["args"] for each in (of_file, of_stdin)] == [{"n": 7}, {"n": 8}]
    assert "both given" in shell.fails("enqueue", "a.b", "n=7", "--args-file", "args.json")
    assert "cannot read nowhere.json: No such file" in shell.fails("enqueue", "a.b", "--args-file", "nowhere.json")
    for bad in ("hunter2", "[7]", '{"token": hunter2}', ""):
        said = shell.run("enqueue", "a.b", "--args-file", "-", stdin=bad, code=1).stderr
        assert "Such as" in said or "not JSON" in said or "is empty" in said
        assert "hunter2" not in said


CHARGE = """
from typing import Annotated

from ostinato import App, Context
from ostinato.secrets import Secret

app = App("till")


@app.job()
async def charge(ctx: Context, amount: int, token: Annotated[str, Secret()]) -> None: ...
"""


@pytest.mark.parametrize("how", [(), ("--app", "till_of_a_test:app")])
def test_a_secret_argument_is_taken_from_stdin_and_never_from_the_command_line(
    environ: dict[str, str], place: Place, monkeypatch: pytest.MonkeyPatch, how: tuple[str, ...]
) -> None:
    """Every user of the machine sees a command line, and the shell keeps it."""
    Path("till_of_a_test.py").write_text(CHARGE, encoding="utf-8")
    monkeypatch.syspath_prepend(Path.cwd())
    shell = Shell(environ | {"OSTINATO_SECRET_KEY": KEY})
    place.call(
        "ostinato.register_kinds(array['till.charge'], array['default'], array[0],"
        " array[null]::double precision[], array['{}'], array[null], array['token'])"
    )

    said = shell.fails("enqueue", "till.charge", "amount=7", "token=hunter2", *how)
    shell.run("enqueue", "till.charge", "--args-file", "-", *how, stdin='{"amount": 7, "token": "hunter2"}')

    assert "till.charge has secret arguments, which are not taken from a command line: token" in said
    assert "--args-file -" in said
    assert "hunter2" not in said
    stored = place.call("string_agg(j.args ->> 'token', ' ') from ostinato_data.job j")
    assert is_sealed(stored)


def test_the_answer_in_json(shell: Shell, place: Place) -> None:
    place.worker(kinds=("a.b",))

    answer = shell.json("enqueue", "a.b", "--queue", "mail", "--tenant", "acme", "--closed")

    assert answer == {
        "id": answer["id"],
        "kind": "a.b",
        "queue": "mail",
        "tenant_id": "acme",
        "state": "ready",
        "run_at": None,
        "new": True,
        "obstacles": [],
        "why": f"ostinato why {answer['id']}",
    }


def test_for_a_tenant_only_what_is_open_is_added_unless_it_is_said(shell: Shell, place: Place) -> None:
    place.conn.execute(OPEN, opened("a.b", a_c="mail"))
    place.conn.execute("update ostinato_data.kind set open = false where name = 'a.c'")

    assert "the kind a.c is closed to tenants" in shell.fails("enqueue", "a.c", "--tenant", "acme")
    said = shell.fails("enqueue", "a.b", "--tenant", "acme", "--queue", "webhooks")

    assert "queue 'webhooks' is closed to tenants" in said
    assert "Open queues: default." in said
    assert shell.json("enqueue", "a.b", "--tenant", "acme")["tenant_id"] == "acme"
    assert shell.json("enqueue", "a.c", "--tenant", "acme", "--closed")["queue"] == "mail"
    assert shell.json("enqueue", "a.c")["tenant_id"] == "default"


def test_every_option_reaches_the_job(shell: Shell) -> None:
    options = {
        "--queue": "mail",
        "--priority": "-5",
        "--tenant": "acme",
        "--unique": "letter-7",
        "--limit-key": "ada",
        "--correlation": "request-7",
        "--max-attempts": "3",
    }
    words = [word for pair in options.items() for word in pair]

    found = job(shell, shell.json("enqueue", "a.b", *words, "--closed")["id"])

    names = ("queue", "priority", "tenant_id", "unique_key", "limit_key", "correlation_id")
    assert [found[name] for name in names] == ["mail", -5, "acme", "letter-7", "ada", "request-7"]
    assert found["max_attempts"] == 3


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("0.5", 0.5), ("5m", 300), ("2h", 7200), ("1d", 86400)])
def test_later_counts_from_the_time_of_the_database(shell: Shell, place: Place, text: str, seconds: float) -> None:
    before = place.call("ostinato.now()")
    found = job(shell, shell.json("enqueue", "a.b", "--in", text)["id"])
    asked, created = (datetime.fromisoformat(found[n]) for n in ("asked_run_at", "created_at"))

    assert before <= asked - timedelta(seconds=seconds) <= created


def test_at_a_time(shell: Shell) -> None:
    answer = shell.json("enqueue", "a.b", "--at", "2100-01-01T09:00:00+01:00")

    assert answer["state"] == "scheduled"
    assert answer["run_at"] == "2100-01-01T08:00:00+00:00"


def test_a_second_job_with_the_same_key_gets_the_first(shell: Shell) -> None:
    first = shell.json("enqueue", "a.b", "--unique", "k")
    second = shell.json("enqueue", "a.b", "--unique", "k")

    assert (first["new"], second["new"]) == (True, False)
    assert first["id"] == second["id"]
    assert "already holds the unique key k" in shell("enqueue", "a.b", "--unique", "k")


def test_the_policy_decides_about_a_second_job(shell: Shell) -> None:
    first = shell.json("enqueue", "a.b", "--unique", "k")["id"]

    refused = shell.json("enqueue", "a.b", "--unique", "k", "--policy", "refuse", code=1)
    assert refused["error"]["code"] == "unique_conflict"
    assert refused["error"]["values"]["job_id"] == first

    third = shell.json("enqueue", "a.b", "--unique", "k", "--policy", "replace")
    assert third["new"]
    assert job(shell, first)["state"] == "cancelled"


def test_a_kind_that_nobody_knows_is_added_with_a_warning(shell: Shell, place: Place) -> None:
    place.worker(kinds=("mail.send",))

    result = shell.run("enqueue", "mail.sned")
    answer = shell.json("enqueue", "mail.sned")

    assert "knows the kind 'mail.sned'" in result.stderr
    assert [each["code"] for each in answer["obstacles"]] == ["no_worker_for_kind"]


def test_an_app_checks_the_arguments_and_gives_its_defaults(shell: Shell) -> None:
    answer = shell.json("enqueue", "tour.count", "to=7", "--app", TOUR)

    assert job(shell, answer["id"])["args"] == {"to": 7}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("tour.greet", "nmae=Ada"), "It takes: name: str = 'world'."),
        (("tour.count", "to=many"), "tour.count got bad arguments: to:"),
        (("tour.gret",), "app 'tour' has no kind 'tour.gret'"),
        (("tour.greet", "[1]"), "must be a JSON object"),
    ],
)
def test_an_app_refuses_what_its_handler_would(shell: Shell, args: tuple[str, ...], said: str) -> None:
    assert said in shell.fails("enqueue", *args, "--app", TOUR)
    assert shell("jobs", "list") == "No jobs.\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("a.b", '{"x": 1'), "the arguments are not JSON"),
        (("a.b", '{"x": NaN}'), "NaN is not JSON"),
        (("a.b", "[1]"), "must be a JSON object, got array"),
        (("a.b", "x"), "'x' is no argument"),
        (("a.b", "=7"), "'=7' is no argument"),
        (("a.b", "x=1", "x=2"), "'x' is given twice"),
        (("a.b", '{"x": "\\u0000"}'), "NUL"),
        (("", "x=1"), "kind must be 1 to 200 characters"),
        (("a.b", "--in", "soon"), "--in: 'soon' is no length of time"),
        (("a.b", "--at", "noon"), "--at: 'noon' is no time"),
        (("a.b", "--at", "2100-01-01T09:00"), "has no zone"),
        (("a.b", "--in", "5", "--at", "2100-01-01T09:00Z"), "--in and --at are both given"),
        (("a.b", "--unique", ""), "unique_key must be 1 to 200 characters"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(shell: Shell, args: tuple[str, ...], said: str) -> None:
    assert said in shell.fails("enqueue", *args)
    assert shell.json("enqueue", *args, code=1)["error"]["hint"]
    assert shell("jobs", "list") == "No jobs.\n"


@pytest.mark.parametrize("args", [(), ("a.b", "--priority", "40000"), ("a.b", "--policy", "keep")], ids=" ".join)
def test_bad_options_are_refused(shell: Shell, args: tuple[str, ...]) -> None:
    shell.fails("enqueue", *args, code=2)


def test_an_app_that_is_not_there_is_an_error(shell: Shell) -> None:
    assert "there is no module nowhere" in shell.fails("enqueue", "a.b", "--app", "nowhere", code=2)


KIND_SCHEMA = (
    '{"properties": {"card": {"type": "string"}, "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},'
    ' "required": ["card"], "additionalProperties": false, "type": "object"}'
)


def registered(place: Place) -> None:
    place.call(
        "ostinato.register_kinds(array['billing.pay'], array['default'], array[0],"
        " array[null]::double precision[], array['{}'], array[%s])",
        KIND_SCHEMA,
    )


def test_without_an_app_a_value_is_text_where_the_registered_kind_wants_text(shell: Shell, place: Place) -> None:
    registered(place)

    job_id = shell("enqueue", "billing.pay", "card=4242", "n=7", "--quiet").strip()

    assert job(shell, job_id)["args"] == {"card": "4242", "n": 7}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["card=4242", "sum=7"], "billing.pay has no argument 'sum'"),
        (["n=7"], "billing.pay needs 'card'"),
        (["card=x", "n=many"], 'n of billing.pay must be integer or null, not string ("many")'),
        (['{"card": 4242}'], "card of billing.pay must be string, not integer (4242)"),
    ],
)
def test_without_an_app_wrong_arguments_are_refused_by_what_a_worker_registered(
    shell: Shell, place: Place, words: list[str], said: str
) -> None:
    registered(place)

    refused = shell.fails("enqueue", "billing.pay", *words)

    assert said in refused
    assert "It takes card (string), n (integer or null)." in refused

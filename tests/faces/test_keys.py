"""`ostinato keys …`."""

import asyncio
import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from typer.testing import Result

from ostinato._core.base.errors import Unauthenticated
from ostinato._core.db.pool import connect
from ostinato._core.engine import keys
from ostinato._core.engine.keys import KeyRecord
from tests.faces.conftest import Place, Shell

TEXT = re.compile(r"ost_([0-9]+)_[A-Za-z0-9_-]{43}")
KEY = ("--tenant", "acme", "--subject", "nightly", "--role", "ops")


def shown(place: Place, text: str) -> KeyRecord:
    """Whom the API would see behind a key."""

    async def ask() -> KeyRecord:
        async with await connect(place.urls.worker) as conn:
            return await keys.authenticate(conn, text)

    return asyncio.run(ask())


def create(shell: Shell, *more: str) -> tuple[str, str]:
    """A new key's text and name."""
    text = shell("keys", "create", *KEY, *more).strip()
    return text, prefix(text)


def prefix(text: str) -> str:
    match = TEXT.fullmatch(text)
    assert match is not None
    return f"ost_{match[1]}"


def listed(shell: Shell, *more: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("keys", "list", *more)["keys"]
    return found


def since(key: dict[str, Any], end: str = "expires_at") -> timedelta:
    return datetime.fromisoformat(key[end]) - datetime.fromisoformat(key["created_at"])


def everything(result: Result) -> str:
    return result.stdout + result.stderr


def test_a_new_key_stands_alone_on_stdout_and_works(shell: Shell, place: Place) -> None:
    made = shell.run("keys", "create", *KEY, "--role", "admin", "--name", "the run", "--expires", "90d")

    text = made.stdout.removesuffix("\n")
    found = shown(place, text)
    assert (found.tenant_id, found.subject, found.roles) == ("acme", "nightly", ["admin", "ops"])
    assert found.expires_at is not None
    assert found.expires_at - found.created_at == timedelta(days=90)
    said = " ".join(made.stderr.split())
    assert said.startswith(f"key ost_{found.id}: nightly of acme, admin, ops, expires in 89 d 23 h.")
    assert "shown this once" in said
    assert text not in said


def test_in_json_a_new_key_comes_with_what_is_known_of_it(shell: Shell, place: Place) -> None:
    made = shell.json("keys", "create", *KEY)

    assert shown(place, made["key"]).id == made["id"]
    assert {name: made[name] for name in ("tenant_id", "subject", "roles", "name", "state")} == {
        "tenant_id": "acme",
        "subject": "nightly",
        "roles": ["ops"],
        "name": None,
        "state": "active",
    }
    assert "hash" not in made


def test_nothing_shows_a_key_again(shell: Shell, place: Place) -> None:
    text, name = create(shell)
    stored = place.call("k.hash from ostinato_data.api_key k")

    told = everything(shell.run("keys", "list")) + json.dumps(listed(shell))
    told += everything(shell.run("keys", "rotate", name))
    told += everything(shell.run("keys", "revoke", name, "--json"))
    told += everything(shell.run("keys", "rotate", name, code=1))

    assert text not in told
    assert text.removeprefix(f"{name}_") not in told
    assert stored.hex() not in told


def test_the_list_says_whose_until_when_and_what_became_of_them(shell: Shell, place: Place) -> None:
    assert shell("keys", "list") == "No keys.\n"
    assert shell.json("keys", "list") == {"keys": [], "next": None}
    _, first = create(shell, "--expires", "2h")
    text, second = create(shell, "--name", "for the demo")
    other = shell("keys", "create", "--tenant", "b", "--subject", "x", "--role", "admin").strip()
    place.call("ostinato.note_api_key_use(%s)", [int(second.removeprefix("ost_"))])
    shell("keys", "revoke", first)

    lines = {line.split()[0]: line for line in shell("keys", "list").splitlines()[2:]}

    assert list(lines) == [prefix(other), second, first]
    assert re.search(r"acme\s+nightly\s+ops\s+revoked\s+.* in 1 h 59 min\s+never", lines[first])
    assert re.search(r"for the demo\s+active\s+.*ago\s+never\s+.*ago", lines[second])
    assert [key["id"] for key in listed(shell, "--tenant", "b")] == [shown(place, other).id]
    assert [key["state"] for key in listed(shell, "--tenant", "acme")] == ["active", "revoked"]
    assert [f"ost_{key['id']}" for key in listed(shell, "--active")] == [prefix(other), second]
    assert shown(place, text).last_used_at is not None


def test_a_long_list_comes_in_pages(shell: Shell, place: Place) -> None:
    names = [create(shell)[1] for _ in range(3)]

    page = shell.json("keys", "list", "--most", "2")

    assert [f"ost_{key['id']}" for key in page["keys"]] == names[:0:-1]
    rest = listed(shell, "--most", "2", "--before", str(page["next"]))
    assert [f"ost_{key['id']}" for key in rest] == names[:1]
    assert f"--before {page['next']}" in shell.run("keys", "list", "--most", "2").stderr


def test_a_rotation_leaves_the_old_key_for_the_overlap(shell: Shell, place: Place) -> None:
    old, name = create(shell, "--expires", "90d")

    made = shell.run("keys", "rotate", name)

    new = made.stdout.strip()
    assert (shown(place, new).subject, shown(place, new).replaces) == ("nightly", shown(place, old).id)
    assert f"{name} works for 1 d 0 h more." in " ".join(made.stderr.split())
    successor, replaced = listed(shell)
    assert since(successor) == timedelta(days=90)
    assert timedelta(days=1) <= since(replaced) < timedelta(days=1, minutes=5)
    said = shell.fails("keys", "rotate", name)
    assert f"was rotated already: {prefix(new)}" in said
    assert f"keys revoke {prefix(new)}" in said


def test_without_an_overlap_the_old_key_ends_at_once(shell: Shell, place: Place) -> None:
    old, name = create(shell)

    made = shell.run("keys", "rotate", name, "--overlap", "0", "--expires", "1h")

    with pytest.raises(Unauthenticated, match="was revoked"):
        shown(place, old)
    assert f"{name} is revoked." in " ".join(made.stderr.split())
    assert since(listed(shell, "--active")[0]) == timedelta(hours=1)


@pytest.mark.parametrize("way", ["id", "prefix", "text"])
def test_a_key_is_revoked_by_its_id_or_when_it_leaked_by_its_text(shell: Shell, place: Place, way: str) -> None:
    text, name = create(shell)
    given = {"id": name.removeprefix("ost_"), "prefix": name, "text": text}[way]

    assert shell("keys", "revoke", given) == f"key {name} of acme is revoked\n"

    with pytest.raises(Unauthenticated, match="was revoked"):
        shown(place, text)
    again = shell.json("keys", "revoke", name)
    assert (again["state"], again["usable"]) == ("revoked", False)


def test_errors_say_what_to_do_and_repeat_no_secret(shell: Shell, place: Place) -> None:
    text, _ = create(shell)

    assert "keys list" in shell.fails("keys", "revoke", "999999")
    assert shell.json("keys", "revoke", "999999", code=1)["error"]["code"] == "not_found"
    for verb in ("revoke", "rotate"):
        said = shell.fails("keys", verb, text[:-1])
        assert "names no API key" in said
        assert text[-20:-1] not in said
    assert "no length of time" in shell.fails("keys", "create", *KEY, "--expires", "soon")
    assert "lower-case" in shell.fails("keys", "create", *KEY, "--role", "Team Lead")
    assert "a year" in shell.fails("keys", "rotate", prefix(text), "--overlap", "400d")
    for missing in ("--tenant", "--subject", "--role"):
        at = KEY.index(missing)
        given = (*KEY[:at], *KEY[at + 2 :])
        assert missing in shell.run("keys", "create", *given, code=2).stderr
    assert len(listed(shell)) == 1


@pytest.mark.parametrize("verb", ["create", "list", "rotate", "revoke"])
def test_the_help_has_an_example(shell: Shell, place: Place, verb: str) -> None:
    assert f"ostinato keys {verb}" in shell("keys", verb, "--help")

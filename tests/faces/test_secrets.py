"""`ostinato secrets …`: a key, what it sealed, and a rotation."""

import stat
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.runtime.testing import KEY
from ostinato.secrets import is_sealed, key_id_of, new_key
from tests.faces.conftest import Place, Shell

FILE = {"OSTINATO_SECRET_KEY_FILE": "keys/secret.key"}
CREATE = ("webhooks", "create", "orders", "https://shop.example.com/", "--secret-file", "orders.key")


@pytest.fixture
def shell(environ: dict[str, str]) -> Shell:
    return Shell(environ | FILE)


def stored(place: Place) -> str:
    found: str = place.call("s.secret from ostinato_data.webhook_secret s")
    return found


def place_of(shell: Shell, name: str = "ostinato_data.webhook_secret.secret") -> dict[str, Any]:
    found: dict[str, Any] = shell.json("secrets", "status")
    return next(each for each in found["places"] if each["place"] == name)


def secrets_finding(shell: Shell) -> dict[str, Any]:
    found = shell.json("doctor", code=1)["findings"]  # the server of the tests forgets in a crash, which fails
    return next(each for each in found if each["check"] == "secrets")


def test_without_a_key_an_endpoint_is_refused_with_the_command_that_makes_one(shell: Shell, place: Place) -> None:
    said = shell.fails(*CREATE, code=2)

    assert "ostinato secrets new-key" in said
    assert not Path("orders.key").exists()
    assert place.call("count(*) from ostinato_data.webhook_endpoint") == 0


def test_a_new_key_is_in_a_file_of_mode_600_and_seals(shell: Shell, place: Place) -> None:
    made = shell.json("secrets", "new-key")

    shell(*CREATE)

    assert stat.S_IMODE(Path(made["file"]).stat().st_mode) == 0o600
    assert is_sealed(stored(place))
    assert key_id_of(stored(place)) == made["key_id"]
    assert place_of(shell)["newest"] == 1


def test_a_key_for_the_environment_is_printed_and_stored_nowhere(shell: Shell, place: Place) -> None:
    made = shell.run("secrets", "new-key", "--print")

    text = made.stdout.strip()
    assert text.startswith("ostk_")
    assert text not in made.stderr
    assert not Path("keys").exists()
    assert "--print" in Shell(shell.env | {"OSTINATO_SECRET_KEY": text}).fails("secrets", "new-key")


def test_a_rotation_seals_with_the_newest_key_and_what_was_clear(shell: Shell, place: Place) -> None:
    shell("secrets", "new-key")
    shell(*CREATE)
    secret = Path("orders.key").read_text(encoding="utf-8").strip()
    place.conn.execute("update ostinato_data.webhook_secret set secret = %s", [secret])
    assert (place_of(shell)["clear"], secrets_finding(shell)["level"]) == (1, "warn")
    newest = shell.json("secrets", "new-key")["key_id"]

    said = shell.json("secrets", "rotate")
    again = shell.json("secrets", "rotate")

    assert said["key_id"] == newest == key_id_of(stored(place))
    assert said["places"][0]["sealed"] == 1
    assert again["places"][0]["sealed"] == 0
    assert (place_of(shell)["newest"], secrets_finding(shell)["level"]) == (1, "ok")


def test_the_doctor_names_a_key_that_is_gone(shell: Shell, place: Place, environ: dict[str, str]) -> None:
    shell("secrets", "new-key")
    shell(*CREATE)
    gone = key_id_of(stored(place))

    found = secrets_finding(Shell(environ | {"OSTINATO_SECRET_KEY": new_key()}))

    assert found["level"] == "fail"
    assert gone in found["message"]


def test_the_doctor_refuses_a_key_file_that_others_can_read(shell: Shell, place: Place) -> None:
    file = Path(shell.json("secrets", "new-key")["file"])
    file.chmod(0o644)

    found = secrets_finding(shell)

    assert (found["level"], "chmod 600" in found["hint"]) == ("fail", True)


def test_no_command_shows_a_key(shell: Shell, place: Place, environ: dict[str, str]) -> None:
    shell("secrets", "new-key")
    shell(*CREATE)
    text = Path("keys/secret.key").read_text(encoding="utf-8").strip()

    everything = shell("secrets", "status") + shell("secrets", "rotate") + shell("webhooks", "show", "orders")
    everything += shell("secrets", "new-key") + Shell(environ | {"OSTINATO_SECRET_KEY": KEY})("secrets", "status")

    assert text.removeprefix("ostk_") not in everything
    assert KEY.removeprefix("ostk_") not in everything
    assert "ost1:" not in everything

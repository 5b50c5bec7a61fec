"""`ostinato capture …` on a real database."""

import asyncio
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.main import app
from ostinato.apps.capture import keyring
from ostinato.apps.capture.model import CanonicalPayloadFields
from ostinato.testing import Engine
from tests.apps.capture.vault import SEED, TENANT, USER, Vault, changed


class Shell:
    """Types commands; a command has an event loop of its own, so these tests have none."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def run(self, *args: str, code: int = 0) -> Result:
        env = {"OSTINATO_DATABASE_URL": self.database.url}
        result = CliRunner().invoke(app, ["capture", *args], env=env)
        assert result.exit_code == code, f"{args}: {result.stdout}\n{result.stderr}"
        return result

    def json(self, *args: str, code: int = 0) -> Any:  # noqa: ANN401 - the document of the command
        return json.loads(self.run(*args, "--json", code=code).stdout)

    def receive(self, *captures: CanonicalPayloadFields, user: str = USER) -> None:
        async def send() -> None:
            async with (
                await psycopg.AsyncConnection.connect(self.database.admin_url) as admin,
                Client(self.database) as client,
            ):
                vault = Vault(Engine(self.database, client, admin), self.database)
                for each in captures:
                    await vault.receive(each, user=user)

        asyncio.run(send())


@pytest.fixture
def shell(database: Database) -> Shell:
    return Shell(database)


def test_a_log_that_holds(shell: Shell) -> None:
    shell.receive(SEED)
    shell.receive(SEED, user="ben")

    told = shell.json("verify-audit")
    assert told == {"holds": True, "chains": 2, "entries": 2, "heads": 0, "breaks": []}
    shown = shell.run("verify-audit", "--user", "ben")
    assert "All holds: 1 chains, 1 entries" in shown.stdout
    mistyped = shell.run("verify-audit", "--user", "bens", code=1)
    assert "All holds" not in mistyped.stdout
    assert "no chain" in mistyped.stderr


def test_the_first_break_is_named_and_the_command_fails(shell: Shell) -> None:
    shell.receive(*(changed(SEED, capture_id=SEED.capture_id[:-1] + str(n)) for n in range(4)))
    with psycopg.connect(shell.database.admin_url, autocommit=True) as admin:
        admin.execute("set session_replication_role = replica")
        admin.execute("update vault_secure.capture_audit_log set event_type = 'OTHER' where seq in (2, 4)")

    told = shell.json("verify-audit", "--tenant", TENANT, code=1)
    assert [each["seq"] for each in told["breaks"]] == [2]
    shown = shell.run("verify-audit", code=1)
    assert f"BROKEN at entry 2 of capture:{USER}" in shown.stdout


def test_a_head_is_signed_exported_and_compared(shell: Shell, tmp_path: Path) -> None:
    shell.receive(SEED)
    key, file = tmp_path / "audit.pem", tmp_path / "head.json"
    public = shell.run("new-signing-key", str(key)).stdout.strip()
    assert key.stat().st_mode & 0o777 == 0o600
    shell.run("new-signing-key", str(key), code=1)
    assert shell.json("new-signing-key", str(tmp_path / "other.pem")).keys() == {"file", "public_key"}
    signing = ("sign-head", "--tenant", TENANT, "--user", USER, "--key", str(key))
    file.write_text(shell.run(*signing).stdout)

    head = json.loads(file.read_text())
    assert (head["seq"], head["public_key"], head["algorithm"]) == (1, public, "Ed25519")
    told = shell.json("verify-audit", "--head", str(file))
    assert (told["holds"], told["heads"]) == (True, 2)
    shell.run("verify-audit", "--public-key", public)
    other = "A" * 43 + "="
    shell.run("verify-audit", "--public-key", other, code=1)
    shell.run("verify-audit", "--public-key", other, "--public-key", public)
    file.write_text(json.dumps(head | {"entry_hash": "0" * 64}))
    shell.run("verify-audit", "--head", str(file), code=1)
    file.write_text("{")
    shell.run("verify-audit", "--head", str(file), code=1)
    key.chmod(0o644)
    shell.run(*signing, code=1)


def test_the_heads_of_all_chains_are_signed_at_once(shell: Shell, tmp_path: Path) -> None:
    for user in ("ana", "ben"):
        shell.receive(SEED, user=user)
    key, kept = tmp_path / "audit.pem", tmp_path / "kept"
    kept.mkdir()
    shell.run("new-signing-key", str(key))
    signing = ("sign-head", "--key", str(key))
    (kept / "heads.json").write_text(shell.run(*signing).stdout)

    found = json.loads((kept / "heads.json").read_text())
    assert [head["chain_id"] for head in found] == ["capture:ana", "capture:ben"]
    assert json.loads(shell.run(*signing).stdout) == [], "nothing went on"
    assert shell.json("verify-audit", "--head", str(kept))["heads"] == 4
    shell.receive(SEED, user="ben")
    again = json.loads(shell.run(*signing, "--tenant", TENANT).stdout)
    assert [(head["chain_id"], head["seq"]) for head in again] == [("capture:ben", 2)]
    shell.run(*signing, "--user", "ben", code=1)


def test_a_key_is_put_into_the_keyring(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ring" / "keys.json"
    monkeypatch.setenv("OSTINATO_CAPTURE_KEYRING_FILE", str(path))
    said = shell.run("new-kek", "kek-1")
    shell.run("new-kek", "kek-2")
    shell.run("new-kek", "kek-1", code=1)
    shell.run("new-kek", "kek\t1", code=1)
    shell.run("new-kek", "k" * 201, code=1)

    assert list(keyring.read_keys(path)) == ["kek-1", "kek-2"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert keyring.read_keys(path)["kek-1"].hex() not in said.output
    path.chmod(0o644)
    shell.run("new-kek", "kek-3", code=2)

"""Secrets are sealed with the newest key, opened with any, and only for what they were sealed for."""

import base64
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base import vault as vaults
from ostinato._core.base.settings import Settings, load
from ostinato.errors import (
    InvalidInput,
    NotConfigured,
    SecretKeyMissing,
    SecretKeyUnknown,
    SecretRefused,
    SecretTampered,
    SettingsError,
)
from ostinato.secrets import SealedColumn, Vault, is_sealed, key_id_of, new_key, purpose

OLD, NEW = "ostk_" + "A" * 43, "ostk_" + "Q" * 42 + "U"
COLUMN = SealedColumn("billing.account", "token", bound_to=("tenant_id", "name"))


def vault(*keys: str) -> Vault:
    return Vault.load(Settings(secret_key=" ".join(keys)))


@given(text=st.text(), parts=st.lists(st.text(), min_size=1, max_size=4))
def test_what_was_sealed_opens_for_its_purpose(text: str, parts: list[str]) -> None:
    sealed = vault(NEW).seal(text, purpose=purpose(*parts))

    assert is_sealed(sealed)
    assert vault(NEW).open(sealed, purpose=purpose(*parts)) == text


def test_a_sealed_value_names_its_version_and_key_and_shows_nothing_else() -> None:
    one, two = (vault(NEW).seal("sk_live_12345678", purpose="p") for _ in range(2))

    version, key_id, body = one.split(":")
    assert version == "ost1"
    assert key_id == vault(NEW).key_ids[0] == key_id_of(one)
    assert b"sk_live" not in base64.urlsafe_b64decode(body + "==")
    assert one != two


def test_a_value_does_not_open_for_another_column_row_or_tenant() -> None:
    sealed = vault(NEW).seal("x", purpose=COLUMN.purpose("acme", "bank"))

    for other in (
        COLUMN.purpose("other", "bank"),
        COLUMN.purpose("acme", "till"),
        SealedColumn("billing.account", "note", bound_to=("tenant_id", "name")).purpose("acme", "bank"),
    ):
        with pytest.raises(SecretTampered):
            vault(NEW).open(sealed, purpose=other)


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_two_purposes_are_equal_only_if_their_parts_are(one: list[str], two: list[str]) -> None:
    if one and two and one != two:
        assert purpose(*one) != purpose(*two)


def test_a_column_wants_a_value_for_each_column_that_it_is_bound_to() -> None:
    with pytest.raises(InvalidInput, match="tenant_id, name"):
        COLUMN.purpose("acme")


@given(st.data())
def test_a_value_with_any_bit_changed_does_not_open(data: st.DataObject) -> None:
    sealed = vault(NEW).seal("some text", purpose="p")
    head, _, body = sealed.rpartition(":")
    raw = bytearray(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    place = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[place // 8] ^= 1 << place % 8

    changed = f"{head}:{base64.urlsafe_b64encode(bytes(raw)).decode().rstrip('=')}"

    with pytest.raises(SecretTampered):
        vault(NEW).open(changed, purpose="p")


@pytest.mark.parametrize("text", ["", "clear", "ost1:", "ost1:zzzzzzzz:AAAA", "ost2:00000000:AAAA", "ost1:00000000:"])
def test_what_has_not_the_form_of_a_sealed_value_is_refused(text: str) -> None:
    assert not is_sealed(text)
    with pytest.raises(SecretTampered):
        vault(NEW).open(text, purpose="p")


@pytest.mark.parametrize("body", ["A", "AA", "A" * 37, "A" * 40, "A" * 58])
def test_a_value_that_was_cut_is_refused(body: str) -> None:
    with pytest.raises(SecretTampered):
        vault(NEW).open(f"ost1:{vault(NEW).key_ids[0]}:{body}", purpose="p")


def test_the_newest_key_seals_and_all_open() -> None:
    before = vault(OLD).seal("x", purpose="p")

    both = vault(NEW, OLD)

    assert both.open(before, purpose="p") == "x"
    assert not both.is_newest(before)
    assert both.is_newest(both.seal("x", purpose="p"))


def test_a_key_that_is_gone_is_named() -> None:
    sealed = vault(OLD).seal("x", purpose="p")

    with pytest.raises(SecretKeyUnknown) as caught:
        vault(NEW).open(sealed, purpose="p")

    assert caught.value.values == {"key_id": key_id_of(sealed)}
    assert isinstance(caught.value, SecretRefused)


def test_without_a_key_the_command_that_makes_one_is_named(tmp_path: Path) -> None:
    none = Vault.load(Settings(data_dir=str(tmp_path)))

    assert none.key_ids == ()
    with pytest.raises(SecretKeyMissing, match=r"ostinato secrets new-key"):
        none.seal("x", purpose="p")
    with pytest.raises(SecretKeyMissing, match=r"OSTINATO_SECRET_KEY.*secret\.key"):
        none.open("ost1:00000000:AAAA", purpose="p")


def test_keys_come_from_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    vaults.write_key_file(file, f"{OLD}\n")
    around = {"OSTINATO_SECRET_KEY_FILE": str(file)}

    of_file = load(environ=around).vault
    of_both = load(environ=around | {"OSTINATO_SECRET_KEY": NEW}).vault

    assert of_file.key_ids == vault(OLD).key_ids
    assert of_both.key_ids == vault(NEW).key_ids


def test_a_key_file_may_have_comments_and_several_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    vaults.write_key_file(file, f"# of 2027\n{NEW}   # the newest\n\n{OLD}, {NEW}\n")

    found = Vault.load(Settings(secret_key_file=str(file)))

    assert found.key_ids == vault(NEW, OLD).key_ids


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    vaults.write_key_file(file, NEW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = Vault.load(Settings(secret_key_file=str(file)))
    assert found.key_ids

    file.chmod(0o640)

    with pytest.raises(SettingsError, match=r"640.*\n.*chmod 600"):
        found.seal("x", purpose="p")


def test_a_rotation_of_the_file_reaches_a_process_that_runs(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    vaults.write_key_file(file, OLD)
    found = Vault.load(Settings(secret_key_file=str(file)))
    before = found.seal("x", purpose="p")

    vaults.write_key_file(file, f"{NEW}\n{OLD}\n")

    assert found.key_ids == vault(NEW, OLD).key_ids
    assert found.open(before, purpose="p") == "x"


def test_of_two_processes_that_make_the_file_one_does(tmp_path: Path) -> None:
    file = tmp_path / "data" / "secret.key"
    made: list[bool] = []
    threads = [threading.Thread(target=lambda: made.append(vaults.ensure_key_file(file))) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made.count(True) == 1
    assert list(file.parent.iterdir()) == [file]
    assert len(Vault.load(Settings(data_dir=str(file.parent))).key_ids) == 1


@pytest.mark.parametrize("text", ["secret", "ostk_short", "ostk_" + "A" * 44, "A" * 43, f"{NEW} ostk_ü"])
def test_what_is_no_key_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(SettingsError, match="new-key") as caught:
        Settings(secret_key=text)

    assert not any(word in str(caught.value) for word in text.split() if len(word) > 7)


def test_neither_settings_nor_keys_show_a_key() -> None:
    settings = Settings(secret_key=NEW)
    (key,) = vaults.parse_keys(NEW, "test")

    assert NEW not in repr(settings)
    assert repr(key) == f"Key({key.id})"
    assert key.id not in NEW


def test_a_new_key_is_a_key() -> None:
    assert len(vault(new_key(), new_key()).key_ids) == 2


def test_where_the_library_is_missing_the_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    with pytest.raises(NotConfigured, match=r"pip install 'ostinato\[secrets\]'"):
        vault(NEW).seal("x", purpose="p")

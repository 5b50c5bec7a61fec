"""The check behind a seal: keys, objects in a folder and over S3, and every reason to refuse."""

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import obstore
import pytest
from cryptography.hazmat.primitives.keywrap import aes_key_wrap
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato._core.base.errors import InvalidInput, NotConfigured
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.observe import checkup
from ostinato.apps.capture import APP, keyring, objects, sealing, setup
from ostinato.apps.capture.device import Kek, Prepared
from ostinato.apps.capture.keyring import FileKeyring, KeyringUnavailable, Unwrapped
from ostinato.apps.capture.model import CanonicalPayloadFields, Material, Reason, State, Verdict
from ostinato.apps.capture.objects import S3, Folder, ObjectMissing, Objects, StoreUnavailable
from ostinato.apps.capture.rules import content_context
from ostinato.apps.capture.sandbox import KEK_ID
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.lab.sandbox.running import Running
from tests.apps.capture.vault import KEK, TENANT, USER, captured, tampered

CONTENT = b"\x89PNG what was seen" * 1000


def material(fields: CanonicalPayloadFields, user: str = USER) -> Material:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Material("id", TENANT, user, State.VERIFYING, at, at, fields)


def put(folder: Path, key: str, blob: bytes) -> None:
    place = folder / key
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(blob)


async def verdict(prepared: Prepared, store: Path, blob: bytes | None = None, user: str = USER) -> Reason | None:
    put(store, prepared.fields.upload_object_key, prepared.blob if blob is None else blob)
    ring = FileKeyring(store.parent / "keyring.json")
    found = await sealing.examine(material(prepared.fields, user), ring, Folder(store))
    return found.reason


@pytest.mark.parametrize("wrapping", ["gcm", "kw"])
@pytest.mark.parametrize("content", [b"", b"x", CONTENT, bytes(objects.PIECE_BYTES * 2 + 1)])
async def test_what_is_as_declared_is_sealed(store: Path, content: bytes, wrapping: str) -> None:
    assert await verdict(captured(content, wrapping=wrapping), store) is None


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=1, max_size=300), st.data())
def test_no_changed_bit_passes(content: bytes, data: st.DataObject) -> None:
    prepared = captured(content)
    bit = data.draw(st.integers(0, len(content) * 8 - 1))
    blob = bytearray(prepared.blob)
    blob[bit // 8] ^= 1 << bit % 8
    dek = keyring.unwrap_with(KEK.key, base64.b64decode(prepared.fields.dek_wrapped_b64))
    assert isinstance(dek, Unwrapped)
    context = content_context(USER, prepared.fields)
    for given_blob, expected in ((prepared.blob, None), (bytes(blob), Reason.TAG_MISMATCH)):
        opening = sealing._Opening(dek, prepared.fields, context)
        opening.take(given_blob)
        assert opening.reason() is expected


async def test_an_object_of_another_size_is_refused(store: Path) -> None:
    prepared = captured(CONTENT)
    assert await verdict(prepared, store, prepared.blob + b"x") is Reason.SIZE_MISMATCH
    assert await verdict(prepared, store, prepared.blob[:-1]) is Reason.SIZE_MISMATCH


async def test_an_object_that_was_tampered_with_is_refused(store: Path) -> None:
    prepared = captured(CONTENT)
    assert await verdict(prepared, store, tampered(prepared.blob)) is Reason.TAG_MISMATCH


async def test_content_that_is_not_what_its_hash_says_is_refused(store: Path) -> None:
    prepared = captured(CONTENT)
    other = replace(prepared.fields, content_hash=hashlib.sha256(CONTENT).hexdigest())
    assert await verdict(replace(prepared, fields=other), store) is Reason.HASH_MISMATCH


@pytest.mark.parametrize(
    ("name", "value"), [("mime_type", "image/jpeg"), ("capture_id", "b" * 8 + "-aaaa-4aaa-8aaa-" + "b" * 12)]
)
async def test_content_is_bound_to_its_capture(store: Path, name: str, value: str) -> None:
    prepared = captured(CONTENT)
    moved = replace(prepared, fields=replace(prepared.fields, **{name: value}))  # type: ignore[arg-type]
    assert await verdict(moved, store) is Reason.TAG_MISMATCH


async def test_content_is_bound_to_its_user(store: Path) -> None:
    assert await verdict(captured(CONTENT), store, user="ben") is Reason.TAG_MISMATCH


async def test_content_need_not_be_bound_where_the_setting_says_so(store: Path) -> None:
    prepared = captured(CONTENT, bound=False)
    put(store, prepared.fields.upload_object_key, prepared.blob)
    ring = FileKeyring(store.parent / "keyring.json")
    found = await sealing.examine(material(prepared.fields), ring, Folder(store), bound=False)
    assert found == Verdict()


async def test_a_key_that_another_wrapped_is_refused(store: Path) -> None:
    for wrapping in ("gcm", "kw"):
        other = captured(CONTENT, kek=Kek(KEK.id, bytes(32)), wrapping=wrapping)
        assert await verdict(other, store) is Reason.DEK_UNWRAP_FAILED


@pytest.mark.parametrize("size", [13, 24, 39, 41, 59, 61])
async def test_a_wrapped_key_of_no_known_length_is_refused(store: Path, size: int) -> None:
    prepared = captured(CONTENT)
    odd = replace(prepared.fields, dek_wrapped_b64=base64.b64encode(bytes(size)).decode())
    assert await verdict(replace(prepared, fields=odd), store) is Reason.DEK_MALFORMED


def test_aes_kw_is_that_of_rfc_3394() -> None:
    kek = bytes(range(32))
    dek = bytes.fromhex("00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F")
    wrapped = bytes.fromhex("28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21")
    found = keyring.unwrap_with(kek, wrapped)
    assert isinstance(found, Unwrapped)
    assert found.key == dek
    assert aes_key_wrap(kek, dek) == wrapped


def test_sha3_256_is_the_one_of_the_standard() -> None:
    empty = "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"
    abc = "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
    assert captured(b"").fields.content_hash == empty
    assert captured(b"abc").fields.content_hash == abc


# ── the keyring ──────────────────────────────────────────────────────────────────────────


async def test_a_keyring_that_others_may_read_is_not_used(store: Path) -> None:
    path = store.parent / "keyring.json"
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(KeyringUnavailable, match="chmod 600"):
            await FileKeyring(path).unwrap(KEK.id, bytes(60))


async def test_a_key_that_is_not_there_may_come(store: Path) -> None:
    path = store.parent / "keyring.json"
    with pytest.raises(KeyringUnavailable) as missing:
        await FileKeyring(path).unwrap("other", bytes(60))
    assert missing.value.reason is Reason.KEK_UNKNOWN
    keyring.add_key(path, "other")
    assert await FileKeyring(path).unwrap("other", bytes(60)) is Reason.DEK_UNWRAP_FAILED
    with pytest.raises(InvalidInput, match="already"):
        keyring.add_key(path, "other")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"keys": []}', '{"keys": {"a": "c2VjcmV0"}}', '{"keys": {"a": "s3cret!"}}']
)
async def test_a_broken_keyring_is_said_without_what_is_in_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ring"
    path.touch(0o600)
    path.write_text(text)
    with pytest.raises(KeyringUnavailable) as refused:
        await FileKeyring(path).unwrap("a", bytes(60))
    assert "c2VjcmV0" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_no_key_is_lost_when_many_are_made_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ring" / "keys.json"
    names = [f"kek-{number}" for number in range(8)]
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(lambda name: keyring.add_key(path, name), names))
    assert sorted(keyring.read_keys(path)) == names
    left = {each.name for each in path.parent.iterdir()}
    assert left == {"keys.json", ".keys.json.lock"}, "no draft"


def test_a_key_is_named_as_a_client_can_name_it(tmp_path: Path) -> None:
    for name in ("", "a\tb", "k" * 201):
        with pytest.raises(InvalidInput, match="named"):
            keyring.add_key(tmp_path / "ring", name)
    assert not (tmp_path / "ring").exists()


async def test_a_keyring_that_is_missing_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(KeyringUnavailable, match="cannot be read"):
        await FileKeyring(tmp_path / "none").unwrap("a", b"")


class Kms:
    """A keyring of somebody's own."""

    async def unwrap(self, kek_id: str, wrapped: bytes) -> Unwrapped | Reason:
        assert kek_id == KEK.id
        return keyring.unwrap_with(KEK.key, wrapped)


async def test_a_kms_is_any_object_with_unwrap(store: Path) -> None:
    ring = keyring.load(CaptureSettings(keyring=f"{__name__}:Kms"))
    prepared = captured(CONTENT)
    put(store, prepared.fields.upload_object_key, prepared.blob)
    found = await sealing.examine(material(prepared.fields), ring, Folder(store))
    assert found.reason is None
    with pytest.raises(NotConfigured):
        keyring.load(CaptureSettings(keyring="nowhere:Kms"))


class TellingKms:
    """A keyring whose errors quote what it was asked."""

    async def unwrap(self, kek_id: str, wrapped: bytes) -> Unwrapped | Reason:
        raise ValueError(f"{kek_id}: {wrapped.hex()} is not unwrapped by {KEK.key.hex()}")


async def test_of_a_foreign_error_only_the_name_is_told(store: Path) -> None:
    prepared = captured(CONTENT)
    with pytest.raises(KeyringUnavailable) as refused:
        await sealing.examine(material(prepared.fields), TellingKms(), Folder(store))
    assert str(refused.value) == "the keyring failed: ValueError"
    assert refused.value.__cause__ is None
    assert refused.value.reason is Reason.UNAVAILABLE


def test_what_is_missing_of_the_setup_is_said(store: Path, tmp_path: Path) -> None:
    good = CaptureSettings.load()
    assert setup.troubles(good) == []
    (tmp_path / "open.json").write_text("{}")
    (tmp_path / "open.json").chmod(0o644)
    bad: list[tuple[dict[str, Any], str]] = [
        ({"keyring_file": str(tmp_path / "none")}, "cannot be read"),
        ({"keyring_file": str(tmp_path / "open.json")}, "chmod 600"),
        ({"keyring": "nowhere:Kms"}, "nowhere:Kms"),
        ({"folder": str(tmp_path / "none")}, "no folder"),
        ({"signing_key_file": str(tmp_path / "none.pem")}, "no private key"),
    ]
    for change, part in bad:
        (found,) = setup.troubles(replace(good, **change))
        assert part in found.problem
        assert found.hint


async def test_doctor_asks_for_the_setup(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await checkup.examine([APP], Settings()) == {"capture": []}
    monkeypatch.setenv("OSTINATO_CAPTURE_FOLDER", str(store / "none"))
    (found,) = (await checkup.examine([APP], Settings()))["capture"]
    assert "no folder" in found.problem


def test_keys_do_not_show_themselves() -> None:
    shown = repr(Unwrapped(KEK.key)) + repr(KEK) + str(KEK)
    assert KEK.key.hex() not in shown
    assert repr(KEK.key) not in shown


# ── objects ──────────────────────────────────────────────────────────────────────────────


async def read(store: Objects, key: str) -> bytes:
    return b"".join([piece async for piece in store.read(key)])


async def test_a_folder_gives_no_file_outside_of_it(store: Path) -> None:
    (store.parent / "secret").write_text("x")
    (store / "link").symlink_to(store.parent / "secret")
    (store / "dir").mkdir()
    (store / "circle").symlink_to(store / "circle")
    for key in ("../secret", "link", "/etc/passwd", "dir", "none", "a\0b", "n" * 300, "circle"):
        with pytest.raises(ObjectMissing):
            await Folder(store).find(key)


async def s3(world: Running) -> S3:
    found = objects.load(CaptureSettings.load())
    assert isinstance(found, S3)
    return found


async def test_s3_is_spoken_over_http(world: Running) -> None:
    store = await s3(world)
    for key in ("a", "captures/2026/04/é à+b%20c.enc", "weird/=&?#~'()*!$,;:@.bin"):
        for content in (b"", CONTENT * 40):
            await obstore.put_async(store._store, key, content)
            assert (await store.find(key)).size == len(content)
            assert await read(store, key) == content
        with pytest.raises(ObjectMissing):
            await store.find(f"{key}.other")
        with pytest.raises(ObjectMissing):
            await read(store, f"{key}.other")


async def test_s3_refuses_who_has_another_secret(world: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = CaptureSettings.load()
    for other in (
        replace(settings, s3_secret_access_key="planted-secret"),
        replace(settings, s3_access_key_id="SOMEBODY"),
        replace(settings, s3_bucket="other"),
    ):
        with pytest.raises((StoreUnavailable, ObjectMissing)) as refused:
            await objects.load(other).find("a")
        assert "planted" not in str(refused.value)
    assert world.faults.calls[0].status == 403


async def test_s3_that_fails_is_unavailable(world: Running) -> None:
    store = await s3(world)
    await obstore.put_async(store._store, "a", CONTENT)
    for script in ("500,500,500,500", "reset,reset,reset,reset"):
        world.order("/s3/*", script)
        with pytest.raises(StoreUnavailable):
            await store.find("a")
    world.order("/s3/*", "truncated,truncated,truncated,truncated")
    with pytest.raises(StoreUnavailable):
        await read(store, "a")


async def test_content_is_checked_over_s3(world: Running) -> None:
    settings = CaptureSettings.load()
    keys = keyring.read_keys(Path(settings.keyring_file))
    prepared = captured(CONTENT, kek=Kek(KEK_ID, keys[KEK_ID]))
    store = await s3(world)
    await obstore.put_async(store._store, prepared.fields.upload_object_key, prepared.blob)

    found = await sealing.examine(material(prepared.fields), keyring.load(settings), store)
    assert found.reason is None


def test_without_its_library_s3_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys  # noqa: PLC0415 - only here

    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(NotConfigured) as refused:
        objects.load(CaptureSettings(store="s3"))
    assert "ostinato[s3]" in str(refused.value)

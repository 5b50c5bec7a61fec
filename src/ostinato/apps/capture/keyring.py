"""Unwraps the keys of captures with keys that it holds by name.

Each capture is encrypted with a key of its own (the DEK), which comes along wrapped by a key that
the keyring has (the KEK). The default keyring is a file that only its owner may read:

    {"keys": {"kek-2026-04-01": "<32 bytes in base64>"}}

A KMS is any object with the same `unwrap`; the setting `keyring` names how it is made. Nothing
here puts a key, wrapped or not, into an error, a log line or the database.
"""

import base64
import binascii
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap

from ostinato.apps.capture.fields import LONGEST_NAME, NONCE_BYTES, TAG_BYTES, text_fault
from ostinato.apps.capture.files import write_whole
from ostinato.apps.capture.model import Reason
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.errors import InvalidInput, NotConfigured

DEK_BYTES = 32
KEK_BYTES = 32
GCM_WRAPPED_BYTES = NONCE_BYTES + DEK_BYTES + TAG_BYTES  # 60, 80 characters of base64
KW_WRAPPED_BYTES = DEK_BYTES + 8  # 40, 56 characters of base64


class Unwrapped:
    """A key that was unwrapped. It shows itself to nobody."""

    __slots__ = ("key",)

    def __init__(self, key: bytes) -> None:
        self.key = key

    def __repr__(self) -> str:
        return "Unwrapped(…)"


class KeyringUnavailable(Exception):
    """The keyring cannot answer now, or has no key of that name yet: worth another attempt."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Keyring(Protocol):
    """What unwraps keys: the file below, or a KMS."""

    async def unwrap(self, kek_id: str, wrapped: bytes) -> Unwrapped | Reason:
        """Unwrap the key of a capture, or return why there will never be one.

        Raises `KeyringUnavailable` when it may be another time.
        """


class FileKeyring:
    """Keys in a file. It is read at every use, so that a new key counts at once."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def unwrap(self, kek_id: str, wrapped: bytes) -> Unwrapped | Reason:
        kek = read_keys(self._path).get(kek_id)
        if kek is None:
            raise KeyringUnavailable(Reason.KEK_UNKNOWN, "the keyring has no key of this name")
        return unwrap_with(kek, wrapped)


def unwrap_with(kek: bytes, wrapped: bytes) -> Unwrapped | Reason:
    """Unwrap by what the length says: AES-256-GCM (nonce, key, tag) or AES-KW (RFC 3394)."""
    try:
        match len(wrapped):
            case n if n == GCM_WRAPPED_BYTES:
                nonce, sealed = wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:]
                return Unwrapped(AESGCM(kek).decrypt(nonce, sealed, None))
            case n if n == KW_WRAPPED_BYTES:
                return Unwrapped(aes_key_unwrap(kek, wrapped))
            case _:
                return Reason.DEK_MALFORMED
    except (InvalidTag, InvalidUnwrap):
        return Reason.DEK_UNWRAP_FAILED


def load(settings: CaptureSettings) -> Keyring:
    """Load the keyring that the settings name."""
    if settings.keyring is None:
        return FileKeyring(Path(settings.keyring_file).expanduser())
    module, _, name = settings.keyring.partition(":")
    try:
        return cast("Keyring", getattr(import_module(module), name)())
    except (ImportError, AttributeError, ValueError) as error:
        raise NotConfigured(
            f"the keyring {settings.keyring!r} cannot be made: {type(error).__name__}",
            hint="Name it as module:NAME; NAME() returns an object with unwrap(kek_id, wrapped).",
        ) from error


def add_key(path: Path, kek_id: str, key: bytes | None = None) -> None:
    """Put a new key into a keyring file, which is made if need be; one that is there stays."""
    if not 1 <= len(kek_id) <= LONGEST_NAME or text_fault(kek_id) is not None:
        raise InvalidInput(
            f"a key cannot be named {kek_id!r}",
            hint=f"Use 1 to {LONGEST_NAME} characters that show: clients send it as kek_id.",
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _turn(path):
        known = dict(read_keys(path)) if path.exists() else {}
        if kek_id in known:
            raise InvalidInput(
                f"the keyring has a key {kek_id!r} already",
                hint="Choose another name: captures that it wrapped need the old one.",
            )
        known[kek_id] = key or secrets.token_bytes(KEK_BYTES)
        encoded = {name: base64.b64encode(value).decode() for name, value in known.items()}
        write_whole(path, json.dumps({"keys": encoded}, indent=2))


def read_keys(path: Path) -> Mapping[str, bytes]:
    """Read the keys of a keyring file, which must be its owner's alone."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except OSError as error:
        raise KeyringUnavailable(Reason.UNAVAILABLE, f"the keyring cannot be read: {error.strerror}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyringUnavailable(
            Reason.UNAVAILABLE, f"the keyring may be read by others (mode {stat.S_IMODE(mode):o}): chmod 600 it"
        )
    try:
        keys = {str(name): base64.b64decode(value, validate=True) for name, value in json.loads(text)["keys"].items()}
        good = all(len(key) == KEK_BYTES for key in keys.values())
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        good, keys = False, {}
    if not good:
        # Without the parser's error, which would show a piece of the file.
        raise KeyringUnavailable(
            Reason.UNAVAILABLE, f'the keyring is not {{"keys": {{name: {KEK_BYTES} bytes in base64}}}}'
        )
    return keys


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Lock the file while a key is added, so that no other writer's key is lost."""
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)

"""Seals secrets before they are stored, and opens them for the code that needs them.

    sealed = vault.seal("whsec_…", purpose=purpose("shop.till", "secret", "acme"))
    vault.open(sealed, purpose=purpose("shop.till", "secret", "acme"))

A sealed value is text, `ost1:<key id>:<base64>`. The base64 holds a salt of 16 bytes, a nonce of 12
and what AES-256-GCM made of the value. Each value is encrypted with a key of its own, the HMAC of
the salt under the secret key: random nonces of 12 bytes alone would bound how many values one key
may seal. The associated data are version, key id and purpose, so a value that is copied to another
column, row or tenant does not open there.

The keys are texts, `ostk_` and 32 bytes, the newest first: the newest seals, all open. The id of a
key is derived from it. They come from the setting `secret_key`, else from the file that
`secret_key_file` names, else from `secret.key` in the data folder. A file is read again when it has
changed, so that a rotation needs no restart.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from ostinato._core.base.errors import InvalidInput, SecretKeyMissing, SecretKeyUnknown, SecretTampered, SettingsError
from ostinato._core.base.extras import refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from ostinato._core.base.settings import Settings

EXTRA: Final = "secrets"
VERSION: Final = "ost1"
SHOWN: Final = "•••"
"""What people see instead of a secret argument."""
KEY_PREFIX: Final = "ostk_"
KEY_FILE: Final = "secret.key"
"""The name of the key file in the data folder, where no setting names another."""
KEY_BYTES: Final = 32
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
MOST_KEYS: Final = 32
PRIVATE: Final = stat.S_IRWXG | stat.S_IRWXO
"""The permissions that a key file gives to nobody."""

_SEALED = re.compile(rf"{VERSION}:[0-9a-f]{{8}}:[A-Za-z0-9_-]+")
_BETWEEN = re.compile(r"[\s,]+")


class Key(NamedTuple):
    """A secret key and its id; the id says which key opens a value, and nothing about the key."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.id})"


@dataclass(frozen=True, slots=True)
class Secret:
    """Marks a text argument of a handler as secret: `token: Annotated[str, Secret()]`.

    Clients seal it when they enqueue, only the handler gets it opened, and people see `•••`.
    """

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:  # noqa: ANN401 - pydantic's
        """Return the JSON schema of the argument, as OpenAPI marks a password."""
        return handler(core) | {"format": "password", "writeOnly": True}


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of text whose values are sealed: declared, so that `ostinato secrets` reaches it.

    The purpose of a value is the table, the column and the values of the columns that it is
    `bound_to`, in that order: an application asks `purpose` for it, and the rotation does too.
    """

    table: str
    """The table with its schema: "billing.account"."""
    column: str
    bound_to: tuple[str, ...] = ("tenant_id",)

    def purpose(self, *values: object) -> str:
        """Return the purpose of a value, from the values of the columns that it is bound to."""
        if len(values) != len(self.bound_to):
            raise InvalidInput(
                f"{self.table}.{self.column} is bound to {', '.join(self.bound_to) or 'nothing'},"
                f" got {len(values)} values",
                hint="Give the value of each of these columns, in this order.",
            )
        return purpose(self.table, self.column, *(str(value) for value in values))


def purpose(*parts: str) -> str:
    """Return what a value is for: the parts in order, written so that no two lists of parts are the same."""
    return "/".join(quote(part, safe="") for part in parts)


def is_sealed(text: str) -> bool:
    """Return whether a text has the form of a sealed value."""
    return _SEALED.fullmatch(text) is not None


def key_id_of(sealed: str) -> str:
    """Return the id of the key that a sealed value names."""
    if not is_sealed(sealed):
        raise SecretTampered("the value does not have the form of a sealed one", form=f"{VERSION}:<key id>:<base64>")
    return sealed.split(":", 2)[1]


def new_key() -> str:
    """Return a new secret key, as the setting and the file hold it."""
    return KEY_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii").rstrip("=")


def parse_keys(text: str, source: str) -> tuple[Key, ...]:
    """Return the keys of a text, the newest first: between blanks, commas or lines; `#` begins a comment."""
    lines = (line.partition("#")[0] for line in text.splitlines())
    words = [word for line in lines for word in _BETWEEN.split(line) if word]
    if len(words) > MOST_KEYS:
        raise SettingsError(f"{source} holds {len(words)} keys, more than {MOST_KEYS}", hint="Remove the oldest ones.")
    keys = [_key(word, place, source) for place, word in enumerate(words, 1)]
    return tuple(dict.fromkeys(keys))


def key_path(settings: "Settings") -> Path:
    """Return the file that the keys are read from, unless the setting `secret_key` holds them."""
    return Path(settings.secret_key_file or Path(settings.data_dir) / KEY_FILE).expanduser()


def write_key_file(path: Path, text: str) -> None:
    """Write a key file of mode 600, whole or not at all."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def ensure_key(settings: "Settings") -> bool:
    """Make a key in the data folder, unless the settings say where the keys are or there is one."""
    configured = settings.secret_key is not None or settings.secret_key_file is not None
    return not configured and ensure_key_file(key_path(settings))


def ensure_key_file(path: Path) -> bool:
    """Make a key file with a new key unless there is one; of two at once, one makes it."""
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_key_file(fresh, f"{new_key()}\n")
    try:
        os.link(fresh, path)
    except FileExistsError:
        return False
    finally:
        fresh.unlink()
    return True


class Vault:
    """Seals and opens values with the keys of this process.

    A vault without a key can be made and handed down: only sealing and opening are refused.
    """

    def __init__(self, keys: Iterable[Key] = (), *, file: Path | None = None) -> None:
        self._keys = {key.id: key for key in keys}
        self._file = file
        self._read: object = None

    @classmethod
    def load(cls, settings: "Settings") -> "Vault":
        """Return the vault of some settings. `settings.vault` is made once and kept."""
        if settings.secret_key is not None:
            return cls(parse_keys(settings.secret_key, "secret_key"))
        return cls(file=key_path(settings))

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the keys, the newest first; none where no key is configured."""
        return tuple(self._now())

    def seal(self, text: str, *, purpose: str) -> str:
        """Return the text encrypted with the newest key, for one purpose."""
        keys = self._now()
        if not keys:
            raise self._no_key()
        key = next(iter(keys.values()))
        salt, nonce = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(NONCE_BYTES)
        cipher = _aes()(_message_key(key, salt)).encrypt(nonce, text.encode("utf-8"), _bound(key.id, purpose))
        body = base64.urlsafe_b64encode(salt + nonce + cipher).decode("ascii").rstrip("=")
        return f"{VERSION}:{key.id}:{body}"

    def open(self, sealed: str, *, purpose: str) -> str:
        """Return the text of a value that was sealed for this purpose; otherwise an error of `SecretRefused`."""
        key_id = key_id_of(sealed)
        keys = self._now()
        if not keys:
            raise self._no_key()
        if key_id not in keys:
            raise SecretKeyUnknown(
                f"the value was sealed with the key {key_id}, which is not configured; here: {', '.join(keys)}",
                key_id=key_id,
            )
        key, aes_of = keys[key_id], _aes()
        try:
            raw = base64.b64decode(_padded(sealed.split(":", 2)[2]), altchars=b"-_", validate=True)
            salt, nonce, cipher = raw[:SALT_BYTES], raw[SALT_BYTES:][:NONCE_BYTES], raw[SALT_BYTES + NONCE_BYTES :]
            if len(cipher) < TAG_BYTES:
                raise _tampered(key_id)
            return aes_of(_message_key(key, salt)).decrypt(nonce, cipher, _bound(key_id, purpose)).decode("utf-8")
        except (binascii.Error, _invalid_tag()):
            raise _tampered(key_id) from None

    def is_newest(self, sealed: str) -> bool:
        """Return whether a value is sealed, and with the newest key."""
        return is_sealed(sealed) and key_id_of(sealed) == next(iter(self._now()), None)

    def _now(self) -> dict[str, Key]:
        """Return the keys, read again when the file has changed."""
        if self._file is None:
            return self._keys
        try:
            now = self._file.stat()
        except FileNotFoundError:
            self._keys, self._read = {}, None
            return self._keys
        mark = (now.st_ino, now.st_mtime_ns, now.st_size, now.st_mode)
        if mark != self._read:
            self._keys, self._read = {key.id: key for key in _read(self._file)}, mark
        return self._keys

    def _no_key(self) -> SecretKeyMissing:
        where = "" if self._file is None else f": neither OSTINATO_SECRET_KEY is set, nor is there a file {self._file}"
        return SecretKeyMissing(f"no secret key is configured{where}")


def _read(path: Path) -> tuple[Key, ...]:
    """Return the keys of a file that only its owner may read."""
    try:
        handle = os.open(path, os.O_RDONLY)
        with os.fdopen(handle, encoding="utf-8") as file:
            mode = os.fstat(handle).st_mode
            text = file.read(64 * 1024)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise SettingsError(
            f"cannot read the key file {path}: {why}", hint="Check the path, its owner and its mode."
        ) from None
    if mode & PRIVATE:
        raise SettingsError(
            f"the key file {path} can be read by others: its mode is {stat.S_IMODE(mode):o}",
            hint=f"chmod 600 {path}; if others may have read it, make a new key: ostinato secrets new-key",
        )
    return parse_keys(text, str(path))


def _key(word: str, place: int, source: str) -> Key:
    """Return one key. An error shows its place, never the key."""
    try:
        raw = base64.b64decode(_padded(word.removeprefix(KEY_PREFIX)), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not word.startswith(KEY_PREFIX) or len(raw) != KEY_BYTES:
        raise SettingsError(
            f"key {place} of {source} is not {KEY_PREFIX} and {KEY_BYTES} bytes in base64",
            hint="Make one with: ostinato secrets new-key",
        )
    return Key(hashlib.sha256(b"ostinato key id\0" + raw).hexdigest()[:8], raw)


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def _message_key(key: Key, salt: bytes) -> bytes:
    return hmac.digest(key.secret, b"ostinato message key\0" + salt, "sha256")


def _aes() -> "type[AESGCM]":
    """Return the cipher; its library is an extra, and imported only by a process that has secrets."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
    except ImportError:
        raise refusal("the sealing of secrets", ["cryptography"], EXTRA) from None
    return AESGCM


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

    return InvalidTag


def _bound(key_id: str, purpose: str) -> bytes:
    return f"{VERSION}\0{key_id}\0{purpose}".encode()


def _tampered(key_id: str) -> SecretTampered:
    return SecretTampered("the sealed value was changed, or was sealed for another purpose", key_id=key_id)

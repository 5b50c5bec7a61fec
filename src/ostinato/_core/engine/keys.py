"""API keys: a key is a text that identifies a caller, with a tenant and roles.

    made = await keys.create(conn, tenant_id="acme", subject="nightly", roles=["ops"])
    made.key                                           # ost_7_…, shown this once
    who = await keys.authenticate(conn, text)          # or Unauthenticated
    await keys.rotate(conn, who.id)                    # the old one works on for a day
    await keys.revoke(conn, who.id)                    # ends at once

A key is `ost_<id>_<43 characters>`: 32 random bytes, made here. The database gets the SHA-256 of
the whole text and never the text, so the text cannot be recovered. Use a worker's connection:
tenants cannot read keys, and the API only those whose text it was sent. The logic is in `sql/functions/keys.sql`.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from psycopg.rows import class_row

from ostinato._core.base.errors import InvalidInput, NotFound, Unauthenticated
from ostinato._core.db.call import Connection, call_as, call_value

__all__ = [
    "DAY",
    "Created",
    "Key",
    "KeyRecord",
    "authenticate",
    "create",
    "find",
    "key_id_of",
    "list_keys",
    "match",
    "note_use",
    "prune",
    "revoke",
    "rotate",
]

State = Literal["active", "expired", "revoked"]

DAY = 86_400.0
KEEP_DAYS = 90
"""How long a key that ended is still listed."""
PAGE = 100
SECRET_BYTES = 32
LARGEST_ID = 2**63 - 1
TEXT = re.compile(r"ost_([1-9][0-9]{0,18})_[A-Za-z0-9_-]{43}")
NAMED = re.compile(r"(?:ost_)?([1-9][0-9]{0,18})")
NO_HASH = bytes(hashlib.sha256().digest_size)


@dataclass(frozen=True, slots=True)
class Key:
    """A key as people see it."""

    id: int
    tenant_id: str
    subject: str
    """The person or the program that it identifies, by the name that the tenant uses."""
    roles: list[str]
    name: str | None
    """What it is for."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None
    replaces: int | None
    """The key that it was rotated from."""
    usable: bool
    """Whether it was valid when it was read, by the database's clock."""

    @property
    def prefix(self) -> str:
        """The beginning of its text, which identifies it and is not secret."""
        return f"ost_{self.id}"

    @property
    def state(self) -> State:
        """Whether it is valid, or why not."""
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.usable else "expired"


@dataclass(frozen=True, slots=True)
class KeyRecord(Key):
    """A key with the hash that its text is compared with."""

    hash: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Created:
    """A new key and its text, which nothing shows again."""

    key: str = field(repr=False)
    record: Key


async def create(
    conn: Connection,
    *,
    tenant_id: str,
    subject: str,
    roles: Collection[str],
    name: str | None = None,
    expires_in: float | None = None,
) -> Created:
    """Make a key. `expires_in` is in seconds; without it the key works until it is revoked."""
    if isinstance(roles, str):  # a collection of texts too: its letters
        raise InvalidInput("roles is a text, not a list", hint=f"Hand over a list: roles=[{roles!r}]")
    key_id, text = await _new_text(conn)
    (record,) = await call_as(
        conn,
        class_row(Key),
        "create_api_key",
        key_id=key_id,
        hash=_hash_of(text),
        tenant_id=tenant_id,
        subject=subject,
        roles=list(roles),
        name=name,
        expires_seconds=None if expires_in is None else float(expires_in),
    )
    return Created(text, record)


async def find(conn: Connection, key_id: int) -> KeyRecord | None:
    """Return a key by its id, valid or not."""
    if not 0 < key_id <= LARGEST_ID:
        return None
    found = await call_as(conn, class_row(KeyRecord), "find_api_key", _read=True, key_id=key_id)
    return found[0] if found else None


async def authenticate(conn: Connection, text: str) -> KeyRecord:
    """Return the key that has this text, or raise `Unauthenticated`.

    `values["reason"]` is malformed, unknown, revoked or expired. Only a caller with the whole text
    learns that a key was revoked or has expired: to all others every key is unknown.
    """
    (found,) = await match(conn, [text])
    if isinstance(found, Unauthenticated):
        raise found
    return found


async def match(conn: Connection, texts: Sequence[str]) -> list[KeyRecord | Unauthenticated]:
    """Return the keys of some texts, or the error of each that is none, by one query.

    The database hands out only keys whose hash was shown to it, so that the role of the API reads
    no key that nobody sent.
    """
    ids = [_id_in(text) for text in texts]
    hashes = [_hash_of(text) for text in texts]  # also of what is none: as much work for either
    asked = [(key_id, hash_) for key_id, hash_ in zip(ids, hashes, strict=True) if key_id is not None]
    found: dict[int | None, KeyRecord] = {}
    if asked:
        rows = await call_as(
            conn,
            class_row(KeyRecord),
            "match_api_keys",
            _read=True,
            key_ids=[key_id for key_id, _ in asked],
            hashes=[hash_ for _, hash_ in asked],
        )
        found = {row.id: row for row in rows}
    return [_judged(text, hash_, found.get(key_id)) for text, hash_, key_id in zip(texts, hashes, ids, strict=True)]


async def note_use(conn: Connection, key_ids: Collection[int]) -> int:
    """Record that keys were used, in one statement; returns how many were updated.

    A key whose last use was recorded less than a minute ago is not updated.
    """
    if not key_ids:
        return 0
    return int(await call_value(conn, "note_api_key_use", key_ids=list(key_ids)))


async def list_keys(
    conn: Connection,
    *,
    tenant_id: str | None = None,
    usable: bool | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[Key]:
    """Return the keys of a tenant or of all, newest first; `before` is the last id of the page before."""
    return await call_as(
        conn, class_row(Key), "list_api_keys", _read=True, tenant_id=tenant_id, usable=usable, before=before, most=most
    )


async def rotate(
    conn: Connection,
    key_id: int,
    *,
    overlap_seconds: float = DAY,
    expires_in: float | None = None,
    tenant_id: str | None = None,
) -> Created:
    """Make a key with the tenant, subject and roles of another, which stays valid for the overlap.

    Without an overlap (0) the old one is revoked. The new one has the lifetime of the old one,
    unless `expires_in` (seconds) is given. A key has one successor at a time.
    """
    _check_id(key_id)
    new_id, text = await _new_text(conn)
    (record,) = await call_as(
        conn,
        class_row(Key),
        "rotate_api_key",
        key_id=key_id,
        new_id=new_id,
        new_hash=_hash_of(text),
        overlap_seconds=float(overlap_seconds),
        expires_seconds=None if expires_in is None else float(expires_in),
        tenant_id=tenant_id,
    )
    return Created(text, record)


async def revoke(conn: Connection, key_id: int, *, tenant_id: str | None = None) -> Key:
    """End a key at once and for good; one that was revoked before stays as it was."""
    _check_id(key_id)
    (record,) = await call_as(conn, class_row(Key), "revoke_api_key", key_id=key_id, tenant_id=tenant_id)
    return record


async def prune(conn: Connection, keep_days: int = KEEP_DAYS) -> int:
    """Delete keys that ended that long ago; returns how many."""
    return int(await call_value(conn, "prune_api_keys", keep_days=keep_days))


def key_id_of(text: str) -> int:
    """Return the id of a key as people name it: 7, ost_7, or, when it leaked, its whole text."""
    match = NAMED.fullmatch(text) or TEXT.fullmatch(text)
    if match is None or int(match[1]) > LARGEST_ID:
        # Not shown: it may be a secret with a slip in it.
        raise InvalidInput("this names no API key", hint="Write 7 or ost_7, as `ostinato keys list` shows it.")
    return int(match[1])


async def _new_text(conn: Connection) -> tuple[int, str]:
    """Return a new key's id and text."""
    key_id = int(await call_value(conn, "next_api_key_id"))
    return key_id, f"ost_{key_id}_{secrets.token_urlsafe(SECRET_BYTES)}"


def _hash_of(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _id_in(text: str) -> int | None:
    """Return the id in the text of a key, if there can be such a key."""
    match = TEXT.fullmatch(text)
    return None if match is None or int(match[1]) > LARGEST_ID else int(match[1])


def _judged(text: str, hash_: bytes, found: KeyRecord | None) -> KeyRecord | Unauthenticated:
    """Return the key that was found for a text, or why it opens nothing."""
    if TEXT.fullmatch(text) is None:
        return Unauthenticated(
            "this is not an API key: one looks like ost_7_ and 43 more characters", reason="malformed"
        )
    # Compared in any case, so that the time to answer does not reveal which ids exist.
    same = hmac.compare_digest(NO_HASH if found is None else found.hash, hash_)
    if found is None or not same:
        return Unauthenticated("the API key is not known", reason="unknown")
    if not found.usable:
        return Unauthenticated(_ended(found), reason=found.state, key_id=found.id)
    return found


def _check_id(key_id: int) -> None:
    """Refuse a number that the database cannot read as an id, with the error for an unknown key."""
    if not 0 < key_id <= LARGEST_ID:
        hint = "See them with: ostinato keys list"
        raise NotFound(f"there is no API key ost_{key_id}", hint=hint, key_id=key_id)


def _ended(key: Key) -> str:
    """Return the error for the holder of a key that is not valid any more."""
    if key.revoked_at is not None:
        return f"API key {key.prefix} was revoked {_at(key.revoked_at)}"
    return f"API key {key.prefix} expired" + ("" if key.expires_at is None else f" {_at(key.expires_at)}")


def _at(moment: datetime) -> str:
    return f"at {moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

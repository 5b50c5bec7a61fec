"""Prepares a capture as a device does: encrypts the content, wraps its key, names it.

For authors of clients, for the demo and for the tests. The intake itself never has a key.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

from ostinato.apps.capture.fields import NONCE_BYTES, TAG_BYTES
from ostinato.apps.capture.keyring import DEK_BYTES
from ostinato.apps.capture.model import CanonicalPayloadFields
from ostinato.apps.capture.rules import content_context

Wrapping = Literal["gcm", "kw"]
Chance = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Kek:
    """A key that wraps others, and its name."""

    id: str
    key: bytes

    def __repr__(self) -> str:
        return f"Kek(id={self.id!r})"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A capture, ready to be sent, and the object that belongs to it."""

    fields: CanonicalPayloadFields
    blob: bytes


def prepare(
    content: bytes,
    user_id: str,
    kek: Kek,
    *,
    mime_type: str = "image/png",
    capture_id: str | None = None,
    wrapping: Wrapping = "gcm",
    bound: bool = True,
    chance: Chance = secrets.token_bytes,
) -> Prepared:
    """Encrypt a content with a key of its own, and wrap that key."""
    name = capture_id or str(UUID(bytes=chance(16), version=4))
    dek, nonce = chance(DEK_BYTES), chance(NONCE_BYTES)
    draft = CanonicalPayloadFields(
        capture_id=name,
        content_hash=hashlib.sha3_256(content).hexdigest(),
        aes_gcm_nonce_b64=_text(nonce),
        aes_gcm_tag_b64="",
        dek_wrapped_b64=_text(_wrapped(kek.key, dek, wrapping, chance)),
        kek_id=kek.id,
        mime_type=mime_type,
        size_bytes=len(content),
        upload_object_key=f"captures/{name.lower()}.enc",
    )
    context = content_context(user_id, draft) if bound else b""
    sealed = AESGCM(dek).encrypt(nonce, content, context)
    blob, tag = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    return Prepared(replace(draft, aes_gcm_tag_b64=_text(tag)), blob)


def _wrapped(kek: bytes, dek: bytes, wrapping: Wrapping, chance: Chance) -> bytes:
    if wrapping == "kw":
        return aes_key_wrap(kek, dek)
    nonce = chance(NONCE_BYTES)
    return nonce + AESGCM(kek).encrypt(nonce, dek, None)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()

"""Checks before a seal whether the object is what its user declared.

    unwrap the key  →  compare the size  →  decrypt piece by piece, hashing  →  tag  →  hash

The content is never whole in memory and never leaves this module; neither does the key. What comes
out is a verdict: nothing, or a reason. Infrastructure that does not answer raises instead.
"""

import asyncio
import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import GCM

from ostinato.apps.capture.fields import NONCE_BYTES, TAG_BYTES, decoded
from ostinato.apps.capture.keyring import DEK_BYTES, Keyring, KeyringUnavailable, Unwrapped
from ostinato.apps.capture.model import CanonicalPayloadFields, Material, Reason, Verdict
from ostinato.apps.capture.objects import Objects
from ostinato.apps.capture.rules import content_context


async def examine(material: Material, keyring: Keyring, objects: Objects, *, bound: bool = True) -> Verdict:
    """Check whether the object is what was declared; of a sealed capture, the version that was sealed.

    The verdict names the version that was read, whatever is put in its place meanwhile.
    Raises `KeyringUnavailable`, `ObjectMissing` or `StoreUnavailable` if that cannot be said now.
    """
    fields = material.fields
    unwrapped = await _unwrapped(keyring, fields)
    if isinstance(unwrapped, Reason):
        return Verdict(unwrapped)
    if len(unwrapped.key) != DEK_BYTES:
        return Verdict(Reason.DEK_MALFORMED)
    found = await objects.find(fields.upload_object_key, material.object_version)
    if found.size != fields.size_bytes:
        return Verdict(Reason.SIZE_MISMATCH, found.version)
    context = content_context(material.user_id, fields) if bound else b""
    opened = _Opening(unwrapped, fields, context)
    async for piece in objects.read(fields.upload_object_key, found.version):
        if not await asyncio.to_thread(opened.take, piece):
            break  # longer than it said: what comes cannot matter any more
    return Verdict(await asyncio.to_thread(opened.reason), found.version)


async def _unwrapped(keyring: Keyring, fields: CanonicalPayloadFields) -> Unwrapped | Reason:
    try:
        return await keyring.unwrap(fields.kek_id, decoded(fields.dek_wrapped_b64))
    except KeyringUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a KMS raises
        # Errors of others quote requests, and a request to a KMS is a key: only their name is kept.
        name = type(error).__name__
        raise KeyringUnavailable(Reason.UNAVAILABLE, f"the keyring failed: {name}") from None


class _Opening:
    """Content on its way through: decrypted, hashed, and forgotten."""

    def __init__(self, dek: Unwrapped, fields: CanonicalPayloadFields, context: bytes) -> None:
        nonce, self._tag = decoded(fields.aes_gcm_nonce_b64), decoded(fields.aes_gcm_tag_b64)
        if (len(nonce), len(self._tag)) != (NONCE_BYTES, TAG_BYTES):
            raise ValueError("a nonce or a tag of another length")
        self._decryptor = Cipher(AES256(dek.key), GCM(nonce)).decryptor()
        self._decryptor.authenticate_additional_data(context)
        self._hash = hashlib.sha3_256()
        self._fields = fields
        self._size = 0

    def take(self, piece: bytes) -> bool:
        """Take the next piece; return whether there may be more."""
        self._size += len(piece)
        if self._size > self._fields.size_bytes:
            return False
        self._hash.update(self._decryptor.update(piece))
        return True

    def reason(self) -> Reason | None:
        """Return what is wrong with the whole, if something is."""
        if self._size != self._fields.size_bytes:
            return Reason.SIZE_MISMATCH
        try:
            self._decryptor.finalize_with_tag(self._tag)
        except InvalidTag:
            return Reason.TAG_MISMATCH
        if not hmac.compare_digest(self._hash.hexdigest(), self._fields.content_hash):
            return Reason.HASH_MISMATCH
        return None

"""Tokens that name one thing and can be made by nobody else: links in mails, return addresses."""

import base64
import hashlib
import hmac
from uuid import UUID

__all__ = ["bounce_token", "read_bounce_token", "read_unsubscribe_token", "unsubscribe_token"]

MAC_BYTES = 16
ID_BYTES = 16


def unsubscribe_token(secret: str, consent_id: UUID) -> str:
    """A token that names one consent and can be made by nobody else."""
    return _token(secret, b"unsubscribe", consent_id)


def read_unsubscribe_token(secret: str, token: str) -> UUID | None:
    """The consent that a token names; None: it is not one of ours."""
    return _read(secret, b"unsubscribe", token)


def bounce_token(secret: str, message_id: UUID) -> str:
    """A token for the return address of a mail (VERP); lower case, as mail servers like it."""
    mac = _mac(secret, b"bounce", message_id.bytes)[:8]
    return base64.b32encode(message_id.bytes + mac).decode().rstrip("=").lower()


def read_bounce_token(secret: str, token: str) -> UUID | None:
    """The message that a return address names; None: it is not one of ours."""
    try:
        raw = base64.b32decode(token.upper() + "=" * (-len(token) % 8))
    except ValueError:
        return None
    if len(raw) != ID_BYTES + 8:
        return None
    expected = _mac(secret, b"bounce", raw[:ID_BYTES])[:8]
    known = bool(secret) and hmac.compare_digest(expected, raw[ID_BYTES:])
    return UUID(bytes=raw[:ID_BYTES]) if known else None


def _token(secret: str, what: bytes, of: UUID) -> str:
    raw = of.bytes + _mac(secret, what, of.bytes)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read(secret: str, what: bytes, token: str) -> UUID | None:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        return None
    if len(raw) != ID_BYTES + MAC_BYTES:
        return None
    expected = _mac(secret, what, raw[:ID_BYTES])
    known = bool(secret) and hmac.compare_digest(expected, raw[ID_BYTES:])
    return UUID(bytes=raw[:ID_BYTES]) if known else None


def _mac(secret: str, what: bytes, raw: bytes) -> bytes:
    return hmac.new(secret.encode(), what + b"\0" + raw, hashlib.sha256).digest()[:MAC_BYTES]
